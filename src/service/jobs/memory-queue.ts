// An in-memory queue for development and self-hosting. Jobs are lost when the process ends. A lost question is answered when it is asked again.
import { HandoffError } from '../../handoff/index-for-stored-answers.js'
import type { JobQueue } from './job.js'

/** A queue that ends with its process. */
interface MemoryQueue extends JobQueue {
  /** Stops deliveries, and resolves when the running jobs have ended. */
  stop(): Promise<void>
}

/** Seconds until the next delivery, or undefined when there is none. Does not reject. */
type Consume = (message: unknown, deliveryCount: number) => Promise<number | undefined>

interface MemoryQueueOptions {
  consume: Consume
  /** Jobs that run at once. */
  width: number
  now: () => number
}

const keyLifetimeMs = 24 * 60 * 60 * 1_000
/** The most keys that are remembered. The oldest are dropped first. */
const maximumKeys = 10_000
const maximumWaiting = 10_000

interface Message {
  body: unknown
  deliveries: number
}

export function memoryQueue({ consume, width, now }: MemoryQueueOptions): MemoryQueue {
  const keys = new Map<string, number>()
  const ready: Message[] = []
  const running = new Set<Promise<void>>()
  let delayed = 0
  let stopped = false

  function later(message: Message, seconds: number): void {
    delayed += 1
    setTimeout(() => {
      delayed -= 1
      ready.push(message)
      start()
    }, seconds * 1_000).unref()
  }

  function start(): void {
    for (let message = take(); message; message = take()) {
      const delivery = deliver(message).finally(() => {
        running.delete(delivery)
        start()
      })
      running.add(delivery)
    }
  }

  const take = () => (running.size < width && !stopped ? ready.shift() : undefined)

  async function deliver(message: Message): Promise<void> {
    message.deliveries += 1
    const seconds = await consume(message.body, message.deliveries)
    if (seconds !== undefined) later(message, seconds)
  }

  /** True for a key that was sent within the last day. */
  function known(key: string): boolean {
    const at = keys.get(key)
    if (at !== undefined && at > now() - keyLifetimeMs) return true
    keys.delete(key)
    keys.set(key, now())
    if (keys.size > maximumKeys) keys.delete(keys.keys().next().value!)
    return false
  }

  return {
    name: 'memory',
    async send(body, { key, delaySeconds }) {
      if (known(key)) return
      if (ready.length + delayed >= maximumWaiting) {
        keys.delete(key)
        throw new HandoffError('sandbox-limit', 'Too many questions wait on this server.', {
          next: 'Ask again in a moment.',
          retryAfterSeconds: 30,
        })
      }
      later({ body, deliveries: 0 }, delaySeconds)
    },
    async stop() {
      stopped = true
      await Promise.all(running)
    },
  }
}
