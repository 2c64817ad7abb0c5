// The one retry loop of the clients. Each client decides what is tried again, and after which pause.
import { abortError } from '../domain/errors.js'
import type { Clock } from '../domain/ports.js'

/** The pause before the next attempt. */
export interface Pause {
  milliseconds: number
  /** Makes the error for a deadline that passes during the pause. */
  late?: () => unknown
}

interface RetryOptions {
  clock: Clock
  signal: AbortSignal
  /** What an abort interrupts, for its error: "asking example.org". */
  doing: string
}

/** Calls `attempt` with 1, 2, … until it resolves. After a failure `pauseAfter` returns the pause, or throws the error that ends the call. */
export async function retry<T>(
  attempt: (number: number) => Promise<T>,
  pauseAfter: (error: unknown, number: number) => Pause,
  { clock, signal, doing }: RetryOptions,
): Promise<T> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt(number)
    } catch (error) {
      const { milliseconds, late } = pauseAfter(error, number)
      await clock.sleep(milliseconds, signal).catch(() => {
        const stopped = abortError(signal, doing)
        throw late !== undefined && stopped.code === 'timeout' ? late() : stopped
      })
    }
  }
}

/** The pause after failure 1 is `firstMs`. It doubles with each further failure. */
export const doubled = (firstMs: number, failures: number): number => firstMs * 2 ** (failures - 1)

/** Milliseconds that a `Retry-After` header asks for: whole or decimal seconds, or a date. Undefined when it is absent or unreadable. */
export function retryAfterMs(value: string | null | undefined, nowMs: number): number | undefined {
  if (!value) return undefined
  const text = value.trim()
  const wait = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined
}

/**
 * After how many seconds it makes sense to try again, where the failing service did not say. A code that is not here fails again in the same way.
 */
export const retrySeconds: Readonly<Record<string, number>> = {
  timeout: 1,
  cancelled: 1,
  'in-progress': 10,
  'sandbox-limit': 5,
  'model-limit': 20,
  sandbox: 10,
  drive: 10,
  git: 20,
}
