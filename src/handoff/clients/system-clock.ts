// The real clock.
import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../domain/clock.js'
import { abortError } from '../domain/errors.js'

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(milliseconds, signal) {
    try {
      await wait(milliseconds, undefined, { signal })
    } catch {
      throw abortError(signal, 'waiting')
    }
  },
}
