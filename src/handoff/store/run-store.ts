// Reads a sealed run and its answers, and verifies what a sandbox stored. A reader believes a commit pointer first, then the handoff whose hash the
// pointer has.

import { createHash } from 'node:crypto'
import { type AnswerRecord, decodeAnswer } from '../domain/answer.js'
import { HandoffError } from '../domain/errors.js'
import {
  type Artifact,
  type CommitPointer,
  decodeHandoff,
  decodePointer,
  type Handoff,
  sealLimit,
} from '../domain/handoff-record.js'
import type { Drive, FileDigest } from '../domain/ports.js'
import { artifact, type Layout, type RunId, shaOf } from '../domain/run.js'
import { readTombstone } from '../domain/tombstone.js'
import { awaitedLater } from '../util/abort.js'

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

export interface FindOptions {
  /** The run that is probably meant: its handoff is read beside the pointer. */
  expected?: RunId | undefined
  /** Throws if the run must not become canonical. */
  check?: (handoff: Handoff) => void
  /** Finds a run without a pointer too, and leaves its pointer to those who may write. */
  readOnly?: boolean
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
  const early = expected && awaitedLater(readHandoffBytes(drive, place, expected, signal))
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

export const recordLimit = 4_000_000

/** Where the record of a question is: `analysis/qa/<answer-id>.json` in the run's directory. */
export interface RecordPlace {
  drive: Drive
  directory: string
  id: string
}

export const answerPath = ({ directory, id }: RecordPlace) => `${directory}/${artifact.answer(id)}`

export async function readAnswer(place: RecordPlace, signal: AbortSignal): Promise<AnswerRecord | undefined> {
  const bytes = await place.drive.read(answerPath(place), { maxBytes: recordLimit, signal })
  return bytes === null ? undefined : decodeAnswer(bytes)
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
