// In a process of its own: the setting holds for the whole process.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const source = (path: string) => new URL(`../../../src/${path}`, import.meta.url).href

/** Megabytes of the young generation after a table of many rows was parsed three times. */
async function youngMegabytes(first: string): Promise<number> {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { keepHeapSmall } from '${source('handoff/util/heap.ts')}'
    ${first}
    const text = JSON.stringify(Array.from({ length: 30_000 }, (_, index) => ({ path: 'a'.repeat(60) + index, blob: 'b'.repeat(40) })))
    let kept
    for (let round = 0; round < 3; round++) kept = JSON.parse(text).map((row) => ({ ...row }))
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
    console.log(young.space_size / 1e6, kept.length)`
  const words = ['--import', source('build/ts-loader.mjs'), '--input-type=module', '--eval', script]
  const { stdout } = await run(process.execPath, words)
  return Number(stdout.split(' ')[0])
}

test('the young generation stays small while large tables are read', async () => {
  const [small, usual] = await Promise.all([youngMegabytes('keepHeapSmall()'), youngMegabytes('')])
  expect(small).toBeLessThan(10)
  expect(usual, 'without the setting').toBeGreaterThan(20)
})
