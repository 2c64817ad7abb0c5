// What the survey says in the end: the table of every file, the counts, the directories, the places of credentials, and the notices.
import type { FileRow, FileTable, Outline, SecretPlace, Survey, SurveyCounts } from '../../../library/survey.js'
import type { Pieces } from './pieces.js'
import type { Store } from './store.js'
import type { Entry, Tree } from './tree.js'

/** Reports stay of a size that can be read; the table in the run has all of it. */
const mostDirectories = 2_000
const mostDirectoryBytes = 1_000_000
const mostPlaces = 1_000
const mostPlacesInTable = 20_000

/** Longer paths cannot be written to a disk, and are not shown. */
export const longestPath = 4_096

export function countFiles(entries: readonly Entry[]): SurveyCounts {
  const counts: SurveyCounts = { files: 0, bytes: 0, read: 0, cut: 0, skipped: 0, reasons: {}, kinds: {} }
  for (const { size, state, reason, kind } of entries) {
    counts.files++
    counts.bytes += size
    counts[state]++
    counts.kinds[kind] = (counts.kinds[kind] ?? 0) + 1
    if (reason !== undefined) counts.reasons[reason] = (counts.reasons[reason] ?? 0) + 1
  }
  return counts
}

export function makeTable(commit: string, tree: Tree, secrets: SecretPlace[]): FileTable {
  // Without a prototype: `__proto__` is a path like any other.
  const trees: Record<string, string> = Object.create(null) as Record<string, string>
  for (const folder of tree.folders) trees[folder.path] ??= folder.tree
  return { version: 1, commit, trees, files: tree.entries.map(rowOf), secrets: secrets.slice(0, mostPlacesInTable) }
}

function rowOf({ path, pathBase64, mode, blob, size, kind, state, reason }: Entry): FileRow {
  const row: FileRow = { path, mode, blob, size, kind, state }
  if (pathBase64 !== undefined) row.pathBase64 = pathBase64
  if (reason !== undefined) row.reason = reason
  return row
}

/** JSON of the outline, put together from what the store has as JSON already. */
export function outlineText(commit: string, entries: readonly Entry[], store: Store): string {
  const seen = new Set<string>()
  const files: string[] = []
  for (const { path, record, kind } of entries) {
    const outline = record < 0 ? '[]' : store.records[record]!.outline
    if (outline === '[]' || kind === 'generated' || seen.has(path)) continue
    seen.add(path)
    files.push(`${JSON.stringify(path)}:${outline}`)
  }
  return `{"version":1,"commit":${JSON.stringify(commit)},"files":{${files.join(',')}}}`
}

export function parseOutline(text: string): Outline {
  return JSON.parse(text) as Outline
}

export function secretPlaces(entries: readonly Entry[], store: Store, pieces: Pieces): SecretPlace[] {
  return entries.flatMap((entry) => {
    const places = pieces.secrets.get(entry) ?? (entry.record < 0 ? [] : store.records[entry.record]!.secrets)
    return places.map(({ line, rule }) => ({ path: entry.path, line, rule }))
  })
}

export function makeSurvey(
  commit: string,
  tree: Tree,
  counts: SurveyCounts,
  secrets: SecretPlace[],
  notices: string[],
): Omit<Survey, 'texts'> {
  return {
    commit,
    rootTree: tree.folders[0]!.tree,
    counts,
    directories: shownDirectories(tree),
    secrets: secrets.filter(({ path }) => path.length <= longestPath).slice(0, mostPlaces),
    notices,
  }
}

/** Whole levels, as many as there is room for: a level that is shown in part would look like all there is. */
function shownDirectories({ folders }: Tree): Survey['directories'] {
  const levels: { count: number; bytes: number }[] = []
  for (const { depth, path } of folders) {
    const { count, bytes } = levels[depth] ?? { count: 0, bytes: 0 }
    levels[depth] = { count: count + 1, bytes: bytes + path.length }
  }
  let depth = 0
  let count = 0
  let bytes = 0
  for (; depth < levels.length; depth++) {
    count += levels[depth]!.count
    bytes += levels[depth]!.bytes
    if (depth > 1 && (count > mostDirectories || bytes > mostDirectoryBytes)) break
  }
  return folders
    .filter((folder) => folder.depth < depth && folder.path.length <= longestPath)
    .slice(0, mostDirectories)
    .map(({ path, tree, files, bytes: size }) => ({ path, tree, files, bytes: size }))
}
