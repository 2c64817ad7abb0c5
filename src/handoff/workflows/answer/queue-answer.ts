// A question that outlives its request: its record says that a job waits for it, before the job is sent.
import type { AppContext, LookupContext } from '../../context.js'
import type { AnswerRecord, ClaimedAnswer, SettledQuestion } from '../../domain/answer.js'
import { failAnswer, isHeld, markQueued } from '../../store/answer-store.js'
import { readAnswer } from '../../store/run-store.js'
import { cleanupSignal } from '../../util/abort.js'
import { startTimer } from '../../util/step-timer.js'
import { correctionsOf } from '../read-corrections.js'
import { failedRecord } from './answer-question.js'
import { type FoundQuestion, placeOf } from './find-answer.js'
import { newClaim } from './lease.js'
import { payerOf, reserveBudget } from './reserve-budget.js'
import { resolveRun, type Where } from './resolve-run.js'

/** Marks the question's record as queued. Undefined when it is answered already. Rejects with `budget` where the caller could not pay for it. */
export async function queueAnswer(
  found: FoundQuestion,
  context: AppContext,
  signal: AbortSignal,
): Promise<ClaimedAnswer | undefined> {
  if (found.record === undefined) {
    // The job reserves again when it runs; this only refuses early what cannot be paid.
    await using _affordable = await reserveBudget(payerOf(found), context, signal)
  }
  const wanted = newClaim(found, context, 0)
  return markQueued(placeOf(found, context), found.record, wanted, context.ports.clock.now(), signal)
}

/** The question of a record that a job goes on with. */
export async function findQueued(
  job: Where & { run: string; id: string; labels?: Record<string, string> | undefined; caller?: string | undefined },
  context: LookupContext,
  signal: AbortSignal,
): Promise<FoundQuestion | undefined> {
  const { run: name, id, labels, caller, ...where } = job
  const timer = startTimer(context.ports)
  const resolve = (run: string) => timer.step('look up', () => resolveRun(where, { run }, context, signal))
  const run = await resolve(name)
  const [record, corrections] = await Promise.all([
    readAnswer(placeOf({ id, run }, context), signal),
    correctionsOf(context, run, signal),
  ])
  if (record === undefined) return undefined
  const base = record.compareWith && (await resolve(record.compareWith.run))
  const question = questionOf(record)
  const request = {
    ...where,
    name: { run: name },
    question,
    labels,
    caller,
  }
  return { request, question, id, run, base, record, corrections, timer }
}

function questionOf(record: AnswerRecord): SettledQuestion {
  const { question, thread, asker, depth = 'normal' } = record
  return {
    text: question,
    depth,
    thread,
    asker,
    ...(record.status === 'running' && record.fresh ? { fresh: true } : {}),
  }
}

/** Ends a queued question for which no further attempt is made. */
export async function failQueued(found: FoundQuestion, error: unknown, context: AppContext): Promise<void> {
  const now = context.ports.clock.now()
  const failed = (record: ClaimedAnswer) => failedRecord(record, error, now)
  await failAnswer(placeOf(found, context), failed, (record) => !isHeld(record, now), cleanupSignal())
}
