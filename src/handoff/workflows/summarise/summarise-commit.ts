// Summarises a commit: creates a sealed run of it, or returns the run that the commit already has.
//
// The sandbox writes the clone and the tables drawn from it, and is gone before the model is asked. The host reads back every byte that
// the sandbox stored, and writes the summary, the cache and the handoff record itself.

import type { AppContext } from '../../context.js'
import { type Correction, encodeCorrections, keepCorrections } from '../../domain/corrections/correction.js'
import { HandoffError, ignoreFailure, isHandoffError } from '../../domain/errors.js'
import { type Handoff, isOf } from '../../domain/handoff-record.js'
import {
  artifact,
  type Commit,
  type Layout,
  layout,
  makeRunId,
  olderLayout,
  parseSha,
  quote,
} from '../../domain/run.js'
import { runReadme } from '../../domain/run-readme.js'
import { findSealed } from '../../store/find-sealed.js'
import { seal, writePointer } from '../../store/publish-run.js'
import { prepareRef } from '../../store/ref-store.js'
import { readSealed, type SealedRun } from '../../store/run-store.js'
import { awaitedLater } from '../../util/abort.js'
import { type StepTimer, startTimer } from '../../util/step-timer.js'
import { noteSeal } from '../audit-log.js'
import { readOwnCorrections } from '../corrections-of-run.js'
import { correctionsOf } from '../read-corrections.js'
import { readChange, readDiagram, readStatements, readSummary } from '../read-sealed-files.js'
import { buildArtifacts, summaryLimits } from './build-artifacts.js'
import { buildHandoff, formOf, hashPatterns } from './build-handoff.js'
import { openCheckpoint } from './checkpoint.js'
import { checkedDiagram, diagramFile } from './diagram-file.js'
import { refuseImpossibleLimits } from './plan-summary.js'
import { citedFiles, findPreviousRun } from './previous-run.js'
import { surveyInSandbox } from './survey-in-sandbox.js'
import type { SummariseRequest, SummariseResult } from './types.js'
import { verifyRun } from './verify-run.js'
import { changeFile, withChange, writeChange } from './write-change.js'

export async function summarise(
  request: SummariseRequest,
  context: AppContext,
  signal: AbortSignal,
): Promise<SummariseResult> {
  parseSha(request.commit.sha)
  const place = layout(context.root, request.commit.repository)
  const timer = startTimer(context.ports)
  // Checked beside the lookup, so that it takes no extra time. A commit that has a run needs no model.
  const modelCheck = awaitedLater(context.ports.model.check?.(signal))
  const [found, older] = await timer.step('look up', () =>
    Promise.all([findSealedRun(request, context, place, signal), findOlderRun(request, context, signal)]),
  )
  if (found.sealed && !request.force) return reuseRun(request, context, place, found.sealed, signal)
  if (older) return reuseRun(request, context, older.place, older.sealed, signal)
  refuseImpossibleLimits({ model: context.ports.model, limits: summaryLimits(context) })
  await modelCheck
  return createRun(request, context, place, timer, found, signal)
}

