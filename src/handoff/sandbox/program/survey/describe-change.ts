// What the commit changes against its base: files, definitions, the code elsewhere that depends on them, and the lines for the model.
import {
  type Change,
  type ChangedFile,
  type ChangedLines,
  mostNames,
  mostRipples,
} from '../../../domain/change/change.js'
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import type { Definition } from '../../../domain/survey.js'
import { createAnalysisTable } from './analysis-table.js'
import { createAnalyzer } from './analyze-file.js'
import { compareTrees, type Hunk, type TreeChange } from './compare-trees.js'
import { decodeText, sanitizeText } from './decode-text.js'
import { type ChangedSource, findRipples, type RippleSources } from './find-ripples.js'
import type { BlobReader, SpawnGit } from './git-objects.js'
import type { Entry } from './git-tree.js'
import { extensionOf, languageForExtension } from './languages.js'
import { hasTestName } from './path-rules.js'

export interface DescribedChange {
  change: Change
  lines: ChangedLines[]
  notices: string[]
}

interface ChangeOptions extends RippleSources {
  git: SpawnGit
  base: string
  head: string
  /** Bytes of changed lines for the model. */
  textBytes: number
  /** Only these paths count as changed. */
  only?: (path: string) => boolean
}

/** Definitions are compared in so many files at most. */
const mostCompared = 400
const comparedBytes = 1_000_000

export async function describeChange(options: ChangeOptions): Promise<DescribedChange> {
  const { git, base, head, entries, reader, only = () => true } = options
  const compared = await compareTrees(git, base, head)
  const changes = compared.changes.filter(({ path }) => only(path))
  const byPath = new Map(entries.map((entry) => [entry.path, entry]))
  const texts = await readTexts(changes, byPath, reader)
  const sources: ChangedSource[] = []
  const files = changes.map((change): ChangedFile => {
    const entry = byPath.get(change.path)
    const names = definitionNames(change, entry, texts, options)
    const grammar = grammarOf(change.path)
    if (entry?.kind === 'source' && grammar !== '' && change.status !== 'removed')
      sources.push({ path: change.path, grammar, names })
    return fileRow(change, entry, names)
  })
  const touched = new Set(changes.flatMap(({ path, previousPath }) => [path, ...(previousPath ? [previousPath] : [])]))
  const ripples = await findRipples(sources, touched, options)
  const listed = firstWithin(files, rowBytes)
  const notices = compared.cut ? ['The patch is very long; lines of some changed files were not compared.'] : []
  return {
    change: {
      base,
      head,
      files: listed,
      filesLeftOut: compared.leftOut + files.length - listed.length,
      ripples: ripples.slice(0, mostRipples),
      ripplesLeftOut: Math.max(0, ripples.length - mostRipples),
    },
    lines: changedLines(byPath, texts, options.textBytes),
    notices,
  }
}

/** Bytes of the list of files: long paths must not make a record that the host refuses. */
const rowBytes = 1_500_000

function firstWithin<T>(rows: readonly T[], bytes: number): T[] {
  let left = bytes
  const end = rows.findIndex((row) => {
    left -= Buffer.byteLength(JSON.stringify(row))
    return left < 0
  })
  return end < 0 ? [...rows] : rows.slice(0, end)
}

function fileRow(change: TreeChange, entry: Entry | undefined, definitions: string[]): ChangedFile {
  const { path, previousPath, status, hunks, binary, isFile } = change
  const pure = status === 'renamed' && change.oldBlob === change.blob
  const uncompared = !isFile
    ? 'not a file'
    : binary
      ? 'binary'
      : hunks.length === 0 && !pure && change.oldBlob !== change.blob && !isEmpty(change)
        ? 'too much'
        : undefined
  return {
    path,
    ...(previousPath === undefined ? {} : { previousPath }),
    status,
    kind: entry?.kind ?? guessKind(path),
    added: hunks.reduce((sum, { count }) => sum + count, 0),
    removed: hunks.reduce((sum, { oldCount }) => sum + oldCount, 0),
    ...(uncompared === undefined ? {} : { uncompared }),
    definitions: definitions.slice(0, mostNames),
  }
}

