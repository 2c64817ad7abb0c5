// What pushes cost, and whether summaries stay true: the last commits of real repositories, summarised one by one, each built on the one before.
// The survey and everything that the host does are the real ones; the model writes from the text. Every claim is checked with git, which knows
// both commits, and without the code that made it.
import { execFile } from 'node:child_process'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { estimateTokens } from '../handoff/domain/estimate-tokens.js'
import { surveyTextBytes } from '../handoff/domain/summary/estimate-cost.js'
import { decodeNotes, encodeNotes } from '../handoff/domain/summary/notes.js'
import { renderSummary } from '../handoff/domain/summary/render-summary.js'
import {
  citedShare,
  decodeSummaryRecord,
  encodeSummaryRecord,
  type SummaryRecord,
  statementsOf,
} from '../handoff/domain/summary/summary-record.js'
import type { FileTable } from '../handoff/domain/survey.js'
import { survey } from '../handoff/sandbox/program/survey/index.js'
import { citedFiles } from '../handoff/workflows/summarise/previous-run.js'
import type { PreviousSummary, SummaryInput } from '../handoff/workflows/summarise/types.js'
import { type WrittenSummary, writeSummary } from '../handoff/workflows/summarise/write-summary.js'
import { type Checks, createChecks } from './history-checks.js'
import { historyModel } from './history-model.js'

interface PushRow {
  commit: string
  /** Chosen files with other content than before. */
  files: number
  /** Of these, source code. */
  source: number
  lost: number
  added: number
  calls: number
  inputTokens: number
  /** Of what a full run of the same commit reads. */
  share: number
  unchanged: boolean
}

interface HistoryReport {
  repository: string
  full: { inputTokens: number; calls: number; statements: number; cited: number }
  pushes: PushRow[]
  median: number
  p90: number
  checks: Checks['found']
  /** Pushes that sent tokens without a changed source file, and of these without any changed file that was read. */
  paidWithoutSource: number
  paidWithoutChange: number
  drift: Drift
}

/** The last summary beside one written from nothing at the same commit. */
interface Drift {
  statements: number
  freshStatements: number
  cited: number
  /** Of the directories that the fresh one cites, the share that the kept one cites; and that a fresh one of the first commit cites. */
  sameDirectories: number
  sameDirectoriesAtFirst: number
  /** Directories whose source came after the first commit, and how many of them each summary cites. */
  newDirectories: { all: number; cited: number; citedByFresh: number }
}

const run = promisify(execFile)
const commitsMeasured = 199
const inputTokens = 400_000
const contextTokens = 128_000

export async function benchHistory(repositories: readonly string[], commits = commitsMeasured): Promise<void> {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  for (const repository of repositories) {
    const report = await measureHistory(repository, commits)
    say(`\n${basename(repository.replace(/\/(?:repo|\.git)$/, ''))}: ${report.pushes.length} pushes`)
    say('commit   files source lost added calls   tokens  share  summary')
    for (const row of report.pushes) say(rowText(row))
    for (const line of describeReport(report)) say(line)
  }
}

