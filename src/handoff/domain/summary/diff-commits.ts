// Compares the files that an earlier summary describes with the files of this commit.
import { type Alignment, align, type ChunkHash, hashChunks, type Sha256 } from './chunk-hashes.js'
import { parentOf } from './path-index.js'
import { lastLine, type SourceFile } from './source-files.js'
import type { CachedFile, SummaryCache } from './summary-cache.js'

export interface ChangedFile {
  file: SourceFile
  before: CachedFile
  marks: ChunkHash[]
  alignment: Alignment
}

export interface CommitDiff {
  /** Files with an unchanged blob, by their present path. */
  kept: Map<string, CachedFile>
  changed: ChangedFile[]
  added: { file: SourceFile; marks: ChunkHash[] }[]
  /** Unchanged files that were not chosen this time. */
  unseen: CachedFile[]
  /** Former paths with invalid descriptions: removed, or changed and not chosen. */
  gone: string[]
  /** Former path to present path, also of files that changed at the same time. */
  moved: Map<string, string>
  /** The share of the described lines that still exists, from 0 to 1. */
  overlap: number
}

/** The commit as it is now. */
export interface CurrentCommit {
  files: readonly SourceFile[]
  /** The blob of any path of the commit; undefined when there is no such path. Absent when the whole table is not known. */
  blobOf?: (path: string) => string | undefined
  /** Tree ids by directory, as far as they are known. */
  trees: ReadonlyMap<string, string>
}

/**
 * True if every described file is still described, at the same blob and path, and no new file was chosen. Skipped files (images, lock files,
 * generated code) may change.
 */
export function isUnchanged(changes: CommitDiff): boolean {
  return changes.changed.length + changes.added.length + changes.gone.length + changes.moved.size === 0
}

export function diffCommits(cache: SummaryCache, present: CurrentCommit, sha256: Sha256): CommitDiff {
  const former = new Map(cache.files.map((file) => [file.path, file]))
  const kept = new Map<string, CachedFile>()
  const changed: ChangedFile[] = []
  const fresh: SourceFile[] = []
  for (const file of present.files) {
    const before = former.get(file.path)
    former.delete(file.path)
    if (before === undefined) fresh.push(file)
    else if (before.blob === file.blob) kept.set(file.path, before)
    else changed.push(changeOf(file, before, sha256))
  }
  const untouched = untouchedDirectories(cache, present)
  const unseen = [...former.values()].filter((file) => isThere(file, present, untouched))
  for (const file of unseen) former.delete(file.path)
  // A file that is chosen for the first time in an unchanged directory is no source change.
  const candidates = fresh.filter((file) => !untouched(file.path))
  const moved = movesOf(candidates, former, kept, changed, sha256)
  const taken = new Set(moved.values())
  const added = candidates
    .filter((file) => !taken.has(file.path))
    .map((file) => ({ file, marks: hashChunks(file.lines, sha256) }))
  const gone = [...former.keys()].filter((path) => !moved.has(path))
  return { kept, changed, added, unseen, gone, moved, overlap: overlapOf(cache, kept, unseen, changed) }
}

function changeOf(file: SourceFile, before: CachedFile, sha256: Sha256): ChangedFile {
  const marks = hashChunks(file.lines, sha256)
  return { file, before, marks, alignment: align(before.marks, marks) }
}

function untouchedDirectories(cache: SummaryCache, present: CurrentCommit): (path: string) => boolean {
  return (path) => {
    const directory = parentOf(path)
    const tree = Object.hasOwn(cache.trees, directory) ? cache.trees[directory] : undefined
    return tree !== undefined && tree === present.trees.get(directory)
  }
}

function isThere(file: CachedFile, present: CurrentCommit, untouched: (path: string) => boolean): boolean {
  return untouched(file.path) || present.blobOf?.(file.path) === file.blob
}

