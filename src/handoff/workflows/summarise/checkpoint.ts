// Keeps what has been paid for while a summary is being written, so that a run after a crash asks for none of it again. One write at a time:
// what comes while one is on its way goes with the next.
import type { Prose } from '../../domain/summary/summary-cache.js'

export interface Checkpoint {
  load(): Promise<Prose | undefined>
  save(prose: Prose): Promise<void>
}

export interface Keeping {
  /** Returns at once. */
  soon(): void
  /** Resolves when everything there was is kept. Does not reject. */
  finish(): Promise<void>
}

export function startKeeping(
  checkpoint: Checkpoint | undefined,
  current: () => Prose,
  notice: (text: string) => void,
): Keeping {
  let wanted = false
  let running: Promise<void> | undefined
  let told = false
  const run = async () => {
    while (wanted) {
      wanted = false
      await checkpoint?.save(current()).catch(() => {
        // Losing it costs money after a crash, not the run.
        if (!told) notice('What has been summarised so far could not be kept; a crash now would cost it again.')
        told = true
      })
    }
    running = undefined
  }
  return {
    soon() {
      wanted = checkpoint !== undefined
      running ??= Promise.resolve().then(run)
    },
    async finish() {
      while (running) await running
    },
  }
}
