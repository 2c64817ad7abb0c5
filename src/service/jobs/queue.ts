// The job queue: Vercel Queues on Vercel, memory elsewhere. Both deliver a job at least once, and again after a failure.
import type { App } from '../app.js'
import { type Job, jobKey, signJob } from './job.js'

export interface JobQueue {
  readonly name: 'vercel' | 'memory'
  /** Messages with the same key within a day are delivered once. */
  send(message: unknown, options: { key: string; delaySeconds: number }): Promise<void>
  /** Stops the jobs of this process. An outside queue delivers them again. */
  stop?(): Promise<void>
}

/** The job is not delivered before `delaySeconds`: until then the request itself works on it. */
export async function sendJob(app: App, job: Job, delaySeconds = 0): Promise<void> {
  const queue = await app.queue()
  await queue.send(signJob(job, app.ownerKey), { key: jobKey(job), delaySeconds: Math.max(0, Math.ceil(delaySeconds)) })
}
