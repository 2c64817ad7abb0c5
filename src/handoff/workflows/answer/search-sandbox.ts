// Sandbox B: may read one run's directory and nothing else. Each search is one round trip.

import { type AppContext, egressOf, lifetimeMargin } from '../../context.js'
import type { Excerpt } from '../../domain/answer.js'
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Sandbox } from '../../domain/ports.js'
import { artifact } from '../../domain/run.js'
import type { FindTask, MoreRequest, MoreTask, ProgramRecord, Search, Searched } from '../../domain/sandbox-protocol.js'
import { runProgram } from '../../sandbox/run-program.js'
import { openSealed } from '../../store/run-access.js'
import { orAborted } from '../../util/abort.js'
import { openBoth, openSandbox, type StepTimer } from '../../util/step-timer.js'
import type { ChosenRun } from './resolve-run.js'

export interface Looking {
  context: AppContext
  timer: StepTimer
  run: ChosenRun
  /** Written on the sandbox, beside our own. */
  labels?: Record<string, string>
}

export interface OpenRun {
  sandbox: Sandbox
  /** Opens the run's directory for reading. */
  token: string
  /** Idempotent: the machine is gone and the token is revoked. */
  close(): Promise<void>
  /** Whether it is being ended. */
  closing(): boolean
  /** Whether the clone is unpacked in it. */
  prepared: boolean
}

export async function openForReading({ context, timer, run, labels }: Looking, signal: AbortSignal): Promise<OpenRun> {
  const { ports } = context
  const { sandboxBy = Number.POSITIVE_INFINITY, deadlineMs } = context.limits
  // Computed now, because waiting for a slot used up part of the time.
  const lifetimeMs = Math.max(1_000, Math.min(deadlineMs + lifetimeMargin, sandboxBy - ports.clock.now()))
  const metadata = { ...labels, handoff: '1', role: 'ask', run: run.handoff.run }
  const [owned, opened] = await openBoth(
    openSandbox(timer, ports, 'ask', { metadata, lifetimeMs, egress: egressOf(context) }, signal),
    openSealed(ports, run.directory, Math.ceil(lifetimeMs / 1_000), signal),
    { first: (sandbox) => sandbox.close(), second: (token) => token.revoke() },
  )
  let closing: Promise<void> | undefined
  const end = async () => {
    const [gone, revoked] = await Promise.allSettled([endedSoon(context, owned.close()), opened.revoke()])
    // Sandbox and token are read-only and expire, so a failure here does not discard the answer.
    if (gone.status === 'rejected') ports.emit({ type: 'notice', text: machineLeft(gone.reason) })
    if (revoked.status === 'rejected') ports.emit({ type: 'notice', text: tokenLeft })
  }
  return {
    sandbox: owned.sandbox,
    token: opened.token.secret,
    close: () => (closing ??= end()),
    closing: () => closing !== undefined,
    prepared: false,
  }
}

/** A generated answer does not wait longer than this for the end of its sandbox. */
const killPatienceMs = 5_000

function endedSoon({ background }: AppContext, closing: Promise<void>): Promise<void> {
  if (!background) return closing
  background(closing)
  return orAborted(closing, AbortSignal.timeout(killPatienceMs), 'the sandbox was being ended')
}

const machineLeft = (error: unknown) =>
  `The sandbox could not be ended, and ends by itself when its time is over: ${isHandoffError(error) ? error.message : 'an unexpected error'}`

const tokenLeft = "The sandbox's token could not be revoked; it can only read this run, and ends by itself."

export interface Shown {
  excerpts: Excerpt[]
  listings: { path: string; entries: string[] }[]
  searched: string[]
  /** How the question's own words were found. */
  search?: Searched
}

export const nothingShown = (): Shown => ({ excerpts: [], listings: [], searched: [] })

export interface Look {
  question: string
  terms: string[]
  earlier?: string[]
  /** Tokens of numbered lines that may be printed. */
  tokens: number
  /** Lines, searches and lists that are asked for by name; without any the question is searched. */
  requests: MoreRequest[]
}

/** One round trip: the first one also brings the clone into the sandbox. Adds the result to `shown`. */
export async function searchSandbox(
  looking: Looking,
  open: OpenRun,
  shown: Shown,
  look: Look,
  signal: AbortSignal,
): Promise<void> {
  const { context, run } = looking
  const search = searchFor(look, shown.excerpts)
  const task = open.prepared ? moreTask(run, search, look.requests) : findTask(context, run, search, look.requests)
  open.prepared = true
  const before = shown.excerpts.length
  await runProgram(open.sandbox, {
    program: context.program,
    task,
    secrets: task.task === 'find' ? { DRIVE9_API_KEY: open.token } : {},
    timeoutMs: context.limits.deadlineMs,
    signal,
    onRecord: (record) => take(looking, shown, record),
  })
  const found = shown.excerpts.slice(before)
  const files = new Set(found.map((excerpt) => excerpt.path)).size
  context.ports.emit({ type: 'excerpts-found', count: found.length, files })
}

function take({ context, timer }: Looking, shown: Shown, record: ProgramRecord): void {
  if (record.type === 'excerpt') shown.excerpts.push({ ...record, lines: record.lines.map(context.redact) })
  else if (record.type === 'listing') shown.listings.push(record)
  else if (record.type === 'searched') {
    shown.searched = [...new Set([...shown.searched, ...record.terms])]
    shown.search ??= record
  } else if (record.type === 'notice') context.ports.emit({ type: 'notice', text: record.text })
  else if (record.type === 'step' && record.step === 'mount') timer.note('mount', record.milliseconds)
}

function findTask(
  context: AppContext,
  { handoff, directory, pointer }: ChosenRun,
  search: Search,
  requests: MoreRequest[],
): FindTask {
  const clonePath = clonePathOf({ handoff })
  const needed = new Set<string>([clonePath, artifact.outline, artifact.summary, artifact.summaryRecord])
  return {
    task: 'find',
    mount: {
      server: context.ports.drive.server,
      remote: directory,
      marker: { path: artifact.handoff, sha256: pointer.handoff },
    },
    artifacts: handoff.artifacts.filter((entry) => needed.has(entry.path)),
    clonePath,
    repositoryName: repositoryNameIn(clonePath),
    commit: handoff.commit,
    search,
    ...(requests.length === 0 ? {} : { requests }),
  }
}

function moreTask({ handoff }: ChosenRun, search: Search, requests: MoreRequest[]): MoreTask {
  const repositoryName = repositoryNameIn(clonePathOf({ handoff }))
  return { task: 'more', repositoryName, commit: handoff.commit, search, requests }
}

function clonePathOf({ handoff }: Pick<ChosenRun, 'handoff'>): string {
  const clonePath = handoff.artifacts.find((entry) => entry.path.endsWith('.git.tar'))?.path
  if (clonePath) return clonePath
  throw new HandoffError('corrupt', `Run ${handoff.run} has no clone among its artifacts.`, {
    next: 'Summarise the commit again with force.',
  })
}

/** The directory inside the tar is called as the repository was called when the run was made. */
const repositoryNameIn = (clonePath: string) => (clonePath.split('/').at(-1) ?? '').replace(/\.git\.tar$/, '')

function searchFor({ question, terms, earlier = [], tokens }: Look, excerpts: readonly Excerpt[]): Search {
  return {
    question,
    terms: terms.slice(0, 60),
    earlier: earlier.slice(0, 60),
    tokens,
    shown: excerpts.map((excerpt) => ({
      path: excerpt.path,
      from: excerpt.from,
      to: excerpt.from + excerpt.lines.length - 1,
    })),
  }
}
