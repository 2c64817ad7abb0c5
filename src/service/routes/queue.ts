// POST /api/queue: Vercel Queues delivers one job per call. The platform rejects other callers, and the handler ignores messages that this
// deployment did not sign.
import { getApp } from '../app.js'
import { deliveryTime } from '../context-for-request.js'
import type { RequestContext } from '../http/http-function.js'
import { HttpError } from '../http/problem-details.js'
import { runJob } from '../jobs/run-job.js'
import { openQueueClient } from '../jobs/vercel-queue.js'

/** Tells the queue when to deliver a job again. */
class RedeliveryRequest extends Error {
  readonly afterSeconds: number

  constructor(afterSeconds: number) {
    super(`The job is delivered again after ${afterSeconds} s.`)
    this.afterSeconds = afterSeconds
  }
}

export async function postQueue(exchange: RequestContext): Promise<Response> {
  const app = getApp()
  if (app.settings.queue !== 'vercel') throw new HttpError(404, 'not-found', 'Jobs wait in the memory of this process.')
  const callback = openQueueClient(app.settings.queueUrl).handleCallback<unknown>(
    async (message, { deliveryCount }) => {
      const { notes, retryAfterSeconds } = await runJob(
        message,
        { count: deliveryCount, time: deliveryTime(exchange.limit, exchange.background) },
        app,
      )
      exchange.note({ delivery: deliveryCount, ...notes })
      if (retryAfterSeconds !== undefined) throw new RedeliveryRequest(retryAfterSeconds)
    },
    { retry: (error) => (error instanceof RedeliveryRequest ? { afterSeconds: error.afterSeconds } : undefined) },
  )
  return callback(exchange.request)
}
