// One pass over every byte of every file: which words of the question stand on which lines. Written for speed: a word is
// only read when its first three letters begin a wanted word, and only numbers are kept.
import { type Meaning, meaningOfWord, type Query } from './query.js'
import type { KeyRange } from './sorted-pages.js'
import { splitIdentifier, wordParts } from './tokenize.js'

const lower = 1
const upper = 2
const digit = 3
const high = 4
const underscore = 5
const lineEnd = 6

const endCode = 29
const codeMask = (1 << 15) - 1

const kinds = new Uint8Array(256)
/** Five bits, equal for a letter and its capital. */
const letters = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  if (byte >= 97 && byte <= 122) kinds[byte] = lower
  else if (byte >= 65 && byte <= 90) kinds[byte] = upper
  else if (byte >= 48 && byte <= 57) kinds[byte] = digit
  else if (byte >= 128) kinds[byte] = high
  else if (byte === 95) kinds[byte] = underscore
  else if (byte === 10) kinds[byte] = lineEnd
  letters[byte] = [0, byte & 31, byte & 31, 27, 28, 0, endCode][kinds[byte]!]!
}

/** A hit is one number: the line (from 1) and the index of a meaning. */
export const meaningBits = 11
export const meaningMask = (1 << meaningBits) - 1
const lineLimit = 1 << (31 - meaningBits)
const meaningLimit = meaningMask + 1

export interface WordScanner {
  /** Scans one file and returns its number of lines. `bytes[size]` must exist and be 0. Hits are added to `hits`. */
  scan(bytes: Uint8Array, size: number): number
  /** The index of the meaning of a whole word, 0 for none. */
  numberOf(word: Buffer): number
  hits: Int32Array
  hitCount: number
  /** By the index in a hit. */
  meanings: Meaning[]
}

export function createWordScanner(query: Query): WordScanner {
  const wanted = wantedPrefixes(query)
  const resolve = createResolver(query)
  const shortWords = wanted.includes(3)
  const hasIdentifiers = query.identifiers.size > 0
  const scanner: WordScanner = {
    scan: look,
    numberOf: (word) => (isWanted(wanted, word) ? resolve.part(word, 0, word.length) : 0),
    hits: new Int32Array(1 << 14),
    hitCount: 0,
    meanings: resolve.meanings,
  }
  let lastIdentifier = -1
  let stops = new Int32Array(1 << 16)

  function add(line: number, number: number): void {
    if (number === 0) return
    if (scanner.hitCount === scanner.hits.length) scanner.hits = growArray(scanner.hits)
    scanner.hits[scanner.hitCount++] = (Math.min(line, lineLimit - 1) << meaningBits) | number
  }

  function meet(bytes: Uint8Array, start: number, line: number): void {
    if (start < 0 || !beginsPart(bytes, start)) return
    const before = scanner.hitCount
    add(line, resolve.part(bytes, start, partEnd(bytes, start)))
    if (!hasIdentifiers || scanner.hitCount === before) return
    const first = identifierStart(bytes, start)
    if (first !== lastIdentifier) add(line, resolve.identifier(bytes, first, identifierEnd(bytes, start)))
    lastIdentifier = first
  }

  function look(bytes: Uint8Array, size: number): number {
    if (stops.length <= size) stops = new Int32Array(size * 2)
    const count = findStops(bytes, size, wanted, stops)
    let line = 1
    lastIdentifier = -1
    for (let index = 0; index < count; index++) {
      const at = stops[index]!
      const isEnd = bytes[at] === 10
      // A word of two letters may end a line.
      if (!isEnd || shortWords) meet(bytes, at - 2, line)
      if (!isEnd) continue
      line++
    }
    return size > 0 && bytes[size - 1] === 10 ? line - 1 : line
  }

  return scanner
}

/** The only loop over every byte. It calls nothing, so that its variables stay in registers. */
function findStops(bytes: Uint8Array, size: number, wanted: Uint8Array, stops: Int32Array): number {
  let count = 0
  let code = 0
  // One step past the end, so that a last word of two letters is found.
  for (let at = 0; at <= size; at++) {
    code = ((code << 5) | letters[bytes[at]!]!) & codeMask
    if (wanted[code] !== 0) stops[count++] = at
  }
  return count
}

/** Calls `take` with each part of an identifier from two bytes on, and its line from 1. Returns the number of lines. `bytes[size]` is 0. */
export function forEachPart(
  bytes: Uint8Array,
  size: number,
  take: (from: number, to: number, line: number) => void,
): number {
  let line = 1
  for (let at = 0; at < size; ) {
    const kind = kinds[bytes[at]!]!
    if (kind === lineEnd) line++
    if (kind === 0 || kind === lineEnd || kind === underscore || !beginsPart(bytes, at)) {
      at++
      continue
    }
    const end = partEnd(bytes, at)
    if (end - at > 1 && end - at <= longestPart) take(at, end, line)
    at = end
  }
  return size > 0 && bytes[size - 1] === 10 ? line - 1 : line
}

/** Longer ones are encoded data. */
const longestPart = 200

/** A block has 32 lines. Lines over the limit count as the last one. */
export const blockOfLine = (line: number) => Math.min(line, lineLimit - 1) >> blockBits
export const blockBits = 5

/** How many blocks a text of so many lines has. */
export const blocksOf = (lines: number) => blockOfLine(lines) + 1

/** Whether a part of an identifier begins here. `parseHTTPHeader` has three parts. */
function beginsPart(bytes: Uint8Array, at: number): boolean {
  const kind = kinds[bytes[at]!]!
  const before = at === 0 ? 0 : kinds[bytes[at - 1]!]!
  if (kind === upper) return before !== upper || kinds[bytes[at + 1]!] === lower
  if (kind === digit) return before !== digit
  return before !== lower && before !== upper && before !== high
}

