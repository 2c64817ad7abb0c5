// The error class of handoff: a code for programs, a sentence for people, and what to do next.
//
// A HandoffError reports a failure of an outside service or a wrong input. It never holds a secret and may be shown. A bug throws another error
// class; an entry point reports it as `internal` without details.

/** Every error code. Entry points map codes to exit messages, HTTP statuses and comments. */
const errorCodes = [
  'invalid-input', // the input is wrong; the same request fails again
  'missing-setting', // keys or addresses are not configured
  'unauthorized', // the caller is unknown
  'forbidden', // the caller is known and has no permission
  'not-found', // no such run, commit, ref or repository
  'not-sealed', // the run exists and is not complete
  'unknown-version', // written by a newer version of handoff
  'corrupt', // a stored file does not match its recorded hash
  'conflict', // another process wrote first
  'in-progress', // the same question is being answered now
  'sandbox', // the sandbox service or the sandbox program failed
  'sandbox-limit', // the account allows no further sandbox now
  'drive', // drive9 failed
  'drive-quota', // drive9 has no space left
  'git', // the git host refused, or lacks the object
  'model', // the model service failed
  'model-limit', // the model service limits the rate
  'budget', // a limit of the settings in tokens or money
  'timeout', // the deadline passed
  'cancelled', // the work was stopped
  'withdrawn', // the caller took the question back
] as const

export type ErrorCode = (typeof errorCodes)[number]

export const isErrorCode = (value: unknown): value is ErrorCode => errorCodes.some((code) => code === value)

export interface ErrorDetails {
  /** What the user can do next, as a sentence. */
  next?: string | undefined
  cause?: unknown
  /** Seconds after which a retry makes sense, if known. */
  retryAfterSeconds?: number | undefined
}

export class HandoffError extends Error {
  override readonly name = 'HandoffError'
  readonly code: ErrorCode
  readonly next: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.next = details.next
    this.retryAfterSeconds = details.retryAfterSeconds
  }

  /** The fields that may be shown or stored. The cause is omitted: errors of SDKs hold the output of commands. */
  toJSON(): Pick<HandoffError, 'code' | 'message' | 'next' | 'retryAfterSeconds'> {
    const { code, message, next, retryAfterSeconds } = this
    return { code, message, next, retryAfterSeconds }
  }
}

export function isHandoffError(error: unknown, code?: ErrorCode): error is HandoffError {
  return error instanceof HandoffError && (code === undefined || error.code === code)
}

/** Merges two failures into one error. Two failures that one signal caused are one failure. */
function bothFailures(first: unknown, second: unknown): unknown {
  if (!isHandoffError(first) || !isHandoffError(second)) return first
  const { code, message, next, retryAfterSeconds } = first
  const stopped = code === 'cancelled' || code === 'timeout'
  if (message === second.message || (stopped && code === second.code)) return first
  const advice = [...new Set([next, second.next])].filter((text) => text !== undefined)
  return new HandoffError(code, `${message} Besides: ${second.message}`, {
    ...(advice.length > 0 ? { next: advice.join(' ') } : {}),
    retryAfterSeconds,
    cause: new AggregateError([first, second]),
  })
}

/** For `catch`, where a failure of an outside service may be left unsaid. A bug is not. */
export function ignoreFailure(error: unknown): undefined {
  if (!isHandoffError(error)) throw error
  return undefined
}

/** What `await using` throws when work and a release fail, or two releases, as one error. */
export function asOneFailure(error: unknown): unknown {
  return error instanceof SuppressedError ? bothFailures(asOneFailure(error.suppressed), error.error) : error
}

/** Waits for all, so that what one opened is known when another fails. Failures become one error. */
export async function settleAll<T extends unknown[]>(work: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const settled = await Promise.allSettled(work)
  const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  if (failures.length > 0) throw failures.reduce(bothFailures)
  return settled.map((one) => (one as PromiseFulfilledResult<unknown>).value) as T
}

/** The error of an aborted signal: `timeout` if the deadline passed, else `cancelled`. */
export function abortError(signal: AbortSignal, doing: string): HandoffError {
  const reason: unknown = signal.reason
  if (isHandoffError(reason)) return reason
  const late = reason instanceof DOMException && reason.name === 'TimeoutError'
  return late
    ? new HandoffError('timeout', `Time ran out while ${doing}.`, { cause: reason })
    : new HandoffError('cancelled', `Stopped while ${doing}.`, { cause: reason })
}

/** The code of an error or of the first of its causes that has one, such as ECONNREFUSED. */
export function errorCode(error: unknown): string | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string') return code
  }
  return undefined
}
