// Checks cited lines against the difference between two commits: unchanged lines are still evidence, changed lines are not, and an unknown
// difference is reported as unknown.
import type { ChangedFile } from '../github.js'
import type { LineRange } from './shown-files.js'

/** One file as a git host compares it. */
export interface ComparedFile extends Omit<ChangedFile, 'blob'> {
  blob?: ChangedFile['blob']
  /** True if the file changed and its changed lines are unknown. */
  whole?: true
}

/** What happened to a file that was cited, by the name it had then. */
type FileChange =
  | { kind: 'deleted' }
  /** The difference was not shown to us. */
  | { kind: 'unknown' }
  /** Somewhere in it. */
  | { kind: 'file' }
  /** Old lines that are no more. A range that ends before it begins is a place between two lines where something was put in. */
  | { kind: 'lines'; ranges: LineRange[]; renamedTo?: string }

export interface CitedRange {
  path: string
  from: number
  to: number
}

/** `file`: the file changed, and which of its lines is not known. `unknown`: not even that. */
type Change = 'changed' | 'deleted' | 'file' | 'unknown'

/** What became of cited lines. `moved`: their file has another name. `changed`: the lines, or the file where the lines are not known. */
type Verdict = 'same' | 'moved' | 'changed' | 'gone' | 'unknown'

interface JudgedRange extends CitedRange {
  verdict: Verdict
  /** The path that they moved to. */
  now?: string
}

export interface Staleness {
  /** True when all that was cited is known to be as it was. */
  valid: boolean
  citations: JudgedRange[]
  /** For people: the end of a sentence, without its mark. */
  sentence: string
}

interface ComparedWith {
  /** False when the host cut the list of files: a file that is not in it may have changed. */
  complete?: boolean
  /** The blobs of the cited files when they were cited: the same blob means the same lines, whatever else is unknown. */
  blobs?: ReadonlyMap<string, string>
}

export function staleness(
  cited: readonly CitedRange[],
  files: readonly ComparedFile[],
  { complete = true, blobs }: ComparedWith = {},
): Staleness {
  const changes = changesOf(files, blobs)
  const found = distinct(cited).map((range): Found => {
    const change = changes.get(range.path) ?? (complete ? undefined : { kind: 'unknown' as const })
    const now = change?.kind === 'lines' ? change.renamedTo : undefined
    return { range, why: change && whatHappened(range, change), ...(now === undefined ? {} : { now }) }
  })
  const valid = found.every(({ why }) => why === undefined)
  return { valid, citations: found.map(judge), sentence: sentenceOf(found) }
}

interface Found {
  range: CitedRange
  why: Change | undefined
  now?: string
}

function judge({ range, why, now }: Found): JudgedRange {
  const moved = now === undefined ? {} : { now }
  if (why === undefined) return { ...range, verdict: now === undefined ? 'same' : 'moved', ...moved }
  return { ...range, verdict: why === 'deleted' ? 'gone' : why === 'unknown' ? 'unknown' : 'changed', ...moved }
}

/** What the difference says of each file, by its old name. Copies and new files had no old lines. */
export function changesOf(
  files: readonly ComparedFile[],
  blobs?: ReadonlyMap<string, string>,
): Map<string, FileChange> {
  const changes = new Map<string, FileChange>()
  for (const file of files) {
    const path = file.status === 'renamed' ? (file.previousPath ?? file.path) : file.path
    if (file.status === 'added' || file.status === 'copied' || file.status === 'unchanged') continue
    changes.set(path, changeOf(file, blobs?.get(path)))
  }
  return changes
}

function changeOf(file: ComparedFile, blob: string | undefined): FileChange {
  const renamed = file.status === 'renamed' ? { renamedTo: file.path } : {}
  if (file.status === 'removed') return { kind: 'deleted' }
  if (blob !== undefined && blob === file.blob) return { kind: 'lines', ranges: [], ...renamed }
  if (file.whole) return { kind: 'file' }
  const ranges = file.patch === undefined ? null : parsePatch(file.patch)
  return ranges === null ? { kind: 'unknown' } : { kind: 'lines', ranges, ...renamed }
}

const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** The rest of a hunk: the next old line, and how many old and new lines are to come. */
interface Hunk {
  line: number
  old: number
  new: number
}

