// Reads the index of a commit: see make-index.ts. Sandbox A made it and may lie. What does not fit throws, and what it says of lines is proven by git's
// hashes only.
import { gunzipSync } from 'node:zlib'
import type { FileKind } from '../../../domain/survey.js'
import { parseJson } from '../../../util/decode.js'
import { ByteReader } from './bytes.js'
import type { DefinitionSite, FindDefinitions } from './definition-sites.js'
import type { WordIndex } from './find-hits.js'
import { blocksOf } from './scan-words.js'
import { lookUp, onlyKey, type PageList, readPageList } from './sorted-pages.js'
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

/** The first version had the ids of the objects too. */
export const indexVersion = 2
/** What is known of a searchable file: nothing but its name where attributes exclude it. */
export const fileState = { unread: 0, binary: 1, text: 2 }

const largestTable = 500_000_000
const mostBlocks = 20_000_000

export function readIndex(packed: Uint8Array, pages: StoredFile, commit: string): CommitIndex {
  const table = new ByteReader(gunzipSync(packed, { maxOutputLength: largestTable }))
  const head = parseJson(table.bytes(table.all.indexOf(10) + 1).toString('utf8')) as Record<string, unknown> | undefined
  if (head?.['version'] !== indexVersion || head['commit'] !== commit)
    throw new RangeError('The search index is of another version or commit.')
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
  let end = 0
  const nextList = (): PageList => {
    const list = readPageList(table, end)
    const last = list.pages.at(-1)
    if (last) end = last.offset + last.length
    return list
  }
  const [words, identifiers, names, others] = [nextList(), nextList(), nextList(), nextList()]
  const read = (wanted: readonly Place[]) => readPlaces(pages, wanted)
  return {
    commit: commitPlace,
    folders,
    files,
    blobs,
    unsearched: textsOf(head['unsearched']).slice(0, 10),
    words: {
      texts,
      blocks,
      lookUp: (kind, ranges, take) => lookUp(kind === 'words' ? words : identifiers, ranges, read, take),
    },
    async findDefinitions(wanted) {
      const found = new Map<string, DefinitionSite[]>()
      const keys = [...wanted].map((name) => onlyKey(Buffer.from(name)))
      await lookUp(names, keys, read, (key, value) =>
        found.set(key.toString('utf8'), readSites(new ByteReader(value), files)),
      )
      return found
    },
    async findOther(path) {
      let found: Place | undefined
      await lookUp(others, [onlyKey(Buffer.from(path))], read, (_, value) => {
        found = createPlaceReader(new ByteReader(value))()
      })
      return found
    },
  }
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
