// The results of the survey: the table of all files, counts, directories, places of credentials and the outline.
import type { SecretPlace, Survey, SurveyCounts } from '../../../domain/survey.js'
import type { AnalysisTable } from './analysis-table.js'
import type { Entry, Tree } from './git-tree.js'
import type { FileImports } from './import-graph.js'
import type { WrittenExcerpts } from './write-excerpts.js'

/** Limits of the report; the table in the run has all entries. */
const directoryLimit = 2_000
const directoryByteLimit = 1_000_000
const secretLimit = 1_000
const tableSecretLimit = 20_000

/** Longer paths cannot be written to a disk and are not shown. */
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

/** Tables are built in pieces of about this many characters, because whole ones would be the largest objects in memory. */
const pieceLength = 64_000

/** JSON of the file table, as it is stored. */
export function* fileTableJson(commit: string, tree: Tree, secrets: readonly SecretPlace[]): Generator<string> {
  yield `{"version":1,"commit":${JSON.stringify(commit)},"trees":{`
  yield* inPieces(folderMembers(tree))
  yield '},"files":['
  yield* inPieces(fileRowsJson(tree.entries))
  yield `],"secrets":${JSON.stringify(secrets.slice(0, tableSecretLimit))}}\n`
}

/** Paths that are not UTF-8 may look equal; the first one wins. */
function* folderMembers({ folders }: Tree): Generator<string> {
  const seen = new Set<string>()
  for (const { path, tree } of folders) {
    if (seen.has(path)) continue
    seen.add(path)
    yield `${JSON.stringify(path)}:"${tree}"`
  }
}

function* fileRowsJson(entries: readonly Entry[]): Generator<string> {
  for (const { path, mode, blob, size, kind, state, pathBase64, reason } of entries)
    yield JSON.stringify({ path, mode, blob, size, kind, state, pathBase64, reason })
}

/** JSON of the outline, built from the JSON that each analysis already has. */
export function* outlineJson(
  commit: string,
  entries: readonly Entry[],
  analyses: AnalysisTable,
  imports: readonly FileImports[],
): Generator<string> {
  yield `{"version":1,"commit":${JSON.stringify(commit)},"files":{`
  yield* inPieces(outlineMembers(entries, analyses))
  yield '},"imports":{'
  yield* inPieces(importMembers(imports))
  yield '}}'
}

function* importMembers(imports: readonly FileImports[]): Generator<string> {
  const seen = new Set<string>()
  for (const { entry, targets } of imports) {
    if (entry.kind === 'generated' || seen.has(entry.path)) continue
    seen.add(entry.path)
    yield `${JSON.stringify(entry.path)}:${JSON.stringify(targets)}`
  }
}

function* outlineMembers(entries: readonly Entry[], analyses: AnalysisTable): Generator<string> {
  const seen = new Set<string>()
  for (const { path, analysis: record, kind } of entries) {
    const outline = record < 0 ? '[]' : analyses.records[record]!.outline
    if (outline === '[]' || kind === 'generated' || seen.has(path)) continue
    seen.add(path)
    yield `${JSON.stringify(path)}:${outline}`
  }
}

/** Joins the members of a list or an object with commas, in pieces. */
function* inPieces(members: Iterable<string>): Generator<string> {
  let piece = ''
  let comma = ''
  for (const member of members) {
    piece += comma + member
    comma = ','
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield piece
}

export function parsePieces<T>(pieces: Iterable<string>): T {
  return JSON.parse([...pieces].join('')) as T
}

export function collectSecrets(
  entries: readonly Entry[],
  analyses: AnalysisTable,
  excerpts: WrittenExcerpts,
): SecretPlace[] {
  const found: SecretPlace[] = []
  for (const entry of entries) {
    if (entry.analysis < 0) continue
    const places = excerpts.secrets.get(entry) ?? analyses.records[entry.analysis]!.secrets
    for (const { line, rule } of places) found.push({ path: entry.path, line, rule })
  }
  return found
}

export function createSurvey(
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
    directories: selectDirectories(tree),
    secrets: secrets.filter(({ path }) => path.length <= longestPath).slice(0, secretLimit),
    notices,
  }
}

/** As many whole levels as fit, because a partial level would look complete. */
function selectDirectories({ folders }: Tree): Survey['directories'] {
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
    if (depth > 1 && (count > directoryLimit || bytes > directoryByteLimit)) break
  }
  return folders
    .filter((folder) => folder.depth < depth && folder.path.length <= longestPath)
    .slice(0, directoryLimit)
    .map(({ path, tree, files, bytes: size }) => ({ path, tree, files, bytes: size }))
}
