// The ledger of a run: one record per question, claimed before the work and completed once.
//
// A claim is a conditional creation, so of any number of processes one does the work. It carries a lease that its holder renews (lease.ts). When
// the lease has run out, the next process that asks takes the record over at the revision it saw. Every write of a holder is conditional on its
// own claim, so a holder that lost the question never overwrites the new owner's record.
import type { AnswerRecord, ClaimedAnswer, CompletedAnswer, FailedAnswer } from '../domain/answer.js'
import { decodeAnswer, encodeAnswer } from '../domain/answers/answer-codec.js'
import { HandoffError, isHandoffError } from '../domain/errors.js'
import type { Drive } from '../domain/ports.js'
import { artifact } from '../domain/run.js'
import { compareText } from '../util/compare-text.js'

const recordLimit = 4_000_000

/** How long a claim lasts without a sign of its holder: what a crash costs the next process that asks. */
const leaseMs = 60_000

/** When a lease that is given now ends; never after `by`, when its holder's own time is over. */
export function leaseEnd(now: Date, by = Number.POSITIVE_INFINITY): string {
  return new Date(Math.min(now.getTime() + leaseMs, by)).toISOString()
}

/** A claim as it stands now; each renewal replaces both. */
export interface Held {
  record: ClaimedAnswer
  revision: number
}

export type Claim =
  | { kind: 'held'; held: Held }
  | { kind: 'answered'; record: CompletedAnswer }
  | { kind: 'running'; record: ClaimedAnswer }

export async function readAnswer(
  drive: Drive,
  directory: string,
  id: string,
  signal: AbortSignal,
): Promise<AnswerRecord | undefined> {
  const bytes = await drive.read(`${directory}/${artifact.answer(id)}`, { maxBytes: recordLimit, signal })
  return bytes === null ? undefined : decodeAnswer(bytes)
}

/** Takes the question, or says what became of it. A failed record and one whose lease ran out are taken over. */
export async function claim(
  drive: Drive,
  directory: string,
  wanted: ClaimedAnswer,
  now: Date,
  signal: AbortSignal,
): Promise<Claim> {
  const path = `${directory}/${artifact.answer(wanted.id)}`
  let seen = 0
  for (let tries = 0; tries < 5; tries += 1) {
    try {
      const { revision } = await drive.write(path, encodeAnswer(wanted), { expectedRevision: seen, signal })
      return { kind: 'held', held: { record: wanted, revision } }
    } catch (error) {
      if (!isHandoffError(error, 'conflict')) throw error
    }
    // In this order: what is read is then never older than the revision it will be replaced at.
    const stat = await drive.stat(path, signal)
    const found = await readAnswer(drive, directory, wanted.id, signal)
    if (found?.status === 'done') return { kind: 'answered', record: found }
    if (found?.status === 'running' && found.claim === wanted.claim)
      return { kind: 'held', held: { record: wanted, revision: stat?.revision ?? 1 } }
    if (found?.status === 'running' && new Date(found.leaseUntil) > now) return { kind: 'running', record: found }
    seen = stat?.revision ?? 0
  }
  throw new HandoffError('in-progress', 'Many ask the same question at this moment.', {
    next: 'Ask again in a moment.',
    retryAfterSeconds: 2,
  })
}

/** Once. When another process has taken the question over and answered it, its answer stands and is returned. */
export async function complete(
  drive: Drive,
  directory: string,
  held: Held,
  record: CompletedAnswer | FailedAnswer,
  signal: AbortSignal,
): Promise<AnswerRecord> {
  const outcome = await replaceOwn(drive, directory, held, record, signal)
  if (outcome.written) return record
  if (outcome.standing?.status === 'done') return outcome.standing
  throw takenOver()
}

/** Prolongs a claim. Rejects with `in-progress` when the question is not this holder's any more. */
export async function renew(
  drive: Drive,
  directory: string,
  held: Held,
  leaseUntil: string,
  signal: AbortSignal,
): Promise<void> {
  const outcome = await replaceOwn(drive, directory, held, { ...held.record, leaseUntil }, signal)
  if (!outcome.written) throw takenOver()
}

