// The part of summarising that needs Sandbox A: it clones, surveys and stores, and is gone before this module returns.
//
// Three round trips: create, run, kill. The sandbox gets a token for one directory that expires with it. The host trusts no record of the
// sandbox: it verifies the stored files, and decodes the survey as untrusted data.

import { type AppContext, egressOf, lifetimeMargin } from '../../context.js'
import type { Change, ChangedLines } from '../../domain/change/change.js'
import { abortError, asOneFailure, HandoffError, isHandoffError, settleAll } from '../../domain/errors.js'
import type { Diagram } from '../../domain/graph/diagram.js'
import type { Artifact } from '../../domain/handoff-record.js'
import type { Sandbox, SandboxRequest } from '../../domain/ports.js'
import { artifact, type RunId } from '../../domain/run.js'
import type { CitedFile, SummariseTask } from '../../domain/sandbox-protocol.js'
import type { ProgramRecord, Relocation } from '../../domain/sandbox-protocol-decoder.js'
import { surveyTextBytes } from '../../domain/summary/estimate-cost.js'
import type { Survey } from '../../domain/survey.js'
import { runProgram } from '../../sandbox/run-program.js'
import { type OpenedRun, openRun } from '../../store/run-access.js'
import { openSandbox, type StepTimer } from '../../util/step-timer.js'
import type { SummariseRequest } from './types.js'

interface SurveyJob {
  request: SummariseRequest
  context: AppContext
  timer: StepTimer
  run: RunId
  directory: string
  /** Cited lines of the earlier run. It is read while the sandbox starts. */
  cited: Promise<CitedFile[]>
}

export interface SandboxResult {
  survey: Survey
  relocations: Relocation[]
  stored: Artifact[]
  /** As the sandbox drew it; not checked. */
  diagram?: Diagram
  /** What the sandbox says of the change; not checked. */
  change?: SandboxChange
  notices: string[]
  sandbox: { id: string; template: string }
  drive9?: { version: string; sha256: string }
}

export interface SandboxChange {
  base: string
  /** Absent when the git host does not give the base. */
  described?: Change
  lines: ChangedLines[]
}

export async function surveyInSandbox(job: SurveyJob, signal: AbortSignal): Promise<SandboxResult> {
  const { request, context, directory } = job
  const first = noRecords()
  const survey = (received: ReceivedRecords, header: InjectedHeaders) =>
    surveyOnce(job, received, header, signal).catch((error: unknown) => {
      throw asOneFailure(error)
    })
  try {
    return await survey(first, cloneTokenHeader(request))
  } catch (error) {
    if (!first.headerIgnored || signal.aborted) throw error
  }
  // E2B's open-source control plane accepts the header rule and does not apply it.
  const { hostname } = new URL(request.commit.cloneUrl)
  context.ports.emit({
    type: 'notice',
    text: `E2B accepted the clone token as a header, but ${hostname} did not receive it. A second sandbox gets the token in its environment.`,
  })
  // The first sandbox and its token are gone, so the second one starts with an empty directory.
  await context.ports.drive.remove(directory, { recursive: true, signal })
  return survey(noRecords(), undefined)
}

type InjectedHeaders = SandboxRequest['injectHeaders']

/** The clone token as a header that E2B adds outside the sandbox. E2B supports this on HTTPS and its default port only. */
function cloneTokenHeader({ commit, cloneToken }: SummariseRequest): InjectedHeaders {
  const { protocol, port, host } = new URL(commit.cloneUrl)
  if (!cloneToken || protocol !== 'https:' || port !== '') return undefined
  const basic = Buffer.from(`x-access-token:${cloneToken}`).toString('base64')
  return [{ host, headers: { Authorization: `Basic ${basic}` } }]
}

async function surveyOnce(
  job: SurveyJob,
  received: ReceivedRecords,
  injectHeaders: InjectedHeaders,
  signal: AbortSignal,
): Promise<SandboxResult> {
  const { context, timer, directory } = job
  const { ports } = context
  const lifetimeMs = context.limits.deadlineMs + lifetimeMargin
  await using resources = new AsyncDisposableStack()
  const owned = <T extends AsyncDisposable>(resource: T) => resources.use(resource)
  const [opened, { sandbox }] = await settleAll([
    timer
      .step('open directory', () => openRun(ports, directory, ports.uniqueId(), Math.ceil(lifetimeMs / 1_000), signal))
      .then(owned),
    openSandbox(timer, ports, 'summarise', sandboxRequest(job, lifetimeMs, injectHeaders), signal).then(owned),
  ])
  return await runSurveyProgram(job, received, sandbox, opened, signal)
}

