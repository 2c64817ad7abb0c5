// Reads the index of a commit: see make-index.ts. Sandbox A made it and may lie. What does not fit throws, and what it says of lines is proven by git's
// hashes only.
import { constants, gunzipSync } from 'node:zlib'
import type { FileKind } from '../../../domain/survey.js'
import { awaitedLater, pause } from '../../../util/abort.js'
import { parseJson } from '../../../util/decode.js'
import { ByteReader } from './bytes.js'
import type { DefinitionSite, FindDefinitions } from './definition-sites.js'
import type { WordIndex } from './find-hits.js'
import { blocksOf } from './scan-words.js'
import {
  type KeyRange,
  lookUp,
  onlyKey,
  type PageList,
  pagesFor,
  readPageList,
  type TakeEntry,
} from './sorted-pages.js'
import type { SourceFile } from './source-files.js'
import { readPlaces, type StoredFile } from './stored-file.js'
import type { Place } from './stored-objects.js'

export interface CommitIndex {
  commit: Place
  /** The trees by the path of their directory; '' is the top. */
  folders: ReadonlyMap<string, Place>
  files: SourceFile[]
  /** By the index of the file. */
  blobs: Place[]
  unsearched: string[]
  words: WordIndex
  findDefinitions: FindDefinitions
  /** A file that is not searched. */
  findOther(path: string): Promise<Place | undefined>
}

/** Version 1 had the ids of the objects too, and version 2 the pages behind the files. */
export const indexVersion = 3
/** What is known of a searchable file: nothing but its name where attributes exclude it. */
export const fileState = { unread: 0, binary: 1, text: 2 }

const largestTable = 500_000_000
const mostBlocks = 20_000_000
/** The names that the best files use are in most pages. In so many bytes, all pages cost less than another round trip. */
const mostDefinitionBytes = 4_000_000

/** Keys that a search looks up. */
export interface WantedKeys {
  words: KeyRange[]
  identifiers: KeyRange[]
  names: KeyRange[]
}

export interface StoredTable {
  table: Promise<Uint8Array>
  /** Its first bytes, which come before it. */
  start?: Uint8Array | undefined
}

/** The pages of the wanted keys are requested before the files are read, which takes about as long as a round trip in a large repository. */
export async function readIndex(
  { table: coming, start }: StoredTable,
  pages: StoredFile,
  commit: string,
  wanted?: WantedKeys,
): Promise<CommitIndex> {
  const read = createPageReader(pages)
  if (wanted && start) awaitedLater(read(firstPages(start, commit, wanted)))
  const table = new ByteReader(gunzipSync(await coming, { maxOutputLength: largestTable }))
  const head = readHead(table, commit)
  const lists = readLists(table)
  if (wanted) {
    awaitedLater(read(wantedPages(lists, wanted)))
    await pause()
  }
  const { commitPlace, folders, files, blobs, texts, blocks } = readFiles(table, head)
  return {
    commit: commitPlace,
    folders,
    files,
    blobs,
    unsearched: textsOf(head['unsearched']).slice(0, 10),
    words: {
      texts,
      blocks,
      async lookUp(kind, ranges, take) {
        await lookUp(lists[kind], ranges, read, take)
        if (kind !== 'words') return
        // Files are read next, and then what they use is looked up.
        const { pages } = lists.names
        if (pages.reduce((sum, { length }) => sum + length, 0) <= mostDefinitionBytes) awaitedLater(read(pages))
      },
    },
    async findDefinitions(names) {
      const found = new Map<string, DefinitionSite[]>()
      const take: TakeEntry = (key, value) => found.set(key.toString('utf8'), readSites(new ByteReader(value), files))
      await lookUp(lists.names, keysOfNames(names), read, take)
      return found
    },
    async findOther(path) {
      let found: Place | undefined
      await lookUp(lists.others, [onlyKey(Buffer.from(path))], read, (_, value) => {
        found = createPlaceReader(new ByteReader(value))()
      })
      return found
    },
  }
}

function readHead(table: ByteReader, commit: string): Record<string, unknown> {
  const head = parseJson(table.bytes(table.all.indexOf(10) + 1).toString('utf8')) as Record<string, unknown> | undefined
  if (head?.['version'] === indexVersion && head['commit'] === commit) return head
  throw new RangeError('The search index is of another version or commit.')
}

