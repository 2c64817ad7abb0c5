// Keys in the order of their bytes, each with a value, in pages of some kilobytes. A reader that knows the first key of each page fetches only those
// that it needs, and checks each by its digest.
import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ByteReader, type ByteWriter, createWriter } from './bytes.js'

export interface Page {
  /** Its first key. */
  first: Buffer
  length: number
  digest: Buffer
}

/** Bytes of a page before it is deflated. A longer value has a page of its own. */
const pageBytes = 16_384
const longestPage = 64_000_000
const digestBytes = 16

/** Several tables in one file. */
export interface PageFile {
  add(first: Uint8Array, bytes: Buffer): void
  /** Ends a table: its pages. The next page begins another one in the same file. */
  endTable(): Page[]
  bytes(): Buffer
}

export function createPageFile(): PageFile {
  const file: Buffer[] = []
  let pages: Page[] = []
  return {
    add(first, bytes) {
      pages.push({ first: Buffer.from(first), length: bytes.length, digest: digestOf(bytes) })
      file.push(bytes)
    },
    endTable() {
      const ended = pages
      pages = []
      return ended
    },
    bytes: () => Buffer.concat(file),
  }
}

/** The keys of one page, in the order of their bytes: bytes shared with the key before, further bytes, these. */
export function createKeyWriter() {
  const keys = createWriter()
  let first: Buffer | undefined
  let before: Uint8Array = new Uint8Array(0)
  return {
    keys,
    add(key: Uint8Array) {
      first ??= Buffer.from(key)
      let shared = 0
      while (shared < key.length && key[shared] === before[shared]) shared++
      keys.number(shared)
      keys.number(key.length - shared)
      keys.bytes(key.subarray(shared))
      before = key
    },
    first: () => first,
    /** Deflated, with the length before. Starts anew. */
    take(): Buffer {
      const deflated = deflateRawSync(keys.take(), { level: 9 })
      keys.number(deflated.length)
      first = undefined
      before = new Uint8Array(0)
      return Buffer.concat([keys.take(), deflated])
    },
  }
}

interface PageWriter {
  /** Keys come in the order of their bytes. */
  add(key: Uint8Array, value: Uint8Array): void
  /** Ends the table. */
  end(): Page[]
}

/** Pages of keys and of values, which are apart because both are smaller so. After each key stands how long its value is. */
export function createPageWriter(file: PageFile): PageWriter {
  const keys = createKeyWriter()
  const values = createWriter()
  const endPage = () => {
    const first = keys.first()
    if (first) file.add(first, Buffer.concat([keys.take(), deflateRawSync(values.take(), { level: 9 })]))
  }
  return {
    add(key, value) {
      if (keys.first() && keys.keys.length() + values.length() + value.length > pageBytes) endPage()
      keys.add(key)
      keys.keys.number(value.length)
      values.bytes(value)
    },
    end() {
      endPage()
      return file.endTable()
    },
  }
}

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest().subarray(0, digestBytes)

/** Each with its bytes, in the order of the bytes. */
export function inOrder(texts: Iterable<string>): [Buffer, string][] {
  return [...texts].map((text): [Buffer, string] => [Buffer.from(text), text]).sort(([a], [b]) => a.compare(b))
}

export function writePageList(to: ByteWriter, pages: readonly Page[]): void {
  to.number(pages.length)
  for (const { first, length, digest } of pages) {
    to.number(first.length)
    to.bytes(first)
    to.number(length)
    to.bytes(digest)
  }
}

/** The pages of a table. What the list says of each stays in its bytes, because a large repository has thousands. */
export interface PageList {
  bytes: Buffer
  pages: ListedPage[]
}

interface ListedPage {
  offset: number
  length: number
  firstKey: Range
  digestAt: number
}

/** Of some bytes. */
interface Range {
  from: number
  to: number
}

/** The pages of a table that begins at `offset`. */
export function readPageList(list: ByteReader, offset: number): PageList {
  const pages: ListedPage[] = []
  let next = offset
  for (let left = list.number(); left > 0; left--) {
    const from = list.skip(list.number())
    const firstKey = { from, to: list.at }
    const length = list.number()
    pages.push({ offset: next, length, firstKey, digestAt: list.skip(digestBytes) })
    next += length
  }
  return { bytes: list.all, pages }
}

/** A range of keys: `to` is not in it. */
export interface KeyRange {
  from: Uint8Array
  to: Uint8Array
}

/** The range of one key. */
export const onlyKey = (key: Uint8Array): KeyRange => ({ from: key, to: Buffer.concat([key, Buffer.alloc(1)]) })

/** Called with an entry as it is stored. Bytes are valid during the call only, and a zero follows those of the key. */
type TakeEntry = (key: Buffer, value: Buffer) => void

