// Makes the index of words: which words stand in which blocks of 32 lines of a commit. A search ranks all files from it and reads only the best ones.
//
//   a line of JSON   a digest of the paths, and the bytes of each part that follows
//   files            0 for a file that is not read, or else 1 (binary) or 2 (text), its bytes in UTF-8, its lines
//   words            in the order of their bytes: bytes shared with the word before, further bytes, these, bytes of its places
//   places           for each word: for each block twice the distance to the one before, plus 1 where a number follows: how often the word stands there
//
// Numbers have seven bits in a byte, the low ones first. Blocks are numbered through all text files. All of it is compressed by gzip.
import { createHash, randomInt } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { blockOfLine, forEachPart } from './scan-words.js'
import type { SourceFile, SourceFiles } from './source-files.js'

export const fileState = { unread: 0, binary: 1, text: 2 }

/** The index fits a list of files if this is equal. */
export function digestOfPaths(files: readonly SourceFile[]): string {
  const hash = createHash('sha256')
  for (const { path } of files) hash.update(`${path}\0`)
  return hash.digest('hex')
}

/** A zero in the first bytes. `size` leaves out the zero that follows the text. */
export const isBinary = (bytes: Uint8Array, size: number) => bytes.indexOf(0) < Math.min(size, 8_000)

/** How many blocks a text of so many lines has. */
export const blocksOf = (lines: number) => blockOfLine(lines) + 1

export async function makeWordIndex(corpus: SourceFiles): Promise<Buffer> {
  const words = createWordTable()
  const states = new Map<number, { state: number; size: number; lines: number }>()
  let firstBlock = 0
  await corpus.readAll((file, bytes) => {
    const { size } = file
    if (isBinary(bytes, size)) {
      states.set(file.index, { state: fileState.binary, size, lines: 0 })
      return
    }
    const lines = forEachPart(bytes, size, (from, to, line) =>
      words.add(bytes, from, to, firstBlock + blockOfLine(line)),
    )
    states.set(file.index, { state: fileState.text, size, lines })
    firstBlock += blocksOf(lines)
  })
  const files = createBytes()
  for (const { index } of corpus.files) {
    const { state, size, lines } = states.get(index) ?? { state: fileState.unread, size: 0, lines: 0 }
    files.number(state)
    if (state !== fileState.unread) files.number(size)
    if (state === fileState.text) files.number(lines)
  }
  return inParts(digestOfPaths(corpus.files), files.done(), ...words.write())
}

function inParts(paths: string, files: Buffer, words: Buffer, places: Buffer): Buffer {
  const head = { version: 1, paths, files: files.length, words: words.length, places: places.length }
  return gzipSync(Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), files, words, places]))
}

interface Bytes {
  number(value: number): void
  bytes(value: Uint8Array): void
  done(): Buffer
}

function createBytes(): Bytes {
  let room = Buffer.allocUnsafeSlow(1 << 16)
  let filled = 0
  const reserve = (more: number) => {
    if (filled + more <= room.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(room.length * 2, filled + more))
    room.copy(larger, 0, 0, filled)
    room = larger
  }
  return {
    number(value) {
      reserve(5)
      for (let rest = value; ; rest >>>= 7) {
        room[filled++] = rest > 127 ? (rest & 127) | 128 : rest
        if (rest <= 127) return
      }
    },
    bytes(value) {
      reserve(value.length)
      room.set(value, filled)
      filled += value.length
    },
    done: () => room.subarray(0, filled),
  }
}

interface WordTable {
  /** Blocks come in their order. */
  add(bytes: Uint8Array, from: number, to: number, block: number): void
  /** The words and their places. */
  write(): [Buffer, Buffer]
}

/** Bytes of a word's places come in cells of one pool: twelve bytes, and where the next cell is. */
const cell = { data: 12, size: 16 }

function larger<T extends Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(array: T): T {
  const copy = new (array.constructor as new (length: number) => T)(array.length * 2)
  copy.set(array)
  return copy
}

/** Words that were made to collide take a bounded time each, because the hash is another one in each process. */
const seed = randomInt(1 << 30)
const mostTries = 200

