// Deletes runs and other files from the drive. Readers never see a half-deleted run, and concurrent writers lose nothing.
//
// drive9 has conditional writes but no conditional delete. So a file that another process may need is first replaced by a tombstone with a
// conditional write: of a deletion and a seal, or of two pointer writes, exactly one wins. Readers treat a tombstone as a missing file.
import { HandoffError, isHandoffError } from '../domain/errors.js'
import { decodePointer, sealLimit } from '../domain/handoff-record.js'
import type { Drive } from '../domain/ports.js'
import { artifact, type Layout, type RunId, shaOf } from '../domain/run.js'
import { encodeTombstone, readTombstone } from '../domain/tombstone.js'
import { listRefs, type StoredFile } from './inventory.js'

/** Why an item was kept; undefined when it was deleted. */
export type KeptReason = string | undefined

const changedMeanwhile = 'it was written again meanwhile'

/** Deletes a small file without dependents, unless it has changed since it was listed. */
export async function removeFile(drive: Drive, file: StoredFile, signal: AbortSignal): Promise<KeptReason> {
  const now = await drive.stat(file.path, signal)
  if (now !== null && now.revision !== file.revision) return changedMeanwhile
  await drive.remove(file.path, { recursive: false, signal })
  return undefined
}

export interface SealedHere {
  place: Layout
  run: RunId
  /** The pointer as it was listed. */
  pointer: StoredFile
  /** A question asked after this time keeps the run. */
  since: string
}

/** Deletes a sealed run, pointer first, unless a ref or a question has come to need it since it was chosen. */
export async function removeSealed(
  drive: Drive,
  { place, run, pointer, since }: SealedHere,
  removedAt: string,
  signal: AbortSignal,
): Promise<KeptReason> {
  const before = await drive.read(pointer.path, { maxBytes: sealLimit, signal })
  if (before !== null) {
    const marked = await writeTombstone(drive, pointer.path, pointer.revision, { run, removedAt }, signal)
    if (marked === undefined) return changedMeanwhile
    const need = await findNeed(drive, place, run, since, signal)
    if (need !== undefined) {
      await drive.write(pointer.path, before, { expectedRevision: marked, signal })
      return need
    }
    await drive.remove(place.sealNote(run), { recursive: false, signal })
    await drive.remove(pointer.path, { recursive: false, signal })
  }
  await drive.remove(place.run(run), { recursive: true, signal })
  return undefined
}

/** Deletes a dangling pointer, or the tombstone of a process that died. */
export async function removePointer(
  drive: Drive,
  pointer: StoredFile,
  removedAt: string,
  signal: AbortSignal,
): Promise<KeptReason> {
  if ((await writeTombstone(drive, pointer.path, pointer.revision, { run: '', removedAt }, signal)) === undefined) {
    return (await drive.stat(pointer.path, signal)) === null ? undefined : changedMeanwhile
  }
  await drive.remove(pointer.path, { recursive: false, signal })
  return undefined
}

/** Writes a tombstone. Returns undefined on a conflict. */
async function writeTombstone(
  drive: Drive,
  path: string,
  expectedRevision: number,
  { run, removedAt }: { run: string; removedAt: string },
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    const bytes = encodeTombstone({ version: 1, removed: run, removedAt })
    return (await drive.write(path, bytes, { expectedRevision, signal })).revision
  } catch (error) {
    if (isHandoffError(error, 'conflict')) return undefined
    throw error
  }
}

async function findNeed(
  drive: Drive,
  place: Layout,
  run: RunId,
  since: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [refs, asked] = await Promise.all([
    listRefs(drive, place, signal),
    drive.list(`${place.run(run)}/${artifact.answers}`, signal),
  ])
  const ref = refs.find((one) => one.commit === shaOf(run))
  if (ref) return `${ref.ref} points to it now`
  return asked.some((entry) => (entry.modifiedAt ?? '') > since) ? 'a question about it is recent' : undefined
}

/**
 * Deletes an unsealed attempt. A tombstone takes the place of its seal, so a late process can no longer seal the emptied directory. `removeEmptied`
 * deletes the tombstone when no attempt can still be running.
 */
