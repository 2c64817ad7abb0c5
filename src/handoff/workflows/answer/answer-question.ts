// The second story: a question becomes an answer.
//
// The host knows that the run is sealed and that the question is its own (claimed in the ledger) before it pays for a machine. Sandbox B reads
// the directory, finds what bears on the question, and is gone as soon as the model has what it needs. Nothing the model says is believed
// before it was checked against the lines it was shown.

import type { AppContext } from '../../context.js'
import type { AnswerRecord, ClaimedAnswer, CompletedAnswer, Question } from '../../domain/answer.js'
import { nearDuplicate } from '../../domain/answers/question.js'
import { answerFile } from '../../domain/answers/render-answer.js'
import { abortError, HandoffError, isHandoffError } from '../../domain/errors.js'
import { artifact, quote } from '../../domain/run.js'
import {
  claim,
  complete,
  type Held,
  handOver,
  keepLatest,
  readAnswer,
  recentAnswers,
} from '../../store/answer-store.js'
import { keepLease } from '../../store/lease.js'
import { anyOf, orAborted } from '../../util/abort.js'
import { compareText } from '../../util/compare-text.js'
import { cleanupSignal, type StepTimer, shortlyAfter } from '../../util/step-timer.js'
import { inProgress } from './claim.js'
import {
  type AcceptedQuestion,
  type AskRequest,
  type AskResult,
  answeredBefore,
  longestMs,
  type Manner,
  prepareQuestion,
} from './find-answer.js'
import { type Answered, answerFrom, type Said } from './generate-answer.js'
import { compareFrom } from './generate-comparison.js'
import type { ChosenRun, RunName } from './resolve-run.js'

export type { AcceptedQuestion, AskRequest, AskResult, Manner, PreparedQuestion } from './find-answer.js'

export async function ask(request: AskRequest, context: AppContext, signal: AbortSignal): Promise<AskResult> {
  const accepted = await acceptQuestion(request, context, signal)
  return accepted.answer(signal)
}

export interface CompareRequest extends Omit<AskRequest, 'name' | 'compareWith'> {
  from: RunName
  to: RunName
}

/** "What changed in how X works between A and B?" The answer stands in the ledger of the later run. */
export async function compare(request: CompareRequest, context: AppContext, signal: AbortSignal): Promise<AskResult> {
  const { from, to, ...rest } = request
  return ask({ ...rest, name: to, compareWith: from }, context, signal)
}

/** Everything up to the claim: cheap, no machine, no model. */
export async function acceptQuestion(
  request: AskRequest,
  context: AppContext,
  signal: AbortSignal,
): Promise<AcceptedQuestion> {
  const prepared = await prepareQuestion(request, context, signal)
  return prepared.accept(signal)
}

type Asked = Pick<Work, 'question' | 'context' | 'run' | 'base' | 'timer' | 'labels'>

/** How long the writing of a claim is waited for when nobody wants it any more: one that stood there unknown would keep everybody waiting. */
const settlingMs = 5_000

/** The claim, and what is left to do once we hold it. */
export async function acceptClaim(
  job: Asked,
  wanted: ClaimedAnswer,
  manner: Manner,
  signal: AbortSignal,
): Promise<AcceptedQuestion> {
  const { context, run, timer } = job
  const { ports } = context
  const settling = shortlyAfter(signal, settlingMs)
  // Begun beside what is waited for anyway; its end is waited for before a machine is paid for.
  const checking = ports.model.check?.(neverAborted)
  checking?.catch(() => undefined)
  const [claiming, reading] = await Promise.allSettled([
    timer.step('claim', () => claim(ports.drive, run.directory, wanted, ports.now(), settling)),
    recentAnswers(ports.drive, run.directory, 20, signal),
  ])
  if (claiming.status === 'rejected') throw claiming.reason
  const claimed = claiming.value
  if (claimed.kind === 'answered') return answeredBefore(claimed.record, run, context)
  if (claimed.kind === 'running') throw inProgress(claimed.record, ports.now())
  ports.emit({ type: 'answer-claimed', id: wanted.id })
  const held = { ...job, held: claimed.held, manner, ...(checking ? { checking } : {}) }
  try {
    // Only what is needed of them is kept: a question may wait for long, beside many others.
    const before = pastOf(job, settledValue(reading, signal))
    const { id, acceptedAt } = wanted
    return { id, run, acceptedAt, answer: (later) => work({ ...held, ...before }, later) }
  } catch (error) {
    await letGo(held, error, false)
    throw error
  }
}

