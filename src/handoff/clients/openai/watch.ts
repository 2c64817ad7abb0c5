// How long a service may be silent. Before the first text the patience counts from when it can have begun with this request: a server that
// answers one request at a time begins with it when it has ended the ones that were sent before. So each sign of life in one of those
// starts the patience of the later ones again.
import { HandoffError } from '../../domain/errors.js'

export interface Patience {
  /** Before the first text. */
  firstMs: number
  /** Between two pieces of it. */
  betweenMs: number
  /** For one reply in all; as long as the caller has when absent. */
  totalMs: number | undefined
}

export interface Watch {
  signal: AbortSignal
  /** The service sent something for this request. */
  heard(): void
  stop(): void
}

/** Starts a watch over one request. Requests that share the function share a service. */
export function makeWatches({ firstMs, betweenMs, totalMs }: Patience): () => Watch {
  /** In the order in which they were sent. */
  const sent: Watched[] = []

  return () => {
    const controller = new AbortController()
    const self: Watched = { since: performance.now(), begun: false }
    sent.push(self)
    let timer: NodeJS.Timeout
    const look = () => {
      const patience = self.begun ? betweenMs : firstMs
      const left = self.since + patience - performance.now()
      if (left > 0) timer = setTimeout(look, left)
      else controller.abort(self.begun ? stoppedInTheMiddle(betweenMs) : sentNothing(firstMs))
    }
    timer = setTimeout(look, firstMs)
    const whole = totalMs === undefined ? undefined : setTimeout(() => controller.abort(tooSlow(totalMs)), totalMs)
    const tellLater = () => {
      const now = performance.now()
      for (const later of sent.slice(sent.indexOf(self) + 1)) if (!later.begun) later.since = now
    }
    return {
      signal: controller.signal,
      heard() {
        self.since = performance.now()
        if (!self.begun) {
          self.begun = true
          clearTimeout(timer)
          timer = setTimeout(look, betweenMs)
        }
        tellLater()
      },
      stop() {
        clearTimeout(timer)
        clearTimeout(whole)
        if (!sent.includes(self)) return
        tellLater()
        sent.splice(sent.indexOf(self), 1)
      },
    }
  }
}

interface Watched {
  /** When there was the last sign of life, its own or of a request before it. */
  since: number
  /** Something came for it. */
  begun: boolean
}

const seconds = (milliseconds: number) => `${milliseconds / 1_000} seconds`

const sentNothing = (milliseconds: number) =>
  new HandoffError('timeout', `The model’s service sent nothing for ${seconds(milliseconds)}.`, {
    next: 'Try again; for a service or a model that takes longer, raise LLM_FIRST_TOKEN_SECONDS or lower LLM_CONCURRENCY.',
  })

const stoppedInTheMiddle = (milliseconds: number) =>
  new HandoffError(
    'timeout',
    `The model’s service stopped in the middle of its reply and was silent for ${seconds(milliseconds)}.`,
    { next: 'Try again; if it stays so, look whether the service is overloaded or the model (LLM_MODEL) is too slow.' },
  )

/** It would be as slow again, and cost as much again: so this is not a time that ran out by chance. */
const tooSlow = (milliseconds: number) =>
  new HandoffError('model', `The model’s service was still writing its reply after ${seconds(milliseconds)}.`, {
    next: 'Ask for less, or choose a faster model in LLM_MODEL.',
  })
