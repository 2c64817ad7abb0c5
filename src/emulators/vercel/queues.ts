// Vercel Queues on loopback: the HTTP API as `@vercel/queue` calls it, and the delivery of each message to the function whose trigger in vercel.json
// names its topic. A message is delivered until its consumer acknowledges it, or it expires.

import { freshId, json, type LocalServer, type RecordedRequest, type Reply, startServer } from '../faulty-server.js'
import { type Consumer, readConsumers } from './queue-consumers.js'
import { clientTime, push, type QueueEntry, region } from './queue-delivery.js'
import {
  longestVisibilitySeconds,
  multipart,
  oidcToken,
  readSend,
  refuse,
  secondsIn,
  visibilityIn,
} from './queue-wire.js'

export interface LocalQueues extends LocalServer {
  /** What the functions of the deployment find in their environment. */
  settings: Record<string, string>
  /** Vercel's OIDC token of the deployment: a function finds it in the context of its request. */
  token: string
  /** A delivery carries it; the platform lets nothing else into a function that has a trigger. */
  deliveryKey: string
  /** Delivers to this instance too, until the returned function is called. */
  deliverTo(url: string): () => void
  /** Messages that are not acknowledged, the oldest first. */
  messages(): QueueMessage[]
  /** Every delivery so far, when it has ended. */
  deliveries: QueueDelivery[]
  /** Lets so much time pass for the queues alone. */
  advance(seconds: number): void
  /** Delivers the message once more, although it was acknowledged: at least once is all that the service guarantees. */
  repeat(id: string): void
  /** Requests that the emulator does not know. */
  unexpected: string[]
}

interface QueueMessage {
  id: string
  topic: string
  body: unknown
  deliveryCount: number
  /** Seconds until the next delivery; 0 for a message that is due. */
  dueInSeconds: number
}

interface QueueDelivery {
  id: string
  deliveryCount: number
  /** Of the function's response; 0 when the connection broke. */
  status: number
}

interface QueuesOptions {
  /** The folder of vercel.json. */
  root: string
  /** A larger message is not in its delivery: the consumer receives it by its id. */
  inlineBytes?: number
}

const deployment = 'dpl_local0000000000000000000'
const longestDedupSeconds = 24 * 60 * 60
const visibilitySeconds = 300
const namePattern = /^[A-Za-z0-9_-]+$/

