// Waits for a sandbox while the E2B account has as many as it may have.
import type { AppContext } from '../../context.js'
import { isHandoffError } from '../../domain/errors.js'

const firstPauseMs = 500
const longestPauseMs = 5_000

/** Other processes use the same E2B account. A request waits while the account is full, as long as its context says. */
export async function whileAccountIsFull<T>(
  work: () => Promise<T>,
  context: AppContext,
  signal: AbortSignal,
): Promise<T> {
  const { clock } = context.ports
  const until = clock.now() + (context.limits.accountWaitMs ?? 0)
  for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
    try {
      return await work()
    } catch (error) {
      // A random part keeps processes that were refused together from coming back together.
      const wait = pause * (0.5 + Math.random())
      if (!isHandoffError(error, 'sandbox-limit') || clock.now() + wait >= until) throw error
      await clock.sleep(wait, signal)
    }
  }
}
