// The one error of the house: a code for machines, a sentence for people, and what to do next.
//
// A HandoffError says: something outside, or somebody's input, did not do what was asked. It never carries a secret and may be shown.
// A bug of ours is deliberately not one: it stays whatever it was, and a door reports it as `internal` without its details.

/** Every way a walk can end badly. Doors map codes to exit messages, HTTP statuses and comments by one table each. */
export type ErrorCode =
  | 'invalid-input' // what was asked makes no sense; asking again the same way will fail again
  | 'missing-setting' // keys or addresses are not configured
  | 'unauthorized' // nobody we know is asking
  | 'forbidden' // we know who asks; they may not
  | 'not-found' // no such run, commit, ref or repository
  | 'not-sealed' // the run exists but is not complete (yet, or ever)
  | 'unknown-version' // written by a newer handoff than this one
  | 'corrupt' // what is stored does not hash to what was recorded
  | 'conflict' // somebody else wrote first
  | 'in-progress' // the same question is being answered right now
  | 'sandbox' // the sandbox service or a program inside the sandbox failed
  | 'sandbox-limit' // no machine could be had: the account's limit
  | 'drive' // drive9 failed
  | 'drive-quota' // drive9 has no room
  | 'git' // the git host refused or does not have it
  | 'model' // the model's service failed
  | 'model-limit' // the model's service asks us to slow down
  | 'budget' // a limit in tokens or money that the settings name
  | 'timeout' // the deadline passed
  | 'cancelled' // somebody stopped it

export interface ErrorDetails {
  /** What the reader can do about it, as a sentence. */
  next?: string
  cause?: unknown
  /** Seconds after which trying again makes sense; only where somebody outside said so or we know. */
  retryAfterSeconds?: number
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

  /** What may be shown or stored. The cause stays out: errors of SDKs carry the output of commands. */
  toJSON(): { code: ErrorCode; message: string; next?: string; retryAfterSeconds?: number } {
    return {
      code: this.code,
      message: this.message,
      ...(this.next === undefined ? {} : { next: this.next }),
      ...(this.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: this.retryAfterSeconds }),
    }
  }
}

export function isHandoffError(error: unknown, code?: ErrorCode): error is HandoffError {
  return error instanceof HandoffError && (code === undefined || error.code === code)
}

/** The first of two failures, told with the second. Two that were stopped by one signal are one failure. */
export function bothFailures(first: unknown, second: unknown): unknown {
  if (!isHandoffError(first) || !isHandoffError(second)) return first
  const { code, message, next, retryAfterSeconds } = first
  const stopped = code === 'cancelled' || code === 'timeout'
  if (message === second.message || (stopped && code === second.code)) return first
  const advice = [...new Set([next, second.next])].filter((text) => text !== undefined)
  return new HandoffError(code, `${message} Besides: ${second.message}`, {
    ...(advice.length > 0 ? { next: advice.join(' ') } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    cause: new AggregateError([first, second]),
  })
}

/** Turns the reason of an aborted signal into our own error: our deadline is a `timeout`, anything else a `cancelled`. */
export function abortError(signal: AbortSignal, doing: string): HandoffError {
  const reason: unknown = signal.reason
  if (isHandoffError(reason)) return reason
  const late = reason instanceof DOMException && reason.name === 'TimeoutError'
  return late
    ? new HandoffError('timeout', `Time ran out while ${doing}.`, { cause: reason })
    : new HandoffError('cancelled', `Stopped while ${doing}.`, { cause: reason })
}
