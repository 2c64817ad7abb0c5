// The half of the first story that needs a machine: Sandbox A clones, surveys and stores, and is gone before this returns.
//
// Three crossings: create, run, kill. The machine gets a token that opens one directory, for its own lifetime; its word is taken for nothing
// but what it stored and what it saw.

import { type AppContext, egressOf, lifetimeMargin } from '../../context.js'
import { abortError, HandoffError } from '../../domain/errors.js'
import type { Artifact } from '../../domain/handoff-record.js'
import type { Sandbox, SandboxRequest } from '../../domain/ports.js'
import { artifact, type RunId } from '../../domain/run.js'
import type { GuestRecord, SummariseTask } from '../../domain/sandbox-protocol.js'
import { surveyTextBytes } from '../../domain/summary/estimate-cost.js'
import type { Survey } from '../../domain/survey.js'
import { runGuest } from '../../sandbox/run-program.js'
import { type OpenedRun, openRun } from '../../store/run-store.js'
import { type OwnedSandbox, openSandbox, type StepTimer, together, undoing } from '../../util/step-timer.js'
import type { SummariseRequest } from './summarise-commit.js'

export interface Reading {
  request: SummariseRequest
  context: AppContext
  timer: StepTimer
  run: RunId
  directory: string
}

export interface Found {
  survey: Survey
  stored: Artifact[]
  notices: string[]
  sandbox: { id: string; template: string }
  drive9?: { version: string; sha256: string }
}

/** Everything that needs the sandbox: three round trips, and nothing of it is left when this returns. */
export async function readRepository(reading: Reading, signal: AbortSignal): Promise<Found> {
  const { request, context, directory } = reading
  const first = nothingHeard()
  try {
    return await readOnce(reading, first, headerFor(request), signal)
  } catch (error) {
    if (!first.tokenUnused || signal.aborted) throw error
  }
  // E2B's open-source control plane accepts such a rule and has nothing that applies it.
  const { hostname } = new URL(request.commit.cloneUrl)
  context.ports.emit({
    type: 'notice',
    text: `E2B accepted the clone token as a header and ${hostname} was not shown it; a second sandbox gets the token in its environment.`,
  })
  // No two sandboxes share a directory: the first one is gone, and so is its token.
  await context.ports.drive.remove(directory, { recursive: true, signal })
  return readOnce(reading, nothingHeard(), undefined, signal)
}

type InjectedHeaders = SandboxRequest['injectHeaders']

/** The clone token as a header that E2B adds outside the sandbox. It can do so only on HTTPS and its usual port. */
function headerFor({ commit, cloneToken }: SummariseRequest): InjectedHeaders {
  const { protocol, port, host } = new URL(commit.cloneUrl)
  if (!cloneToken || protocol !== 'https:' || port !== '') return undefined
  const basic = Buffer.from(`x-access-token:${cloneToken}`).toString('base64')
  return [{ host, headers: { Authorization: `Basic ${basic}` } }]
}

async function readOnce(
  reading: Reading,
  heard: Heard,
  injectHeaders: InjectedHeaders,
  signal: AbortSignal,
): Promise<Found> {
  const { context, timer, directory } = reading
  const { ports } = context
  const lifetimeMs = context.limits.deadlineMs + lifetimeMargin
  const textBytes = mostText(context)
  const [owned, opened] = await together(
    openSandbox(timer, ports, 'summarise', sandboxRequest(reading, lifetimeMs, injectHeaders), signal),
    timer.step('open directory', () =>
      openRun(ports, directory, ports.uniqueId(), Math.ceil(lifetimeMs / 1_000), signal),
    ),
    { first: (sandbox) => sandbox.close(), second: (directoryToken) => directoryToken.revoke() },
  )
  return undoing(() => work(reading, heard, owned, opened, textBytes, signal), [owned.close, opened.revoke])
}

function sandboxRequest(
  { request, context, run }: Reading,
  lifetimeMs: number,
  injectHeaders: InjectedHeaders,
): SandboxRequest {
  const { hostname } = new URL(request.commit.cloneUrl)
  return {
    metadata: {
      ...request.labels,
      handoff: '1',
      role: 'summarise',
      run,
      attempt: request.attempt,
      ...(request.requestedBy?.workflowRun ? { workflow: request.requestedBy.workflowRun } : {}),
    },
    lifetimeMs,
    egress: egressOf(context, hostname),
    ...(injectHeaders ? { injectHeaders } : {}),
  }
}

/** The model's budget in bytes. Counting may have to load a vocabulary; that goes beside the start of the machine. */
function mostText({ ports, limits }: AppContext): Promise<number> {
  const counting = surveyTextBytes(ports.model.countTokens, limits.inputTokens).then((bytes) =>
    Math.min(6_000_000, bytes),
  )
  counting.catch(() => undefined)
  return counting
}