export async function removeUnsealed(
  drive: Drive,
  place: Layout,
  run: RunId,
  removedAt: string,
  signal: AbortSignal,
): Promise<KeptReason> {
  const directory = place.run(run)
  const seal = `${directory}/${artifact.handoff}`
  const empty = () => emptyBut(drive, directory, artifact.handoff.split('/'), signal)
  const isMarked = async () => {
    if ((await writeTombstone(drive, seal, 0, { run, removedAt }, signal)) !== undefined) return true
    const there = await drive.read(seal, { maxBytes: sealLimit, signal })
    return there === null || readTombstone(there) !== undefined
  }
  try {
    if (!(await isMarked())) return 'it was sealed meanwhile'
  } catch (error) {
    if (!isHandoffError(error, 'drive-quota')) throw error
    // A full account has no room for the tombstone, so the content is deleted first.
    await empty()
    if (!(await isMarked())) return removeBroken(drive, place, run, removedAt, signal)
  }
  await drive.remove(place.sealNote(run), { recursive: false, signal })
  await empty()
  return undefined
}

/** Deletes a run that was sealed after its content had been deleted. */
async function removeBroken(
  drive: Drive,
  place: Layout,
  run: RunId,
  removedAt: string,
  signal: AbortSignal,
): Promise<KeptReason> {
  await drive.remove(place.sealNote(run), { recursive: false, signal })
  await removeItsPointer(drive, place, run, removedAt, signal)
  await drive.remove(place.run(run), { recursive: true, signal })
  return undefined
}

/** Deletes everything below a directory except one file. */
async function emptyBut(
  drive: Drive,
  directory: string,
  [kept, ...rest]: string[],
  signal: AbortSignal,
): Promise<void> {
  const entries = await drive.list(directory, signal)
  const others = entries.filter((entry) => entry.name !== kept)
  await Promise.all(
    others.map(({ name, isDirectory }) => drive.remove(`${directory}/${name}`, { recursive: isDirectory, signal })),
  )
  if (kept !== undefined && rest.length > 0) await emptyBut(drive, `${directory}/${kept}`, rest, signal)
}

/** Deletes a sealed run without a pointer: another run is canonical, or its process died before the last step. */
export async function removeNonCanonical(
  drive: Drive,
  place: Layout,
  run: RunId,
  removedAt: string,
  signal: AbortSignal,
): Promise<KeptReason> {
  // Without its write-ahead record the run cannot be recovered any more. A recovery just before that is visible now.
  await drive.remove(place.sealNote(run), { recursive: false, signal })
  if (await isCanonical(drive, place, run, signal)) return 'it came to speak for its commit meanwhile'
  await drive.remove(place.run(run), { recursive: true, signal })
  await removeItsPointer(drive, place, run, removedAt, signal)
  return undefined
}

async function removeItsPointer(
  drive: Drive,
  place: Layout,
  run: RunId,
  removedAt: string,
  signal: AbortSignal,
): Promise<void> {
  const path = place.pointer(shaOf(run))
  // The revision first, so that the content is never older than the revision at which it is deleted.
  const revision = (await drive.stat(path, signal))?.revision ?? 0
  if (await isCanonical(drive, place, run, signal))
    await removePointer(drive, { path, bytes: 0, revision }, removedAt, signal)
}

/** Deletes the rest of an attempt that was emptied long ago. */
export async function removeEmptied(drive: Drive, place: Layout, run: RunId, signal: AbortSignal): Promise<KeptReason> {
  await drive.remove(place.run(run), { recursive: true, signal })
  return undefined
}

async function isCanonical(drive: Drive, place: Layout, run: RunId, signal: AbortSignal): Promise<boolean> {
  const bytes = await drive.read(place.pointer(shaOf(run)), { maxBytes: sealLimit, signal })
  return bytes !== null && !readTombstone(bytes) && decodePointer(bytes).run === run
}

/** Deletes empty directories. One that another process has just filled stays. */
export async function removeEmpty(drive: Drive, paths: readonly string[], signal: AbortSignal): Promise<void> {
  for (const path of paths) {
    try {
      await drive.remove(path, { recursive: false, signal })
    } catch (error) {
      if (!(error instanceof HandoffError) || error.code === 'cancelled' || error.code === 'timeout') throw error
    }
  }
}