/** Words are found by their hash. Numbers only are kept for each word, because a repository has hundreds of thousands. */
function createWordTable(): WordTable {
  let slots = new Int32Array(1 << 17).fill(-1)
  let room = 1 << 15
  let count = 0
  let starts = new Int32Array(room)
  let lengths = new Uint8Array(room)
  let hashes = new Int32Array(room)
  let heads = new Int32Array(room)
  let ends = new Int32Array(room)
  let last = new Int32Array(room)
  let times = new Int32Array(room)
  let written = new Int32Array(room)
  /** Blocks before the first one are counted from -1. */
  let previous = new Int32Array(room)
  let text = Buffer.allocUnsafeSlow(1 << 18)
  let textFilled = 0
  let pool = Buffer.alloc(1 << 20)
  let poolFilled = 0

  const growWords = () => {
    room *= 2
    starts = larger(starts)
    lengths = larger(lengths)
    hashes = larger(hashes)
    heads = larger(heads)
    ends = larger(ends)
    last = larger(last)
    times = larger(times)
    written = larger(written)
    previous = larger(previous)
    slots = new Int32Array(slots.length * 2).fill(-1)
    for (let word = 0; word < count; word++) {
      let slot = slotOf(hashes[word]!)
      while (slots[slot] !== -1) slot = (slot + 1) & (slots.length - 1)
      slots[slot] = word
    }
  }

  const slotOf = (hash: number) => (hash ^ (hash >>> 15)) & (slots.length - 1)

  const newCell = () => {
    if (poolFilled + cell.size > pool.length) {
      pool = Buffer.concat([pool, Buffer.alloc(pool.length)])
    }
    poolFilled += cell.size
    return poolFilled - cell.size
  }

  const append = (word: number, byte: number) => {
    const inCell = written[word]! % cell.data
    if (inCell === 0) {
      const next = newCell()
      if (written[word] === 0) heads[word] = next
      else pool.writeInt32LE(next, ends[word]! + cell.data)
      ends[word] = next
    }
    pool[ends[word]! + inCell] = byte
    written[word]!++
  }

  const appendNumber = (word: number, value: number) => {
    let rest = value
    for (; rest > 127; rest >>>= 7) append(word, (rest & 127) | 128)
    append(word, rest)
  }

  const closeBlock = (word: number) => {
    const distance = last[word]! - previous[word]! - 1
    const often = times[word]!
    appendNumber(word, distance * 2 + Number(often > 1))
    if (often > 1) appendNumber(word, often)
    previous[word] = last[word]!
  }

  /** -1 for a word that has no room among those of nearly its hash. */
  const find = (bytes: Uint8Array, from: number, to: number): number => {
    let hash = seed
    for (let at = from; at < to; at++) hash = Math.imul(hash, 0x01000193) ^ lowered(bytes[at]!)
    let slot = slotOf(hash)
    for (let tries = 0; slots[slot] !== -1; slot = (slot + 1) & (slots.length - 1)) {
      if (++tries > mostTries) return -1
      const word = slots[slot]!
      if (hashes[word] === hash && lengths[word] === to - from && isEqual(word, bytes, from)) return word
    }
    if (count === room) {
      growWords()
      return find(bytes, from, to)
    }
    slots[slot] = count
    hashes[count] = hash
    starts[count] = textFilled
    lengths[count] = to - from
    last[count] = -1
    previous[count] = -1
    if (textFilled + to - from > text.length) text = Buffer.concat([text, Buffer.alloc(text.length)])
    for (let at = from; at < to; at++) text[textFilled++] = lowered(bytes[at]!)
    return count++
  }

  const isEqual = (word: number, bytes: Uint8Array, from: number) => {
    const start = starts[word]!
    for (let at = 0; at < lengths[word]!; at++) if (text[start + at] !== lowered(bytes[from + at]!)) return false
    return true
  }

  const textOf = (word: number) => text.subarray(starts[word], starts[word]! + lengths[word]!)

  return {
    add(bytes, from, to, block) {
      const word = find(bytes, from, to)
      if (word < 0) return
      if (last[word] === block) {
        times[word]!++
        return
      }
      if (last[word] !== -1) closeBlock(word)
      last[word] = block
      times[word] = 1
    },
    write() {
      const words = createBytes()
      const places = createBytes()
      const order = Uint32Array.from({ length: count }, (_, word) => word)
      const endOf = (word: number) => starts[word]! + lengths[word]!
      order.sort((a, b) => text.compare(text, starts[b], endOf(b), starts[a], endOf(a)))
      let before: Uint8Array = new Uint8Array(0)
      for (const word of order) {
        closeBlock(word)
        const own = textOf(word)
        let shared = 0
        while (shared < own.length && own[shared] === before[shared]) shared++
        words.number(shared)
        words.number(own.length - shared)
        words.bytes(own.subarray(shared))
        words.number(written[word]!)
        let from = heads[word]!
        for (let left = written[word]!; left > 0; left -= cell.data) {
          places.bytes(pool.subarray(from, from + Math.min(left, cell.data)))
          from = pool.readInt32LE(from + cell.data)
        }
        before = own
      }
      return [words.done(), places.done()]
    },
  }
}

const lowered = (byte: number) => (byte >= 65 && byte <= 90 ? byte + 32 : byte)