type PageLists = Record<'words' | 'identifiers' | 'names' | 'others', PageList>

const wantedPages = (lists: PageLists, wanted: WantedKeys) =>
  (['words', 'identifiers', 'names'] as const).flatMap((kind) => pagesFor(lists[kind], wanted[kind]))

/** Known from the first bytes of the table. None if the lists of pages do not end within them. */
function firstPages(start: Uint8Array, commit: string, wanted: WantedKeys): readonly Place[] {
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: largestTable }
    const table = new ByteReader(gunzipSync(start, options))
    readHead(table, commit)
    return wantedPages(readLists(table), wanted)
  } catch {
    return []
  }
}

/** The definitions of names stand under these keys. */
export const keysOfNames = (names: ReadonlySet<string>): KeyRange[] =>
  [...names].map((name) => onlyKey(Buffer.from(name)))

function readLists(table: ByteReader): PageLists {
  let end = 0
  const next = (): PageList => {
    const list = readPageList(table, end)
    const last = list.pages.at(-1)
    if (last) end = last.offset + last.length
    return list
  }
  return { words: next(), identifiers: next(), names: next(), others: next() }
}

/** Reads each page once. */
function createPageReader(file: StoredFile): (pages: readonly Place[]) => Promise<Buffer[]> {
  const known = new Map<number, Promise<Buffer>>()
  return (pages) => {
    const missing = pages.filter(({ offset }) => !known.has(offset))
    const reading = readPlaces(file, missing)
    for (const [at, { offset }] of missing.entries()) known.set(offset, awaitedLater(reading.then((all) => all[at]!)))
    return Promise.all(pages.map(({ offset }) => known.get(offset)!))
  }
}

function readFiles(table: ByteReader, head: Record<string, unknown>) {
  const kinds = textsOf(head['kinds']) as FileKind[]
  const grammars = textsOf(head['grammars'])
  const nextPlace = createPlaceReader(table)
  const commitPlace = nextPlace()
  const folders = new Map<string, Place>()
  for (let left = table.number(); left > 0; left--) folders.set(table.text(), nextPlace())
  const directories = [...folders.keys()]
  const files: SourceFile[] = []
  const blobs: Place[] = []
  const texts: WordIndex['texts'] = []
  let blocks = 0
  for (let left = table.number(); left > 0; left--) {
    const directory = directories[table.number()] ?? ''
    const name = table.text()
    const flags = table.number()
    const grammar = grammars[table.number()] ?? ''
    const size = table.number()
    const state = flags & 3
    const lines = state === fileState.text ? table.number() : 0
    const blob = nextPlace()
    const file: SourceFile = {
      index: files.length,
      path: directory === '' ? name : `${directory}/${name}`,
      name,
      directory,
      blob: '',
      size,
      kind: kinds[flags >> 3] ?? 'source',
      grammar,
      isExample: (flags & 4) !== 0,
    }
    files.push(file)
    blobs.push(blob)
    if (state !== fileState.text) continue
    texts.push({ file, lines, firstBlock: blocks })
    blocks += blocksOf(lines)
  }
  if (blocks > mostBlocks) throw new RangeError('The search index has too many blocks.')
  return { commitPlace, folders, files, blobs, texts, blocks }
}

const textsOf = (value: unknown) => (Array.isArray(value) ? value.map(String) : [])

function createPlaceReader(from: ByteReader): () => Place {
  let end = 0
  return () => {
    const distance = from.number()
    const offset = distance % 2 === 1 ? end - (distance + 1) / 2 : end + distance / 2
    const length = from.number()
    end = offset + length
    if (offset < 0) throw new RangeError('The search index has a place before the beginning.')
    return { offset, length }
  }
}

/** Each: the number of a searchable file from 1 on, or 0 and a path; the line; how many lines, or 0. */
function readSites(from: ByteReader, files: readonly SourceFile[]): DefinitionSite[] {
  const sites: DefinitionSite[] = []
  while (!from.isAtEnd()) {
    const number = from.number()
    const path = number === 0 ? from.text() : (files[number - 1]?.path ?? '')
    const line = from.number()
    const lines = from.number()
    sites.push({ path, line, ...(lines === 0 ? {} : { end: line + lines - 1 }) })
  }
  return sites
}
