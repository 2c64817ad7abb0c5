// Keys in the order of their bytes, each with a value, in pages of some kilobytes. A reader that knows the first key of each page fetches only those
// that it needs, and checks each by its digest.
import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ByteReader, type ByteWriter, createWriter } from './bytes.js'

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

/** The pages of a table that begins at `offset`. */
export function readPageList(from: ByteReader, offset: number): Page[] {
  const pages: Page[] = []
  let next = offset
  for (let left = from.number(); left > 0; left--) {
    const first = from.bytes(from.number())
    const length = from.number()
    pages.push({ first, offset: next, length, digest: from.bytes(digestBytes) })
    next += length
  }
  return pages
}

/** A range of keys: `to` is not in it. */
export interface KeyRange {
  from: Uint8Array
  to: Uint8Array
}

/** The range of one key. */
export const onlyKey = (key: Uint8Array): KeyRange => ({ from: key, to: Buffer.concat([key, Buffer.alloc(1)]) })

/** The pages that may have a key in one of the ranges. */
export function pagesFor(pages: readonly Page[], ranges: readonly KeyRange[]): Page[] {
  return pages.filter(({ first }, index) => {
    const next = pages[index + 1]?.first
    return ranges.some(({ from, to }) => first.compare(to) < 0 && (!next || next.compare(from) > 0))
  })
}

/** Calls `take` with each entry of a page as it is stored. Bytes are valid during the call only, and a zero follows those of the key. */
export function readPage(stored: Buffer, { digest }: Page, take: (key: Buffer, value: Buffer) => void): void {
  if (!digestOf(stored).equals(digest))
    throw new RangeError('A page of the search index is not the one that was sealed.')
  const entries = new ByteReader(inflateRawSync(stored, { maxOutputLength: longestPage }))
  let room = Buffer.alloc(1_024)
  while (!entries.isAtEnd()) {
    const shared = entries.number()
    const more = entries.number()
    const end = shared + more
    if (end >= room.length) room = Buffer.concat([room, Buffer.alloc(Math.min(end, longestPage) + 1)])
    room.set(entries.bytes(more), shared)
    room[end] = 0
    const value = entries.bytes(entries.number())
    take(room.subarray(0, end), value)
  }
}
