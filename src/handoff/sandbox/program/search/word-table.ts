// Counts in which blocks of 32 lines each word stands, with numbers only, because a repository has hundreds of thousands of words.
import { createHash, randomInt } from 'node:crypto'
import type { PageWriter } from './sorted-pages.js'

interface WordTable {
  /** Blocks come in their order. `whole`: the word is a whole identifier, as it is written. */
  add(bytes: Uint8Array, from: number, to: number, block: number, whole: boolean): void
  /**
   * Each word with its places. A place is a block: four times the distance to the one before, plus 0 for a word that stands there once and whole, 1 for
   * once as a part, 2 where the number of times follows, all of them whole, and 3 where both numbers follow.
   */
  write(to: PageWriter): void
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
export function createWordTable({ ignoreCase, hashed }: { ignoreCase: boolean; hashed: boolean }): WordTable {
  const spelled = ignoreCase ? lowered : (byte: number) => byte
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
  let wholes = new Int32Array(room)
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
    wholes = larger(wholes)
    written = larger(written)
    previous = larger(previous)
    slots = new Int32Array(slots.length * 2).fill(-1)
    for (let word = 0; word < count; word++) {
      let slot = slotOf(hashes[word]!)
      while (slots[slot] !== -1) slot = (slot + 1) & (slots.length - 1)
      slots[slot] = word
    }
  }

  const slotOf = (hash: number) => hash & (slots.length - 1)

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
    const whole = wholes[word]!
    const kind = often === 1 ? 1 - whole : often === whole ? 2 : 3
    appendNumber(word, distance * 4 + kind)
    if (kind > 1) appendNumber(word, often)
    if (kind > 2) appendNumber(word, whole)
    previous[word] = last[word]!
  }

  const hashOf = (bytes: Uint8Array, from: number, to: number) => {
    let hash = seed
    for (let at = from; at < to; at++) hash = Math.imul(hash, 0x01000193) ^ spelled(bytes[at]!)
    return mixed(hash)
  }

  /** -1 for a word that has no room among those of nearly its hash. */
  const find = (bytes: Uint8Array, from: number, to: number): number => {
    const hash = hashOf(bytes, from, to)
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
    for (let at = from; at < to; at++) text[textFilled++] = spelled(bytes[at]!)
    return count++
  }

  const isEqual = (word: number, bytes: Uint8Array, from: number) => {
    const start = starts[word]!
    for (let at = 0; at < lengths[word]!; at++) if (text[start + at] !== spelled(bytes[from + at]!)) return false
    return true
  }

  const textOf = (word: number) => text.subarray(starts[word], starts[word]! + lengths[word]!)

  return {
    add(bytes, from, to, block, whole) {
      const word = find(bytes, from, to)
      if (word < 0) return
      if (last[word] !== block) {
        if (last[word] !== -1) closeBlock(word)
        last[word] = block
        times[word] = 0
        wholes[word] = 0
      }
      times[word]!++
      if (whole) wholes[word]!++
    },
    write(to) {
      if (hashed) {
        text = Buffer.concat(Array.from({ length: count }, (_, word) => hashedKey(textOf(word))))
        for (let word = 0; word < count; word++) starts[word] = word * keyBytes
        lengths.fill(keyBytes)
      }
      const order = Uint32Array.from({ length: count }, (_, word) => word)
      const endOf = (word: number) => starts[word]! + lengths[word]!
      order.sort((a, b) => text.compare(text, starts[b], endOf(b), starts[a], endOf(a)))
      for (const word of order) {
        closeBlock(word)
        const places = Buffer.allocUnsafe(written[word]!)
        let from = heads[word]!
        for (let at = 0; at < places.length; at += cell.data) {
          pool.copy(places, at, from, from + Math.min(places.length - at, cell.data))
          from = pool.readInt32LE(from + cell.data)
        }
        to.add(textOf(word), places)
      }
    },
  }
}

const keyBytes = 4

/** Stands for a whole identifier. An identifier may be a credential that was committed, which no file beside the clone may have. */
export const hashedKey = (identifier: Uint8Array): Buffer =>
  createHash('sha256').update(identifier).digest().subarray(0, keyBytes)

/** The last step of MurmurHash3: words that differ in one byte have slots far from one another, so that short words do not take a row of slots. */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35)
  return twice ^ (twice >>> 16)
}

const lowered = (byte: number) => (byte >= 65 && byte <= 90 ? byte + 32 : byte)
