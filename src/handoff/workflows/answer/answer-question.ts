// A question becomes an answer: resolve the run → find a stored answer → take a place and a budget → claim, and open Sandbox B beside it → search in
// it → generate → verify citations → store → report.
//
// The run is sealed and the question can be paid before a sandbox is opened; without the claim it gets no token and is ended. The sandbox is gone as soon
// as the model has what it needs. Nothing that the model says is believed before it was checked against the lines that it was shown.
import type { AppContext } from '../../context.js'
import type { ClaimedAnswer, CompletedAnswer, FailedAnswer } from '../../domain/answer.js'
import { nearDuplicate } from '../../domain/answers/question.js'
import { answerFile } from '../../domain/answers/render-answer.js'
import { abortError, HandoffError, ignoreFailure, isHandoffError } from '../../domain/errors.js'
import { artifact } from '../../domain/run.js'
import type { RunEvent } from '../../domain/run-events.js'
import { claimAnswer, isHeld, recentAnswers, writeLatestAnswer } from '../../store/answer-store.js'
import { readAnswer } from '../../store/run-store.js'
import { awaitedLater, cleanupSignal, delayAbort } from '../../util/abort.js'
import { noteAnswer, noteRefusal } from '../audit-log.js'
import type { Ticket } from './admission.js'
import { type Answered, type AnswerJob, modelChecked } from './ask-model.js'
import {
  type AnswerRequest,
  type AnswerResult,
  correctionsFor,
  type FoundQuestion,
  findAnswer,
  placeOf,
  stalenessAt,
  storedAnswer,
} from './find-answer.js'
import { generateAnswer } from './generate-answer.js'
import { generateComparison } from './generate-comparison.js'
import { holdLease, type Lease, leaseMs, newClaim } from './lease.js'
import { type Opening, openBesideClaim } from './open-for-reading.js'
import { costBefore, payerOf, reserveBudget } from './reserve-budget.js'
import { repositoryOf } from './resolve-run.js'
import { failureOf, inProgress, passesByItself } from './retry-policy.js'
import { claimLabels } from './sandbox-ended.js'
import { readThread } from './thread.js'

export async function answerQuestion(
  request: AnswerRequest,
  context: AppContext,
  signal: AbortSignal,
): Promise<AnswerResult> {
  return answerFound(await findAnswer(request, context, signal), context, signal)
}

/** Rejects with `in-progress` where another process is answering the same question. */
export async function answerFound(found: FoundQuestion, outer: AppContext, signal: AbortSignal): Promise<AnswerResult> {
  const { record, id, timer } = found
  if (record?.status === 'done') return storedAnswer(found, record, outer, signal)
  if (record?.status === 'running' && isHeld(record, outer.ports.clock.now())) throw inProgress(record)

  await using resources = new AsyncDisposableStack()
  const ticket = resources.use(outer.admission.enter(payerOf(found).caller, found.base ? 2 : 1))
  const budget = resources.use(await reserveOrNote(found, outer, signal))
  if (found.question.depth === 'deep') outer.ports.emit(costBefore(found.question.depth, outer))
  const { context } = budget
  const lost = new AbortController()
  const working = AbortSignal.any([signal, lost.signal])
  const wanted = newClaim(found, context, leaseMs)
  const claiming = awaitedLater(timer.step('claim', () => writeClaim(found, wanted, context, signal)))
  const reading = awaitedLater(recentAnswers(context.ports.drive, found.run.directory, mostEarlier, working))
  const opening = resources.use(openBeside(claiming, found, wanted, ticket, context, working))
  const claim = await claiming
  if (claim.kind === 'answered') return storedAnswer(found, claim.record, context, signal)
  if (claim.kind === 'running') throw inProgress(claim.record)
  context.ports.emit({ type: 'answer-claimed', id, claim: claim.held.record.claim })
  const lease = resources.use(holdLease(context, placeOf(found, context), claim.held, lost))

  try {
    working.throwIfAborted()
    const earlier = await reading
    const same = nearlySame(found, earlier, context)
    const answered = same
      ? reuse(same, opening)
      : await generate(found, lease, earlier, opening, showing(context, lease), working)
    return await store(found, lease, answered, context)
  } catch (error) {
    await opening.close()
    const other = lost.signal.aborted ? await readAnswer(placeOf(found, context), cleanupSignal()) : undefined
    if (other?.status === 'done') return storedAnswer(found, other, context, cleanupSignal())
    if (other?.status === 'failed' && other.error.code === 'withdrawn') throw failureOf(other)
    const failure = working.aborted && !isHandoffError(error) ? abortError(working, 'answering the question') : error
    await giveUp(lease, failure, context)
    throw failure
  }
}

