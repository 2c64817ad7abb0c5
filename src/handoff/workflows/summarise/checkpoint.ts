// Saves the texts that the model has written so far, so that an attempt after a crash does not pay for them again.

import { ignoreFailure } from '../../domain/errors.js'
import type { Drive } from '../../domain/ports.js'
import { decodeNotes, encodeNotes, type Note, type Notes, notesLimit } from '../../domain/summary/notes.js'
import { awaitedLater } from '../../util/abort.js'

export interface Checkpoint {
  load(): Promise<Notes>
  save(notes: Iterable<Note>): Promise<void>
}

/** The checkpoint in a file of the drive. Reading it starts now; an error is thrown by `load`. */
export function openCheckpoint(drive: Drive, path: string, signal: AbortSignal): Checkpoint {
  const reading = awaitedLater(drive.read(path, { maxBytes: notesLimit, signal }))
  return {
    async load() {
      const bytes = await reading
      return bytes === null ? new Map() : decodeNotes(bytes)
    },
    async save(notes) {
      // Has its own timeout: paid texts are saved also after the workflow was cancelled.
      await drive.write(path, encodeNotes(notes), { signal: AbortSignal.timeout(10_000) })
    },
  }
}

interface CheckpointWriter {
  /** Schedules a save and returns at once. Saves run one after the other; requests during a save are merged into the next. */
  requestSave(): void
  /** Resolves when the last requested save has ended. Does not reject. */
  finish(): Promise<void>
}

export function startCheckpointWriter(
  checkpoint: Checkpoint | undefined,
  current: () => Iterable<Note>,
  notice: (text: string) => void,
): CheckpointWriter {
  let requested = false
  let running: Promise<void> | undefined
  let warned = false
  const run = async () => {
    while (requested) {
      requested = false
      await checkpoint?.save(current()).catch((error: unknown) => {
        ignoreFailure(error)
        // A lost checkpoint costs money after a crash; it does not fail the run.
        if (!warned) notice('The texts written so far could not be saved; after a crash they are paid for again.')
        warned = true
      })
    }
    running = undefined
  }
  return {
    requestSave() {
      requested = checkpoint !== undefined
      running ??= Promise.resolve().then(run)
    },
    async finish() {
      while (running) await running
    },
  }
}
