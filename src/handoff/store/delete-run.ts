// Deletes runs and other files from the drive. Readers never see a half-deleted run, and concurrent writers lose nothing.
//
// drive9 has conditional writes but no conditional delete. So a file that another process may need is first replaced by a tombstone with a
// conditional write: of a deletion and a seal, or of two pointer writes, exactly one wins. Readers treat a tombstone as a missing file. Other processes
// wait for its end, and the deletion of the tombstone is given up when it takes too long. `test/guarantees/run-protocol.test.ts` explores all of this.
import { HandoffError, isHandoffError } from '../domain/errors.js'
import { decodePointer, sealLimit } from '../domain/handoff-record.js'
import type { Drive, Ports } from '../domain/ports.js'
import { artifact, type Layout, type RunId, shaOf } from '../domain/run.js'
import { encodeTombstone, readTombstone, removalMs } from '../domain/tombstone.js'
import { writeIfUnchanged } from './conditional-write.js'
import { listRefs, type StoredFile } from './inventory.js'

/** Why an item was kept; undefined when it was deleted. */
export type KeptReason = string | undefined

const changedMeanwhile = 'it was written again meanwhile'

type Tools = Pick<Ports, 'drive' | 'clock'>

const tookTooLong = 'its removal took too long; the next prune ends it'

/** Deletes a small file without dependents, unless it has changed since it was listed. */
export async function removeFile(drive: Drive, file: StoredFile, signal: AbortSignal): Promise<KeptReason> {
  const removed = await drive.remove(file.path, { recursive: false, atRevision: file.revision, signal })
  return removed || (await drive.stat(file.path, signal)) === null ? undefined : changedMeanwhile
}

interface SealedHere {
  place: Layout
  run: RunId
  /** The pointer as it was listed. */
  pointer: StoredFile
  /** A question asked after this time keeps the run. */
  since: string
}

/** Deletes a sealed run, pointer first, unless a ref or a question has come to need it since it was chosen. */
export async function removeSealed(
  tools: Tools,
  { place, run, pointer, since }: SealedHere,
  signal: AbortSignal,
): Promise<KeptReason> {
  const { drive } = tools
  const before = await drive.read(pointer.path, { maxBytes: sealLimit, signal })
  if (before !== null) {
    const tombstone = await writeTombstone(tools, pointer.path, pointer.revision, run, signal)
    if (!tombstone) return changedMeanwhile
    const need = await findNeed(drive, place, run, since, signal)
    if (need !== undefined) {
      await drive.write(pointer.path, before, { expectedRevision: tombstone.revision, signal })
      return need
    }
    // Without its record the run cannot be recovered any more.
    await drive.remove(place.sealNote(run), { recursive: false, signal })
    const kept = await removeTombstone(tools, pointer.path, tombstone, signal)
    if (kept !== undefined) return kept
  }
  await drive.remove(place.run(run), { recursive: true, signal })
  return undefined
}

/** Deletes a ref, a dangling pointer, or the tombstone of a process that died. A writer waits for the end of it, so that nothing new is deleted. */
export async function removePointer(tools: Tools, pointer: StoredFile, signal: AbortSignal): Promise<KeptReason> {
  const tombstone = await writeTombstone(tools, pointer.path, pointer.revision, '', signal)
  if (tombstone) return removeTombstone(tools, pointer.path, tombstone, signal)
  return (await tools.drive.stat(pointer.path, signal)) === null ? undefined : changedMeanwhile
}

interface OwnTombstone {
  revision: number
  writtenAt: number
}

/** Only at its own revision, and only while no other process may replace it. */
async function removeTombstone(
  { drive, clock }: Tools,
  path: string,
  { revision, writtenAt }: OwnTombstone,
  signal: AbortSignal,
): Promise<KeptReason> {
  if (clock.now() - writtenAt > removalMs) return tookTooLong
  const removed = await drive.remove(path, { recursive: false, atRevision: revision, signal })
  return removed || (await drive.stat(path, signal)) === null ? undefined : changedMeanwhile
}

/** Writes a tombstone. Returns undefined on a conflict. */
async function writeTombstone(
  { drive, clock }: Tools,
  path: string,
  expectedRevision: number,
  run: string,
  signal: AbortSignal,
): Promise<OwnTombstone | undefined> {
  const writtenAt = clock.now()
  const bytes = encodeTombstone({ version: 1, removed: run, removedAt: new Date(writtenAt).toISOString() })
  const revision = await writeIfUnchanged(drive, path, bytes, expectedRevision, signal)
  return revision === undefined ? undefined : { revision, writtenAt }
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
  tools: Tools,
  place: Layout,
  run: RunId,
  signal: AbortSignal,
): Promise<KeptReason> {
  const { drive } = tools
  const directory = place.run(run)
  const seal = `${directory}/${artifact.handoff}`
  const empty = () => emptyBut(drive, directory, artifact.handoff.split('/'), signal)
  const isMarked = async () => {
    if (await writeTombstone(tools, seal, 0, run, signal)) return true
    const there = await drive.read(seal, { maxBytes: sealLimit, signal })
    return there === null || readTombstone(there) !== undefined
  }
  try {
    if (!(await isMarked())) return 'it was sealed meanwhile'
  } catch (error) {
    if (!isHandoffError(error, 'drive-quota')) throw error
    // A full account has no room for the tombstone, so the content is deleted first.
    await empty()
    if (!(await isMarked())) return removeBroken(tools, place, run, signal)
  }
  await drive.remove(place.sealNote(run), { recursive: false, signal })
  await empty()
  return undefined
}

/** Deletes a run that was sealed after its content had been deleted. */
async function removeBroken(tools: Tools, place: Layout, run: RunId, signal: AbortSignal): Promise<KeptReason> {
  const { drive } = tools
  await drive.remove(place.sealNote(run), { recursive: false, signal })
  await removeItsPointer(tools, place, run, signal)
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
  if (rest.length > 0) await emptyBut(drive, `${directory}/${kept}`, rest, signal)
}

/** Deletes a sealed run without a pointer: another run is canonical, or its process died before the last step. */
export async function removeNonCanonical(
  tools: Tools,
  place: Layout,
  run: RunId,
  signal: AbortSignal,
): Promise<KeptReason> {
  const { drive } = tools
  // Without its write-ahead record the run cannot be recovered any more. A recovery just before that is visible now.
  await drive.remove(place.sealNote(run), { recursive: false, signal })
  if (await isCanonical(drive, place, run, signal)) return 'it came to speak for its commit meanwhile'
  await drive.remove(place.run(run), { recursive: true, signal })
  await removeItsPointer(tools, place, run, signal)
  return undefined
}

async function removeItsPointer(tools: Tools, place: Layout, run: RunId, signal: AbortSignal): Promise<void> {
  const { drive } = tools
  const path = place.pointer(shaOf(run))
  // The revision first, so that the content is never older than the revision at which it is deleted.
  const revision = (await drive.stat(path, signal))?.revision ?? 0
  if (await isCanonical(drive, place, run, signal)) await removePointer(tools, { path, bytes: 0, revision }, signal)
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
