// Makes a run visible, and finds a run whose pointer is missing.
//
// The order of writing keeps a run from being half-visible: the artifacts, the write-ahead record, `handoff.json` (must not exist yet), the commit
// pointer (must not exist, or be unchanged), then the refs. The record stays for a day. It vouches for the run as the pointer does: while a pointer is
// missing, because its maker died or because a late request of a removal deleted it, readers find the run by its record.
import { type HandoffError, isHandoffError } from '../domain/errors.js'
import {
  type CommitPointer,
  decodePointer,
  encode,
  encodeHandoff,
  encodePointer,
  type Handoff,
  sealLimit,
} from '../domain/handoff-record.js'
import type { Drive, Ports } from '../domain/ports.js'
import { artifact, type Layout, type RunId, shaOf } from '../domain/run.js'
import { isYoung, readTombstone, type Tombstone } from '../domain/tombstone.js'
import { readAtRevision, writeIfUnchanged } from './conditional-write.js'
import { type FindOptions, readHandoff, type SealedRun, sha256 } from './run-store.js'

type Tools = Pick<Ports, 'drive' | 'clock'>

/** Writes the write-ahead record and the remaining files, then the seal `handoff.json`, which must not exist yet. */
export async function seal(
  drive: Drive,
  place: Layout,
  handoff: Handoff,
  before: { path: string; bytes: Uint8Array }[],
  signal: AbortSignal,
): Promise<CommitPointer> {
  const bytes = encodeHandoff(handoff)
  const directory = place.run(handoff.run)
  const pointer: CommitPointer = { version: 1, run: handoff.run, handoff: sha256(bytes), sealedAt: handoff.sealedAt }
  await Promise.all([
    drive.write(place.sealNote(handoff.run), encode(pointer), { signal }),
    ...before.map((file) => drive.write(`${directory}/${file.path}`, file.bytes, { signal })),
  ])
  await writeOnce(drive, `${directory}/${artifact.handoff}`, bytes, signal)
  return pointer
}

/** Writes a file that must not exist yet. After a request that was delivered twice the file exists with the same bytes, which is no conflict. */
export async function writeOnce(drive: Drive, path: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  try {
    await drive.write(path, bytes, { expectedRevision: 0, signal })
  } catch (error) {
    if (!isHandoffError(error, 'conflict')) throw error
    const found = await drive.digest(path, signal)
    if (found?.sha256 !== sha256(bytes)) throw error
  }
}

/**
 * Makes a run canonical if the pointer is still at revision `seen` (0: no pointer). Returns the pointer of the canonical run. While an older run is
 * being deleted, waits for the end of the deletion; it replaces only the tombstone of a process that died.
 */
export async function writePointer(
  tools: Tools,
  place: Layout,
  pointer: CommitPointer,
  seen: number,
  signal: AbortSignal,
): Promise<CommitPointer> {
  for (let pause = 50; ; pause = Math.min(2 * pause, 2_000)) {
    const there = await tryPointer(tools, place, pointer, seen, signal)
    if (!('removed' in there)) return there
    await tools.clock.sleep(pause, signal)
  }
}

/** The pointer of the canonical run, or the young tombstone that stands in its place. A pointer to a run that is gone is replaced. */
async function tryPointer(
  { drive, clock }: Tools,
  place: Layout,
  pointer: CommitPointer,
  seen: number,
  signal: AbortSignal,
): Promise<CommitPointer | Tombstone> {
  const path = place.pointer(shaOf(pointer.run))
  let expectedRevision = seen
  for (;;) {
    const written = await writeIfUnchanged(drive, path, encodePointer(pointer), expectedRevision, signal)
    if (written !== undefined) return pointer
    const { bytes, revision } = await readAtRevision(drive, path, sealLimit, signal)
    const tombstone = bytes === null ? undefined : readTombstone(bytes)
    if (tombstone && isYoung(tombstone, clock.now())) return tombstone
    if (bytes !== null && !tombstone) {
      const other = decodePointer(bytes)
      if ((await findBreak(drive, place, other, signal)) === undefined) return other
    }
    expectedRevision = revision
  }
}