/** An empty file that was added or removed has no lines. */
const isEmpty = ({ blob, oldBlob }: TreeChange) => [blob, oldBlob].includes('e69de29bb2d1d6434b8b29ae775ad8c2e48c5391')

/** A removed file stands in no table. */
const guessKind = (path: string): ChangedFile['kind'] =>
  hasTestName(path.slice(path.lastIndexOf('/') + 1)) ? 'test' : grammarOf(path) === '' ? 'data' : 'source'

const grammarOf = (path: string) =>
  languageForExtension(extensionOf(path.slice(path.lastIndexOf('/') + 1)))?.grammar ?? ''

// ── contents ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Sides {
  before?: Buffer
  after?: Buffer
}

/** Both sides of the files whose lines were compared. */
async function readTexts(
  changes: readonly TreeChange[],
  byPath: Map<string, Entry>,
  reader: BlobReader,
): Promise<Map<TreeChange, Sides>> {
  const texts = new Map<TreeChange, Sides>()
  const wanted = changes
    .filter(
      (change) => change.isFile && !change.binary && change.hunks.length > 0 && isReadable(byPath.get(change.path)),
    )
    .slice(0, mostCompared)
  const sides = wanted.flatMap((change) => [
    ...(change.status === 'added' ? [] : [{ change, side: 'before' as const, blob: change.oldBlob }]),
    ...(change.status === 'removed' ? [] : [{ change, side: 'after' as const, blob: change.blob }]),
  ])
  await reader.read(
    sides.map(({ blob }) => blob),
    (index, bytes) => {
      const { change, side } = sides[index]!
      const content = bytes && bytes.length <= comparedBytes ? decodeText(bytes) : undefined
      // The bytes are valid during this call only.
      if (content) texts.set(change, { ...texts.get(change), [side]: Buffer.from(content) })
    },
  )
  return texts
}

const unread = new Set<Entry['kind']>(['lock', 'generated', 'vendored', 'minified', 'binary', 'data', 'lfs-pointer'])

/** What is left out on request or made by machines is counted and not shown. */
const isReadable = (entry: Entry | undefined) =>
  entry === undefined || (!unread.has(entry.kind) && entry.reason !== 'excluded' && entry.reason !== 'ignored')

// ── definitions ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Names of definitions that have changed lines, and of those that are gone. */
function definitionNames(
  change: TreeChange,
  entry: Entry | undefined,
  texts: Map<TreeChange, Sides>,
  { analyses }: ChangeOptions,
): string[] {
  const now =
    entry && entry.analysis >= 0 ? (JSON.parse(analyses.records[entry.analysis]!.outline) as Definition[]) : []
  const before = texts.get(change)?.before
  const then = before ? definitionsIn(change, entry, before) : []
  const current = new Set(now.map(({ name }) => name))
  const touchedNow = change.hunks.flatMap((hunk) => innermost(now, hunk.from, hunk.count))
  const touchedThen = change.hunks.flatMap((hunk) => innermost(then, hunk.oldFrom, hunk.oldCount))
  const gone = touchedThen.filter((name) => !current.has(name))
  const usable = (name: string) =>
    name.length > 2 && name !== 'constructor' && name !== 'default' && /^[\p{L}_$]/u.test(name)
  const plain = [...gone, ...touchedNow, ...touchedThen].map((name) =>
    name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf(':')) + 1),
  )
  return [...new Set(plain)].filter(usable)
}