async function reserveOrNote(found: FoundQuestion, context: AppContext, signal: AbortSignal) {
  const payer = payerOf(found)
  try {
    return await reserveBudget(payer, context, signal)
  } catch (error) {
    if (isHandoffError(error, 'budget')) await noteRefusal(context, repositoryOf(found.run), payer.caller, error.code)
    throw error
  }
}

/** How long the write of a claim is waited for after its caller has gone: an unnoticed claim would hold the question until its lease expires. */
const claimGraceMs = 5_000
/** Answers that are looked through for an earlier one of the same thread or in nearly the same words. */
const mostEarlier = 20

function writeClaim(found: FoundQuestion, wanted: ClaimedAnswer, context: AppContext, signal: AbortSignal) {
  const now = context.ports.clock.now()
  return claimAnswer(placeOf(found, context), wanted, now, delayAbort(signal, claimGraceMs))
}

function heldOnly({ kind }: Awaited<ReturnType<typeof writeClaim>>): void {
  if (kind !== 'held') throw new HandoffError('in-progress', 'Another process has claimed the question.')
}

/** A sandbox takes longer to open than a claim to write, so it is opened beside it. */
function openBeside(
  claiming: ReturnType<typeof writeClaim>,
  { request, id, run, base, timer }: FoundQuestion,
  wanted: ClaimedAnswer,
  ticket: Ticket,
  context: AppContext,
  signal: AbortSignal,
): Opening {
  const place = { directory: run.directory, id }
  const labels = { ...request.labels, ...claimLabels(place, wanted) }
  const claimed = awaitedLater(claiming.then(heldOnly))
  const beforeOpening = async (stopped: AbortSignal) => {
    await modelChecked(context, stopped)
    await ticket.ready(stopped, (position) => context.ports.emit({ type: 'answer-waiting', position }))
  }
  const looking = { context, timer, labels, runs: base ? [base, run] : [run] }
  return openBesideClaim(looking, { key: `${place.directory}/${id}`, claimed, beforeOpening }, signal)
}

/** An earlier question in nearly the same words, about the same run, by the same model, outside any thread. */
function nearlySame(
  { question, base }: FoundQuestion,
  earlier: CompletedAnswer[],
  context: AppContext,
): CompletedAnswer | undefined {
  if (question.fresh || question.thread !== undefined || base) return undefined
  return earlier.find(
    (record) =>
      record.thread === undefined &&
      record.reusedFrom === undefined &&
      record.compareWith === undefined &&
      record.model === context.ports.model.name &&
      (record.depth ?? 'normal') === question.depth &&
      nearDuplicate(record.question, question.text),
  )
}

/** The parts of an answer that are the answer; who asked and when is the new record's own. */
function reuse(record: CompletedAnswer, opening: Opening): Answered & { reusedFrom: string } {
  // The sandbox ends while the answer is stored.
  awaitedLater(opening.close())
  const { text, citations, unsupported, truncated, unanswered, excerpts, searched, cited } = record
  return {
    text,
    citations,
    unsupported,
    truncated,
    unanswered,
    excerpts,
    searched,
    cited,
    rounds: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    reusedFrom: record.id,
  }
}

async function generate(
  { question, run, base, timer, corrections }: FoundQuestion,
  { record }: Lease,
  earlier: CompletedAnswer[],
  opening: Opening,
  context: AppContext,
  signal: AbortSignal,
): Promise<Answered> {
  await opening.ready
  const job: AnswerJob = {
    // As the claim has it: without secrets.
    question: { ...question, text: record.question },
    context,
    run,
    timer,
    thread: await readThread(question, earlier, run.directory, context, signal),
    corrections,
    opened: opening.runs,
  }
  return base ? generateComparison({ ...job, base }, signal) : generateAnswer(job, signal)
}

