// What the host does to a run directory: open it for a sandbox, believe what was stored, seal it, and point to it.
//
// The order of the last steps is the promise that no run is ever half-visible: the artifacts, then a note of what will be sealed, then
// `handoff.json` (must not exist yet), then the commit pointer (must not exist yet, or must still be what was seen), then the refs. Readers
// come the other way: pointer first, and a handoff only when it hashes to what the pointer says.
import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { HandoffError, isHandoffError } from '../domain/errors.js'
import {
  type Artifact,
  type CommitPointer,
  decodeHandoff,
  decodePointer,
  encode,
  encodeHandoff,
  encodePointer,
  type Handoff,
  sealLimit,
} from '../domain/handoff-record.js'
import type { Drive, DriveOperation, DriveToken, FileDigest, Ports } from '../domain/ports.js'
import { artifact, type Layout, type RunId, shaOf } from '../domain/run.js'
import { readTombstone } from '../domain/tombstone.js'
import { cleanupSignal } from '../util/step-timer.js'

export interface OpenedRun {
  token: DriveToken
  marker: { path: string; sha256: string }
  /** Idempotent, and takes its own time. */
  revoke(): Promise<void>
}

const markerPath = '.handoff-marker'

/** The directory, a token that opens it alone, and a marker that only a mount of it can show. All at once: the marker makes the directory. */
export async function openRun(
  ports: Pick<Ports, 'drive' | 'emit'>,
  directory: string,
  secret: string,
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<OpenedRun> {
  const marker = new TextEncoder().encode(`${secret}\n`)
  const [token, marked] = await Promise.allSettled([
    issue(ports, directory, ['read', 'list', 'write', 'delete'], lifetimeSeconds, signal),
    writeOnce(ports.drive, `${directory}/${markerPath}`, marker, signal),
  ])
  if (token.status === 'rejected') throw token.reason
  const revoke = revoker(ports.drive, token.value)
  if (marked.status === 'rejected') {
    await revoke().catch(() => undefined)
    throw isHandoffError(marked.reason, 'conflict') ? startedBefore(directory) : marked.reason
  }
  return { token: token.value, marker: { path: markerPath, sha256: sha256(marker) }, revoke }
}

function startedBefore(directory: string): HandoffError {
  return new HandoffError('conflict', `The run directory ${directory} was started before.`, {
    next: 'Start again under another attempt name; two attempts never share a directory.',
  })
}

/** For a sandbox that may only read. */
export async function openSealed(
  ports: Pick<Ports, 'drive' | 'emit'>,
  directory: string,
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<Pick<OpenedRun, 'token' | 'revoke'>> {
  const token = await issue(ports, directory, ['read', 'list'], lifetimeSeconds, signal)
  return { token, revoke: revoker(ports.drive, token) }
}

/** How long a token that was asked for is waited for once the work is to stop: one that we know can be revoked. */
const lingerMs = 2_000

async function issue(
  { drive, emit }: Pick<Ports, 'drive' | 'emit'>,
  prefix: string,
  operations: DriveOperation[],
  lifetimeSeconds: number,
  signal: AbortSignal,
): Promise<DriveToken> {
  const subject = `handoff-${shaOf(prefix.slice(prefix.lastIndexOf('/') + 1) as RunId).slice(0, 12)}`
  const patience = new AbortController()
  let clock: NodeJS.Timeout | undefined
  const hurry = () => {
    clock = setTimeout(() => patience.abort(signal.reason), lingerMs)
  }
  if (signal.aborted) patience.abort(signal.reason)
  else signal.addEventListener('abort', hurry, { once: true })
  try {
    const token = await drive.issueToken({ prefix, operations, lifetimeSeconds, subject }, patience.signal)
    emit({ type: 'token-issued', id: token.id })
    return token
  } finally {
    signal.removeEventListener('abort', hurry)
    clearTimeout(clock)
  }
}

function revoker(drive: Drive, token: DriveToken): () => Promise<void> {
  let revoking: Promise<void> | undefined
  return () => (revoking ??= drive.revokeToken(token.id, cleanupSignal()))
}

/** Reads back everything a sandbox said it stored. Equal size is not enough: the drive is known to keep the right size with the wrong bytes. */
export async function verifyStored(
  drive: Drive,
  directory: string,
  stored: Artifact[],
  signal: AbortSignal,
): Promise<void> {
  const waiting = [...stored]
  const check = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const found = await drive.digest(`${directory}/${next.path}`, signal)
      if (found?.bytes === next.bytes && found.sha256 === next.sha256) continue
      throw notAsStored(next.path, found)
    }
  }
  await Promise.all(Array.from({ length: Math.min(8, stored.length) }, check))
}

export function notAsStored(path: string, found: FileDigest | null): HandoffError {
  const what = found === null ? 'is not there' : 'has other bytes than were sent'
  return new HandoffError('drive', `${path} ${what}, although drive9 reported success. Nothing was sealed.`, {
    next: 'Try again; if it stays so, look at the quota and the health of the drive9 server.',
  })
}

export interface SealedRun {
  handoff: Handoff
  pointer: CommitPointer
}

/**
 * The run that speaks for a commit, or nothing. A pointer whose handoff is missing or different is an error: somebody changed what must not change.
 * Where the run is `expected` to be a certain one, both are read side by side; the pointer still decides.
 */
