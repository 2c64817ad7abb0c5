// The first story: a commit becomes a sealed run.
//
// Data goes forward only: Commit → Run → Survey → Summary → Handoff. The sandbox writes what only it has (the clone and the tables drawn from
// it) and is gone before the model is asked; the host reads back every byte before it believes it, and writes what only it has.

import type { AppContext } from '../../context.js'
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import { type Handoff, isOf } from '../../domain/handoff-record.js'
import {
  type Commit,
  fullName,
  type Layout,
  layout,
  makeRunId,
  olderLayout,
  parseSha,
  quote,
  type RunId,
  shaOf,
} from '../../domain/run.js'
import { verifyPlainForm } from '../../store/plain-form.js'
import { prepareRef } from '../../store/ref-store.js'
import { point, readSealed, recoverSealed, type SealedRun, seal, sha256, verifyStored } from '../../store/run-store.js'
import { type StepTimer, startTimer } from '../../util/step-timer.js'
import { readSummary } from '../read-summary.js'
import { openCheckpoint, readFileTableOf, type SummaryFiles, summaryLimits, summaryOf } from './build-artifacts.js'
import { refuseImpossibleLimits } from './plan-summary.js'
import { findPreviousRun, type PreviousRun } from './previous-run.js'
import { type Found, readRepository } from './survey-in-sandbox.js'

export interface SummariseRequest {
  commit: Commit
  /** Names this attempt: the workflow run and its try, or a unique id. */
  attempt: string
  /** Make a new run although the commit has one. */
  force?: boolean
  form?: 'tar' | 'plain'
  /** Can read the repository and nothing else. */
  cloneToken?: string
  /** Where earlier prose may be, best first: commits (`before`) and refs (the branch, the base branch). */
  reuseFrom?: { commits?: string[]; refs?: string[] }
  requestedBy?: { workflowRun?: string; actor?: string }
  include?: string[]
  exclude?: string[]
  /** Written on the sandbox too, so that whoever asked can find it again from outside. */
  labels?: Record<string, string>
}

export interface SummariseResult {
  run: RunId
  directory: string
  handoff: Handoff
  /** The text of `code-summary.md`. */
  summary: string
  /** The commit had a sealed run already: no sandbox, no model. */
  reused: boolean
  /** The ref names this commit now. */
  refMoved: boolean
  /** What a reused run was made with where this request says otherwise. */
  otherwise: string[]
}

export async function summarise(
  request: SummariseRequest,
  context: AppContext,
  signal: AbortSignal,
): Promise<SummariseResult> {
  parseSha(request.commit.sha)
  const place = layout(context.root, request.commit.repository)
  const timer = startTimer(context.ports)
  // Beside the look at the directory, so that it takes no time; who finds a run there need not know.
  const checking = context.ports.model.check?.(signal)
  checking?.catch(() => undefined)
  const [known, before] = await timer.step('look up', () =>
    Promise.all([lookUp(request, context, place, signal), sealedBefore(request, context, signal)]),
  )
  if (known.sealed && !request.force) return reuse(request, context, place, known.sealed, signal)
  if (before) return reuse(request, context, before.place, before.sealed, signal)
  refuseImpossibleLimits({ model: context.ports.model, limits: summaryLimits(context) })
  await checking
  return make(request, context, place, timer, known.revision, signal)
}

/** The sealed run of the commit from before names were stored in lower case. One that cannot be read is made again. */
async function sealedBefore({ commit, force }: SummariseRequest, context: AppContext, signal: AbortSignal) {
  const place = olderLayout(context.root, commit.repository)
  if (!place || force) return undefined
  const sealed = await readSealed(context.ports.drive, place, commit.sha, signal).catch(() => undefined)
  return sealed && isOf(sealed.handoff, commit.repository) ? { sealed, place } : undefined
}

/** The sealed run of the commit, mended if a crash hid it, and the pointer's revision for a conditional write. */
async function lookUp(
  request: SummariseRequest,
  context: AppContext,
  place: Layout,
  signal: AbortSignal,
): Promise<{ sealed?: SealedRun; revision: number }> {
  const { drive } = context.ports
  const { sha } = request.commit
  const [revision, sealed] = await Promise.all([
    drive.stat(place.pointer(sha), signal).then((found) => found?.revision ?? 0),
    readSealed(drive, place, sha, signal).catch((error: unknown) => {
      // What force is for: a run that is broken is replaced, not read.
      if (request.force && (isHandoffError(error, 'corrupt') || isHandoffError(error, 'unknown-version')))
        return undefined
      throw error
    }),
  ])
  if (sealed) {
    sameRepository(request.commit, sealed.handoff)
    return { sealed, revision }
  }
  // Only force may replace a pointer, at the revision seen. Everybody else creates it, and learns from a conflict who was first.
  if (request.force) return { revision }
  const isOurs = (handoff: Handoff) => sameRepository(request.commit, handoff)
  const recovered = await recoverSealed(drive, place, sha, signal, isOurs)
  return recovered ? { sealed: recovered, revision: 0 } : { revision: 0 }
}

function sameRepository({ repository }: Pick<Commit, 'repository'>, handoff: Handoff): void {
  if (isOf(handoff, repository)) return
  throw new HandoffError(
    'forbidden',
    `The run belongs to another repository that was once called ${handoff.repository}.`,
    {
      next: 'Remove the old runs with npm run prune, or choose another DRIVE9_ROOT.',
    },
  )
}

