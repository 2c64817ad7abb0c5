// Which failures pass by themselves, and after how long it makes sense to try again. One table for jobs, requests and comments.
import type { ClaimedAnswer, FailedAnswer } from '../../domain/answer.js'
import { type ErrorCode, HandoffError, isHandoffError } from '../../domain/errors.js'
import { retrySeconds } from '../../util/retry.js'

const longestWaitSeconds = 300

/** Undefined for a failure that would only happen again. */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (!isHandoffError(error)) return undefined
  // A model's service that names a time is busy; one that does not has refused the key or the model.
  const wait = error.code === 'model' ? error.retryAfterSeconds : (error.retryAfterSeconds ?? retrySeconds[error.code])
  if (wait === undefined || (error.code !== 'model' && retrySeconds[error.code] === undefined)) return undefined
  return Math.min(longestWaitSeconds, Math.max(1, Math.ceil(wait)))
}

export const passesByItself = (error: unknown) => retryAfterSeconds(error) !== undefined

/** Its caller left or ran out of time, which says nothing about the question. */
export const wasInterrupted = ({ error }: FailedAnswer) => error.code === 'cancelled' || error.code === 'timeout'

/** The failure that a record tells. */
export function failureOf({ error }: FailedAnswer): HandoffError {
  const { code, message, next } = error
  return new HandoffError(code as ErrorCode, message, { next })
}

/** Another process holds the question. */
export function inProgress({ id }: ClaimedAnswer): HandoffError {
  return new HandoffError('in-progress', `The same question is being answered (${id}).`, {
    next: 'Ask again in a moment; the answer will be there.',
    retryAfterSeconds: 5,
  })
}
