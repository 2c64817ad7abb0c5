// Sends a job to the queue that the settings name. The queue is opened at the first job.
import { lazy } from '../../handoff/util/lazy.js'
import { type App, getApp } from '../app.js'
import { deliveryTime } from '../context-for-request.js'
import { timeLimit } from '../http/request-deadline.js'
import type { JobQueue } from './job.js'
import { type Job, jobKey, signJob } from './job.js'

/** How long one delivery of a job in memory may take. */
const deliveryMs = 300_000

let opened: JobQueue | undefined
const queueOfThisProcess = lazy(async () => {
  opened = await openJobQueue(getApp())
  return opened
})

/** The job is not delivered before `delaySeconds`: until then the request itself works on it. */
export async function sendJob(job: Job, delaySeconds = 0): Promise<void> {
  const queue = await queueOfThisProcess()
  const message = signJob(job, getApp().ownerKey)
  await queue.send(message, { key: jobKey(job), delaySeconds: Math.max(0, Math.ceil(delaySeconds)) })
}

/** Stops the jobs of this process. */
export async function stopJobs(): Promise<void> {
  await opened?.stop?.()
}

async function openJobQueue(app: App): Promise<JobQueue> {
  if (app.settings.queue === 'vercel') {
    const { openQueueClient, vercelQueue } = await import('./vercel-queue.js')
    return vercelQueue(openQueueClient(app.settings.queueUrl))
  }
  const [{ memoryQueue }, { runJob }] = await Promise.all([import('./memory-queue.js'), import('./run-job.js')])
  const stopping = new AbortController()
  const queue = memoryQueue({
    width: app.settings.limits.sandboxes,
    now: Date.now,
    async consume(message, count) {
      const limit = timeLimit(stopping.signal, Date.now() + deliveryMs)
      const background: Promise<unknown>[] = []
      const workUntil = (time: number) => AbortSignal.any([stopping.signal, limit.workUntil(time)])
      const time = deliveryTime({ ...limit, workUntil }, (work) => background.push(work))
      const { notes, retryAfterSeconds } = await runJob(message, { count, time }, app)
      await Promise.allSettled(background)
      limit.end()
      app.log({ route: 'job', delivery: count, ...notes })
      return retryAfterSeconds
    },
  })
  return {
    ...queue,
    async stop() {
      stopping.abort(new DOMException('The server stops.', 'AbortError'))
      await queue.stop()
    },
  }
}
