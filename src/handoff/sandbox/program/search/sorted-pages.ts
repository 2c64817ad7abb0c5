// Keys in the order of their bytes, each with a value, in pages of some kilobytes. A reader that knows the first key of each page fetches only those
// that it needs, and checks each by its digest.
import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ByteReader, type ByteWriter, createWriter } from './bytes.js'
import type { Place } from './stored-objects.js'

export interface Page {
  /** Its first key. */
  first: Buffer
  offset: number
  length: number
  digest: Buffer
}

/** Bytes of a page before it is deflated. A longer value has a page of its own. */
const pageBytes = 16_384
const longestPage = 64_000_000
const digestBytes = 16

export interface PageWriter {
  /** Keys come in the order of their bytes. */
  add(key: Uint8Array, value: Uint8Array): void
  /** Ends the table of keys: its pages. The next key begins another table in the same file. */
  endTable(): Page[]
  /** The file of all tables. */
  file(): Buffer
}

/** Each entry: bytes shared with the key before, further bytes, these; bytes of the value, these. */
export function createPageWriter(): PageWriter {
  const file: Buffer[] = []
  const entries = createWriter()
  let pages: Page[] = []
  let first: Buffer | undefined
  let before: Uint8Array = new Uint8Array(0)
  let offset = 0

  const endPage = () => {
    if (!first) return
    const bytes = deflateRawSync(entries.take())
    pages.push({ first, offset, length: bytes.length, digest: digestOf(bytes) })
    file.push(bytes)
    offset += bytes.length
    first = undefined
    before = new Uint8Array(0)
  }

  return {
    add(key, value) {
      if (entries.length() > 0 && entries.length() + value.length > pageBytes) endPage()
      first ??= Buffer.from(key)
      let shared = 0
      while (shared < key.length && key[shared] === before[shared]) shared++
      entries.number(shared)
      entries.number(key.length - shared)
      entries.bytes(key.subarray(shared))
      entries.number(value.length)
      entries.bytes(value)
      before = key
    },
    endTable() {
      endPage()
      const ended = pages
      pages = []
      return ended
    },
    file: () => Buffer.concat(file),
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
export type TakeEntry = (key: Buffer, value: Buffer) => void

/** Calls `take` with each entry whose key is in one of the ranges. `read` reads pages. */
export async function lookUp(
  { bytes, pages }: PageList,
  ranges: readonly KeyRange[],
  read: (pages: readonly ListedPage[]) => Promise<Buffer[]>,
  take: TakeEntry,
): Promise<void> {
  const wanted = inOrderAndApart(ranges)
  const chosen = pagesInOrder({ bytes, pages }, wanted)
  for (const [at, stored] of (await read(chosen)).entries()) {
    const { digestAt } = chosen[at]!
    if (!digestOf(stored).equals(bytes.subarray(digestAt, digestAt + digestBytes)))
      throw new RangeError('A page of the search index is not the one that was sealed.')
    readPage(stored, wanted, take)
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

/** The pages that may have a key in one of the ranges. */
export const pagesFor = (list: PageList, ranges: readonly KeyRange[]): readonly Place[] =>
  pagesInOrder(list, inOrderAndApart(ranges))

function pagesInOrder({ bytes, pages }: PageList, ranges: readonly KeyRange[]): ListedPage[] {
  let next = 0
  return pages.filter(({ firstKey }, index) => {
    while (next < ranges.length && compare(bytes, firstKey, ranges[next]!.to) >= 0) next++
    const range = ranges[next]
    const following = pages[index + 1]
    return range && (!following || compare(bytes, following.firstKey, range.from) > 0)
  })
}

function readPage(stored: Buffer, ranges: readonly KeyRange[], take: TakeEntry): void {
  const entries = new ByteReader(inflateRawSync(stored, { maxOutputLength: longestPage }))
  let key = Buffer.alloc(1_024)
  let next = 0
  while (!entries.isAtEnd()) {
    const shared = entries.number()
    const more = entries.number()
    const end = shared + more
    if (end >= key.length) key = Buffer.concat([key, Buffer.alloc(Math.min(end, longestPage) + 1)])
    const from = entries.skip(more)
    for (let at = 0; at < more; at++) key[shared + at] = entries.all[from + at]!
    const length = entries.number()
    const whole = { from: 0, to: end }
    while (next < ranges.length && compare(key, whole, ranges[next]!.to) >= 0) next++
    const range = ranges[next]
    if (!range) return
    if (compare(key, whole, range.from) < 0) entries.skip(length)
    else {
      key[end] = 0
      take(key.subarray(0, end), entries.bytes(length))
    }
  }
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