export async function readSealed(
  drive: Drive,
  place: Layout,
  sha: string,
  signal: AbortSignal,
  expected?: RunId,
): Promise<SealedRun | undefined> {
  const early = expected && readHandoffBytes(drive, place, expected, signal)
  early?.catch(() => undefined)
  const bytes = await drive.read(place.pointer(sha), { maxBytes: sealLimit, signal })
  // What is being removed speaks for nothing any more.
  if (bytes === null || readTombstone(bytes)) return undefined
  const pointer = decodePointer(bytes)
  const read = pointer.run === expected ? await early : undefined
  // Read before its pointer it may be older than that; then it is read again.
  const known = read && sha256(read) === pointer.handoff ? read : undefined
  return { pointer, handoff: await readHandoff(drive, place, pointer, signal, known) }
}

const readHandoffBytes = (drive: Drive, place: Layout, run: RunId, signal: AbortSignal) =>
  drive.read(`${place.run(run)}/${artifact.handoff}`, { maxBytes: sealLimit, signal })

/** The record that a pointer or a note vouches for. */
export async function readHandoff(
  drive: Drive,
  place: Layout,
  vouched: Pick<CommitPointer, 'run' | 'handoff'>,
  signal: AbortSignal,
  known?: Uint8Array,
): Promise<Handoff> {
  const bytes = known ?? (await readHandoffBytes(drive, place, vouched.run, signal))
  if (bytes === null || sha256(bytes) !== vouched.handoff) {
    throw new HandoffError(
      'corrupt',
      `The handoff of run ${vouched.run} is ${bytes === null ? 'gone' : 'not the one that was sealed'}.`,
      {
        next: 'Summarise the commit again with force.',
      },
    )
  }
  const handoff = decodeHandoff(bytes)
  if (handoff.run === vouched.run && handoff.commit === shaOf(vouched.run)) return handoff
  throw new HandoffError('corrupt', `The handoff of run ${vouched.run} is of another run.`, {
    next: 'Summarise the commit again with force.',
  })
}

/**
 * A crash after the seal and before the pointer leaves a sealed run that nobody sees. The note beside the pointers, which no sandbox can write,
 * says what it must hash to; the earliest such run gets its pointer now.
 */
export async function recoverSealed(
  drive: Drive,
  place: Layout,
  sha: string,
  signal: AbortSignal,
  /** Throws where it must not be made to speak for the commit. */
  check: (handoff: Handoff) => void = () => undefined,
): Promise<SealedRun | undefined> {
  const notes = (await drive.list(place.commits, signal)).filter(
    (entry) => entry.name.startsWith(`${sha}-`) && entry.name.endsWith('.sealing.json'),
  )
  const sealed = await Promise.all(
    notes.map((note) => readNoted(drive, place, `${place.commits}/${note.name}`, signal)),
  )
  const first = sealed
    .filter((run) => run !== undefined)
    .sort((a, b) => a.pointer.sealedAt.localeCompare(b.pointer.sealedAt))[0]
  if (!first) return undefined
  check(first.handoff)
  const winner = await point(drive, place, first.pointer, 0, signal)
  return winner.run === first.pointer.run ? first : readSealed(drive, place, sha, signal)
}

async function readNoted(
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
    // The attempt died before its seal: an unfinished run, not a broken one.
    if (isHandoffError(error, 'corrupt')) return undefined
    throw error
  }
}

/** The note first (with whatever else is still to be written), then the seal: `handoff.json`, which must not exist yet. */
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

/** A file that must not exist yet. A network that delivers the request twice answers that it does: the very same bytes there are ours. */
async function writeOnce(drive: Drive, path: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  try {
    await drive.write(path, bytes, { expectedRevision: 0, signal })
  } catch (error) {
    if (!isHandoffError(error, 'conflict')) throw error
    const found = await drive.digest(path, signal)
    if (found?.sha256 !== sha256(bytes)) throw error
  }
}

/**
 * Makes a run speak for its commit, if the pointer still is at the revision that was seen (0: there was none). Returns the one that does. Where
 * an older run is just being removed, that is waited for; who comes after it is the first.
 */
export async function point(
  drive: Drive,
  place: Layout,
  pointer: CommitPointer,
  seen: number,
  signal: AbortSignal,
): Promise<CommitPointer> {
  const path = place.pointer(shaOf(pointer.run))
  let expectedRevision = seen
  for (let tries = 0; ; tries += 1) {
    try {
      await drive.write(path, encodePointer(pointer), { expectedRevision, signal })
      return pointer
    } catch (error) {
      if (!isHandoffError(error, 'conflict') || tries >= mostWaits) throw error
    }
    // In this order: what is read is then never older than the revision it will be replaced at.
    const revision = (await drive.stat(path, signal))?.revision ?? 0
    const bytes = await drive.read(path, { maxBytes: sealLimit, signal })
    if (bytes !== null && !readTombstone(bytes)) return decodePointer(bytes)
    expectedRevision = 0
    if (bytes === null) continue
    // A mark that stays was left by somebody who died: it is replaced like nothing.
    if (tries === mostWaits - 1) expectedRevision = revision
    else await wait(50, undefined, { signal }).catch(() => undefined)
  }
}

/** A removal is two requests apart from its end. */
const mostWaits = 60

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
