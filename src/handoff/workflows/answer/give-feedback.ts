// A caller says whether an answer was useful. It is kept beside the answer, counts in the caller's budget, and is read with the answer.
import type { AppContext, ReadContext } from '../../context.js'
import { HandoffError, ignoreFailure, isHandoffError } from '../../domain/errors.js'
import { type Feedback, type FeedbackCounts, keepFeedback, readFeedback } from '../../store/feedback-store.js'
import { readAnswer, sha256 } from '../../store/run-store.js'
import type { ChosenRun } from './resolve-run.js'

/** What a word on an answer takes of a budget of tokens, so that a caller cannot write without end. */
const feedbackTokens = 100
/** A reservation outlives the write that it is for. */
const reservedMs = 60_000

/** No name of a caller is stored. */
const digestOf = (caller: string) => sha256(caller).slice(0, 32)

/** Fails only when aborted: feedback that cannot be read must not prevent an answer. */
export async function feedbackOn(
  { run, id, caller }: { run: ChosenRun; id: string; caller: string },
  { ports: { drive } }: ReadContext,
  signal: AbortSignal,
): Promise<Feedback | undefined> {
  try {
    return await readFeedback({ drive, directory: run.directory, id }, digestOf(caller), signal)
  } catch (error) {
    if (!isHandoffError(error) || signal.aborted) throw error
    return undefined
  }
}

export async function giveFeedback(
  { run, id, caller, useful }: { run: ChosenRun; id: string; caller: string; useful: boolean },
  { ports, budgets }: AppContext,
  signal: AbortSignal,
): Promise<FeedbackCounts> {
  const place = { drive: ports.drive, directory: run.directory, id }
  const record = await readAnswer(place, signal)
  if (record === undefined) throw new HandoffError('not-found', `Run ${run.handoff.run} has no answer ${id}.`)
  if (record.status !== 'done')
    throw new HandoffError('conflict', 'This question has no answer yet.', { next: 'Wait for the answer.' })
  const amount = { tokens: feedbackTokens, cost: 0 }
  const settle = await budgets.reserve(caller, id, amount, ports.clock.now() + reservedMs, signal)
  try {
    return await keepFeedback(place, { caller: digestOf(caller), useful }, ports.clock, signal)
  } finally {
    // A reservation that cannot be settled expires by itself, at the same amount.
    await settle(amount).catch(ignoreFailure)
  }
}
