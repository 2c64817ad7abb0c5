// A question that outlives its request: its record says that a job waits for it, before the job is sent.
import type { AppContext } from '../../context.js'
import type { ClaimedAnswer } from '../../domain/answer.js'
import { failAnswer, isHeld, markQueued } from '../../store/answer-store.js'
import { cleanupSignal } from '../../util/abort.js'
import { failedRecord } from './answer-question.js'
import { type FoundQuestion, newClaim, payerOf, placeOf } from './find-answer.js'
import { reserveBudget } from './reserve-budget.js'

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

/** Ends a queued question for which no further attempt is made. */
export async function failQueued(found: FoundQuestion, error: unknown, context: AppContext): Promise<void> {
  const now = context.ports.clock.now()
  const failed = (record: ClaimedAnswer) => failedRecord(record, error, now)
  await failAnswer(placeOf(found, context), failed, (record) => !isHeld(record, now), cleanupSignal())
}
