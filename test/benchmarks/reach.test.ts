import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type { Measured, ReachReport } from '../../src/benchmarks/reach-process.js'

const folder = mkdtempSync(join(tmpdir(), 'reach-'))
const root = join(import.meta.dirname, '../..')
afterAll(() => rmSync(folder, { recursive: true }))

test('counts functions that are called while the event happens, and none that run while modules load', () => {
  const file = (name: string) => join(folder, name)
  writeFileSync(
    file('rules.mjs'),
    `const duringLoad = () => [1].map((one) => one + 1)
export const numbers = duringLoad()
export function total(values) { return values.reduce((sum, value) => sum + value, 0) }
export function neverCalled() { return 0 }`,
  )
  writeFileSync(file('program.mjs'), `import { numbers, total } from './rules.mjs'\nif (total(numbers) !== 2) throw 1`)
  const modules = [pathToFileURL(file('rules.mjs')).href]
  const measured: Measured = { modules, entry: file('program.mjs'), reportFile: file('report.json') }
  execFileSync(process.execPath, [
    ...['--import', join(root, 'src/build/ts-loader.mjs')],
    join(root, 'src/benchmarks/reach-process.ts'),
    JSON.stringify(measured),
  ])
  const { called, loaded } = JSON.parse(readFileSync(file('report.json'), 'utf8')) as ReachReport
  expect(called[modules[0]!]).toEqual({ named: 1, callbacks: 1 })
  expect(loaded).toContain(pathToFileURL(file('program.mjs')).href)
})
