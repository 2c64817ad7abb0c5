// Keys and values in pages: what a reader of some ranges gets, and what it reads for that.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteReader, createWriter } from '../../../../../src/handoff/sandbox/program/search/bytes.js'
import {
  createPageWriter,
  type KeyRange,
  lookUp,
  onlyKey,
  readPageList,
  writePageList,
} from '../../../../../src/handoff/sandbox/program/search/sorted-pages.js'

function write(keys: readonly string[], valueBytes: number) {
  const writer = createPageWriter()
  const sorted = [...new Set(keys)].map((key) => Buffer.from(key)).sort(Buffer.compare)
  for (const key of sorted) writer.add(key, Buffer.concat([key, Buffer.alloc(valueBytes, 7)]))
  const list = createWriter()
  writePageList(list, writer.endTable())
  return { sorted, file: writer.file(), list: readPageList(new ByteReader(list.take()), 0) }
}

async function read({ file, list }: ReturnType<typeof write>, ranges: readonly KeyRange[]) {
  const found: string[] = []
  let pages = 0
  const take = (key: Buffer, value: Buffer) => {
    expect(value.subarray(0, key.length)).toEqual(key)
    found.push(key.toString('hex'))
  }
  const readPages = async (wanted: readonly { offset: number; length: number }[]) => {
    pages += wanted.length
    return wanted.map(({ offset, length }) => file.subarray(offset, offset + length))
  }
  await lookUp(list, ranges, readPages, take)
  return { found, pages }
}

const aKey = fc.string({ unit: fc.constantFrom('a', 'b', '\0', 'ÿ', 'z'), maxLength: 5 })

test('a reader gets the keys of its ranges, each once and in their order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(aKey, { minLength: 1, maxLength: 60 }),
      fc.array(fc.tuple(aKey, aKey), { maxLength: 6 }),
      fc.constantFrom(0, 6_000),
      async (keys, bounds, valueBytes) => {
        const stored = write(keys, valueBytes)
        const ranges = bounds.map(([from, to]) =>
          from < to ? { from: Buffer.from(from), to: Buffer.from(to) } : onlyKey(Buffer.from(from)),
        )
        const isIn = (key: Buffer) =>
          ranges.some(({ from, to }) => Buffer.compare(from, key) <= 0 && Buffer.compare(key, to) < 0)
        const { found } = await read(stored, ranges)
        expect(found).toEqual(stored.sorted.filter(isIn).map((key) => key.toString('hex')))
      },
    ),
  )
})

test('of many pages it reads those that may have a key', async () => {
  const stored = write(
    Array.from({ length: 1_000 }, (_, at) => `key ${String(at).padStart(4, '0')}`),
    1_000,
  )
  expect(stored.list.pages.length).toBeGreaterThan(50)
  const keys = ['key 0000', 'key 0500', 'key 0999', 'none', 'a'].map((key) => onlyKey(Buffer.from(key)))
  const { found, pages } = await read(stored, keys)
  expect(found).toHaveLength(3)
  expect(pages).toBeLessThanOrEqual(4)
})
