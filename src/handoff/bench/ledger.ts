// The ledger of a run: one record per question, claimed before the work and completed once.
//
// A claim is a conditional creation, so of any number of processes one does the work. It carries a lease: when its holder dies, whoever asks
// after the lease ran out takes the record over at the revision they saw. Completing is conditional on the claim's own revision: a holder that
// was overtaken finds out instead of overwriting.
import type { AnswerRecord, ClaimedAnswer, CompletedAnswer, FailedAnswer } from '../library/answer.js'
import { decodeAnswer, encodeAnswer } from '../library/answers/answer-record.js'
import { HandoffError, isHandoffError } from '../library/errors.js'
import { bySigns } from '../library/order.js'
import { artifact } from '../library/run.js'
import type { Drive } from '../library/tools.js'

const recordLimit = 4_000_000

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

/** Once. A conflict means that the lease ran out and somebody else took the question: their answer stands, and is returned. */
export async function complete(
  drive: Drive,
  directory: string,
  held: Held,
  record: CompletedAnswer | FailedAnswer,
  signal: AbortSignal,
): Promise<AnswerRecord> {
  const path = `${directory}/${artifact.answer(record.id)}`
  try {
    await drive.write(path, encodeAnswer(record), { expectedRevision: held.revision, signal })
    return record
  } catch (error) {
    if (!isHandoffError(error, 'conflict')) throw error
    const found = await readAnswer(drive, directory, record.id, signal)
    if (found?.status === 'done') return found
    throw new HandoffError(
      'in-progress',
      'The question was taken over by another process while it was being answered.',
      {
        next: 'Ask again; the answer is on its way.',
        retryAfterSeconds: 5,
      },
    )
  }
}

/** Ends a claim's lease early: nobody answers it now, and somebody should. */
export async function handOver(
  drive: Drive,
  directory: string,
  held: Held,
  left: Pick<ClaimedAnswer, 'leaseUntil' | 'tries'>,
  signal: AbortSignal,
): Promise<void> {
  const path = `${directory}/${artifact.answer(held.record.id)}`
  const bytes = encodeAnswer({ ...held.record, ...left })
  await drive.write(path, bytes, { expectedRevision: held.revision, signal })
}

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
    .sort((a, b) => bySigns(b.at, a.at) || bySigns(a.id, b.id))
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