async function work(
  reading: Reading,
  heard: Heard,
  owned: OwnedSandbox,
  opened: OpenedRun,
  textBytes: Promise<number>,
  signal: AbortSignal,
): Promise<Found> {
  const { request, context } = reading
  const { sandbox } = owned
  await runGuest(sandbox, {
    program: context.program,
    task: taskOf(reading, opened, await textBytes),
    secrets: secretsFor(request, sandbox, opened),
    timeoutMs: context.limits.deadlineMs,
    signal,
    onRecord(record) {
      hear(reading, heard, record)
      heard.tokenUnused ||= record.type === 'failed' && record.code === 'clone-refused' && sandbox.headersInjected
    },
  })
  if (signal.aborted) throw abortError(signal, 'reading the repository')
  const { survey, stored, texts, notices } = heard
  if (!survey) {
    throw new HandoffError('sandbox', 'The sandbox ended without a survey of the repository.', { next: 'Try again.' })
  }
  expectStored(request, stored)
  const { files, read, cut, skipped } = survey.counts
  context.ports.emit({ type: 'survey-done', files, read, cut, skipped })
  return {
    survey: { ...survey, texts },
    stored,
    notices: [...notices, ...survey.notices],
    sandbox: { id: sandbox.id, template: sandbox.template },
    ...(heard.drive9 ? { drive9: heard.drive9 } : {}),
  }
}

interface Heard {
  stored: Artifact[]
  notices: string[]
  texts: Survey['texts']
  survey?: Omit<Survey, 'texts'>
  drive9?: { version: string; sha256: string }
  /** The git host refused the clone, and the token was to be added outside the sandbox. */
  tokenUnused: boolean
}

const nothingHeard = (): Heard => ({ stored: [], notices: [], texts: [], tokenUnused: false })

function hear({ timer, context }: Reading, heard: Heard, record: GuestRecord): void {
  switch (record.type) {
    case 'step':
      timer.note(record.step === 'unpack' ? 'find' : record.step, record.milliseconds)
      break
    case 'stored':
      heard.stored.push({ path: record.path, bytes: record.bytes, sha256: record.sha256 })
      break
    case 'drive9':
      heard.drive9 = { version: record.version, sha256: record.sha256 }
      context.ports.emit({ type: 'drive9-identified', ...heard.drive9 })
      expectPinned(context, heard.drive9)
      break
    case 'survey':
      heard.survey = record
      break
    case 'text':
      heard.texts.push(record)
      break
    case 'notice':
      heard.notices.push(record.text)
      break
    case 'stored-tree':
      if (record.lost > 0) heard.notices.push(`${record.lost} ${lostOfPlainForm}`)
  }
}

const lostOfPlainForm = 'entries of the plain form could not be kept as they are; analysis/tree.json names them.'

/** Our own template and `base` have the pinned program; another template has what it was built with. */
function expectPinned({ drive9Sha256 }: AppContext, { version, sha256 }: { version: string; sha256: string }): void {
  if (drive9Sha256 === undefined || drive9Sha256 === sha256) return
  throw new HandoffError(
    'sandbox',
    `The sandbox has drive9 ${version} with the sha256 ${sha256}; DRIVE9_BINARY_SHA256 pins another.`,
    { next: 'Leave E2B_TEMPLATE empty, build that template again with npm run template, or change the pin.' },
  )
}

/** A sandbox that forgot something must not be sealed, whatever it says. */
function expectStored(request: SummariseRequest, stored: Artifact[]): void {
  const wanted = [
    artifact.clone(request.commit.repository),
    artifact.files,
    artifact.outline,
    ...(request.form === 'plain' ? [artifact.treeTable] : []),
  ]
  const missing = wanted.filter((path) => !stored.some((entry) => entry.path === path))
  if (missing.length === 0 && stored.length === wanted.length) return
  throw new HandoffError(
    'sandbox',
    `The sandbox did not store what it should have: ${missing.join(', ') || 'there is more than was asked for'}.`,
    { next: 'Try again; nothing was sealed.' },
  )
}

function taskOf({ request, context, directory }: Reading, opened: OpenedRun, textBytes: number): SummariseTask {
  const { commit } = request
  return {
    task: 'summarise',
    mount: { server: context.ports.drive.server, remote: directory, marker: opened.marker },
    clone: { url: commit.cloneUrl, sha: commit.sha, ...(commit.ref === undefined ? {} : { ref: commit.ref }) },
    repositoryName: commit.repository.name,
    form: request.form ?? 'tar',
    survey: {
      textBytes,
      include: request.include ?? [],
      exclude: request.exclude ?? [],
    },
  }
}

function secretsFor(request: SummariseRequest, sandbox: Sandbox, opened: OpenedRun): Record<string, string> {
  return {
    DRIVE9_API_KEY: opened.token.secret,
    ...(request.cloneToken && !sandbox.headersInjected ? { HANDOFF_CLONE_TOKEN: request.cloneToken } : {}),
  }
}
