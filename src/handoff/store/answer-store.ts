// The answers of a run, one record a question: `analysis/qa/<answer-id>.json`.
//
// A process claims a question before it works on it. The claim is a conditional write, so one of any number of processes wins. A claim carries
// a lease; its holder renews it. When the lease has expired, any process may take the question over. Every change of a record uses optimistic
// concurrency: read, decide, write if the revision is unchanged, else read again.
import type { AnswerRecord, ClaimedAnswer, CompletedAnswer, FailedAnswer } from '../domain/answer.js'
import { decodeAnswer, encodeAnswer } from '../domain/answer.js'
import { readLatestMarker, writeLatestMarker } from '../domain/answers/comment-marker.js'
import { HandoffError, isHandoffError } from '../domain/errors.js'
import type { Drive } from '../domain/ports.js'
import { artifact } from '../domain/run.js'
import { mapConcurrent } from '../util/map-concurrent.js'
import { compareText } from '../util/text.js'
import { readAtRevision, writeIfUnchanged } from './conditional-write.js'
import { answerPath, type RecordPlace, readAnswer, recordLimit } from './run-store.js'

/** A claim of ours, and the revision that it was last seen at. */
export interface Held {
  record: ClaimedAnswer
  revision: number
}

type Claim =
  | { kind: 'held'; held: Held }
  | { kind: 'answered'; record: CompletedAnswer }
  | { kind: 'running'; record: ClaimedAnswer }

/** What to do with the current record: replace it, or leave it. */
type Decision<T> = { result: T; write?: AnswerRecord }

interface Known {
  record: AnswerRecord | undefined
  revision: number
}

/** After this many conflicts in a row the call fails with `in-progress`. */
const mostConflicts = 8

/** Without `known` the record is read first. */
async function decide<T>(
  place: RecordPlace,
  known: Known | undefined,
  decision: (found: AnswerRecord | undefined) => Decision<T>,
  signal: AbortSignal,
): Promise<{ result: T; revision: number }> {
  let { record, revision } = known ?? (await readKnown(place, signal))
  for (let conflicts = 0; conflicts < mostConflicts; conflicts += 1) {
    const { result, write } = decision(record)
    if (!write) return { result, revision }
    const written = await writeIfUnchanged(place.drive, answerPath(place), encodeAnswer(write), revision, signal)
    if (written !== undefined) return { result, revision: written }
    ;({ record, revision } = await readKnown(place, signal))
  }
  throw new HandoffError('in-progress', 'Many processes write the record of this question at the same time.', {
    next: 'Ask again in a moment.',
    retryAfterSeconds: 2,
  })
}

async function readKnown(place: RecordPlace, signal: AbortSignal): Promise<Known> {
  const { bytes, revision } = await readAtRevision(place.drive, answerPath(place), recordLimit, signal)
  return { record: bytes === null ? undefined : decodeAnswer(bytes), revision }
}

const nothingKnown: Known = { record: undefined, revision: 0 }

export const isHeld = (record: ClaimedAnswer, now: number) => Date.parse(record.leaseUntil) > now

const isOurs = (found: AnswerRecord | undefined, ours: ClaimedAnswer): found is ClaimedAnswer =>
  found?.status === 'running' && found.claim === ours.claim

/** Claims the question, or returns its current state. Takes over failed records and expired leases. */
export async function claimAnswer(
  place: RecordPlace,
  wanted: ClaimedAnswer,
  now: number,
  signal: AbortSignal,
): Promise<Claim> {
  type Result = Exclude<Claim, { kind: 'held' }> | { kind: 'held'; record: ClaimedAnswer }
  const { result, revision } = await decide<Result>(
    place,
    nothingKnown,
    (found) => {
      if (found?.status === 'done') return { result: { kind: 'answered', record: found } }
      if (found?.status !== 'running') return { result: { kind: 'held', record: wanted }, write: wanted }
      // An earlier write of this claim, whose reply was lost.
      if (found.claim === wanted.claim) return { result: { kind: 'held', record: found } }
      if (isHeld(found, now)) return { result: { kind: 'running', record: found } }
      const record = { ...wanted, ...leftFor(found) }
      return { result: { kind: 'held', record }, write: record }
    },
    signal,
  )
  return result.kind === 'held' ? { kind: 'held', held: { record: result.record, revision } } : result
}

/** A process that takes a question over keeps when it was accepted, and whether a job waits for it. */
const leftFor = ({ acceptedAt, queued }: ClaimedAnswer) => ({ acceptedAt, ...(queued ? { queued } : {}) })

/** Renews the lease, and shows other processes what is written. Undefined when another process holds the question now. */
export async function renewLease(
  place: RecordPlace,
  held: Held,
  news: Pick<ClaimedAnswer, 'leaseUntil' | 'written'>,
  signal: AbortSignal,
): Promise<Held | undefined> {
  const { result, revision } = await decide(
    place,
    held,
    (found) => {
      if (!isOurs(found, held.record)) return { result: undefined }
      const record = { ...found, ...news }
      return { result: record, write: record }
    },
    signal,
  )
  return result && { record: result, revision }
}

/** Writes the end of the question. Where another process has answered it meanwhile, that answer stands and is returned. */
export async function completeAnswer(
  place: RecordPlace,
  held: Held,
  record: CompletedAnswer | FailedAnswer,
  signal: AbortSignal,
): Promise<CompletedAnswer | FailedAnswer> {
  const { result } = await decide<CompletedAnswer | FailedAnswer | undefined>(
    place,
    held,
    (found) => {
      if (isOurs(found, held.record)) return { result: record, write: record }
      return { result: found?.status === 'done' ? found : undefined }
    },
    signal,
  )
  if (result) return result
  throw new HandoffError('in-progress', 'Another process took the question over while this one answered it.', {
    next: 'Ask again; the answer is on its way.',
    retryAfterSeconds: 5,
  })
}

