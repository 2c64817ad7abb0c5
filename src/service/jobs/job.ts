// Work that outlives its request, as it is handed to a queue. What a job may do was decided before it was sent, so a job is signed: a consumer does
// nothing for a message that this deployment did not send.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { AskTarget, Repository } from '../../handoff/index.js'

/** Goes on with a question whose record is queued, and posts the answer where that was asked for. */
export interface AnswerJob {
  kind: 'answer'
  repository: Repository
  run: string
  id: string
  /** When the question was accepted: one that failed and is asked again is another job. */
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
  /** Of the account that asked; its permission is checked again before the work. */
  user: { id: number; login: string; type: string }
  caller: string
}

export type Job = AnswerJob | CommentJob

/** One message a job, however often it is sent. */
export function jobKey(job: Job): string {
  if (job.kind === 'answer') return `answer-${job.id}-${job.acceptedAt}${job.post ? `-pull-${job.post.pull}` : ''}`
  const { thread, question } = job.target
  return `comment-${job.repository.id ?? ''}-${thread.kind}-${question}`
}

export interface SignedJob {
  job: Job
  signature: string
}

/** The owner key of the drive never leaves the host, and each deployment has it. */
const signatureOf = (job: Job, ownerKey: string) =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', ownerKey, '', 'handoff job 1', 32)))
    .update(JSON.stringify(job))
    .digest()

export const signJob = (job: Job, ownerKey: string): SignedJob => ({
  job,
  signature: signatureOf(job, ownerKey).toString('hex'),
})

/** Undefined for what was not signed with this key. */
export function openJob(message: unknown, ownerKey: string): Job | undefined {
  const { job, signature } = (message ?? {}) as Partial<SignedJob>
  if (typeof job !== 'object' || job === null || typeof signature !== 'string') return undefined
  const wanted = signatureOf(job, ownerKey)
  const given = Buffer.from(signature, 'hex')
  return given.length === wanted.length && timingSafeEqual(given, wanted) ? job : undefined
}
