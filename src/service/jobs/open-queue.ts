// Which queue this process uses.
import type { App } from '../app.js'
import { divideTime } from '../http/request-deadline.js'
import type { JobQueue } from './queue.js'

/** How long one delivery of a job in memory may work. */
const deliveryMs = 300_000

export async function openJobQueue(app: App): Promise<JobQueue> {
  if (app.settings.queue === 'vercel') {
    const { openQueueClient, vercelQueue } = await import('./vercel-queue.js')
    return vercelQueue(openQueueClient(app.settings.queueUrl))
  }
  const [{ memoryQueue }, { runJob }] = await Promise.all([import('./memory-queue.js'), import('./run-job.js')])
  return memoryQueue({
    width: app.settings.limits.sandboxes,
    now: Date.now,
    async consume(message, count) {
      const { workBy } = divideTime(Date.now() + deliveryMs, Date.now())
      const time = {
        workBy,
        postBy: workBy,
        workUntil: (at: number) => AbortSignal.timeout(Math.max(1, at - Date.now())),
        background: () => {},
      }
      const { notes, retryAfterSeconds } = await runJob(message, { count, time }, app)
      console.log(JSON.stringify({ at: new Date().toISOString(), route: 'job', delivery: count, ...notes }))
      return retryAfterSeconds === undefined ? undefined : { retryAfterSeconds }
    },
  })
}