/** The error of a reader that follows this pointer; undefined if its run is there. */
async function findBreak(
  drive: Drive,
  place: Layout,
  pointer: CommitPointer,
  signal: AbortSignal,
): Promise<HandoffError | undefined> {
  try {
    await readHandoff(drive, place, pointer, signal)
    return undefined
  } catch (error) {
    if (isHandoffError(error, 'corrupt')) return error
    throw error
  }
}

/**
 * The newest run that a write-ahead record vouches for gets the pointer. No sandbox can write a record, because records stand beside the pointers.
 * `changed`: another process has written the pointer meanwhile, so it is to be followed again.
 */
export async function findByRecord(
  tools: Tools,
  place: Layout,
  sha: string,
  signal: AbortSignal,
  options: FindOptions,
  isUnreadable: boolean,
): Promise<SealedRun | 'changed' | undefined> {
  const { drive } = tools
  const broken = isUnreadable ? await readBroken(drive, place, sha, signal) : undefined
  const { runs, listed } = await readRecords(drive, place, sha, signal)
  if (listed === 0 && !isUnreadable) return undefined
  const newest = runs.find(({ pointer }) => pointer.run !== broken?.run)
  if (newest) options.check?.(newest.handoff)
  if (newest && !options.readOnly) return giveItsPointer(tools, place, newest, broken?.revision ?? 0, signal)
  const there = await drive.read(place.pointer(sha), { maxBytes: sealLimit, signal })
  const tombstone = there === null ? undefined : readTombstone(there)
  if (there !== null && !tombstone && decodePointer(there).run !== broken?.run) return 'changed'
  if (newest) return tombstone?.removed === newest.pointer.run ? undefined : newest
  if (broken) throw broken.error
  return undefined
}

/** The pointer that was written, or another process's, is followed next. A reader does not wait for the end of a deletion. */
async function giveItsPointer(
  tools: Tools,
  place: Layout,
  found: SealedRun,
  revision: number,
  signal: AbortSignal,
): Promise<SealedRun | 'changed' | undefined> {
  const there = await tryPointer(tools, place, found.pointer, revision, signal)
  if ('removed' in there) return there.removed === found.pointer.run ? undefined : found
  return 'changed'
}

/** A pointer that cannot be followed. */
interface BrokenPointer {
  run: RunId
  /** For a conditional write. */
  revision: number
  error: HandoffError
}

/** Undefined: there is no pointer any more, or one that can be followed. */
async function readBroken(
  drive: Drive,
  place: Layout,
  sha: string,
  signal: AbortSignal,
): Promise<BrokenPointer | undefined> {
  const { bytes, revision } = await readAtRevision(drive, place.pointer(sha), sealLimit, signal)
  if (bytes === null || readTombstone(bytes)) return undefined
  const pointer = decodePointer(bytes)
  const error = await findBreak(drive, place, pointer, signal)
  return error && { run: pointer.run, revision, error }
}

/** Newest first. `listed` also counts records of runs that were not sealed, or are gone. */
async function readRecords(
  drive: Drive,
  place: Layout,
  sha: string,
  signal: AbortSignal,
): Promise<{ runs: SealedRun[]; listed: number }> {
  const names = (await drive.list(place.commits, signal)).filter(
    (entry) => entry.name.startsWith(`${sha}-`) && entry.name.endsWith('.sealing.json'),
  )
  const read = await Promise.all(names.map(({ name }) => readRecord(drive, place, `${place.commits}/${name}`, signal)))
  const runs = read
    .filter((run) => run !== undefined)
    .sort((a, b) => b.pointer.sealedAt.localeCompare(a.pointer.sealedAt) || a.pointer.run.localeCompare(b.pointer.run))
  return { runs, listed: names.length }
}

async function readRecord(
  drive: Drive,
  place: Layout,
  path: string,
  signal: AbortSignal,
): Promise<SealedRun | undefined> {
  try {
    const bytes = await drive.read(path, { maxBytes: sealLimit, signal })
    if (bytes === null) return undefined
    const pointer = decodePointer(bytes)
    return { pointer, handoff: await readHandoff(drive, place, pointer, signal) }
  } catch (error) {
    // The attempt died before its seal, so the run is unfinished and not corrupt.
    if (isHandoffError(error, 'corrupt')) return undefined
    throw error
  }
}
