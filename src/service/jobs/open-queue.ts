// Which queue this process uses.
import { isHandoffError } from '../../handoff/stored-answer.js'
import type { App, RequestTime } from '../app.js'
import { notesOf } from '../http/http-function.js'
import { beforePosting, divideTime } from '../http/request-deadline.js'
import type { JobQueue } from './queue.js'

/** How long one delivery of a job in memory may take. */
const deliveryMs = 300_000
/** After a defect of ours the job is tried again, as on the platform. */
const defectRetrySeconds = 60

export async function openJobQueue(app: App): Promise<JobQueue> {
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
      const background: Promise<unknown>[] = []
      const time = deliveryTime(stopping.signal, (work) => background.push(work))
      const outcome = await runJob(message, { count, time }, app).catch((error: unknown) => ({
        notes: notesOf(error),
        ...(isHandoffError(error) ? {} : { retryAfterSeconds: defectRetrySeconds }),
      }))
      await Promise.allSettled(background)
      app.log({ route: 'job', delivery: count, ...outcome.notes })
      return outcome.retryAfterSeconds === undefined ? undefined : { retryAfterSeconds: outcome.retryAfterSeconds }
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

function deliveryTime(stopping: AbortSignal, background: RequestTime['background']): RequestTime {
  const now = Date.now()
  const { workBy } = divideTime(now + deliveryMs, now)
  return {
    workBy: beforePosting(workBy, now),
    postBy: workBy,
    workUntil: (time) => AbortSignal.any([stopping, AbortSignal.timeout(Math.max(1, time - Date.now()))]),
    background,
  }
}
