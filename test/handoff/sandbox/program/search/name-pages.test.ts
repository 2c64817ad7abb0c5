// Where names are defined, by a part of the hash of each.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteReader, createWriter } from '../../../../../src/handoff/sandbox/program/search/bytes.js'
import type { DefinitionSite } from '../../../../../src/handoff/sandbox/program/search/definition-sites.js'
import { readNames, writeNames } from '../../../../../src/handoff/sandbox/program/search/name-pages.js'
import {
  createPageFile,
  readPageList,
  writePageList,
} from '../../../../../src/handoff/sandbox/program/search/sorted-pages.js'

const files = ['src/a.ts', 'src/b.ts', 'lib/größe.ts'].map((path) => ({ path }))
const numbers = new Map(files.map(({ path }, index) => [path, index + 1]))

async function read(definitions: ReadonlyMap<string, readonly DefinitionSite[]>, wanted: readonly string[]) {
  const file = createPageFile()
  const beside = createWriter()
  const pages = writeNames(file, beside, definitions, numbers)
  const list = createWriter()
  writePageList(list, pages)
  const find = readNames(new ByteReader(beside.take()), files)
  let asked = 0
  const found = await find(readPageList(new ByteReader(list.take()), 0), new Set(wanted), async (chosen) => {
    asked += chosen.length
    return chosen.map(({ offset, length }) => file.bytes().subarray(offset, offset + length))
  })
  return { found, asked, pages, bytes: file.bytes() }
}

const aSite = fc
  .record({
    path: fc.constantFrom(...files.map(({ path }) => path), 'vendor/other.ts', ''),
    line: fc.integer({ min: 1, max: 9_000 }),
    lines: fc.option(fc.nat(400), { nil: undefined }),
  })
  .map(({ path, line, lines }) => ({ path, line, ...(lines === undefined ? {} : { end: line + lines }) }))

test('each name has its places, and other names have none', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.array(aSite, { minLength: 1, maxLength: 5 })),
      async (sites) => {
        const definitions = new Map(Object.entries(sites))
        const { found } = await read(definitions, [...definitions.keys(), 'ABSENT', 'Other'])
        expect(found).toEqual(definitions)
      },
    ),
    { numRuns: 60 },
  )
})

test('of many names the pages that may have the wanted ones are read', async () => {
  const definitions = new Map(
    Array.from({ length: 5_000 }, (_, at) => [`nameNumber${at}`, [{ path: 'src/a.ts', line: at + 1 }]]),
  )
  const { found, asked, pages, bytes } = await read(definitions, ['nameNumber17', 'nameNumber4999'])
  expect(pages.length).toBeGreaterThan(4)
  expect(asked).toBeLessThanOrEqual(3)
  expect([...found.values()].flat().map(({ line }) => line)).toEqual([18, 5_000])
  expect(bytes.length).toBeLessThan(5_000 * 7)
  expect(bytes.includes('nameNumber17')).toBe(false)
})
