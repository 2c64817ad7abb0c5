// What pushes cost: the last commits of a real repository, summarised one by one, each built on the one before. Nothing is measured here but
// what would be sent to a model; the survey and everything the host does are the real ones.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { estimateTokens } from '../handoff/domain/estimate-tokens.js'
import { surveyTextBytes } from '../handoff/domain/summary/estimate-cost.js'
import { findMentions } from '../handoff/domain/summary/path-mentions.js'
import { decodeSummaryCache, encodeSummaryCache } from '../handoff/domain/summary/summary-cache.js'
import { renderSummary, sectionsMarkdown } from '../handoff/domain/summary/summary-document.js'
import { summaryInstructions } from '../handoff/domain/summary/summary-prompt.js'
import { type SummaryInput, type WrittenSummary, writeSummary } from '../handoff/index.js'
import { survey } from '../handoff/sandbox/program/survey/index.js'
import { talkingModel } from './verbose-model.js'

export interface PushRow {
  commit: string
  calls: number
  inputTokens: number
  /** Described files that are not what they were. */
  files: number
  /** Of what a run from nothing would read of the same commit, as it is estimated before one. */
  share: number
  /** Of what the first run, from nothing, read. */
  shareOfFirst: number
  /** The earlier file was kept byte for byte. */
  unchanged: boolean
  milliseconds: number
}

export interface IncrementalReport {
  repository: string
  limits: { inputTokens: number; textBytes: number }
  /** The first of the commits, summarised from nothing: as it was, and the last one too. */
  full: { calls: number; inputTokens: number; describedFiles: number; partial?: string }
  fullAtTheEnd: { calls: number; inputTokens: number }
  pushes: PushRow[]
  /** Of the pushes' shares of a full run. */
  median: number
  p90: number
  /** The least that any request has: the instructions, in tokens. */
  instructions: number
  /** Paths that are gone and were named, and directories at the top that were not: none is right. */
  stale: string[]
  uncovered: string[]
  proseBytes: number
}

export interface IncrementalOptions {
  inputTokens?: number
  contextTokens?: number
}

const run = promisify(execFile)

const commitsMeasured = 100

/** Prints every push of every repository, and what they come to. */
export async function benchIncremental(
  repositories: readonly string[],
  commits = commitsMeasured,
): Promise<IncrementalReport[]> {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  say('\nPushes: what is sent to the model, against a full run')
  const reports: IncrementalReport[] = []
  for (const repository of repositories) {
    const report = await measurePushes(repository, commits)
    reports.push(report)
    const { full, pushes, median, p90, stale, uncovered } = report
    say(`  ${repository}${pushes.length === 0 ? ': one commit only, so there is no push to measure' : ''}`)
    if (pushes.length === 0) continue
    say(`    full run: ${full.inputTokens} tokens in ${full.calls} calls for ${full.describedFiles} files`)
    say(`    tokens of each push: ${pushes.map((push) => push.inputTokens).join(', ')}`)
    say(`    milliseconds of the host's own work: ${pushes.map((push) => push.milliseconds).join(', ')}`)
    say(`    pushes that asked for nothing: ${pushes.filter((push) => push.calls === 0).length} of ${pushes.length}`)
    say(
      `    against a full run of the same commit: median ${percent(median)} (goal 2 %), p90 ${percent(p90)} (goal 5 %)`,
    )
    for (const line of detailsOf(report)) say(`      ${line}`)
    say(`    gone and still named: ${stale.length}, directories at the top not named: ${uncovered.length}`)
  }
  return reports
}

/** What the shares are made of, and why they cannot be less where that is so. */
function detailsOf({ full, fullAtTheEnd, pushes, instructions }: IncrementalReport): string[] {
  const first = quantiles(pushes.map((push) => push.shareOfFirst))
  const single = pushes.filter((push) => push.files === 1)
  const one = quantiles(single.map((push) => push.share))
  const least = instructions / Math.max(full.inputTokens, fullAtTheEnd.inputTokens)
  return [
    `against the run from nothing at the start: median ${percent(first.median)}, p90 ${percent(first.p90)}; the last one reads ${fullAtTheEnd.inputTokens} tokens`,
    `pushes that change one described file: ${single.length}, median ${percent(one.median)}, p90 ${percent(one.p90)}`,
    ...(least > 0.005
      ? [
          `the instructions of one request have ${instructions} tokens, ${percent(least)} of the larger full run: too small a repository for the goal`,
        ]
      : []),
  ]
}

const percent = (share: number) => `${(share * 100).toFixed(2)} %`

