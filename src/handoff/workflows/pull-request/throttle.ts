// Says the newest of many things, but not too often: GitHub limits edits, and every edit is work for whoever watches.
import type { Clock } from '../../domain/ports.js'

export interface Throttle {
  /** Replaces what has not been said yet. Returns at once. */
  say(text: string): void
  /** Nothing is said after this resolves. What is on its way gets two seconds to arrive. */
  stop(): Promise<void>
}

export interface ThrottleOptions {
  clock: Clock
  /** Between the end of one word and the start of the next; the first waits as long. */
  intervalMs: number
  /** Does not reject. Resolves to how long to be silent at least; Infinity for good. */
  write: (text: string, signal: AbortSignal) => Promise<number>
}

const farewellMs = 2_000

export function createThrottle({ clock, intervalMs, write }: ThrottleOptions): Throttle {
  const stopped = new AbortController()
  const cut = new AbortController()
  let latest: string | undefined
  let said: string | undefined
  let free = clock.now() + intervalMs
  let running: Promise<void> | undefined

  const hasWord = () => latest !== undefined && free !== Number.POSITIVE_INFINITY && !stopped.signal.aborted

  async function pump(): Promise<void> {
    while (hasWord()) {
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
    if (running !== undefined || !hasWord()) return
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
      const enough = clock.sleep(farewellMs, patience.signal).catch(() => undefined)
      await Promise.race([running, enough])
      patience.abort()
      // An edit that arrived after the last word would stand over it.
      cut.abort()
      await running
    },
  }
}
