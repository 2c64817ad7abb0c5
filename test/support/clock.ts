// A clock that stands still until a test moves it.

import { abortError } from '../../src/handoff/domain/errors.js'
import type { Clock } from '../../src/handoff/domain/ports.js'

export interface ManualClock extends Clock {
  /** Advances the time and wakes the sleepers whose time has come. */
  advance(milliseconds: number): void
  /** How long each sleeper asked to sleep, in order; also those who woke. */
  slept: number[]
  /** Sleepers now. */
  readonly waiting: number
}

/** With `jump`, a sleep advances the clock and returns at once. */
export function manualClock(options: { start?: number; jump?: boolean } = {}): ManualClock {
  let time = options.start ?? 1_700_000_000_000
  let sleepers: { until: number; wake: () => void }[] = []
  const slept: number[] = []
  const clock: ManualClock = {
    slept,
    get waiting() {
      return sleepers.length
    },
    now: () => time,
    advance(milliseconds) {
      time += milliseconds
      const due = sleepers.filter((one) => one.until <= time)
      sleepers = sleepers.filter((one) => one.until > time)
      for (const one of due) one.wake()
    },
    async sleep(milliseconds, signal) {
      if (signal.aborted) throw abortError(signal, 'waiting')
      slept.push(milliseconds)
      if (options.jump) time += milliseconds
      if (options.jump || milliseconds <= 0) return
      await new Promise<void>((resolve, reject) => {
        const sleeper = { until: time + milliseconds, wake: resolve }
        sleepers.push(sleeper)
        signal.addEventListener('abort', () => {
          sleepers = sleepers.filter((one) => one !== sleeper)
          reject(abortError(signal, 'waiting'))
        })
      })
    },
  }
  return clock
}