/** Nobody goes on for somebody who has gone. */
function settledValue<T>(settled: PromiseSettledResult<T>, signal: AbortSignal): T {
  if (signal.aborted) throw abortError(signal, 'claiming the question')
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

interface Work {
  question: Question & { text: string }
  context: AppContext
  run: ChosenRun
  /** The earlier run of a comparison. */
  base?: ChosenRun
  timer: StepTimer
  held: Held
  /** An earlier answer that is this one's too. */
  same?: CompletedAnswer
  thread: Said[]
  labels: Record<string, string>
  manner: Manner
  /** Whether the model's service takes our key and has the model. */
  checking?: Promise<void>
}

/** The check outlives who asked first: others may wait for it too. */
const neverAborted = new AbortController().signal
/** A service that does not say in time is asked all the same. */
const checkPatienceMs = 1_000

async function modelChecked({ checking }: Work, signal: AbortSignal): Promise<void> {
  const patience = anyOf(signal, AbortSignal.timeout(checkPatienceMs))
  try {
    await orAborted(checking ?? Promise.resolve(), patience, 'the model was being checked')
  } catch (error) {
    if (signal.aborted || !isHandoffError(error, 'timeout')) throw error
  }
}

async function work(job: Work, asked: AbortSignal): Promise<AskResult> {
  const { ports, limits } = job.context
  const lease = keepLease(ports, job.run.directory, job.held, limits.sandboxBy)
  const signal = anyOf(asked, lease.lost)
  let begun = false
  try {
    refuseOtherModel(job)
    const { same } = job
    if (same) return await keep(job, { ...reusedParts(same), reusedFrom: same.id })
    await modelChecked(job, signal)
    await job.manner.turn?.(signal)
    begun = true
    return await keep(job, await answered(job, signal))
  } catch (error) {
    if (lease.lost.aborted) return await answeredByOther(job, lease.lost.reason)
    const told = signal.aborted && !isHandoffError(error) ? abortError(signal, 'answering the question') : error
    await letGo(job, told, begun)
    throw told
  } finally {
    lease.stop()
  }
}

function answered(job: Work, signal: AbortSignal): Promise<Answered> {
  const { question, context, run, base, timer, thread, labels } = job
  const asked = { question, context, run, timer, thread, labels }
  return base ? compareFrom({ ...asked, base }, signal) : answerFrom(asked, signal)
}

/** The process that has the question now may have answered it already. It alone writes the record. */
async function answeredByOther({ context, run, held }: Work, lost: unknown): Promise<AskResult> {
  const record = await readAnswer(context.ports.drive, run.directory, held.record.id, cleanupSignal())
  if (record?.status === 'done') return { record, run, reused: true }
  throw lost
}

/** Its id and what it costs are made of the model that was asked for: nobody else's words are kept under it. */
function refuseOtherModel({ held, context }: Work): void {
  const { model } = held.record
  if (model === context.ports.model.name) return
  throw new HandoffError('model', `The model ${quote(model)}, which this was asked of, is not offered any more.`, {
    next: 'Ask again, with a model that is.',
  })
}

/** An earlier question in almost the same words, about the same run, by the same model, outside any thread. */
function nearlySame(job: Asked, earlier: CompletedAnswer[]): CompletedAnswer | undefined {
  if (job.question.fresh || job.question.thread !== undefined || job.base) return undefined
  return earlier.find(
    (record) =>
      record.thread === undefined &&
      record.reusedFrom === undefined &&
      record.compareWith === undefined &&
      record.model === job.context.ports.model.name &&
      nearDuplicate(record.question, job.question.text),
  )
}

function threadOf({ question }: Asked, earlier: CompletedAnswer[]): Said[] {
  if (question.thread === undefined) return []
  return earlier
    .filter((record) => record.thread === question.thread)
    .sort((a, b) => compareText(a.acceptedAt, b.acceptedAt))
    .map((record) => ({ question: record.question, text: record.text, searched: record.searched }))
}

function pastOf(job: Asked, earlier: CompletedAnswer[]): Pick<Work, 'same' | 'thread'> {
  const same = nearlySame(job, earlier)
  return { ...(same === undefined ? {} : { same }), thread: threadOf(job, earlier) }
}

/** The parts of an answer that are the answer; who asked and when is the new record's own. */
function reusedParts(record: CompletedAnswer): Answered {
  const { text, citations, unsupported, truncated, unanswered, excerpts, searched, cited } = record
  return {
    text,
    citations,
    unsupported,
    truncated,
    unanswered,
    excerpts,
    searched,
    ...(cited === undefined ? {} : { cited }),
    rounds: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
  }
}

/**
 * An answer that is there is kept, even when its time ran out or whoever asked has gone meanwhile: a record that landed behind the back of one
 * who gave up would be told as a failure, and a promise of it never be taken off.
 */
async function keep(job: Work, answered: Answered & { reusedFrom?: string }): Promise<AskResult> {
  const { context, run, timer, held } = job
  const { drive } = context.ports
  const record: CompletedAnswer = {
    ...headOf(held),
    ...answered,
    status: 'done',
    completedAt: context.ports.now().toISOString(),
    seconds: Object.fromEntries(
      Object.entries(timer.durations()).map(([step, milliseconds]) => [step, milliseconds / 1_000]),
    ),
  }
  const signal = cleanupSignal()
  const kept = await timer.step('keep', async () => {
    const stands = await complete(drive, run.directory, held, record, signal)
    if (stands === record) await showLatest(job, record, signal)
    return stands
  })
  return {
    record: kept.status === 'done' ? kept : record,
    run,
    reused: record.reusedFrom !== undefined || kept !== (record as AnswerRecord),
  }
}

/** For people who look into the directory, and only what stands in the ledger. The answer is given whether or not this can be written. */
async function showLatest({ context, run }: Work, record: CompletedAnswer, signal: AbortSignal): Promise<void> {
  const { drive, emit } = context.ports
  try {
    await keepLatest(drive, run.directory, record.acceptedAt, answerFile(record, run.handoff), signal)
  } catch (error) {
    const why = isHandoffError(error) ? error.message : 'an unexpected error'
    emit({ type: 'notice', text: `The answer is kept; ${artifact.latestAnswer} still shows an earlier one: ${why}` })
  }
}

/** What the record keeps of the claim. */
function headOf({ record }: Held) {
  const { status: _status, leaseUntil: _lease, claim: _claim, fresh: _fresh, tries: _tries, ...head } = record
  return head
}

/** After so many processes that could not finish it, the question is the problem. */
const mostTries = 5

/** Put back for whoever looks next, where somebody waits for it and it may go well then; else its record says why it ended. */
async function letGo(job: Pick<Work, 'context' | 'run' | 'held' | 'manner'>, error: unknown, begun: boolean) {
  // Who was overtaken gives nothing up for the other; what is still ours then is theirs from now on.
  if (isHandoffError(error, 'in-progress')) return putBack(job, 0, false)
  const wait = isHandoffError(error) ? await job.manner.handBack?.(error) : undefined
  const counts = begun && !isCrowd(error)
  if (wait !== undefined && !isWornOut(job, counts)) return putBack(job, wait, counts)
  if (await giveUp(job, error)) job.manner.onGivenUp?.()
}

/** Too many wanted the same at once: that says nothing against the question. */
const isCrowd = (error: unknown) => isHandoffError(error, 'sandbox-limit') || isHandoffError(error, 'model-limit')

function isWornOut({ context, held }: Pick<Work, 'context' | 'held'>, counts: boolean): boolean {
  const { tries = 0, acceptedAt } = held.record
  return (counts && tries >= mostTries) || context.ports.now().getTime() - Date.parse(acceptedAt) > longestMs
}

/** The claim stays and its lease ends now, or a little later: whoever looks next goes on, and counts us, unless we only waited. */
async function putBack(
  { context, run, held }: Pick<Work, 'context' | 'run' | 'held'>,
  waitMs: number,
  counts: boolean,
) {
  const { tries = 0 } = held.record
  const left = {
    leaseUntil: new Date(context.ports.now().getTime() + waitMs).toISOString(),
    tries: counts ? tries : Math.max(0, tries - 1),
  }
  await handOver(context.ports.drive, run.directory, held, left, AbortSignal.timeout(5_000)).catch(() => undefined)
}

/** The record says what became of the question, so that the next who asks need not wait for a lease. False where that could not be written. */
async function giveUp(
  { context, run, held }: Pick<Work, 'context' | 'run' | 'held'>,
  error: unknown,
): Promise<boolean> {
  const { code, message, next } = isHandoffError(error)
    ? error
    : new HandoffError('cancelled', 'An unexpected error ended the work.')
  const told = { code, message: message.slice(0, 2_000), ...(next === undefined ? {} : { next }) }
  const record = {
    ...headOf(held),
    status: 'failed' as const,
    completedAt: context.ports.now().toISOString(),
    error: told,
  }
  const writing = complete(context.ports.drive, run.directory, held, record, AbortSignal.timeout(5_000))
  return writing.then(
    (stands) => stands === record,
    () => false,
  )
}
