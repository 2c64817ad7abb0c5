// How many requests are sent to a model's service at once. A service that is too busy for that many gets half of them, and one more after each
// round of replies that went well.
import { abortError } from '../../domain/errors.js'

export interface Slot {
  /** No other request of ours was with the service at any time of this one. */
  alone(): boolean
  /** Idempotent. `crowded`: the service was too busy. */
  leave(how: 'well' | 'crowded' | 'failed'): void
}

export interface Slots {
  /** Waits for a free slot; rejects when the signal is aborted. */
  enter(signal: AbortSignal): Promise<Slot>
}

export function makeSlots(most = Number.POSITIVE_INFINITY): Slots {
  let allowed = most
  let running = 0
  let entered = 0
  /** Requests up to this one have made us slower already. */
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

  function learn(how: 'well' | 'crowded' | 'failed', number: number): void {
    if (how === 'crowded' && number > slowedAt) {
      allowed = Math.max(1, Math.floor(Math.min(allowed, running) / 2))
      slowedAt = entered
      repliesSince = 0
    }
    if (how !== 'well' || allowed >= most) return
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
        leave(how) {
          if (!inside.delete(self)) return
          learn(how, number)
          running -= 1
          next()
        },
      }
    },
  }
}