/** Finds moved files: by equal blob first, then by at least half of equal lines. */
function movesOf(
  candidates: SourceFile[],
  former: Map<string, CachedFile>,
  kept: Map<string, CachedFile>,
  changed: ChangedFile[],
  sha256: Sha256,
): Map<string, string> {
  const moved = new Map<string, string>()
  const left = new Map(former)
  const byBlob = Map.groupBy(former.values(), (file) => file.blob)
  const others: SourceFile[] = []
  for (const file of candidates) {
    const same = (byBlob.get(file.blob) ?? []).filter((before) => left.has(before.path))
    const before = same.find((one) => nameOf(one.path) === nameOf(file.path)) ?? same[0]
    if (before === undefined) others.push(file)
    else {
      left.delete(before.path)
      moved.set(before.path, file.path)
      kept.set(file.path, before)
    }
  }
  const pieces = piecesOf(left.values())
  for (const file of others) {
    const marks = hashChunks(file.lines, sha256)
    const before = mostAlike(marks, file.lines.length, pieces, left)
    if (before === undefined) continue
    left.delete(before.path)
    moved.set(before.path, file.path)
    changed.push({ file, before, marks, alignment: align(before.marks, marks) })
  }
  return moved
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)

function piecesOf(files: Iterable<CachedFile>): Map<string, CachedFile[]> {
  const pieces = new Map<string, CachedFile[]>()
  for (const file of files) {
    for (const { hash } of file.marks) {
      const others = pieces.get(hash)
      // A chunk that many files have identifies none of them.
      if (others === undefined) pieces.set(hash, [file])
      else if (others.length < 8 && others.at(-1) !== file) others.push(file)
    }
  }
  return pieces
}

function mostAlike(
  marks: ChunkHash[],
  lines: number,
  pieces: Map<string, CachedFile[]>,
  left: Map<string, CachedFile>,
): CachedFile | undefined {
  const shared = new Map<CachedFile, number>()
  for (const mark of marks) {
    for (const file of pieces.get(mark.hash) ?? []) {
      if (left.has(file.path)) shared.set(file, (shared.get(file) ?? 0) + mark.lines)
    }
  }
  let best: CachedFile | undefined
  for (const [file, count] of shared) {
    if (count >= Math.max(lines, linesIn(file)) / 2 && count > (best ? shared.get(best)! : 0)) best = file
  }
  return best
}

const linesIn = (file: CachedFile) => file.marks.reduce((sum, mark) => sum + mark.lines, 0)

function overlapOf(
  cache: SummaryCache,
  kept: Map<string, CachedFile>,
  unseen: CachedFile[],
  changed: ChangedFile[],
): number {
  const weight = (file: CachedFile) => Math.max(1, linesIn(file))
  const total = cache.files.reduce((sum, file) => sum + weight(file), 0)
  const same = [...kept.values(), ...unseen].reduce((sum, file) => sum + weight(file), 0)
  const partly = changed.reduce((sum, { alignment, before }) => sum + Math.min(alignment.kept, weight(before)), 0)
  return total === 0 ? 0 : (same + partly) / total
}

/** The cache entry of a file as it is now. */
export function createCachedFile(file: SourceFile, marks: ChunkHash[], part?: number): CachedFile {
  const whole =
    (file.form === 'full' || file.form === 'head') && file.lines.every((line, index) => line.number === index + 1)
  return {
    path: file.path,
    blob: file.blob,
    lines: lastLine(file),
    ...(part === undefined ? {} : { part }),
    ...(whole ? { whole: true as const } : {}),
    marks,
  }
}

/** The present place of a line of a changed file; undefined if it is unknown. */
export function movedLine(change: ChangedFile, line: number): number | undefined {
  const { before, file, alignment } = change
  if (!before.whole || file.lines.length === 0 || line > before.lines) return undefined
  return file.lines[alignment.moved(line - 1)]?.number
}

/** Maps former paths to present ones: moved files, and directories that moved as a whole. */
export function pathMover(
  moved: ReadonlyMap<string, string>,
  exists: (path: string) => boolean,
): (path: string) => string | undefined {
  const directories = new Map<string, string | null>()
  for (const [before, now] of moved) {
    let from = before
    let to = now
    while (nameOf(from) === nameOf(to) && from.includes('/') && to.includes('/')) {
      from = parentOf(from)
      to = parentOf(to)
      if (from === to) break
      const known = directories.get(from)
      directories.set(from, known === undefined || known === to ? to : null)
    }
  }
  return (path) => {
    const file = moved.get(path)
    if (file !== undefined) return file
    const bare = path.replace(/\/+$/, '')
    if (exists(bare)) return undefined
    const directory = directories.get(bare)
    return directory ? directory + path.slice(bare.length) : undefined
  }
}