function sandboxRequest(
  { request, context, run }: SurveyJob,
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

/** The token budget as bytes of text. */
function textBudget({ ports, limits }: AppContext): number {
  return Math.min(6_000_000, surveyTextBytes(ports.model.estimateTokens, limits.inputTokens))
}

async function runSurveyProgram(
  job: SurveyJob,
  received: ReceivedRecords,
  sandbox: Sandbox,
  opened: OpenedRun,
  signal: AbortSignal,
): Promise<SandboxResult> {
  const { request, context } = job
  let restricting: Promise<void> | undefined
  await runProgram(sandbox, {
    program: context.program,
    task: createTask(job, opened, await job.cited),
    secrets: programSecrets(request, sandbox, opened),
    timeoutMs: context.limits.deadlineMs,
    signal,
    onRecord(record) {
      receiveRecord(job, received, record)
      // The clone was the only step that needs the git host and its credential.
      if (record.type === 'step' && record.step === 'clone') restricting ??= restrictNetwork(context, sandbox, signal)
      received.headerIgnored ||= record.type === 'failed' && record.code === 'clone-refused' && sandbox.headersInjected
    },
  })
  await restricting
  if (signal.aborted) throw abortError(signal, 'reading the repository')
  const { survey, stored, texts, relocations, notices } = received
  if (!survey) {
    throw new HandoffError('sandbox', 'The sandbox ended without a survey of the repository.', { next: 'Try again.' })
  }
  requireStored(request, stored)
  const { files, read, cut, skipped } = survey.counts
  context.ports.emit({ type: 'survey-done', files, read, cut, skipped })
  return {
    survey: { ...survey, texts },
    relocations,
    stored,
    ...(received.diagram ? { diagram: received.diagram } : {}),
    ...(received.change ? { change: received.change } : {}),
    // Nothing proves these sentences, so each names its source.
    notices: [...notices, ...survey.notices].map((text) => `The sandbox reports: ${text}`),
    sandbox: { id: sandbox.id, template: sandbox.template },
    ...(received.drive9 ? { drive9: received.drive9 } : {}),
  }
}

/** A failure is a notice and does not end the run, because the sandbox ends soon. */
async function restrictNetwork(context: AppContext, sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  try {
    await sandbox.restrictNetwork(egressOf(context), signal)
  } catch (error) {
    const why = isHandoffError(error) ? error.message : 'An unexpected error.'
    context.ports.emit({ type: 'notice', text: `The sandbox reaches the git host until it ends. ${why}` })
  }
}

interface ReceivedRecords {
  stored: Artifact[]
  notices: string[]
  texts: Survey['texts']
  relocations: Relocation[]
  survey?: Omit<Survey, 'texts'>
  diagram?: Diagram
  change?: SandboxChange
  drive9?: { version: string; sha256: string }
  /** The git host refused the clone although E2B accepted the token as a header. */
  headerIgnored: boolean
}

const noRecords = (): ReceivedRecords => ({ stored: [], notices: [], texts: [], relocations: [], headerIgnored: false })

function receiveRecord({ timer, context }: SurveyJob, received: ReceivedRecords, record: ProgramRecord): void {
  switch (record.type) {
    case 'step':
      timer.note(record.step === 'unpack' ? 'find' : record.step, record.milliseconds)
      break
    case 'stored':
      received.stored.push({ path: record.path, bytes: record.bytes, sha256: record.sha256 })
      break
    case 'drive9':
      received.drive9 = { version: record.version, sha256: record.sha256 }
      context.ports.emit({ type: 'drive9-identified', ...received.drive9 })
      requirePinnedProgram(context, received.drive9)
      break
    case 'survey':
      received.survey = record
      break
    case 'change':
      received.change = { base: record.change.base, described: record.change, lines: [] }
      break
    case 'changed-lines':
      received.change?.lines.push(record)
      break
    case 'no-base':
      received.change = { base: record.base, lines: [] }
      break
    case 'diagram':
      received.diagram = record.diagram
      break
    case 'text':
      received.texts.push(record)
      break
    case 'relocated':
      received.relocations.push(record)
      break
    case 'notice':
      received.notices.push(record.text)
      break
    case 'stored-tree':
      if (record.lost > 0) received.notices.push(`${record.lost} ${lostEntriesNotice}`)
  }
}

const lostEntriesNotice = 'entries of the plain form could not be kept as they are; analysis/tree.json names them.'

/** handoff's template and `base` have the pinned drive9 program. Another template may have another one. */
function requirePinnedProgram(
  { drive9Sha256 }: AppContext,
  { version, sha256 }: { version: string; sha256: string },
): void {
  if (drive9Sha256 === undefined || drive9Sha256 === sha256) return
  throw new HandoffError(
    'sandbox',
    `The sandbox has drive9 ${version} with the sha256 ${sha256}; DRIVE9_BINARY_SHA256 pins another.`,
    { next: 'Leave E2B_TEMPLATE empty, build that template again with npm run template, or change the pin.' },
  )
}

/** A run is sealed only if the sandbox stored exactly the expected files. */
function requireStored(request: SummariseRequest, stored: Artifact[]): void {
  const wanted = [
    artifact.clone(request.commit.repository),
    artifact.files,
    artifact.outline,
    artifact.searchTable,
    artifact.searchPages,
    ...(request.form === 'plain' ? [artifact.treeTable] : []),
  ]
  const missing = wanted.filter((path) => !stored.some((entry) => entry.path === path))
  if (missing.length === 0 && stored.length === wanted.length) return
  throw new HandoffError(
    'sandbox',
    `The sandbox did not store what it should have: ${missing.join(', ') || 'there are more files than expected'}.`,
    { next: 'Try again; nothing was sealed.' },
  )
}

function createTask({ request, context }: SurveyJob, opened: OpenedRun, cited: CitedFile[]): SummariseTask {
  const { commit } = request
  return {
    task: 'summarise',
    mount: { server: context.ports.drive.server, remote: opened.stage, marker: opened.marker },
    clone: { url: commit.cloneUrl, sha: commit.sha, ...(commit.ref === undefined ? {} : { ref: commit.ref }) },
    ...(request.base === undefined ? {} : { base: request.base }),
    repositoryName: commit.repository.name,
    form: request.form ?? 'tar',
    survey: {
      textBytes: textBudget(context),
      include: request.include ?? [],
      exclude: request.exclude ?? [],
    },
    cited,
  }
}

function programSecrets(request: SummariseRequest, sandbox: Sandbox, opened: OpenedRun): Record<string, string> {
  return {
    DRIVE9_API_KEY: opened.token.secret,
    ...(request.cloneToken && !sandbox.headersInjected ? { HANDOFF_CLONE_TOKEN: request.cloneToken } : {}),
  }
}