export async function startQueues({ root, inlineBytes = 64_000 }: QueuesOptions): Promise<LocalQueues> {
  const consumers = await readConsumers(root)
  const entries: QueueEntry[] = []
  /** The newest receipts and the old ones, which are refused in another way than those that never were. */
  const receipts = new Map<string, QueueEntry>()
  const keys = new Map<string, { until: number }>()
  const instances: string[] = []
  const deliveries: QueueDelivery[] = []
  const unexpected: string[] = []
  const running = new Map<Consumer, number>()
  const token = oidcToken()
  const deliveryKey = freshId()
  let aheadMs = 0
  let next = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const now = () => Date.now() + aheadMs
  const isLive = (entry: QueueEntry) => !entry.acknowledged && entry.expiresAt > now()
  const isDue = (entry: QueueEntry) =>
    isLive(entry) && entry.visibleAt <= now() && entry.deliveryCount < entry.consumer.maxDeliveries

  function deliverDue(): void {
    clearTimeout(timer)
    if (closed || instances.length === 0) return
    for (const entry of entries.filter(isDue)) {
      if ((running.get(entry.consumer) ?? 0) < entry.consumer.maxConcurrency) void deliver(entry)
    }
    const times = entries.filter((entry) => isLive(entry) && entry.visibleAt > now()).map(({ visibleAt }) => visibleAt)
    if (times.length > 0) timer = setTimeout(deliverDue, Math.max(1, Math.min(...times) - now())).unref()
  }

  async function deliver(entry: QueueEntry): Promise<void> {
    const { consumer } = entry
    running.set(consumer, (running.get(consumer) ?? 0) + 1)
    const inline = entry.body.length <= inlineBytes
    // A message that is received by its id is locked then.
    if (inline) lock(entry, visibilitySeconds)
    else release(entry, visibilitySeconds)
    const { receipt, deliveryCount } = entry
    const url = `${instances[next++ % instances.length]}${consumer.path}`
    const status = await push(url, entry, { deliveryKey, inline, aheadMs }).catch(() => 0)
    deliveries.push({ id: entry.id, deliveryCount, status })
    // What the consumer said of the message stands, unless it failed.
    const failed = status < 200 || status > 299
    if (failed && (!inline || entry.receipt === receipt)) release(entry, consumer.retryAfterSeconds)
    running.set(consumer, running.get(consumer)! - 1)
    deliverDue()
  }

  /** The message belongs to one delivery until then. */
  function lock(entry: QueueEntry, seconds: number): void {
    entry.deliveryCount += 1
    entry.receipt = freshId()
    entry.visibleAt = now() + seconds * 1_000
    receipts.set(entry.receipt, entry)
  }

  function release(entry: QueueEntry, seconds: number): void {
    delete entry.receipt
    entry.visibleAt = now() + seconds * 1_000
  }

  function handle(request: RecordedRequest): Reply {
    const [topic, ...rest] = request.path
      .replace(/^\/api\/v3\/topic\//, '')
      .split('/')
      .map(decodeURIComponent)
    const action = request.path.startsWith('/api/v3/topic/') && topic !== undefined && actionFor(topic, rest, request)
    if (action) return refusalOf(topic, request) ?? action()
    unexpected.push(`${request.method} ${request.path}`)
    return refuse(501, 'The emulator of Vercel Queues does not know this request.')
  }

  function actionFor(topic: string, rest: string[], request: RecordedRequest): (() => Reply) | undefined {
    const route = [request.method, ...rest.filter((_, index) => index % 2 === 0)].join(' ')
    const [, group = '', , id = ''] = rest
    if (rest.length === 0) return request.method === 'POST' ? () => send(topic, request) : undefined
    if (rest.length !== 4) return undefined
    const routes: Record<string, () => Reply> = {
      'POST consumer id': () => receive(topic, group, id, request),
      'DELETE consumer lease': () => acknowledge(topic, group, id),
      'PATCH consumer lease': () => changeVisibility(topic, group, id, request),
    }
    return routes[route]
  }

  function refusalOf(topic: string, { headers }: RecordedRequest): Reply | undefined {
    if (headers['authorization'] !== `Bearer ${token}`) return refuse(401, 'The token is missing or wrong.')
    const pinned = headers['vqs-deployment-id']
    if (pinned !== undefined && pinned !== deployment) return refuse(403, 'The token is of another deployment.')
    return namePattern.test(topic) ? undefined : refuse(400, 'The name of the topic is not valid.')
  }

  function send(topic: string, { headers, body }: RecordedRequest): Reply {
    const asked = readSend(headers)
    if ('status' in asked) return asked
    const { contentType, retention, delay, key } = asked
    const id = freshId()
    const known = key === undefined ? undefined : keys.get(`${topic} ${key}`)
    // The id of a message that was sent before stands for nothing.
    if (known && known.until > now()) return json(201, { messageId: id })
    if (key !== undefined) {
      keys.set(`${topic} ${key}`, { until: now() + Math.min(retention, longestDedupSeconds) * 1_000 })
    }
    for (const consumer of consumers.filter((one) => one.topic === topic)) {
      entries.push({
        id,
        consumer,
        body,
        contentType,
        createdAt: now(),
        expiresAt: now() + retention * 1_000,
        visibleAt: now() + Math.max(delay, consumer.initialDelaySeconds) * 1_000,
        deliveryCount: 0,
        acknowledged: false,
      })
    }
    setImmediate(deliverDue)
    return json(201, { messageId: id })
  }

  function receive(topic: string, group: string, id: string, { headers }: RecordedRequest): Reply {
    const entry = entries.find(({ consumer, ...one }) => one.id === id && isOf(consumer, topic, group))
    const seconds = secondsIn(headers['vqs-visibility-timeout-seconds'], visibilitySeconds)
    if (!(seconds >= 30 && seconds <= longestVisibilitySeconds))
      return refuse(400, 'The visibility timeout is not valid.')
    if (entry === undefined || entry.expiresAt <= now()) return refuse(404, 'There is no such message.')
    if (entry.acknowledged) return refuse(410, 'The message was acknowledged.')
    if (entry.receipt !== undefined && entry.visibleAt > now()) return refuse(409, '{}')
    lock(entry, seconds)
    return multipart(entry.contentType, entry.body, {
      'Vqs-Message-Id': id,
      'Vqs-Receipt-Handle': entry.receipt!,
      'Vqs-Delivery-Count': String(entry.deliveryCount),
      'Vqs-Timestamp': clientTime(entry.createdAt, aheadMs),
      'Vqs-Expires-At': clientTime(entry.expiresAt, aheadMs),
    })
  }

  /** The message that a receipt is of, while that is its newest one. */
  function held(topic: string, group: string, receipt: string): QueueEntry | Reply {
    const entry = receipts.get(receipt)
    if (entry === undefined || !isOf(entry.consumer, topic, group)) return refuse(404, 'There is no such receipt.')
    const lost = entry.acknowledged || entry.receipt !== receipt || entry.visibleAt <= now()
    return lost ? refuse(409, 'The message is no longer held by this receipt.') : entry
  }

  function acknowledge(topic: string, group: string, receipt: string): Reply {
    const entry = held(topic, group, receipt)
    if ('status' in entry) return entry
    entry.acknowledged = true
    return { status: 204 }
  }

  function changeVisibility(topic: string, group: string, receipt: string, { body }: RecordedRequest): Reply {
    const entry = held(topic, group, receipt)
    if ('status' in entry) return entry
    const seconds = visibilityIn(body)
    if (seconds === undefined) return refuse(400, 'visibilityTimeoutSeconds is not valid.')
    entry.visibleAt = now() + seconds * 1_000
    setImmediate(deliverDue)
    return json(200, { success: true })
  }

  const server = await startServer('queues', handle)
  const close = async () => {
    closed = true
    clearTimeout(timer)
    await server.close()
  }
  return {
    ...server,
    settings: { VERCEL: '1', VERCEL_REGION: region, VERCEL_DEPLOYMENT_ID: deployment, HANDOFF_QUEUE_URL: server.url },
    token,
    deliveryKey,
    deliveries,
    unexpected,
    deliverTo(url) {
      instances.push(url)
      deliverDue()
      return () => void (instances.includes(url) && instances.splice(instances.indexOf(url), 1))
    },
    messages: () =>
      entries.filter(isLive).map(({ id, consumer, body, deliveryCount, visibleAt }) => ({
        id,
        topic: consumer.topic,
        body: JSON.parse(body.toString()) as unknown,
        deliveryCount,
        dueInSeconds: Math.max(0, Math.ceil((visibleAt - now()) / 1_000)),
      })),
    advance(seconds) {
      aheadMs += seconds * 1_000
      deliverDue()
    },
    repeat(id) {
      for (const entry of entries.filter((one) => one.id === id)) {
        entry.acknowledged = false
        entry.visibleAt = now()
      }
      deliverDue()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const isOf = (consumer: Consumer, topic: string, group: string) => consumer.topic === topic && consumer.name === group
