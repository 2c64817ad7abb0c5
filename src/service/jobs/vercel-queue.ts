// Job queue on Vercel Queues.
import { QueueClient } from '@vercel/queue'
import { HttpError } from '../http/problem-details.js'
import type { JobQueue } from './job.js'

/** vercel.json names the same topic as the trigger of the consumer. */
const topic = 'handoff-jobs'
/** How long a job is kept and retried. */
const retentionSeconds = 24 * 60 * 60

/** `url` is the address of the queues' API where it is not Vercel's own. */
export const openQueueClient = (url: string | undefined): QueueClient =>
  new QueueClient(url === undefined ? {} : { resolveBaseUrl: () => new URL(url) })

export function vercelQueue(client: QueueClient): JobQueue {
  return {
    name: 'vercel',
    async send(message, { key, delaySeconds }) {
      await client.send(topic, message, { idempotencyKey: key, delaySeconds, retentionSeconds }).catch(() => {
        // The package's error may contain the message, so it is neither shown nor logged.
        throw new HttpError(503, 'queue', 'The queue of this service does not take the question now.', {
          next: 'Ask again in a moment.',
          retryAfterSeconds: 5,
        })
      })
    },
  }
}