async function createRun(
  request: SummariseRequest,
  context: AppContext,
  place: Layout,
  timer: StepTimer,
  replaced: FoundRun,
  signal: AbortSignal,
): Promise<SummariseResult> {
  const { ports } = context
  const { commit } = request
  const run = makeRunId(commit.sha, request.attempt)
  const directory = place.run(run)
  ports.emit({ type: 'run-chosen', run, directory, reused: false })

  const older = olderLayout(context.root, commit.repository)
  const previousRun = findPreviousRun(context, older ? [place, older] : [place], request, signal)
  const checkpoint = openCheckpoint(ports.drive, place.checkpoint(commit.sha), signal)

  const correcting = awaitedLater(readOwnCorrections(request.commit.repository, context, place, signal))
  const cited = awaitedLater(
    Promise.all([previousRun, correcting]).then(([previous, corrections]) =>
      citedFiles(request.force ? undefined : previous?.summary.record, corrections),
    ),
  )
  const found = await surveyInSandbox({ request, context, timer, run, directory, cited }, signal)
  const table = await timer.step('verify', () => verifyRun(request, context, directory, found, signal))
  const [previous, corrections] = await Promise.all([previousRun, correcting])
  const held = keepCorrections(corrections, found.relocations, commit.sha)
  const artifacts = await timer.step('summarise', () =>
    buildArtifacts(
      request,
      context,
      found.survey,
      { previous, relocations: found.relocations, corrections: held.corrections, table, checkpoint },
      signal,
    ),
  )

  const diagram = checkedDiagram(found.diagram, table)
  const change =
    found.change &&
    (await timer.step('describe change', () =>
      writeChange({ context, head: commit.sha, found: found.change!, table, spent: artifacts.record.cost }, signal),
    ))
  const files = [
    { path: artifact.readme, bytes: runReadme(commit, run) },
    ...artifacts.files,
    ...(diagram ? [diagramFile(diagram)] : []),
    ...(change ? [changeFile(change)] : []),
    ...(corrections.length > 0 ? [{ path: artifact.corrections, bytes: encodeCorrections(held) }] : []),
  ]

  const sealedAt = new Date(ports.clock.now()).toISOString()
  const ref = prepareRef(ports, place, commit, signal)
  const handoff = buildHandoff(
    request,
    context,
    run,
    found,
    withChange(artifacts, change),
    files,
    previous,
    timer,
    sealedAt,
  )
  const pointer = await timer.step('seal', () => seal(ports.drive, place, handoff, files, signal))
  const [canonical, refMoved] = await timer.step('point', () =>
    Promise.all([writePointer(ports, place, pointer, replaced.revision, signal), ref.finish(signal)]),
  )
  const isCanonical = canonical.run === run
  await Promise.all([
    removeTemporaryFiles(context, place, commit.sha, isCanonical ? replaced.sealed : undefined, signal),
    isCanonical && noteSeal(context, commit.repository, handoff),
  ])
  if (!isCanonical) return useOtherRun(request, context, place, signal)
  const { summary, statements } = artifacts
  return {
    run,
    directory,
    handoff,
    summary,
    statements,
    ...(diagram ? { diagram } : {}),
    ...(change ? { change } : {}),
    corrections: held.corrections.filter(ofSummary),
    reused: false,
    refMoved,
    differences: [],
  }
}

const ofSummary = ({ answer }: Correction) => answer === undefined

// ── look up ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface FoundRun {
  sealed?: SealedRun
  /** Of the pointer that the new run replaces; 0 for none. */
  revision: number
}

/** The canonical run of the commit, recovered if a crash hid it, and the revision of the pointer for a conditional write. */
async function findSealedRun(
  request: SummariseRequest,
  context: AppContext,
  place: Layout,
  signal: AbortSignal,
): Promise<FoundRun> {
  const { drive } = context.ports
  const { sha } = request.commit
  const check = (handoff: Handoff) => requireSameRepository(request.commit, handoff)
  // Only `force` may replace a pointer. All other requests create it, and a conflict names the first one.
  if (!request.force) {
    const sealed = await findSealed(context.ports, place, sha, signal, { check })
    if (sealed) check(sealed.handoff)
    return { ...(sealed ? { sealed } : {}), revision: 0 }
  }
  // The revision first, so that what is read is never older than the revision that the write replaces.
  const revision = (await drive.stat(place.pointer(sha), signal))?.revision ?? 0
  try {
    const sealed = await readSealed(drive, place, sha, signal)
    if (sealed) check(sealed.handoff)
    // The revision may be that of a tombstone, which is not replaced.
    return sealed ? { sealed, revision } : { revision: 0 }
  } catch (error) {
    if (isHandoffError(error, 'corrupt') || isHandoffError(error, 'unknown-version')) return { revision }
    throw error
  }
}

