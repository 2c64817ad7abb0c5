// How long drive9 is waited for, and what ends the waiting: our deadline is a loss, the caller's wish is the caller's wish.
import { abortError, type HandoffError } from '../../domain/errors.js'
import { type CallName, nameOf } from './errors.js'

export interface DriveTimes {
  /** Until there is a connection. */
  connectMs: number
  /** For an answer without much data, and for the first byte of one with much. */
  answerMs: number
  /**
   * For an answer that normally comes at once. It is short, so that a lost answer is noticed and settled within the ten seconds of a cleanup. It
   * doubles with each attempt, up to `answerMs`.
   */
  smallAnswerMs: number
  /** For a body under way: the longest silence. */
  silenceMs: number
  /** The slowest upload that is waited for. */
  bytesPerSecond: number
  /** Before the second try; doubled for each further one. */
  pauseMs: number
  /** How often an idempotent call is made at most when connections fail or the server has a fault. */
  tries: number
  /** How long a service that asks to be asked later is waited for, within the caller's own time. */
  settingUpMs: number
}

export const defaultTimes: DriveTimes = {
  connectMs: 10_000,
  answerMs: 20_000,
  smallAnswerMs: 4_000,
  silenceMs: 20_000,
  bytesPerSecond: 200_000,
  pauseMs: 250,
  tries: 4,
  settingUpMs: 120_000,
}

/** It is unknown whether the server did the work. `error` is thrown when that cannot be found out. */
export class Lost extends Error {
  readonly error: HandoffError

  constructor(error: HandoffError) {
    super(error.message)
    this.error = error
  }
}

export interface Watch {
  signal: AbortSignal
  /** Replaces the deadline before it. */
  until(milliseconds: number, late: () => HandoffError): void
  end(): void
  /** Why it was cut off: the caller's own wish as it is, our deadline as a loss. */
  reason(): HandoffError | Lost | undefined
}

export function watchTime(call: CallName, caller: AbortSignal): Watch {
  const controller = new AbortController()
  const stop = () => controller.abort()
  let timer: NodeJS.Timeout | undefined
  let late: HandoffError | undefined
  caller.addEventListener('abort', stop, { once: true })
  return {
    signal: controller.signal,
    until(milliseconds, makeError) {
      clearTimeout(timer)
      timer = setTimeout(() => {
        late = makeError()
        controller.abort()
      }, milliseconds)
    },
    end() {
      clearTimeout(timer)
      caller.removeEventListener('abort', stop)
    },
    reason() {
      if (caller.aborted) return abortError(caller, `asking drive9 for ${nameOf(call)}`)
      return late && new Lost(late)
    },
  }
}
