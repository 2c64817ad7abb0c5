// The real clock.
import { setTimeout as wait } from 'node:timers/promises'
import { abortError } from '../domain/errors.js'
import type { Clock } from '../domain/ports.js'

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