async function reuse(
  request: SummariseRequest,
  context: AppContext,
  place: Layout,
  sealed: SealedRun,
  signal: AbortSignal,
): Promise<SummariseResult> {
  const { handoff } = sealed
  const directory = place.run(handoff.run)
  context.ports.emit({ type: 'run-chosen', run: handoff.run, directory, reused: true })
  const [summary, refMoved] = await Promise.all([
    readSummary(context, directory, handoff, signal),
    prepareRef(context.ports, place, request.commit, signal).finish(signal),
  ])
  return {
    run: handoff.run,
    directory,
    handoff,
    summary,
    reused: true,
    refMoved,
    otherwise: otherwise(request, context, handoff),
  }
}

async function make(
  request: SummariseRequest,
  context: AppContext,
  place: Layout,
  timer: StepTimer,
  revision: number,
  signal: AbortSignal,
): Promise<SummariseResult> {
  const { ports } = context
  const run = makeRunId(request.commit.sha, request.attempt)
  const directory = place.run(run)
  ports.emit({ type: 'run-chosen', run, directory, reused: false })

  // Nobody waits for these until the model is asked; they are read while the sandbox works.
  const older = olderLayout(context.root, request.commit.repository)
  const previous = findPreviousRun(context, older ? [place, older] : [place], request, signal)
  const checkpoint = openCheckpoint(context, place.checkpoint(request.commit.sha), signal)
  const found = await readRepository({ request, context, timer, run, directory }, signal)
  const [table] = await timer.step('verify', () =>
    Promise.all([
      readFileTableOf(context, directory, signal),
      verifyStored(ports.drive, directory, found.stored, signal),
      request.form === 'plain' &&
        verifyPlainForm(ports.drive, directory, request.commit.repository, found.stored, signal),
    ]),
  )

  const written = await timer.step('summarise', async () =>
    summaryOf(request, context, found.survey, { previous: await previous, table, checkpoint }, signal),
  )
  const sealedAt = ports.now().toISOString()
  const ref = prepareRef(ports, place, request.commit, signal)
  const handoff = recordOf(request, context, run, found, written, await previous, timer, sealedAt)
  const pointer = await timer.step('seal', () => seal(ports.drive, place, handoff, written.files, signal))
  const [speaking, refMoved] = await timer.step('point', () =>
    Promise.all([point(ports.drive, place, pointer, revision, signal), ref.finish(signal)]),
  )
  await leaveNothingBehind(context, place, run, signal)
  if (speaking.run !== run) return yieldTo(request, context, place, run, signal)
  return { run, directory, handoff, summary: written.summary, reused: false, refMoved, otherwise: [] }
}

/** Old runs do not say their patterns; those are taken for the same. */
function otherwise(request: SummariseRequest, context: AppContext, { model, form, patterns }: Handoff): string[] {
  const now = context.ports.model
  return [
    ...(model.name === now.name && model.host === now.host ? [] : [`the model ${quote(model.name)} at ${model.host}`]),
    ...(patterns === undefined || patterns === patternsOf(request) ? [] : ['other patterns in include or exclude']),
    ...(form === formOf(request) ? [] : [`form: ${form}`]),
  ]
}

const formOf = ({ form }: SummariseRequest) => form ?? 'tar'

const patternsOf = ({ include = [], exclude = [] }: SummariseRequest) =>
  sha256(new TextEncoder().encode(JSON.stringify({ include, exclude })))

/** The note and the parts paid for have done their work; whether they go now or by the next prune changes nothing for a reader. */
async function leaveNothingBehind(context: AppContext, place: Layout, run: RunId, signal: AbortSignal): Promise<void> {
  const gone = (path: string) => context.ports.drive.remove(path, { recursive: false, signal }).catch(() => false)
  await Promise.all([gone(place.sealNote(run)), gone(place.checkpoint(shaOf(run)))])
}

/** Another attempt at the same commit was first. Its run is the answer, and ours is removed. */
async function yieldTo(
  request: SummariseRequest,
  context: AppContext,
  place: Layout,
  run: RunId,
  signal: AbortSignal,
): Promise<SummariseResult> {
  await context.ports.drive.remove(place.run(run), { recursive: true, signal }).catch(() => false)
  const sealed = await readSealed(context.ports.drive, place, request.commit.sha, signal)
  if (!sealed)
    throw new HandoffError('conflict', 'Another attempt at this commit was first, and its run is gone again.', {
      next: 'Try again.',
    })
  sameRepository(request.commit, sealed.handoff)
  return reuse(request, context, place, sealed, signal)
}

function recordOf(
  request: SummariseRequest,
  context: AppContext,
  run: RunId,
  found: Found,
  summary: SummaryFiles,
  previous: PreviousRun | undefined,
  timer: StepTimer,
  sealedAt: string,
): Handoff {
  const { commit } = request
  const { id } = commit.repository
  const { artifacts, ...part } = summary.record
  return {
    version: 1,
    run,
    host: commit.repository.host,
    repository: fullName(commit.repository),
    ...(id === undefined ? {} : { repositoryId: id }),
    ...(commit.ref === undefined ? {} : { ref: commit.ref }),
    commit: commit.sha,
    ...(previous && part.reusedPercent > 0 ? { basedOn: previous.handoff.run } : {}),
    form: formOf(request),
    patterns: patternsOf(request),
    artifacts: [...found.stored, ...artifacts],
    survey: found.survey.counts,
    secrets: found.survey.secrets.length,
    ...part,
    model: { name: context.ports.model.name, host: context.ports.model.host },
    durations: timer.durations(),
    sandbox: found.sandbox,
    ...(found.drive9 ? { drive9: found.drive9 } : {}),
    ...(request.requestedBy ? { requestedBy: request.requestedBy } : {}),
    notices: [...summary.notices, ...found.notices].slice(0, 30).map((text) => text.slice(0, 500)),
    sealedAt,
  }
}