/** The sealed run in the directory that was used before names were stored in lower case. One that cannot be read is ignored. */
async function findOlderRun({ commit, force }: SummariseRequest, context: AppContext, signal: AbortSignal) {
  const place = olderLayout(context.root, commit.repository)
  if (!place || force) return undefined
  const sealed = await readSealed(context.ports.drive, place, commit.sha, signal).catch(ignoreFailure)
  return sealed && isOf(sealed.handoff, commit.repository) ? { sealed, place } : undefined
}

function requireSameRepository({ repository }: Pick<Commit, 'repository'>, handoff: Handoff): void {
  if (isOf(handoff, repository)) return
  throw new HandoffError(
    'forbidden',
    `The run belongs to another repository that was once called ${handoff.repository}.`,
    {
      next: 'Remove the old runs with npm run prune, or choose another DRIVE9_ROOT.',
    },
  )
}

// ── a run that exists ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function reuseRun(
  request: SummariseRequest,
  context: AppContext,
  place: Layout,
  sealed: SealedRun,
  signal: AbortSignal,
): Promise<SummariseResult> {
  const { handoff } = sealed
  const directory = place.run(handoff.run)
  const run = { directory, handoff }
  context.ports.emit({ type: 'run-chosen', run: handoff.run, directory, reused: true })
  const { base } = request
  const [summary, statements, diagram, change, corrections, refMoved] = await Promise.all([
    readSummary(context, run, signal),
    readStatements(context, run, signal),
    readDiagram(context, run, signal),
    base === undefined ? undefined : readChange(context, run, base, signal),
    correctionsOf(context, run, signal),
    prepareRef(context.ports, place, request.commit, signal).finish(signal),
  ])
  const differences = findDifferences(request, context, handoff)
  return {
    run: handoff.run,
    directory,
    handoff,
    summary,
    ...(statements ? { statements } : {}),
    ...(diagram ? { diagram } : {}),
    ...(change ? { change } : {}),
    corrections: corrections.filter(ofSummary),
    reused: true,
    refMoved,
    differences,
  }
}

/** Old runs do not record their patterns; these are assumed to be equal. */
function findDifferences(request: SummariseRequest, context: AppContext, { model, form, patterns }: Handoff): string[] {
  const now = context.ports.model
  return [
    ...(model.name === now.name && model.host === now.host ? [] : [`the model ${quote(model.name)} at ${model.host}`]),
    ...(patterns === undefined || patterns === hashPatterns(request) ? [] : ['other patterns in include or exclude']),
    ...(form === formOf(request) ? [] : [`form: ${form}`]),
  ]
}

/**
 * Another attempt at the same commit pointed first: its run is canonical. This attempt's run stays whole until prune removes it a day later. While late
 * requests may write either pointer, each must lead to a run.
 */
async function useOtherRun(
  request: SummariseRequest,
  context: AppContext,
  place: Layout,
  signal: AbortSignal,
): Promise<SummariseResult> {
  const check = (handoff: Handoff) => requireSameRepository(request.commit, handoff)
  const sealed = await findSealed(context.ports, place, request.commit.sha, signal, { check })
  if (!sealed)
    throw new HandoffError('conflict', 'Another attempt at this commit finished first, and its run is being removed.', {
      next: 'Try again.',
    })
  requireSameRepository(request.commit, sealed.handoff)
  return reuseRun(request, context, place, sealed, signal)
}

/**
 * Removes the checkpoint, and the write-ahead record of the run that was replaced. The record of the new run stays for a day and vouches for the run
 * where its pointer is lost. A failure is harmless: prune removes both files later.
 */
async function removeTemporaryFiles(
  { ports }: AppContext,
  place: Layout,
  sha: string,
  replaced: SealedRun | undefined,
  signal: AbortSignal,
): Promise<void> {
  const remove = (path: string) => ports.drive.remove(path, { recursive: false, signal }).catch(ignoreFailure)
  await Promise.all([remove(place.checkpoint(sha)), replaced && remove(place.sealNote(replaced.handoff.run))])
}
