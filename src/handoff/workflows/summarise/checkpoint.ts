// Keeps what has been paid for while a summary is being written, so that a run after a crash asks for none of it again. One write at a time:
// what comes while one is on its way goes with the next.
import type { SummaryCache } from '../../domain/summary/summary-cache.js'

export interface Checkpoint {
  load(): Promise<SummaryCache | undefined>
  save(cache: SummaryCache): Promise<void>
}

export interface CheckpointWriter {
  /** Returns at once. */
  soon(): void
  /** Resolves when everything there was is kept. Does not reject. */
  finish(): Promise<void>
}

export function startCheckpointWriter(
  checkpoint: Checkpoint | undefined,
  current: () => SummaryCache,
  notice: (text: string) => void,
): CheckpointWriter {
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