/** Calls `take` with each entry whose key is in one of the ranges. `read` reads pages. */
export function lookUp(list: PageList, ranges: readonly KeyRange[], read: ReadPages, take: TakeEntry): Promise<void> {
  return forEachPage(list, ranges, read, (stored, _, wanted) => {
    const { keys, body } = readKeys(stored)
    const isWanted = rangesInOrder(wanted)
    const values = new ByteReader(inflateRawSync(body, { maxOutputLength: longestPage }))
    for (let key = keys.next(); key; key = keys.next()) {
      const isNext = isWanted(key)
      if (isNext === undefined) return
      const length = keys.bytes.number()
      if (isNext) take(key, values.bytes(length))
      else values.skip(length)
    }
  })
}

export type ReadPages = (pages: readonly ListedPage[]) => Promise<Buffer[]>

/** Calls `take` with each page that may have a key in one of the ranges, and with its first key. */
export async function forEachPage(
  { bytes, pages }: PageList,
  ranges: readonly KeyRange[],
  read: ReadPages,
  take: (stored: Buffer, first: Buffer, wanted: readonly KeyRange[]) => void,
): Promise<void> {
  const wanted = inOrderAndApart(ranges)
  const chosen = pagesFor({ bytes, pages }, wanted)
  for (const [at, stored] of (await read(chosen)).entries()) {
    const { digestAt, firstKey } = chosen[at]!
    if (!digestOf(stored).equals(bytes.subarray(digestAt, digestAt + digestBytes)))
      throw new RangeError('A page of the search index is not the one that was sealed.')
    take(stored, bytes.subarray(firstKey.from, firstKey.to), wanted)
  }
}

/** For the keys of a page in their order: whether each is in a range, and undefined where no later one can be. */
export function rangesInOrder(ranges: readonly KeyRange[]): (key: Buffer) => boolean | undefined {
  let next = 0
  return (key) => {
    const whole = { from: 0, to: key.length }
    while (next < ranges.length && compare(key, whole, ranges[next]!.to) >= 0) next++
    return next === ranges.length ? undefined : compare(key, whole, ranges[next]!.from) >= 0
  }
}

/** The keys at the beginning of a page, and what follows them. */
export function readKeys(stored: Buffer): { keys: KeyReader; body: Buffer } {
  const page = new ByteReader(stored)
  const keys = new KeyReader(inflateRawSync(page.bytes(page.number()), { maxOutputLength: longestPage }))
  return { keys, body: stored.subarray(page.at) }
}

/** Between two keys may stand what belongs to the first: see `bytes`. */
class KeyReader {
  readonly bytes: ByteReader
  private key = Buffer.alloc(1_024)

  constructor(bytes: Buffer) {
    this.bytes = new ByteReader(bytes)
  }

  /** Valid until the next call; a zero follows it. Undefined behind the last one. */
  next(): Buffer | undefined {
    if (this.bytes.isAtEnd()) return undefined
    const shared = this.bytes.number()
    const more = this.bytes.number()
    const end = shared + more
    if (end >= this.key.length) this.key = Buffer.concat([this.key, Buffer.alloc(Math.min(end, longestPage) + 1)])
    const from = this.bytes.skip(more)
    for (let at = 0; at < more; at++) this.key[shared + at] = this.bytes.all[from + at]!
    this.key[end] = 0
    return this.key.subarray(0, end)
  }
}

/** Ranges that overlap become one. */
function inOrderAndApart(ranges: readonly KeyRange[]): KeyRange[] {
  const apart: KeyRange[] = []
  for (const range of ranges.toSorted((a, b) => Buffer.compare(a.from, b.from))) {
    const last = apart.at(-1)
    if (!last || Buffer.compare(last.to, range.from) < 0) apart.push({ ...range })
    else if (Buffer.compare(last.to, range.to) < 0) last.to = range.to
  }
  return apart
}

/** The pages that may have a key in one of the ranges, which are in their order. */
function pagesFor({ bytes, pages }: PageList, ranges: readonly KeyRange[]): ListedPage[] {
  let next = 0
  return pages.filter(({ firstKey }, index) => {
    while (next < ranges.length && compare(bytes, firstKey, ranges[next]!.to) >= 0) next++
    const range = ranges[next]
    const following = pages[index + 1]
    return range && (!following || compare(bytes, following.firstKey, range.from) > 0)
  })
}

/** Keys are short and mostly differ early, so a call of `Buffer.compare` would take longer. */
function compare(bytes: Uint8Array, { from, to }: Range, other: Uint8Array): number {
  const length = to - from
  const shared = Math.min(length, other.length)
  for (let at = 0; at < shared; at++) {
    const difference = bytes[from + at]! - other[at]!
    if (difference !== 0) return difference
  }
  return length - other.length
}