/**
 * Ends the work on a question without an answer. Where a job waits for it, its lease ends now, and the job goes on with it. Else `failed` is
 * written. A question that another process holds is left alone.
 */
export async function giveUpAnswer(
  place: RecordPlace,
  held: Held,
  failed: FailedAnswer,
  options: { jobGoesOn: boolean; now: number },
  signal: AbortSignal,
): Promise<void> {
  await decide(
    place,
    held,
    (found) => {
      if (!isOurs(found, held.record)) return { result: undefined }
      if (!found.queued || !options.jobGoesOn) return { result: undefined, write: failed }
      return { result: undefined, write: { ...found, leaseUntil: new Date(options.now).toISOString() } }
    },
    signal,
  )
}

/**
 * Ends a question that is being answered, where `mayEnd` says so of its record. Returns the record that stands then. The process that holds the
 * question hears of it when it renews its lease.
 */
export async function failAnswer(
  place: RecordPlace,
  failedOf: (record: ClaimedAnswer) => FailedAnswer,
  mayEnd: (record: ClaimedAnswer) => boolean,
  signal: AbortSignal,
): Promise<AnswerRecord | undefined> {
  const end = (found: AnswerRecord | undefined): Decision<AnswerRecord | undefined> => {
    if (found?.status !== 'running' || !mayEnd(found)) return { result: found }
    const failed = failedOf(found)
    return { result: failed, write: failed }
  }
  return (await decide(place, undefined, end, signal)).result
}

/**
 * Ends the lease of a claim whose sandbox is gone, so that any process may take the question over. A holder that works on renews it. False where
 * the claim holds nothing any more.
 */
export async function endClaim(place: RecordPlace, claim: string, now: number, signal: AbortSignal): Promise<boolean> {
  const end = (found: AnswerRecord | undefined): Decision<boolean> => {
    if (found?.status !== 'running' || found.claim !== claim || !isHeld(found, now)) return { result: false }
    return { result: true, write: { ...found, leaseUntil: new Date(now).toISOString() } }
  }
  return (await decide(place, undefined, end, signal)).result
}

/** Notes that a job will go on with the question. Undefined when it is answered already. */
export async function markQueued(
  place: RecordPlace,
  known: AnswerRecord | undefined,
  wanted: ClaimedAnswer,
  now: number,
  signal: AbortSignal,
): Promise<ClaimedAnswer | undefined> {
  const queue = (found: AnswerRecord | undefined): Decision<ClaimedAnswer | undefined> => {
    if (found?.status === 'done') return { result: undefined }
    if (found?.status === 'running' && found.queued) return { result: found }
    // No process holds a new queued claim, so its lease starts expired.
    const claim = found?.status === 'running' ? found : { ...wanted, leaseUntil: new Date(now).toISOString() }
    const write = { ...claim, queued: true }
    return { result: write, write }
  }
  if (known?.status === 'running' && known.queued) return known
  return (await decide(place, known ? undefined : nothingKnown, queue, signal)).result
}

/** The names of a run's records, the newest first, without reading any. */
export async function listAnswers(
  drive: Drive,
  directory: string,
  signal: AbortSignal,
): Promise<{ id: string; at: string }[]> {
  const entries = await drive.list(`${directory}/${artifact.answers}`, signal)
  return entries
    .filter((entry) => /^[0-9a-f]{32}\.json$/.test(entry.name))
    .map((entry) => ({ id: entry.name.slice(0, 32), at: entry.modifiedAt ?? '' }))
    .sort((a, b) => compareText(b.at, a.at) || compareText(a.id, b.id))
}

/** Records read at the same time. */
const readers = 6

/** Returns the newest answers of a run. Skips records that cannot be read. */
export async function recentAnswers(
  drive: Drive,
  directory: string,
  most: number,
  signal: AbortSignal,
): Promise<CompletedAnswer[]> {
  const newest = (await listAnswers(drive, directory, signal)).slice(0, most)
  const records = await mapConcurrent(readers, newest, async ({ id }) => {
    try {
      return await readAnswer({ drive, directory, id }, signal)
    } catch (error) {
      if (isHandoffError(error) && !signal.aborted) return undefined
      throw error
    }
  })
  return records.filter((record) => record?.status === 'done')
}

/** `qa-response.md` holds the latest answer, whole: an answer accepted earlier never replaces one accepted later. */
export async function writeLatestAnswer(
  drive: Drive,
  directory: string,
  acceptedAt: string,
  markdown: string,
  signal: AbortSignal,
): Promise<void> {
  const path = `${directory}/${artifact.latestAnswer}`
  const bytes = new TextEncoder().encode(`${writeLatestMarker(acceptedAt)}\n${markdown}`)
  for (let conflicts = 0; conflicts < 2 * mostConflicts; conflicts += 1) {
    const { bytes: found, revision } = await readAtRevision(drive, path, recordLimit, signal)
    const there = found === null ? undefined : readLatestMarker(new TextDecoder().decode(found))
    if (there !== undefined && there >= acceptedAt) return
    if ((await writeIfUnchanged(drive, path, bytes, revision, signal)) !== undefined) return
  }
  throw new HandoffError('conflict', `Many answers were written at the same time; ${artifact.latestAnswer} shows one.`)
}
