// Timeouts of a silent service. A server that answers one request at a time starts with one when the earlier ones have ended. So progress of an
// earlier request restarts the first timeout of the later ones.
import { HandoffError } from '../../domain/errors.js'

interface Timeouts {
  /** Before the first text. */
  firstMs: number
  /** Between two pieces of it. */
  betweenMs: number
  /** For one whole reply; the caller's deadline when absent. */
  totalMs: number | undefined
}

export interface Watchdog {
  signal: AbortSignal
  /** The service sent something for this request. */
  progress(): void
  stop(): void
}

/** The result starts a watchdog for one request. Requests to one service share it. */
export function createWatchdogs({ firstMs, betweenMs, totalMs }: Timeouts): () => Watchdog {
  /** Running requests in the order of their start. */
  const sent: WatchedRequest[] = []

  return () => {
    const controller = new AbortController()
    const self: WatchedRequest = { since: performance.now(), begun: false }
    sent.push(self)
    let timer: NodeJS.Timeout
    const check = () => {
      const timeout = self.begun ? betweenMs : firstMs
      const remaining = self.since + timeout - performance.now()
      if (remaining > 0) timer = setTimeout(check, remaining)
      else controller.abort(self.begun ? streamStalled(betweenMs) : noReplyInTime(firstMs))
    }
    timer = setTimeout(check, firstMs)
    const whole = totalMs === undefined ? undefined : setTimeout(() => controller.abort(replyTooSlow(totalMs)), totalMs)
    const restartLater = () => {
      const now = performance.now()
      for (const later of sent.slice(sent.indexOf(self) + 1)) if (!later.begun) later.since = now
    }
    return {
      signal: controller.signal,
      progress() {
        self.since = performance.now()
        if (!self.begun) {
          self.begun = true
          clearTimeout(timer)
          timer = setTimeout(check, betweenMs)
        }
        restartLater()
      },
      stop() {
        clearTimeout(timer)
        clearTimeout(whole)
        if (!sent.includes(self)) return
        restartLater()
        sent.splice(sent.indexOf(self), 1)
      },
    }
  }
}

interface WatchedRequest {
  /** The last progress, its own or of an earlier request. */
  since: number
  /** The service sent something for it. */
  begun: boolean
}

const seconds = (milliseconds: number) => `${milliseconds / 1_000} seconds`

const noReplyInTime = (milliseconds: number) =>
  new HandoffError('timeout', `The model’s service sent nothing for ${seconds(milliseconds)}.`, {
    next: 'Try again; for a service or a model that takes longer, raise LLM_FIRST_TOKEN_SECONDS or lower LLM_CONCURRENCY.',
  })

const streamStalled = (milliseconds: number) =>
  new HandoffError(
    'timeout',
    `The model’s service stopped in the middle of its reply and was silent for ${seconds(milliseconds)}.`,
    { next: 'Try again; if it stays so, look whether the service is overloaded or the model (LLM_MODEL) is too slow.' },
  )

/** Not a `timeout`, which is retried: a retry would be as slow and cost as much again. */
const replyTooSlow = (milliseconds: number) =>
  new HandoffError('model', `The model’s service was still writing its reply after ${seconds(milliseconds)}.`, {
    next: 'Ask for less, or choose a faster model in LLM_MODEL.',
  })
