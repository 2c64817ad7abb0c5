// Limits concurrent requests to a model's service. A busy service halves the limit; each round of successful replies raises it by one.
import { abortError } from '../../domain/errors.js'

type Outcome = 'done' | 'busy' | 'failed'

export interface Slot {
  /** No other request of this client ran at any time during this one. */
  alone(): boolean
  /** Frees the slot. Idempotent. */
  leave(outcome: Outcome): void
}

interface Slots {
  /** Waits for a free slot; rejects when the signal is aborted. */
  enter(signal: AbortSignal): Promise<Slot>
}

export function createSlots(most = Number.POSITIVE_INFINITY): Slots {
  let allowed = most
  let running = 0
  let entered = 0
  /** The limit was halved already for requests up to this one. */
  let slowedAt = 0
  let repliesSince = 0
  const waiting: (() => void)[] = []
  const inside = new Set<{ shared: boolean }>()

  const next = () => {
    while (running < allowed && waiting.length > 0) {
      running += 1
      waiting.shift()!()
    }
  }

  function adjustLimit(outcome: Outcome, number: number): void {
    if (outcome === 'busy' && number > slowedAt) {
      allowed = Math.max(1, Math.floor(Math.min(allowed, running) / 2))
      slowedAt = entered
      repliesSince = 0
    }
    if (outcome !== 'done' || allowed >= most) return
    repliesSince += 1
    if (repliesSince < allowed) return
    allowed += 1
    repliesSince = 0
  }

  async function wait(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>()
    const stop = () => {
      const index = waiting.indexOf(turn.resolve)
      if (index < 0) return
      waiting.splice(index, 1)
      turn.reject(abortError(signal, 'waiting for the model'))
    }
    waiting.push(turn.resolve)
    signal.addEventListener('abort', stop, { once: true })
    next()
    await turn.promise.finally(() => signal.removeEventListener('abort', stop))
  }

  return {
    async enter(signal) {
      if (signal.aborted) throw abortError(signal, 'waiting for the model')
      await wait(signal)
      entered += 1
      const number = entered
      const self = { shared: inside.size > 0 }
      for (const other of inside) other.shared = true
      inside.add(self)
      return {
        alone: () => !self.shared,
        leave(outcome) {
          if (!inside.delete(self)) return
          adjustLimit(outcome, number)
          running -= 1
          next()
        },
      }
    },
  }
}
