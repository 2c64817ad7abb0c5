// What the index keeps of words and of whole identifiers, one of which may be a credential that was committed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteReader, createWriter } from '../../../../../src/handoff/sandbox/program/search/bytes.js'
import {
  createPageFile,
  onlyKey,
  readPageList,
  writePageList,
} from '../../../../../src/handoff/sandbox/program/search/sorted-pages.js'
import { SymbolTables } from '../../../../../src/handoff/sandbox/program/search/symbol-coder.js'
import { hashOf, lookUpWords, writeWords } from '../../../../../src/handoff/sandbox/program/search/word-pages.js'
import { keptBits } from '../../../../../src/handoff/sandbox/program/search/word-places.js'
import { createWordTable } from '../../../../../src/handoff/sandbox/program/search/word-table.js'

/** Blocks of texts; in each, plain words and identifiers of two words. */
type Block = readonly string[]

function write(blocks: readonly Block[]) {
  const words = createWordTable({ ignoreCase: true })
  const identifiers = createWordTable({ ignoreCase: false })
  for (const [block, texts] of blocks.entries()) {
    for (const text of texts) {
      const bytes = Buffer.from(text)
      const parts = text.split('_')
      let at = 0
      for (const part of parts) {
        words.add(bytes, at, at + part.length, block, parts.length === 1)
        at += part.length + 1
      }
      if (parts.length > 1) identifiers.add(bytes, 0, bytes.length, block, true)
    }
  }
  return writeTables({ words, identifiers, blocks: blocks.length })
}

function writeTables(tables: Parameters<typeof writeWords>[1]) {
  const file = createPageFile()
  const { pages, steps } = writeWords(file, tables)
  const list = createWriter()
  writePageList(list, pages)
  return { list: list.take(), pages: file.bytes(), steps }
}

/** Each word as `block times whole`, and each of the asked identifiers as `block times`. */
async function read(stored: ReturnType<typeof write>, blocks: number, names: readonly string[]) {
  const found = { words: new Map<string, string[]>(), identifiers: new Map<string, string[]>() }
  const everything = [{ from: Buffer.from([0]), to: Buffer.from([255]) }]
  await lookUpWords(
    readPageList(new ByteReader(stored.list), 0),
    everything,
    async (pages) => pages.map(({ offset, length }) => stored.pages.subarray(offset, offset + length)),
    { tables: new SymbolTables(stored.steps), blocks },
    (word, places, built) => {
      const rows = Array.from(
        { length: places.count },
        (_, at) => `${places.blocks[at]} ${places.times[at]} ${places.wholes[at]}`,
      )
      found.words.set(word.toString(), rows)
      for (const name of names) {
        const kept = hashOf(Buffer.from(name)) >>> (32 - keptBits(built.count))
        const at = built.hashes.slice(0, built.count).indexOf(kept)
        if (at < 0 || !name.toLowerCase().split('_').includes(word.toString())) continue
        const from = at === 0 ? 0 : built.ends[at - 1]!
        const of = (index: number) => `${built.places.blocks[index]} ${built.places.times[index]}`
        found.identifiers.set(
          name,
          Array.from({ length: built.ends[at]! - from }, (_, index) => of(from + index)),
        )
      }
    },
  )
  return found
}

const count = (texts: readonly string[], is: (text: string) => boolean) => texts.filter(is).length

/** The same, counted in the plainest way. */
function expected(blocks: readonly Block[], names: readonly string[]) {
  const words = new Set(blocks.flat().flatMap((text) => text.toLowerCase().split('_')))
  const rowsOf = (of: (texts: Block) => number[]) =>
    blocks.flatMap((texts, block) => (of(texts)[0]! > 0 ? [[block, ...of(texts)].join(' ')] : []))
  const timesOf = (word: string) => (texts: Block) => [
    texts.flatMap((text) => text.toLowerCase().split('_')).filter((part) => part === word).length,
    count(texts, (text) => text.toLowerCase() === word),
  ]
  return {
    words: new Map([...words].map((word) => [word, rowsOf(timesOf(word))])),
    identifiers: new Map(names.map((name) => [name, rowsOf((texts) => [count(texts, (text) => text === name)])])),
  }
}

