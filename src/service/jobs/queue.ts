// Where jobs wait: Vercel Queues on Vercel, the memory of the process elsewhere. Both deliver a job at least once, and again after a failure.
import type { App } from '../app.js'
import { type Job, jobKey, signJob } from './job.js'

export interface JobQueue {
  readonly name: 'vercel' | 'memory'
  /** The same key within a day is the same message. */
  send(message: unknown, options: { key: string; delaySeconds: number }): Promise<void>
  /** Ends what runs in this process; a queue elsewhere delivers it again. */
  stop?(): Promise<void>
}

/** The job is not delivered before `delaySeconds`: until then the request itself works on it. */
export async function sendJob(app: App, job: Job, delaySeconds = 0): Promise<void> {
  const queue = await app.queue()
  await queue.send(signJob(job, app.ownerKey), { key: jobKey(job), delaySeconds: Math.max(0, Math.ceil(delaySeconds)) })
}
