// The corrections of a repository: `corrections.json`, one file for all commits, written conditionally and read back.
import {
  type Correction,
  correctionLimits,
  decodeCorrections,
  encodeCorrections,
} from '../domain/corrections/correction.js'
import { HandoffError } from '../domain/errors.js'
import type { Drive } from '../domain/ports.js'
import type { Layout } from '../domain/run.js'
import { readAtRevision, writeIfUnchanged } from './conditional-write.js'

/** The oldest first. */
export async function readCorrections(
  drive: Pick<Drive, 'read'>,
  { corrections: path }: Layout,
  signal: AbortSignal,
): Promise<Correction[]> {
  return correctionsIn(await drive.read(path, { maxBytes: correctionLimits.bytes, signal }))
}

const correctionsIn = (bytes: Uint8Array | null) => (bytes === null ? [] : decodeCorrections(bytes).corrections)

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
    const { bytes, revision } = await readAtRevision(drive, path, correctionLimits.bytes, signal)
    const found = correctionsIn(bytes)
    const corrections = change(found)
    if (corrections === found) return
    const encoded = encodeCorrections({ corrections: [...corrections], ended: [] })
    if ((await writeIfUnchanged(drive, path, encoded, revision, signal)) === undefined) continue
    const written = await readCorrections(drive, place, signal)
    // Another process may have added a correction of its own meanwhile.
    if (change(written) === written) return
    throw new HandoffError('drive', 'The correction was written, and drive9 does not return it.', {
      next: 'Try again.',
    })
  }
  throw new HandoffError('in-progress', 'Many processes write the corrections of this repository at the same time.', {
    next: 'Try again in a moment.',
    retryAfterSeconds: 2,
  })
}