function rowText(row: PushRow): string {
  const cells: [string | number, number][] = [
    [row.files, 6],
    [row.source, 7],
    [row.lost, 5],
    [row.added, 6],
    [row.calls, 6],
    [row.inputTokens, 9],
    [percent(row.share), 8],
  ]
  const text = cells.map(([cell, width]) => String(cell).padStart(width)).join('')
  return `${row.commit.slice(0, 8)}${text}  ${row.unchanged ? 'same bytes' : 'new bytes'}`
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`

function describeReport({
  full,
  pushes,
  median,
  p90,
  checks,
  paidWithoutSource,
  paidWithoutChange,
  drift,
}: HistoryReport): string[] {
  const free = pushes.filter((push) => push.inputTokens === 0).length
  return [
    `full run: ${full.inputTokens} tokens in ${full.calls} calls, ${full.statements} statements, ${percent(full.cited)} cite lines`,
    `share of a full run: median ${percent(median)} (goal 3 %), p90 ${percent(p90)} (goal 10 %); ${free} of ${pushes.length} pushes sent nothing`,
    `pushes that sent tokens: ${paidWithoutSource} without changed source code, ${paidWithoutChange} without any changed file that is read`,
    `stale statements unmarked: ${checks.stale.length} of ${checks.citations} citations checked; kept although git’s diff touches the lines: ${checks.rewritten}`,
    `deleted paths named: ${checks.deleted.length}; top-level directories not named: ${checks.uncovered.length}`,
    ...describeDrift(drift),
    ...[...checks.stale, ...checks.deleted, ...checks.uncovered].slice(0, 20).map((text) => `  ${text}`),
  ]
}

function describeDrift({ newDirectories: { all, cited, citedByFresh }, ...drift }: Drift): string[] {
  return [
    `drift: ${drift.statements} statements, ${percent(drift.cited)} cite lines; a fresh run has ${drift.freshStatements}`,
    `  of the directories that a fresh run cites, ${percent(drift.sameDirectories)} are cited; a fresh run of the first commit cites ${percent(drift.sameDirectoriesAtFirst)} of them`,
    `  of ${all} directories with new source since the first commit, ${cited} are cited; a fresh run cites ${citedByFresh}`,
  ]
}

/** Needs a repository with its history: a bare one, or its `.git`. */
export async function measureHistory(gitDirectory: string, commits: number): Promise<HistoryReport> {
  const model = historyModel(estimateTokens, contextTokens)
  const history = await lastCommits(gitDirectory, commits + 1)
  const checks = createChecks(gitDirectory)
  const order = async (commit: string, previous?: PreviousSummary): Promise<SummaryInput> => ({
    ...(await surveyCommit(gitDirectory, commit, previous)),
    model,
    limits: { inputTokens, concurrency: 4 },
    ...(previous ? { previous } : {}),
    emit: () => {},
    signal: new AbortController().signal,
  })

  let request = await order(history[0]!)
  let written = await writeSummary(request)
  const first = written
  const directoriesAtFirst = sourceDirectories(request)
  await checks.check(history[0]!, request.table!, written.record)
  const pushes: PushRow[] = []
  for (const commit of history.slice(1)) {
    const previous = keptFiles(written, request)
    request = await order(commit, previous)
    written = await writeSummary(request)
    pushes.push(rowOf(commit, previous, request, written))
    await checks.check(commit, request.table!, written.record)
  }
  const fresh = await writeSummary(await order(history.at(-1)!))
  return {
    repository: gitDirectory,
    full: {
      inputTokens: first.usage.inputTokens,
      calls: first.calls,
      statements: statementsOf(first.record).length,
      cited: citedShare(first.record),
    },
    pushes,
    median: quantile(pushes, 0.5),
    p90: quantile(pushes, 0.9),
    checks: checks.found,
    paidWithoutSource: pushes.filter((push) => push.source === 0 && push.inputTokens > 0).length,
    paidWithoutChange: pushes.filter((push) => push.files === 0 && push.inputTokens > 0).length,
    drift: driftOf({
      first: first.record,
      kept: written.record,
      fresh: fresh.record,
      added: sourceDirectories(request).filter((path) => !directoriesAtFirst.includes(path)),
    }),
  }
}

async function lastCommits(directory: string, count: number): Promise<string[]> {
  const { stdout } = await run('git', ['-C', directory, 'rev-list', '--first-parent', '-n', String(count), 'HEAD'])
  return stdout.trim().split('\n').reverse()
}

async function surveyCommit(
  gitDirectory: string,
  commit: string,
  previous?: PreviousSummary,
): Promise<Pick<SummaryInput, 'survey' | 'table' | 'relocations'> & object> {
  const limits = { textBytes: surveyTextBytes(estimateTokens, inputTokens), include: [], exclude: [] }
  const found = await survey({ gitDirectory, commit, limits, cited: citedFiles(previous?.record) })
  return { survey: { ...found.survey, texts: found.texts }, table: found.table, relocations: found.relocated }
}

/** What the next push finds in the run directory: through bytes. */
function keptFiles(
  { record, unchanged, notes, partial }: WrittenSummary,
  { survey: seen, table }: SummaryInput,
): PreviousSummary {
  const document = {
    record,
    target: { place: { host: 'github.com', repository: 'bench/it' }, commit: record.commit },
    repository: 'bench/it',
    counts: seen.counts,
    secrets: seen.secrets.length,
  }
  return {
    record: decodeSummaryRecord(encodeSummaryRecord(record)),
    summary: unchanged ?? renderSummary(document),
    notes: decodeNotes(encodeNotes(notes)),
    table: table!,
    ...(partial === undefined ? {} : { partial }),
  }
}

function rowOf(commit: string, previous: PreviousSummary, request: SummaryInput, written: WrittenSummary): PushRow {
  const before = new Set(statementsOf(previous.record).map(identity))
  const now = new Set(statementsOf(written.record).map(identity))
  const kept = [...now].filter((one) => before.has(one)).length
  const changed = changedFiles(previous.table, request)
  const used = written.usage.inputTokens
  return {
    commit,
    files: changed.length,
    source: changed.filter(({ kind }) => kind === 'source').length,
    lost: before.size - kept,
    added: now.size - kept,
    calls: written.calls,
    inputTokens: used,
    // What was saved is what is left of a full run; where nothing was, this was one.
    share: written.saved.inputTokens === 0 ? 1 : used / (used + written.saved.inputTokens),
    unchanged: written.unchanged !== undefined,
  }
}

/** A statement is the same one as long as it has the same words and the same lines. */
const identity = ({ text, citations }: ReturnType<typeof statementsOf>[number]) =>
  JSON.stringify([text, citations.map(({ digest }) => digest)])

function changedFiles(before: FileTable, { survey: seen, table }: SummaryInput) {
  const former = new Map(before.files.map(({ path, blob }) => [path, blob]))
  const present = new Set(table!.files.map(({ path }) => path))
  const chosen = new Map(seen.texts.map((text) => [text.path, text]))
  const gone = before.files.filter(({ path, state }) => state !== 'skipped' && !present.has(path))
  return [...[...chosen.values()].filter(({ path, blob }) => former.get(path) !== blob), ...gone]
}

const directoryOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/')))

const sourceDirectories = ({ survey: seen }: SummaryInput) => [
  ...new Set(seen.texts.filter(({ kind }) => kind === 'source').map(({ path }) => directoryOf(path))),
]

const citedDirectories = (record: SummaryRecord) => [
  ...new Set(statementsOf(record).flatMap(({ citations }) => citations.map(({ path }) => directoryOf(path)))),
]

function driftOf(summaries: {
  first: SummaryRecord
  kept: SummaryRecord
  fresh: SummaryRecord
  added: string[]
}): Drift {
  const [first, kept, fresh] = [summaries.first, summaries.kept, summaries.fresh].map(citedDirectories)
  const common = (all: string[], others = kept!) => all.filter((path) => others.includes(path)).length
  const share = (others: string[]) => (fresh!.length === 0 ? 1 : common(fresh!, others) / fresh!.length)
  const { added } = summaries
  return {
    statements: statementsOf(summaries.kept).length,
    freshStatements: statementsOf(summaries.fresh).length,
    cited: citedShare(summaries.kept),
    sameDirectories: share(kept!),
    sameDirectoriesAtFirst: share(first!),
    newDirectories: { all: added.length, cited: common(added), citedByFresh: common(added, fresh!) },
  }
}

function quantile(pushes: readonly PushRow[], part: number): number {
  const sorted = pushes.map(({ share }) => share).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0
}