/** Ends a claim's lease early: its holder stops, and the next process that asks goes on. */
export async function handOver(
  drive: Drive,
  directory: string,
  held: Held,
  left: Pick<ClaimedAnswer, 'leaseUntil' | 'tries'>,
  signal: AbortSignal,
): Promise<void> {
  await replaceOwn(drive, directory, held, { ...held.record, ...left }, signal)
}

type Outcome = { written: true } | { written: false; standing: AnswerRecord | undefined }

/** Replaces a record as long as it is this holder's claim, also at a revision that one of its own renewals made meanwhile. */
async function replaceOwn(
  drive: Drive,
  directory: string,
  held: Held,
  record: AnswerRecord,
  signal: AbortSignal,
): Promise<Outcome> {
  const path = `${directory}/${artifact.answer(record.id)}`
  for (let tries = 0; ; tries += 1) {
    try {
      const { revision } = await drive.write(path, encodeAnswer(record), { expectedRevision: held.revision, signal })
      if (record.status === 'running') Object.assign(held, { record, revision })
      return { written: true }
    } catch (error) {
      if (!isHandoffError(error, 'conflict') || tries === 3) throw error
    }
    // In this order, as in a claim.
    const stat = await drive.stat(path, signal)
    const standing = await readAnswer(drive, directory, record.id, signal)
    if (standing?.status !== 'running' || standing.claim !== held.record.claim) return { written: false, standing }
    held.revision = stat?.revision ?? 0
  }
}

const takenOver = () =>
  new HandoffError('in-progress', 'The question was taken over by another process while it was being answered.', {
    next: 'Ask again; the answer is on its way.',
    retryAfterSeconds: 5,
  })

/** The names of a run's records, the newest first, without reading any. */
export async function listAnswers(
  drive: Drive,
  directory: string,
  signal: AbortSignal,
): Promise<{ id: string; at: string }[]> {
  const entries = await drive.list(`${directory}/${artifact.ledger}`, signal)
  return entries
    .filter((entry) => /^[0-9a-f]{32}\.json$/.test(entry.name))
    .map((entry) => ({ id: entry.name.slice(0, 32), at: entry.modifiedAt ?? '' }))
    .sort((a, b) => compareText(b.at, a.at) || compareText(a.id, b.id))
}

/** The newest answers of a run, to see what was asked before. */
export async function recentAnswers(
  drive: Drive,
  directory: string,
  most: number,
  signal: AbortSignal,
): Promise<CompletedAnswer[]> {
  const newest = (await listAnswers(drive, directory, signal)).slice(0, most)
  const records = await Promise.all(
    newest.map(({ id }) => readAnswer(drive, directory, id, signal).catch(() => undefined)),
  )
  return records.filter((record) => record?.status === 'done')
}

const stamp = /^<!-- handoff:latest accepted=(\S+) -->\n/

/** `qa-response.md` always holds the latest answer, whole: an answer accepted earlier never replaces one accepted later. */
export async function keepLatest(
  drive: Drive,
  directory: string,
  acceptedAt: string,
  markdown: string,
  signal: AbortSignal,
): Promise<void> {
  const path = `${directory}/${artifact.latestAnswer}`
  const bytes = new TextEncoder().encode(`<!-- handoff:latest accepted=${acceptedAt} -->\n${markdown}`)
  for (let tries = 0; tries < 20; tries += 1) {
    // The revision first: what is read is then never older than the revision it will be replaced at.
    const stat = await drive.stat(path, signal)
    const found = stat && (await drive.read(path, { maxBytes: recordLimit, signal }))
    const there = !found ? undefined : stamp.exec(new TextDecoder().decode(found))?.[1]
    if (there !== undefined && there >= acceptedAt) return
    try {
      await drive.write(path, bytes, { expectedRevision: stat?.revision ?? 0, signal })
      return
    } catch (error) {
      if (!isHandoffError(error, 'conflict')) throw error
    }
  }
}
