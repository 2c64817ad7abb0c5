// The host's operations on a run directory: open it for a sandbox, verify what was stored, seal it, and write its pointer.
//
// The order of the last writes keeps a run from being half-visible: the artifacts, the write-ahead record, `handoff.json` (must not exist yet), the
// commit pointer (must not exist, or be unchanged), then the refs. Readers use the reverse order: the pointer first, then a handoff whose hash
// matches it.
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
  /** Idempotent, with its own timeout. */
  revoke(): Promise<void>
}

const markerPath = '.handoff-marker'

/** Creates the directory, a token for it alone, and a marker that proves a mount. Concurrent: writing the marker creates the directory. */
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
  const revoke = makeRevoke(ports.drive, token.value)
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
  return { token, revoke: makeRevoke(ports.drive, token) }
}

/** How long to wait for a requested token after an abort. A token with a known id can be revoked. */
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

function makeRevoke(drive: Drive, token: DriveToken): () => Promise<void> {
  let revoking: Promise<void> | undefined
  return () => (revoking ??= drive.revokeToken(token.id, cleanupSignal()))
}

/** Verifies each stored file by its hash. The size is not enough: the drive is known to store wrong bytes of the right size. */
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
      throw verificationError(next.path, found)
    }
  }
  await Promise.all(Array.from({ length: Math.min(8, stored.length) }, check))
}

export function verificationError(path: string, found: FileDigest | null): HandoffError {
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
 * Returns the canonical run of a commit, if there is one. A pointer whose handoff is missing or has another hash is an error. With `expected`, the
 * pointer and that run's handoff are read concurrently; the pointer still decides.
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
  // A tombstone: the run is being deleted.
  if (bytes === null || readTombstone(bytes)) return undefined
  const pointer = decodePointer(bytes)
  const read = pointer.run === expected ? await early : undefined
  // It may have been read before the pointer was written. Then it is read again.
  const known = read && sha256(read) === pointer.handoff ? read : undefined
  return { pointer, handoff: await readHandoff(drive, place, pointer, signal, known) }
}

const readHandoffBytes = (drive: Drive, place: Layout, run: RunId, signal: AbortSignal) =>
  drive.read(`${place.run(run)}/${artifact.handoff}`, { maxBytes: sealLimit, signal })

/** Reads the handoff whose hash a pointer or a write-ahead record contains. */
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
 * Recovers from a crash between seal and pointer. The write-ahead record beside the pointers, which no sandbox can write, contains the hash of the
 * sealed handoff. The earliest such run gets the pointer.
 */
export async function recoverSealed(
  drive: Drive,
  place: Layout,
  sha: string,
  signal: AbortSignal,
  /** Throws if the run must not become canonical. */
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
  const winner = await writePointer(drive, place, first.pointer, 0, signal)
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
    // The attempt died before its seal, so the run is unfinished and not corrupt.
    if (isHandoffError(error, 'corrupt')) return undefined
    throw error
  }
}

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
 * Makes a run canonical if the pointer is still at revision `seen` (0: no pointer). Returns the pointer of the canonical run. While an older run is
 * being deleted, waits for the end of the deletion.
 */
export async function writePointer(
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
    // The revision first, so that the content is never older than the revision that the write replaces.
    const revision = (await drive.stat(path, signal))?.revision ?? 0
    const bytes = await drive.read(path, { maxBytes: sealLimit, signal })
    if (bytes !== null && !readTombstone(bytes)) return decodePointer(bytes)
    expectedRevision = 0
    if (bytes === null) continue
    // A tombstone that stays belongs to a process that died, so it is replaced.
    if (tries === mostWaits - 1) expectedRevision = revision
    else await wait(50, undefined, { signal }).catch(() => undefined)
  }
}

/** A deletion ends two requests after its tombstone. */
const mostWaits = 60

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