/** The definitions of the base's side, by the same rules. */
function definitionsIn(change: TreeChange, entry: Entry | undefined, bytes: Buffer): Definition[] {
  const table = createAnalysisTable()
  const path = change.previousPath ?? change.path
  const name = path.slice(path.lastIndexOf('/') + 1)
  const folder = entry?.folder ?? {
    path: '',
    tree: '',
    parent: undefined,
    depth: 0,
    traits: 0,
    files: 0,
    bytes: 0,
    index: 0,
  }
  const like: Entry = {
    path,
    pathBase64: undefined,
    name,
    folder,
    mode: '100644',
    blob: change.oldBlob,
    size: bytes.length,
    reason: undefined,
    kind: entry?.kind ?? guessKind(path),
    grammar: entry?.grammar || grammarOf(path),
    maybeLfsPointer: false,
    handWritten: true,
    state: 'skipped',
    analysis: -1,
  }
  const index = createAnalyzer(table)(like, bytes)
  return index < 0 ? [] : (JSON.parse(table.records[index]!.outline) as Definition[])
}

/** The smallest definitions that hold one of the lines. What stands inside a function cannot be named from elsewhere: it counts as the function. */
function innermost(definitions: readonly Definition[], from: number, count: number): string[] {
  const names = new Set<string>()
  const last = Math.min(from + Math.max(1, count) - 1, from + 2_000)
  for (let line = from; line <= last; line++) {
    let best: Definition | undefined
    for (const one of definitions) {
      if (one.line > line || best?.kind === 'function') break
      if ((one.end ?? one.line) >= line && !skippedKinds.has(one.kind)) best = one
    }
    if (best) names.add(best.name)
  }
  return [...names]
}

const skippedKinds = new Set(['heading', 'target'])

// ── lines for the model ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const context = 3
const fileShare = 4
const longestLine = 400

/** Sources first, then what is small: the first files are shown whole rather than all of them in crumbs. */
function changedLines(byPath: Map<string, Entry>, texts: Map<TreeChange, Sides>, textBytes: number): ChangedLines[] {
  const order = (change: TreeChange) =>
    ['source', 'configuration', 'test', 'documentation'].indexOf(byPath.get(change.path)?.kind ?? 'source')
  const size = ({ hunks }: TreeChange) => hunks.reduce((sum, { count, oldCount }) => sum + count + oldCount, 0)
  const sorted = [...texts.keys()].sort((a, b) => order(a) - order(b) || size(a) - size(b))
  const shown: ChangedLines[] = []
  let left = textBytes
  for (const change of sorted) {
    let own = Math.min(left, textBytes / fileShare)
    const { before, after } = texts.get(change)!
    const [old, now] = [before, after].map((bytes) =>
      bytes ? redactSecrets(sanitizeText(bytes)).text.split('\n') : [],
    )
    for (const hunk of mergeHunks(change.hunks, now!.length)) {
      const piece: ChangedLines = {
        path: change.path,
        blob: change.status === 'removed' ? change.oldBlob : change.blob,
        from: hunk.from,
        lines: now!.slice(hunk.from - 1, hunk.from - 1 + hunk.count).map(cut),
        gone: hunk.old.flatMap(([from, count]) => old!.slice(from - 1, from - 1 + count)).map(cut),
      }
      const bytes = [...piece.lines, ...piece.gone].reduce((sum, line) => sum + Buffer.byteLength(line) + 8, 60)
      if (bytes > own) break
      own -= bytes
      left -= bytes
      shown.push(piece)
    }
  }
  return shown
}

const cut = (line: string) => line.slice(0, longestLine).toWellFormed()

/** Hunks with the lines around them; those that meet become one. */
function mergeHunks(
  hunks: readonly Hunk[],
  lineCount: number,
): { from: number; count: number; old: [number, number][] }[] {
  const merged: { from: number; to: number; old: [number, number][] }[] = []
  for (const { from, count, oldFrom, oldCount } of hunks) {
    const first = Math.max(1, from - context)
    const last = Math.min(lineCount, from + Math.max(count, 1) - 1 + context)
    const open = merged.at(-1)
    const old: [number, number][] = oldCount > 0 ? [[oldFrom, oldCount]] : []
    if (open && first <= open.to + 1) {
      open.to = Math.max(open.to, last)
      open.old.push(...old)
    } else merged.push({ from: first, to: last, old })
  }
  return merged.map(({ from, to, old }) => ({ from, count: Math.max(0, to - from + 1), old }))
}
