// A job is work that outlives its request. Its permissions are checked before it is sent, so it is signed, and a consumer ignores messages of
// other senders.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { AskTarget, CorrectCommand, Depth, Repository } from '../../handoff/index.js'

/** Answers a queued question, and posts the answer if the caller asked for that. */
export interface AnswerJob {
  kind: 'answer'
  repository: Repository
  run: string
  id: string
  /** When the question was accepted. A failed question that is asked again is another job. */
  acceptedAt: string
  model: string
  caller: string
  post?: { pull: number }
}

/** Answers a comment on GitHub. */
export interface CommentJob {
  kind: 'comment'
  repository: Repository
  target: AskTarget
  question: string
  fresh: boolean
  depth?: Depth | undefined
  /** The id of the account that asked. Its permission is checked again before the work. */
  user: { id: number; login: string; type: string }
  caller: string
}

/** Writes or removes a correction. */
export interface CorrectionJob extends Pick<CommentJob, 'repository' | 'target' | 'user'> {
  kind: 'correct'
  command: CorrectCommand
}

export type Job = AnswerJob | CommentJob | CorrectionJob

/** The idempotency key of the job's message. */
export function jobKey(job: Job): string {
  if (job.kind === 'answer') return `answer-${job.id}-${job.acceptedAt}${job.post ? `-pull-${job.post.pull}` : ''}`
  const { thread, question } = job.target
  return `${job.kind}-${job.repository.id ?? ''}-${thread.kind}-${question}`
}

interface SignedJob {
  job: Job
  signature: string
}

/** Signs with the drive9 owner key, which each deployment has and which never leaves the host. */
const signatureOf = (job: Job, ownerKey: string) =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', ownerKey, '', 'handoff job 1', 32)))
    .update(JSON.stringify(job))
    .digest()

export const signJob = (job: Job, ownerKey: string): SignedJob => ({
  job,
  signature: signatureOf(job, ownerKey).toString('hex'),
})

/** Undefined for a message that was not signed with this key. */
export function openJob(message: unknown, ownerKey: string): Job | undefined {
  const { job, signature } = (message ?? {}) as Partial<SignedJob>
  if (typeof job !== 'object' || job === null || typeof signature !== 'string') return undefined
  const wanted = signatureOf(job, ownerKey)
  const given = Buffer.from(signature, 'hex')
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? job : undefined
}

/** Vercel Queues on Vercel, memory elsewhere. Both deliver a job at least once, and again after a failure. */
export interface JobQueue {
  readonly name: 'vercel' | 'memory'
  /** Messages with the same key within a day are delivered once. */
  send(message: unknown, options: { key: string; delaySeconds: number }): Promise<void>
  /** Stops the jobs of this process. An outside queue delivers them again. */
  stop?(): Promise<void>
}
