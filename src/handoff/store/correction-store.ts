// The corrections of a repository: `corrections.json`, one file for all commits, written conditionally and read back.
import {
  type Correction,
  correctionLimits,
  decodeCorrections,
  encodeCorrections,
} from '../domain/corrections/correction.js'
import { HandoffError, isHandoffError } from '../domain/errors.js'
import type { Drive } from '../domain/ports.js'
import type { Layout } from '../domain/run.js'

/** The oldest first. */
export async function readCorrections(
  drive: Pick<Drive, 'read'>,
  { corrections: path }: Layout,
  signal: AbortSignal,
): Promise<Correction[]> {
  const bytes = await drive.read(path, { maxBytes: correctionLimits.bytes, signal })
  return bytes === null ? [] : decodeCorrections(bytes).corrections
}

const mostConflicts = 8

/** Replaces the list. `change` may be called again, after another process has written; it returns the same list where there is nothing to do. */
export async function changeCorrections(
  drive: Drive,
  place: Layout,
  change: (found: readonly Correction[]) => readonly Correction[],
  signal: AbortSignal,
): Promise<void> {
  const path = place.corrections
  for (let conflicts = 0; conflicts < mostConflicts; conflicts += 1) {
    // The revision first, so that the content is never older than the revision that the write replaces.
    const expectedRevision = (await drive.stat(path, signal))?.revision ?? 0
    const found = await readCorrections(drive, place, signal)
    const corrections = change(found)
    if (corrections === found) return
    const bytes = encodeCorrections({ corrections: [...corrections], ended: [] })
    try {
      await drive.write(path, bytes, { expectedRevision, signal })
    } catch (error) {
      if (!isHandoffError(error, 'conflict')) throw error
      continue
    }
    if (await isWritten(drive, place, change, signal)) return
    throw new HandoffError('drive', 'The correction was written, and drive9 does not return it.', {
      next: 'Try again.',
    })
  }
  throw new HandoffError('in-progress', 'Many processes write the corrections of this repository at the same time.', {
    next: 'Try again in a moment.',
    retryAfterSeconds: 2,
  })
}

/** True when nothing is left to change: another process may have added a correction of its own meanwhile. */
async function isWritten(
  drive: Drive,
  place: Layout,
  change: (found: readonly Correction[]) => readonly Correction[],
  signal: AbortSignal,
): Promise<boolean> {
  const found = await readCorrections(drive, place, signal)
  return change(found) === found
}
