// Writes the newest of many texts at a limited rate, because GitHub limits edits.
import { ignoreFailure } from '../../domain/errors.js'
import type { Clock } from '../../domain/ports.js'

interface Throttle {
  /** Replaces a text that was not written yet. Returns at once. */
  say(text: string): void
  /** No write starts or ends after this resolves. A write in progress gets two seconds. */
  stop(): Promise<void>
}

interface ThrottleOptions {
  clock: Clock
  /** The interval between two writes. */
  intervalMs: number
  /** How long the first write waits. */
  firstMs: number
  /** Must not reject. Resolves to the least time until the next write; Infinity ends writing. */
  write: (text: string, signal: AbortSignal) => Promise<number>
}

const stopTimeoutMs = 2_000

export function createThrottle({ clock, intervalMs, firstMs, write }: ThrottleOptions): Throttle {
  const stopped = new AbortController()
  const cut = new AbortController()
  let latest: string | undefined
  let said: string | undefined
  let free = clock.now() + firstMs
  let running: Promise<void> | undefined

  const hasText = () => latest !== undefined && free !== Number.POSITIVE_INFINITY && !stopped.signal.aborted

  async function pump(): Promise<void> {
    while (hasText()) {
      await clock.sleep(Math.max(0, free - clock.now()), stopped.signal)
      const text = latest!
      latest = undefined
      if (text === said) continue
      const silence = await write(text, cut.signal)
      said = text
      free = clock.now() + Math.max(intervalMs, silence)
    }
  }

  function start(): void {
    if (running !== undefined || !hasText()) return
    // `write` does not reject; the sleep is aborted by `stop`.
    running = pump()
      .catch(() => undefined)
      .finally(() => {
        running = undefined
        start()
      })
  }

  return {
    say(text) {
      latest = text
      start()
    },

    async stop() {
      stopped.abort()
      const patience = new AbortController()
      const enough = clock.sleep(stopTimeoutMs, patience.signal).catch(ignoreFailure)
      await Promise.race([running, enough])
      patience.abort()
      // A late edit would overwrite the final text.
      cut.abort()
      await running
    },
  }
}
