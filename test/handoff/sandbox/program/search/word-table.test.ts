// What the index keeps of words and of whole identifiers, one of which may be a credential that was committed.
import { expect, test } from 'vitest'
import { createPageWriter, type PageWriter } from '../../../../../src/handoff/sandbox/program/search/sorted-pages.js'
import { createWordTable, hashedKey } from '../../../../../src/handoff/sandbox/program/search/word-table.js'

const first = Buffer.from('AKIAQ7EXAMPLE3KEYS')
const second = Buffer.from('parseHeader2')

function keysOf(hashed: boolean, words = [first, second], ignoreCase = false): Buffer[] {
  const table = createWordTable({ ignoreCase, hashed })
  for (const word of words) table.add(word, 0, word.length, 0, true)
  const keys: Buffer[] = []
  const pages: PageWriter = { ...createPageWriter(), add: (key) => void keys.push(Buffer.from(key)) }
  table.write(pages)
  return keys
}

test('words are kept as they are written, in their order', () => {
  expect(keysOf(false)).toEqual([first, second])
})

test('of whole identifiers four bytes of a hash are kept, in their order', () => {
  const wanted = [hashedKey(first), hashedKey(second)].sort(Buffer.compare)
  expect(keysOf(true)).toEqual(wanted)
  expect(wanted.map(({ length }) => length)).toEqual([4, 4])
})

test('all pairs of two bytes have room', () => {
  const pairs = Array.from({ length: 1 << 16 }, (_, pair) => Buffer.from([pair >> 8, pair & 255]))
  // Capital letters are the same as small ones.
  expect(keysOf(false, pairs, true)).toHaveLength((256 - 26) ** 2)
})
