// Reads the index of words. Sandbox A made it and may lie: whatever it says, reading ends and takes no more memory than a scan of all files could.
import { gunzipSync } from 'node:zlib'
import { parseJson } from '../../../util/decode.js'
import type { Query } from './query.js'
import { blockBits, forEachPart, meaningBits, type WordScanner } from './scan-words.js'
import type { SourceFile } from './source-files.js'
import { blocksOf, digestOfPaths, fileState } from './word-index.js'

export interface WordIndex {
  /** The text files, in the order of the files. */
  files: { file: SourceFile; lines: number; firstBlock: number }[]
  blocks: number
  words: Buffer
  places: Buffer
}

const largestIndex = 500_000_000
const mostBlocks = 20_000_000
const mostHits = 20_000_000

/** Gives the files the sizes that reading them would. Undefined where it is no index of these files. */
export function readWordIndex(packed: Uint8Array, files: readonly SourceFile[]): WordIndex | undefined {
  try {
    const bytes = gunzipSync(packed, { maxOutputLength: largestIndex })
    const start = bytes.indexOf(10) + 1
    const head = parseJson(bytes.toString('utf8', 0, start)) as Record<string, unknown> | undefined
    if (head?.['version'] !== 1 || head['paths'] !== digestOfPaths(files)) return undefined
    const middle = start + Number(head['files'])
    const end = middle + Number(head['words'])
    const found = readFiles(bytes.subarray(start, middle), files)
    if (found.blocks > mostBlocks) return undefined
    return { ...found, words: bytes.subarray(middle, end), places: bytes.subarray(end) }
  } catch {
    return undefined
  }
}

function readFiles(bytes: Buffer, files: readonly SourceFile[]): Pick<WordIndex, 'files' | 'blocks'> {
  const numbers = createNumbers(bytes)
  const found: WordIndex['files'] = []
  let blocks = 0
  for (const file of files) {
    const state = numbers.next()
    if (state === fileState.unread) continue
    file.size = numbers.next()
    if (state !== fileState.text) continue
    const lines = numbers.next()
    found.push({ file, lines, firstBlock: blocks })
    blocks += blocksOf(lines)
  }
  return { files: found, blocks }
}

/** Zeros follow the last byte. */
function createNumbers(bytes: Buffer) {
  const numbers = {
    at: 0,
    next() {
      let value = 0
      for (let shift = 0; shift < 31; shift += 7) {
        const byte = bytes[numbers.at++] ?? 0
        value += (byte & 127) * 2 ** shift
        if (byte < 128) break
      }
      return value
    },
  }
  return numbers
}

interface IndexHits {
  /** In the order of blocks; the first line of its block stands for the line of each. */
  hits: Int32Array
  /** Where the hits of each block begin; one more number says where the last ones end. */
  starts: Int32Array
  /** Blocks with all parts of a whole identifier of the question. */
  identifierBlocks: Set<number>
}

/** The hits of the question's words in all files. */
export function findHits(index: WordIndex, query: Query, scanner: Pick<WordScanner, 'numberOf'>): IndexHits {
  const identifiers = [...query.identifiers.keys()].map(partsOf).filter((parts) => parts.length > 0)
  const blocksOfPart = new Map(identifiers.flat().map((part) => [part, new Set<number>()]))
  const found = createHitList(index)
  walkWords(index, (word, places) => {
    const meaning = scanner.numberOf(word)
    const blocks = blocksOfPart.get(word.toString('latin1'))
    if (meaning === 0 && !blocks) return
    forEachPlace(index, places, (block, times) => {
      blocks?.add(block)
      if (meaning !== 0) found.add(block, meaning, times)
    })
  })
  const together = identifiers.map((parts) => parts.map((part) => blocksOfPart.get(part)!))
  const inAll = (sets: readonly Set<number>[]) => [...sets[0]!].filter((block) => sets.every((set) => set.has(block)))
  const identifierBlocks = new Set(together.flatMap(inAll))
  return { ...found.inOrder(), identifierBlocks }
}

/** The parts of an identifier, as the index has them. */
function partsOf(identifier: string): string[] {
  const bytes = Buffer.from(`${identifier}\0`)
  const parts: string[] = []
  forEachPart(bytes, bytes.length - 1, (from, to) => parts.push(bytes.toString('latin1', from, to).toLowerCase()))
  return parts
}

interface Range {
  from: number
  to: number
}

/** The bytes of a word are valid during the call only. */
function walkWords({ words, places }: WordIndex, take: (word: Buffer, places: Range) => void): void {
  const numbers = createNumbers(words)
  const room = Buffer.alloc(256)
  let from = 0
  while (numbers.at < words.length && from < places.length) {
    const shared = numbers.next()
    const more = numbers.next()
    if (shared + more >= room.length) return
    words.copy(room, shared, numbers.at, numbers.at + more)
    numbers.at += more
    const to = from + numbers.next()
    room[shared + more] = 0
    take(room.subarray(0, shared + more), { from, to })
    from = to
  }
}

function forEachPlace(
  { places, blocks }: WordIndex,
  { from, to }: Range,
  take: (block: number, times: number) => void,
) {
  const numbers = createNumbers(places)
  numbers.at = from
  let block = -1
  while (numbers.at < Math.min(to, places.length)) {
    const value = numbers.next()
    block += Math.floor(value / 2) + 1
    if (block >= blocks) return
    take(block, value % 2 === 1 ? numbers.next() : 1)
  }
}

/** Collects hits word by word, and puts them in the order of blocks. */
function createHitList({ files, blocks: blockCount }: WordIndex) {
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
    inOrder(): Pick<IndexHits, 'hits' | 'starts'> {
      for (let block = 0; block < blockCount; block++) starts[block + 1]! += starts[block]!
      const next = starts.slice()
      const hits = new Int32Array(count)
      for (let at = 0; at < count; at++) hits[next[blocks[at]!]!++] = meanings[at]!
      for (const [order, { firstBlock }] of files.entries()) {
        const end = files[order + 1]?.firstBlock ?? blockCount
        for (let block = firstBlock; block < end; block++) {
          const line = (block - firstBlock) << blockBits
          for (let at = starts[block]!; at < starts[block + 1]!; at++) hits[at]! |= line << meaningBits
        }
      }
      return { hits, starts }
    },
  }
}