/** The old lines that a unified diff removes, and the places where it adds lines. Null when the diff is not complete. */
export function parsePatch(patch: string): LineRange[] | null {
  const ranges: LineRange[] = []
  let hunk: Hunk = { line: 0, old: 0, new: 0 }
  for (const text of patch.split('\n')) {
    const isOver = hunk.old === 0 && hunk.new === 0
    if (isOver) hunk = startHunk(text) ?? hunk
    else if (!text.startsWith('\\')) readLine(text, hunk, ranges)
    if (hunk.old < 0 || hunk.new < 0) return null
  }
  return hunk.old === 0 && hunk.new === 0 && (ranges.length > 0 || patch.trim() === '') ? ranges : null
}

function startHunk(text: string): Hunk | undefined {
  const head = hunkHead.exec(text)
  if (!head) return undefined
  const old = Number(head[2] ?? 1)
  // A hunk without old lines stands behind the line that it names.
  return { line: Number(head[1]) + (old === 0 ? 1 : 0), old, new: Number(head[4] ?? 1) }
}

/** `+` adds a line, `-` removes one, a space keeps one. */
function readLine(text: string, hunk: Hunk, ranges: LineRange[]): void {
  const sign = text[0] ?? ' '
  if (sign === '-') note(ranges, hunk.line, hunk.line)
  if (sign === '+') note(ranges, hunk.line, hunk.line - 1)
  if (sign !== '-') hunk.new--
  if (sign === '+') return
  hunk.line++
  hunk.old--
}

/** Neighbouring lines become one range. What was put in beside lines that went away belongs to them. */
function note(ranges: LineRange[], from: number, to: number): void {
  const last = ranges.at(-1)
  if (last && from === last.to + 1) last.to = Math.max(last.to, to)
  else ranges.push({ from, to })
}

function whatHappened(range: CitedRange, change: FileChange): Change | undefined {
  if (change.kind !== 'lines') return change.kind
  return change.ranges.some((one) => touches(one, range)) ? 'changed' : undefined
}

/** Something put in counts when it stands between two cited lines. */
function touches(change: LineRange, cited: LineRange): boolean {
  if (change.to < change.from) return cited.from < change.from && change.from <= cited.to
  return change.from <= cited.to && cited.from <= change.to
}

function distinct(cited: readonly CitedRange[]): CitedRange[] {
  const ranges = cited.map(({ path, from, to }) => ({ path, from, to }))
  return [...new Map(ranges.map((range) => [JSON.stringify(range), range])).values()]
}

const mostNamed = 5

function sentenceOf(found: readonly Found[]): string {
  const total = found.length
  if (total === 0) return 'nothing was cited, so it is not known whether this is still valid'
  const all = total === 1 ? 'the one cited range' : `the ${total} cited ranges`
  const some = (count: number) => (count === total ? all : `${count} of ${all}`)
  const parts = []
  if (found.every(({ why }) => why === undefined))
    parts.push(total === 1 ? `still valid: ${all} did not change` : `still valid: none of ${all} changed`)
  const known = found.filter(({ why }) => why === 'changed' || why === 'deleted')
  const inFiles = found.filter(({ why }) => why === 'file')
  const unknown = found.filter(({ why }) => why === 'unknown')
  const moved = found.filter(({ why, now }) => why === undefined && now !== undefined)
  if (known.length > 0) parts.push(`${total === 1 ? all : `${known.length} of ${all}`} changed: ${named(known)}`)
  if (inFiles.length > 0) {
    const lie = inFiles.length === 1 ? 'lies in a file' : 'lie in files'
    parts.push(`${some(inFiles.length)} ${lie} that changed, in which lines is not known: ${named(inFiles)}`)
  }
  if (unknown.length > 0) {
    parts.push(
      `whether ${some(unknown.length)} changed is not known, because the difference is too large to be shown: ${named(unknown)}`,
    )
  }
  if (moved.length > 0) parts.push(`${some(moved.length)} moved: ${named(moved)}`)
  return parts.join('; ')
}

function named(ranges: readonly Found[]): string {
  const names = ranges.slice(0, mostNamed).map(({ range, why, now }) => {
    const lines = range.from === range.to ? range.from : `${range.from}-${range.to}`
    const remark = why === 'deleted' ? ' (deleted)' : why === undefined && now !== undefined ? ` to ${now}` : ''
    return `${range.path}:${lines}${remark}`
  })
  if (ranges.length > mostNamed) names.push(`and ${ranges.length - mostNamed} more`)
  return names.join(', ')
}

/** What stands behind "Answered at …": where the head is now, and what that means for the evidence. */
export function staleSentence(answeredAt: string, head: string, found: Staleness): string {
  return answeredAt === head ? '' : `The head is now ${head.slice(0, 7)}; ${found.sentence}.`
}
