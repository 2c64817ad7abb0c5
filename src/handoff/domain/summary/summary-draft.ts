// A summary in progress: the texts that exist, and the model requests that remain. New, or carried over from an earlier commit.

import type { FileKind } from '../survey.js'
import type { Sha256 } from './chunk-hashes.js'
import { hashChunks } from './chunk-hashes.js'
import { createCachedFile } from './diff-commits.js'
import { groupNeighbours, splitIntoLeaves } from './partition.js'
import type { RequestSizes } from './request-sizes.js'
import type { SourceFile } from './source-files.js'
import type { CachedFile, CachedPart, SummaryCache } from './summary-cache.js'
import type { Sections } from './summary-document.js'
import type { ShownFile } from './summary-prompt.js'

/** A leaf whose text must be written or updated. */
export interface LeafWork {
  part: CachedPart
  /** All of its files that were chosen. */
  files: SourceFile[]
  /** The changes, to update the existing text; absent if the text is written anew. */
  change?: { files: ShownFile[]; gone: string[] }
}

export interface Draft {
  /** True without an earlier summary. */
  fresh: boolean
  files: Map<string, CachedFile>
  parts: Map<number, CachedPart>
  sections?: Sections
  work: LeafWork[]
  /** The files that a new draft describes. */
  chosen: SizedFile[]
  /** Files for the request of the sections, in a repository without parts. */
  direct: ShownFile[]
  /** Removed paths and directories. */
  gone: string[]
  /** Combined parts that lost a child. */
  reduced: Set<number>
  touched: { kinds: Set<FileKind>; paths: Set<string>; sections: Set<number> }
}

export interface SizedFile {
  path: string
  tokens: number
  file: SourceFile
}

/** A draft without earlier texts. `left` are files that do not fit into the budget. */
export function newDraft(chosen: SizedFile[], left: SourceFile[], sizes: RequestSizes, sha256: Sha256): Draft {
  const draft: Draft = { ...emptyDraft(), chosen }
  const total = chosen.reduce((sum, item) => sum + item.tokens, 0)
  if (total <= sizes.oneCall) draft.direct = chosen.map(({ file }) => shownFile(file))
  else addLeaves(draft, chosen, sizes)
  for (const { file } of draft.direct.length > 0 ? chosen : []) addFile(draft, file, sha256)
  for (const work of draft.work) for (const file of work.files) addFile(draft, file, sha256, work.part.id)
  for (const file of left) draft.files.set(file.path, { ...createCachedFile(file, []), leftOut: true })
  planJoins(draft, sizes)
  return draft
}

export function emptyDraft(): Draft {
  return {
    fresh: true,
    files: new Map(),
    parts: new Map(),
    work: [],
    chosen: [],
    direct: [],
    gone: [],
    reduced: new Set(),
    touched: { kinds: new Set(), paths: new Set(), sections: new Set() },
  }
}

function addFile(draft: Draft, file: SourceFile, sha256: Sha256, part?: number): void {
  draft.files.set(file.path, createCachedFile(file, hashChunks(file.lines, sha256), part))
}

/** Adds leaves for these files and plans their requests. */
export function addLeaves(draft: Draft, items: SizedFile[], sizes: RequestSizes): LeafWork[] {
  const bound = sizes.part.input - sizes.part.output
  const added = splitIntoLeaves(items, bound).map(({ directory, items: members }) => {
    const part = addPart(draft, 'leaf', directory)
    part.tokens = members.reduce((sum, item) => sum + item.tokens, 0)
    return { part, files: members.map((item) => item.file) }
  })
  draft.work.push(...added)
  return added
}

function addPart(draft: Draft, kind: CachedPart['kind'], directory: string): CachedPart {
  const id = Math.max(-1, ...draft.parts.keys()) + 1
  const part: CachedPart = { id, kind, directory, key: '', tokens: 0, text: '' }
  draft.parts.set(id, part)
  return part
}

export function shownFile(file: SourceFile): ShownFile {
  return { path: file.path, kind: file.kind, form: file.form, lines: file.lines }
}

// ── combining ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function childrenOf(draft: Draft, parent: number | undefined): CachedPart[] {
  return [...draft.parts.values()].filter((part) => part.parent === parent).sort(byDirectory)
}

function byDirectory(a: CachedPart, b: CachedPart): number {
  return a.directory < b.directory ? -1 : a.directory > b.directory ? 1 : a.id - b.id
}

/** Adds combined parts above the leaves until the top level fits into the last request. */
export function planJoins(draft: Draft, sizes: RequestSizes): void {
  for (let tops = childrenOf(draft, undefined); tops.length > sizes.top; tops = childrenOf(draft, undefined)) {
    const groups = groupNeighbours(
      tops.map((part) => part.directory),
      sizes.joined,
    )
    if (!groups) return
    for (const [from, to] of groups) joinParts(draft, tops.slice(from, to))
  }
}

function joinParts(draft: Draft, members: CachedPart[]): void {
  if (members.length < 2) return
  const directories = members.map((part) => `${part.directory}/`)
  let common = members[0]!.directory
  while (common !== '' && !directories.every((directory) => directory.startsWith(`${common}/`))) {
    common = common.slice(0, Math.max(0, common.lastIndexOf('/')))
  }
  const part = addPart(draft, 'joined', common)
  for (const member of members) member.parent = part.id
}

/** Rebuilds the combined parts if many pushes left too many parts at the top or below one part. */
export function rejoin(draft: Draft, sizes: RequestSizes): void {
  const crowded = (parent: number | undefined, most: number) => childrenOf(draft, parent).length > most * 1.5
  const joined = [...draft.parts.values()].filter((part) => part.kind === 'joined')
  if (!crowded(undefined, sizes.top) && !joined.some((part) => crowded(part.id, sizes.joined))) return
  for (const part of joined) draft.parts.delete(part.id)
  for (const part of draft.parts.values()) delete part.parent
  planJoins(draft, sizes)
}

// ── keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Sets the key of each text, a hash of what it describes. Equal input has equal keys across runs. */
export function setKeys(draft: Draft, written: { model: string; prompts: number }, sha256: Sha256): void {
  const key = (kind: string, lines: string[]) =>
    sha256([kind, written.model, written.prompts, ...lines.sort()].join('\n'))
  const members = Map.groupBy(draft.files.values(), (file) => file.part)
  for (const part of draft.parts.values()) {
    if (part.kind === 'leaf')
      part.key = key(
        'leaf',
        (members.get(part.id) ?? []).map((file) => `${file.blob} ${file.path}`),
      )
  }
  const joinedKey = (part: CachedPart): string => {
    if (part.kind === 'joined') part.key = key('joined', childrenOf(draft, part.id).map(joinedKey))
    return part.key
  }
  for (const part of childrenOf(draft, undefined)) joinedKey(part)
}

export function summaryKey(draft: Draft, written: { model: string; prompts: number }, sha256: Sha256): string {
  const lines = [...draft.files.values()].map(
    (file) => `${file.blob} ${file.leftOut ? 'left out' : 'there'} ${file.path}`,
  )
  return sha256(['summary', written.model, written.prompts, ...lines.sort()].join('\n'))
}

/** The draft as a summary cache. */
export function draftToCache(
  draft: Draft,
  head: Pick<SummaryCache, 'commit' | 'model' | 'prompts' | 'inputTokens' | 'trees'>,
  key?: string,
): SummaryCache {
  return {
    version: 1,
    ...head,
    files: [...draft.files.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
    parts: [...draft.parts.values()].map((part) => ({ ...part })),
    ...(key !== undefined && draft.sections ? { summary: { key, sections: draft.sections } } : {}),
  }
}
