// The hits of a question's words and identifiers, from an index that knows in which blocks of lines each stands. Sandbox A made it and may lie: whatever
// it says, reading ends and takes no more memory than a scan of all files could.
import type { Query } from './query.js'
import {
  blockBits,
  identifierParts,
  isPlainWord,
  meaningBits,
  meaningMask,
  type WordScanner,
  wantedRanges,
} from './scan-words.js'
import { type KeyRange, onlyKey } from './sorted-pages.js'
import type { SourceFile } from './source-files.js'
import { hashOf, type TakeWord } from './word-pages.js'
import { type Identifiers, keptBits, type Places } from './word-places.js'

export interface WordIndex {
  /** The text files, in the order of the files. */
  texts: { file: SourceFile; lines: number; firstBlock: number }[]
  blocks: number
  /** Calls `take` with each word that is in one of the ranges, and where it stands. */
  lookUp(ranges: readonly KeyRange[], take: TakeWord): Promise<void>
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
  const identifiers = countableIdentifiers(query, scanner)
  const plain = new Map([...identifiers].filter(([name]) => isPlainWord(Buffer.from(name), 0, name.length)))
  const others = byPart([...identifiers].filter(([name]) => !plain.has(name)))
  const keys = [...plain.keys(), ...others.keys()].map((key) => onlyKey(Buffer.from(key, 'latin1')))
  await index.lookUp([...wantedRanges(query), ...keys], (word, places, built) => {
    const key = word.toString('latin1')
    addPlaces(found, places, scanner.numberOf(word), plain.get(key) ?? 0)
    for (const wanted of others.get(key) ?? []) addIdentifier(found, built, wanted)
  })
  return found.inOrder()
}

type Found = ReturnType<typeof createHitList>

function addPlaces(found: Found, { count, blocks, times, wholes }: Places, meaning: number, identifier: number): void {
  if (meaning === 0 && identifier === 0) return
  for (let at = 0; at < count; at++) {
    found.add(blocks[at]!, meaning, times[at]!)
    found.add(blocks[at]!, identifier, wholes[at]!)
  }
}

interface WantedIdentifier {
  hash: number
  /** The index of its meaning. */
  number: number
}

function addIdentifier(found: Found, { count, hashes, ends, places }: Identifiers, wanted: WantedIdentifier): void {
  const kept = wanted.hash >>> (32 - keptBits(count))
  for (let one = 0; one < count; one++) {
    if (hashes[one] !== kept) continue
    for (let at = ends[one - 1] ?? 0; at < ends[one]!; at++)
      found.add(places.blocks[at]!, wanted.number, places.times[at]!)
  }
}

/** Identifiers by each of their words, because only the index knows with which one an identifier stands. */
function byPart(identifiers: readonly [name: string, number: number][]) {
  const found = new Map<string, WantedIdentifier[]>()
  for (const [name, number] of identifiers) {
    const bytes = Buffer.from(name, 'latin1')
    const hash = hashOf(bytes)
    for (const part of new Set(
      identifierParts(bytes).map((one) => one.toString('latin1').replace(/[A-Z]/g, lowered)),
    )) {
      found.set(part, [...(found.get(part) ?? []), { hash, number }])
    }
  }
  return found
}

const lowered = (capital: string) => capital.toLowerCase()

/** The whole identifiers of the question that a scan would count, each with the index of its meaning: one of their parts is a word of the question. */
function countableIdentifiers(query: Query, scanner: WordScanner): Map<string, number> {
  const found = new Map<string, number>()
  for (const [name, concept] of query.identifiers) {
    const bytes = Buffer.from(`${name}\n\0`)
    const from = scanner.hitCount
    scanner.scan(bytes, bytes.length - 1)
    const numbers = [...scanner.hits.subarray(from, scanner.hitCount)].map((hit) => hit & meaningMask)
    scanner.hitCount = from
    const own = numbers.find((number) => scanner.meanings[number]!.join() === `${concept},1`)
    if (own !== undefined) found.set(name, own)
  }
  return found
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