const aWord = fc.constantFrom('get', 'set', 'name', 'value', 'xx', 'zz')
const aText = fc.oneof(
  aWord,
  fc.tuple(aWord, aWord).map(([a, b]) => `${a}_${b.toUpperCase()}`),
  fc.tuple(aWord, aWord).map(([a, b]) => `${a}_${b}`),
)

test('the places of all words and identifiers are read as they were counted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(aText, { maxLength: 40 }), { minLength: 1, maxLength: 60 }), async (blocks) => {
      const names = [...new Set(blocks.flat().filter((text) => text.includes('_')))]
      const found = await read(write(blocks), blocks.length, names)
      expect(found).toEqual(expected(blocks, names))
    }),
    { numRuns: 60 },
  )
})

test('many words take several pages, and a look-up of one reads one', async () => {
  const blocks = Array.from({ length: 3_000 }, (_, at) => [`word${at}`, `word${(at * 7) % 3_000}`, 'all', 'all_words'])
  const stored = write(blocks)
  const list = readPageList(new ByteReader(stored.list), 0)
  expect(list.pages.length).toBeGreaterThan(1)
  const seen: string[] = []
  let pages = 0
  await lookUpWords(
    list,
    [onlyKey(Buffer.from('word1501')), onlyKey(Buffer.from('word15000'))],
    async (wanted) => {
      pages += wanted.length
      return wanted.map(({ offset, length }) => stored.pages.subarray(offset, offset + length))
    },
    { tables: new SymbolTables(stored.steps), blocks: blocks.length },
    (word, places) => seen.push(`${word.toString()} in ${places.count}`),
  )
  expect(seen).toEqual(['word1501 in 2'])
  expect(pages).toBe(1)
})

test('of a whole identifier some bits of a hash are kept, and nothing of its text', () => {
  const secret = 'AKIAQ7EXAMPLE3KEYS'
  const words = createWordTable({ ignoreCase: true })
  const identifiers = createWordTable({ ignoreCase: false })
  const bytes = Buffer.from(secret)
  words.add(bytes, 0, 5, 0, false)
  identifiers.add(bytes, 0, bytes.length, 0, true)
  const file = createPageFile()
  const { pages } = writeWords(file, { words, identifiers, blocks: 1 })
  const [first] = pages
  expect(first!.first.toString()).toBe('akiaq')
  expect(keptBits(1)).toBe(15)
  expect(file.bytes().length).toBeLessThan(24)
})

test('an identifier has only the blocks that its word has, which had no room in its table for a while', async () => {
  const words = createWordTable({ ignoreCase: true })
  const identifiers = createWordTable({ ignoreCase: false })
  const [kept, lost] = [Buffer.from('EDT'), Buffer.from('edt_9')]
  for (const block of [1, 3]) words.add(kept, 0, 3, block, false)
  for (const block of [0, 1, 2, 3]) identifiers.add(kept, 0, 3, block, true)
  for (const block of [0, 2]) identifiers.add(lost, 0, 5, block, true)
  const stored = writeTables({ words, identifiers, blocks: 4 })
  const found = await read(stored, 4, ['EDT', 'edt_9'])
  expect(found.words.get('edt')).toEqual(['1 1 0', '3 1 0'])
  expect(found.identifiers).toEqual(new Map([['EDT', ['1 1', '3 1']]]))
})

test('all pairs of two bytes have room', () => {
  const words = createWordTable({ ignoreCase: true })
  for (let pair = 0; pair < 1 << 16; pair++) words.add(Buffer.from([pair >> 8, pair & 255]), 0, 2, 0, true)
  // Capital letters are the same as small ones.
  expect(words.count()).toBe((256 - 26) ** 2)
})

test('a place behind the last block is refused', async () => {
  const stored = write([['get'], ['get_name'], ['get']])
  await expect(read(stored, 2, [])).rejects.toThrow(RangeError)
})