/** Milliseconds after the first word at which other processes are shown what is written. */
const showAfterMs = [1_000, 5_000]

/** Keeps the words beside the claim, in a few writes: a reader that was cut off continues anywhere. */
function showing(context: AppContext, lease: Lease): AppContext {
  const { emit, clock } = context.ports
  let began = 0
  let shown = 0
  const watch = (event: RunEvent) => {
    emit(event)
    if (event.type !== 'model-text' || event.purpose !== 'answer') return
    if (lease.written === undefined) began = clock.now()
    lease.written = { claim: lease.record.claim, text: (lease.written?.text ?? '') + event.text }
    if (clock.now() - began < (showAfterMs[shown] ?? Number.POSITIVE_INFINITY)) return
    shown += 1
    lease.show()
  }
  return { ...context, ports: { ...context.ports, emit: watch } }
}

/** Stored although the caller may have gone or its time is over: the answer is paid. */
async function store(
  found: FoundQuestion,
  lease: Lease,
  answered: Answered & { reusedFrom?: string },
  context: AppContext,
): Promise<AnswerResult> {
  const { run, timer } = found
  const record: CompletedAnswer = {
    ...headOf(lease.record),
    ...answered,
    status: 'done',
    completedAt: new Date(context.ports.clock.now()).toISOString(),
    ...(lease.written ? { written: lease.written } : {}),
    seconds: Object.fromEntries(Object.entries(timer.durations()).map(([step, ms]) => [step, ms / 1_000])),
  }
  const stands = await timer.step('keep', async () => {
    const kept = await lease.complete(record)
    if (kept === record) {
      await Promise.all([showLatest(found, record, context), noteAnswer(context, repositoryOf(run), record)])
    }
    return kept
  })
  const ours = stands === record
  const kept = stands.status === 'done' ? stands : record
  const stale = await stalenessAt(run.behind?.head, kept, run, found.request.github, context, cleanupSignal())
  return {
    record: kept,
    run,
    reused: record.reusedFrom !== undefined || !ours,
    stale,
    corrections: correctionsFor(kept, found.corrections),
  }
}

/** For people who look into the directory. The answer is given whether or not this can be written. */
async function showLatest({ run }: FoundQuestion, record: CompletedAnswer, context: AppContext): Promise<void> {
  const { drive, emit } = context.ports
  try {
    // The rendered text is redacted again: rendering decodes character references, and a key may appear.
    const markdown = context.redact(answerFile(record, run.handoff))
    await writeLatestAnswer(drive, run.directory, record.acceptedAt, markdown, cleanupSignal())
  } catch (error) {
    const why = isHandoffError(error) ? error.message : 'an unexpected error'
    emit({ type: 'notice', text: `The answer is stored; ${artifact.latestAnswer} still shows an earlier one: ${why}` })
  }
}

/** What a record keeps of its claim. */
function headOf(record: ClaimedAnswer) {
  const {
    status: _status,
    leaseUntil: _lease,
    claim: _claim,
    fresh: _fresh,
    tries: _tries,
    queued: _queued,
    written: _written,
    ...head
  } = record
  return head
}

/** Says in the record why there is no answer, so that the next caller need not wait for a lease. A drive that fails now is not asked again. */
async function giveUp(lease: Lease, error: unknown, { ports }: AppContext): Promise<void> {
  const failed = failedRecord(lease.record, error, ports.clock.now())
  await lease.giveUp(failed, passesByItself(error)).catch(ignoreFailure)
}

export function failedRecord(record: ClaimedAnswer, error: unknown, now: number): FailedAnswer {
  const { code, message, next } = isHandoffError(error)
    ? error
    : new HandoffError('cancelled', 'An unexpected error ended the work.')
  const failure = { code, message: message.slice(0, 2_000), next }
  return { ...headOf(record), status: 'failed', completedAt: new Date(now).toISOString(), error: failure }
}