/** Needs a repository with its history: as a bare one, or its `.git`. */
export async function measurePushes(
  repositoryDirectory: string,
  commits: number,
  options: IncrementalOptions = {},
): Promise<IncrementalReport> {
  const inputTokens = options.inputTokens ?? 400_000
  const model = talkingModel(estimateTokens, options.contextTokens ?? 128_000)
  const limits = { inputTokens, textBytes: surveyTextBytes(estimateTokens, inputTokens) }
  const look = surveyor(repositoryDirectory, limits.textBytes)
  const history = await lastCommits(repositoryDirectory, commits + 1)
  const order = async (commit: string, previous?: SummaryInput['previous']): Promise<SummaryInput> => ({
    ...(await look(commit)),
    model,
    limits: { inputTokens, concurrency: 4 },
    ...(previous ? { previous } : {}),
    emit: () => {},
    signal: new AbortController().signal,
  })

  let request = await order(history[0]!)
  let written = await writeSummary(request)
  const full = written
  const pushes: PushRow[] = []
  const checks = { stale: new Set<string>(), uncovered: new Set<string>(), ever: new Set<string>() }
  for (const commit of history.slice(1)) {
    remember(checks.ever, request)
    const before = request
    request = await order(commit, kept(written, request))
    const start = performance.now()
    written = await writeSummary(request)
    pushes.push(rowOf(commit, written, full, changedFiles(before, request), performance.now() - start))
    check(written, request, checks)
  }
  const last = await writeSummary(await order(history.at(-1)!))
  return {
    repository: repositoryDirectory,
    limits,
    full: {
      calls: full.calls,
      inputTokens: full.usage.inputTokens,
      describedFiles: full.cache.files.filter((file) => !file.leftOut).length,
      ...(full.partial === undefined ? {} : { partial: full.partial }),
    },
    fullAtTheEnd: { calls: last.calls, inputTokens: last.usage.inputTokens },
    pushes,
    ...quantiles(pushes.map((row) => row.share)),
    stale: [...checks.stale],
    uncovered: [...checks.uncovered],
    instructions: estimateTokens(summaryInstructions),
    proseBytes: encodeSummaryCache(written.cache).length,
  }
}

async function lastCommits(directory: string, count: number): Promise<string[]> {
  const { stdout } = await run('git', ['-C', directory, 'rev-list', '--first-parent', '-n', String(count), 'HEAD'])
  return stdout.trim().split('\n').reverse()
}

function surveyor(gitDirectory: string, textBytes: number) {
  return async (commit: string): Promise<Pick<SummaryInput, 'survey' | 'table'>> => {
    const limits = { textBytes, include: [], exclude: [] }
    const found = await survey({ gitDirectory, commit, limits })
    return { survey: { ...found.survey, texts: found.texts }, table: found.table }
  }
}

/** What the next push finds in the run directory: through bytes. */
function kept(written: WrittenSummary, { survey: seen, model }: SummaryInput): NonNullable<SummaryInput['previous']> {
  const { sections, partial } = written
  const { commit, counts, secrets } = seen
  const summary =
    written.unchanged ??
    renderSummary({
      sections,
      repository: 'bench/it',
      commit,
      model: model.name,
      counts,
      secrets: secrets.length,
      ...(partial ? { partial } : {}),
    })
  return { cache: decodeSummaryCache(encodeSummaryCache(written.cache)), summary }
}

/** Of the texts that were chosen before or now. */
function changedFiles(before: SummaryInput, now: SummaryInput): number {
  const blobs = (order: SummaryInput) => new Map(order.survey.texts.map(({ path, blob }) => [path, blob]))
  const [former, present] = [blobs(before), blobs(now)]
  const gone = [...former.keys()].filter((path) => !present.has(path))
  return gone.length + [...present].filter(([path, blob]) => former.get(path) !== blob).length
}

function rowOf(
  commit: string,
  written: WrittenSummary,
  full: WrittenSummary,
  files: number,
  milliseconds: number,
): PushRow {
  const { inputTokens } = written.usage
  return {
    commit,
    calls: written.calls,
    inputTokens,
    files,
    // What was saved is what is left of a full run; where nothing was, this was one.
    share: written.saved.inputTokens === 0 ? 1 : inputTokens / (inputTokens + written.saved.inputTokens),
    shareOfFirst: inputTokens / full.usage.inputTokens,
    unchanged: written.unchanged !== undefined,
    milliseconds: Math.round(milliseconds),
  }
}

// ── staleness ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function remember(ever: Set<string>, { table }: SummaryInput): void {
  for (const path of pathsOf(table)) ever.add(path)
}

function pathsOf(table: SummaryInput['table']): Set<string> {
  const paths = new Set<string>()
  for (const { path } of table?.files ?? []) {
    for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) paths.add(at)
  }
  return paths
}

function check(
  written: WrittenSummary,
  { table }: SummaryInput,
  found: { stale: Set<string>; uncovered: Set<string>; ever: Set<string> },
): void {
  const there = pathsOf(table)
  const text = sectionsMarkdown(written.sections)
  for (const { path } of findMentions([text, ...written.cache.parts.map((part) => part.text)].join('\n\n'))) {
    const plain = path.replace(/\/$/, '')
    if (found.ever.has(plain) && !there.has(plain)) found.stale.add(`${plain} at ${table?.commit}`)
  }
  for (const path of there) {
    const top = path.includes('/') ? path.slice(0, path.indexOf('/')) : undefined
    if (top !== undefined && !text.includes(`${top}/`)) found.uncovered.add(`${top} at ${table?.commit}`)
  }
}

function quantiles(shares: number[]): { median: number; p90: number } {
  const sorted = [...shares].sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0
  return { median: at(0.5), p90: at(0.9) }
}
