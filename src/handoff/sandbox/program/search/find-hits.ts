// The hits of a question's words and identifiers, from an index that knows in which blocks of lines each stands. Sandbox A made it and may lie: whatever
// it says, reading ends and takes no more memory than a scan of all files could.
import type { Query } from './query.js'
import { blockBits, isPlainWord, meaningBits, meaningMask, type WordScanner, wantedRanges } from './scan-words.js'
import { type KeyRange, onlyKey, type TakeEntry } from './sorted-pages.js'
import type { SourceFile } from './source-files.js'
import { hashedKey } from './word-table.js'

export interface WordIndex {
  /** The text files, in the order of the files. */
  texts: { file: SourceFile; lines: number; firstBlock: number }[]
  blocks: number
  /** Calls `take` with each key that is in one of the ranges, and where it stands. */
  lookUp(table: 'words' | 'identifiers', ranges: readonly KeyRange[], take: TakeEntry): Promise<void>
}

const mostHits = 20_000_000

interface IndexHits {
  /** In the order of blocks; the first line of its block stands for the line of each. */
  hits: Int32Array
  /** Where the hits of each block begin; one more number says where the last ones end. */
  starts: Int32Array
}

/** The hits of the question's words in all files. */
export async function findHits(index: WordIndex, query: Query, scanner: WordScanner): Promise<IndexHits> {
  const found = createHitList(index)
  const counted = countableIdentifiers(query, scanner)
  const { plain, hashed } = counted
  const { words, identifiers } = keysOfQuery(query, counted)
  await Promise.all([
    index.lookUp('words', words, (word, places) => {
      const meaning = scanner.numberOf(word)
      const identifier = plain.get(word.toString('latin1'))
      if (meaning === 0 && identifier === undefined) return
      forEachPlace(index, places, (block, times, whole) => {
        found.add(block, meaning, times)
        if (identifier !== undefined) found.add(block, identifier, whole)
      })
    }),
    index.lookUp('identifiers', identifiers, (key, places) => {
      const identifier = hashed.get(key.toString('latin1'))
      if (identifier !== undefined) forEachPlace(index, places, (block, times) => found.add(block, identifier, times))
    }),
  ])
  return found.inOrder()
}

/** Under which keys the words and identifiers of a question stand. */
export function keysOfQuery(
  query: Query,
  { plain, hashed }: CountableIdentifiers,
): { words: KeyRange[]; identifiers: KeyRange[] } {
  const rangesOf = (keys: ReadonlyMap<string, number>) =>
    [...keys.keys()].map((key) => onlyKey(Buffer.from(key, 'latin1')))
  return { words: [...wantedRanges(query), ...rangesOf(plain)], identifiers: rangesOf(hashed) }
}

/** Each with the index of its meaning. */
interface CountableIdentifiers {
  /** Plain words, which stand among the words. */
  plain: ReadonlyMap<string, number>
  /** All others, by their hash. */
  hashed: ReadonlyMap<string, number>
}

/** The whole identifiers of the question that a scan would count: one of their parts is a word of the question. */
export function countableIdentifiers(query: Query, scanner: WordScanner): CountableIdentifiers {
  const plain = new Map<string, number>()
  const hashed = new Map<string, number>()
  for (const [name, concept] of query.identifiers) {
    const bytes = Buffer.from(`${name}\n\0`)
    const from = scanner.hitCount
    scanner.scan(bytes, bytes.length - 1)
    const numbers = [...scanner.hits.subarray(from, scanner.hitCount)].map((hit) => hit & meaningMask)
    scanner.hitCount = from
    const own = numbers.find((number) => scanner.meanings[number]!.join() === `${concept},1`)
    if (own === undefined) continue
    if (isPlainWord(Buffer.from(name), 0, name.length)) plain.set(name, own)
    else hashed.set(hashedKey(Buffer.from(name, 'latin1')).toString('latin1'), own)
  }
  return { plain, hashed }
}

/** A place: see word-table.ts. */
function forEachPlace(
  { blocks }: WordIndex,
  places: Buffer,
  take: (block: number, times: number, whole: number) => void,
): void {
  let at = 0
  const next = () => {
    let value = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = places[at++] ?? 0
      value |= (byte & 127) << shift
      if (byte < 128) break
    }
    return value
  }
  let block = -1
  while (at < places.length) {
    const value = next()
    block += (value >>> 2) + 1
    if (block >= blocks) return
    const kind = value & 3
    const times = kind < 2 ? 1 : next()
    take(block, times, kind === 0 ? 1 : kind === 1 ? 0 : kind === 2 ? times : Math.min(next(), times))
  }
}

/** Collects hits word by word, and puts them in the order of blocks. */
function createHitList({ texts, blocks: blockCount }: WordIndex) {
  let blocks = new Int32Array(1 << 14)
  let meanings = new Int32Array(1 << 14)
  let count = 0
  const grow = (array: Int32Array) => {
    const larger = new Int32Array(array.length * 2)
    larger.set(array)
    return larger
  }
  const starts = new Int32Array(blockCount + 1)
  return {
    add(block: number, meaning: number, times: number) {
      if (meaning === 0) return
      for (let left = Math.min(times, mostHits - count); left > 0; left--) {
        if (count === blocks.length) {
          blocks = grow(blocks)
          meanings = grow(meanings)
        }
        blocks[count] = block
        meanings[count++] = meaning
        starts[block + 1]!++
      }
    },
    inOrder(): IndexHits {
      for (let block = 0; block < blockCount; block++) starts[block + 1]! += starts[block]!
      const next = starts.slice()
      const hits = new Int32Array(count)
      for (let at = 0; at < count; at++) hits[next[blocks[at]!]!++] = meanings[at]!
      for (const [order, { firstBlock }] of texts.entries()) {
        const end = texts[order + 1]?.firstBlock ?? blockCount
        for (let block = firstBlock; block < end; block++) {
          const line = (block - firstBlock) << blockBits
          for (let at = starts[block]!; at < starts[block + 1]!; at++) hits[at]! |= line << meaningBits
        }
      }
      return { hits, starts }
    },
  }
}