function partEnd(bytes: Uint8Array, start: number): number {
  const first = kinds[bytes[start]!]!
  let at = start + 1
  if (first === digit) {
    while (kinds[bytes[at]!] === digit) at++
  } else if (first === upper && kinds[bytes[at]!] === upper) {
    while (kinds[bytes[at]!] === upper) at++
    // The last capital begins the next part.
    if (kinds[bytes[at]!] === lower) at--
  } else while (kinds[bytes[at]!] === lower || kinds[bytes[at]!] === high) at++
  return at
}

export function identifierStart(bytes: Uint8Array, at: number): number {
  let first = at
  while (first > 0 && isWord(bytes[first - 1]!)) first--
  return first
}

export function identifierEnd(bytes: Uint8Array, at: number): number {
  let end = at
  while (isWord(bytes[end]!)) end++
  return end
}

/** Lower-case letters of English only, or digits only. */
export function isPlainWord(bytes: Uint8Array, from: number, to: number): boolean {
  const kind = kinds[bytes[from]!]
  for (let at = from; at < to; at++) if (kinds[bytes[at]!] !== kind) return false
  return kind === lower || kind === digit
}

function isWord(byte: number): boolean {
  const kind = kinds[byte]!
  return kind !== 0 && kind !== lineEnd
}

/**
 * Which sequences of three letters start a wanted word (1), end a line (2), or both (3): a two-letter word and its line end. Stems keep at least three
 * letters of a word, or all of it.
 */
function wantedPrefixes(query: Query): Uint8Array {
  const wanted = new Uint8Array(1 << 15)
  for (let code = endCode; code < wanted.length; code += 32) wanted[code] = 2
  const mark = (word: string) => {
    const bytes = Buffer.from(word, 'utf8')
    const [first = 0, second = 0, third = 0] = bytes.subarray(0, 3).map((byte) => letters[byte]!)
    const code = (first << 10) | (second << 5) | third
    if (bytes.length > 2) wanted[code]! |= 1
    if (bytes.length === 2) for (let next = code; next < code + 32; next++) wanted[next]! |= 1
  }
  for (const form of query.meanings.keys()) mark(form)
  for (const { word, exact } of query.concepts) if (!exact) mark(word)
  return wanted
}

/** The keys among which all words are that the scan would look at. */
export function wantedRanges(query: Query): KeyRange[] {
  const words = [...query.meanings.keys(), ...query.concepts.flatMap(({ word, exact }) => (exact ? [] : [word]))]
  return words.map((word) => {
    const bytes = Buffer.from(word).subarray(0, 3)
    // All bytes of other scripts count as one.
    const from = bytes.map((byte) => Math.min(byte, 128))
    const to = bytes.map((byte) => (byte < 128 ? byte : 255))
    return { from: Buffer.from(from), to: Buffer.concat([to, Buffer.alloc(4, 255)]) }
  })
}

/** Whether the scan would look at a word. */
function isWanted(wanted: Uint8Array, word: Uint8Array): boolean {
  const [first = 0, second = 0, third = 0] = word.subarray(0, 3).map((byte) => letters[byte]!)
  return (wanted[(first << 10) | (second << 5) | third]! & 1) !== 0
}

const slots = 1 << 15

/** Maps the bytes of a word to the index of its meaning. Each distinct word is resolved once and then found by its hash. */
function createResolver(query: Query) {
  const meanings: Meaning[] = [[]]
  const numbers = new Map<string, number>()
  const hashes = new Int32Array(slots)
  const known = new Int16Array(slots).fill(-1)
  let filled = 0

  const numberOf = (meaning: Meaning | undefined): number => {
    if (!meaning || meaning.length === 0) return 0
    const key = meaning.join(' ')
    let number = numbers.get(key)
    if (number === undefined && meanings.length < meaningLimit) {
      number = meanings.push(meaning) - 1
      numbers.set(key, number)
    }
    return number ?? 0
  }

  const part = (bytes: Uint8Array, from: number, to: number): number => {
    let hash = 0
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!
      hash = Math.imul(hash, 0x01000193) ^ (kinds[byte] === upper ? byte + 32 : byte)
    }
    let slot = (hash ^ (hash >>> 15)) & (slots - 1)
    while (known[slot] !== -1 && hashes[slot] !== hash) slot = (slot + 1) & (slots - 1)
    if (known[slot] !== -1) return known[slot]!
    const number = to - from > longestPart ? 0 : numberOf(meaningOfBytes(query, bytes, from, to))
    if (filled < slots / 2) {
      hashes[slot] = hash
      known[slot] = number
      filled++
    }
    return number
  }

  const identifier = (bytes: Uint8Array, from: number, to: number): number => {
    const concept = query.identifiers.get(
      Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1'),
    )
    return concept === undefined ? 0 : numberOf([concept, 1])
  }

  return { meanings, part, identifier }
}

function meaningOfBytes(query: Query, bytes: Uint8Array, from: number, to: number): Meaning | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from)
    .toString('utf8')
    .toLowerCase()
  if (/^[\0-\x7f]*$/.test(text)) return meaningOfWord(query, text)
  return splitIdentifier(text.normalize('NFC'))
    .flatMap(wordParts)
    .flatMap((word) => meaningOfWord(query, word) ?? [])
}

function growArray(array: Int32Array): Int32Array {
  const larger = new Int32Array(array.length * 2)
  larger.set(array)
  return larger
}
