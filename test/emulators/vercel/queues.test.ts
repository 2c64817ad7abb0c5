// Vercel Queues on loopback, through the unmodified client: what is sent is delivered, until the consumer acknowledges it.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { MessageMetadata } from '@vercel/queue'
import { QueueClient } from '@vercel/queue'
import { Ajv } from 'ajv'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type LocalQueues, startQueues } from '../../../src/emulators/vercel/queues.js'
import { until } from '../../support/until.js'

const root = join(import.meta.dirname, '../../..')
const topic = 'handoff-jobs'

let queues: LocalQueues
let consumer: Awaited<ReturnType<typeof startConsumer>>
/** What the consumer does with the next deliveries. */
let handle: (message: unknown, metadata: MessageMetadata) => Promise<void>
let heard: { message: unknown; count: number }[]

beforeEach(async () => {
  heard = []
  handle = async () => {}
  queues = await startQueues({ root, inlineBytes: 1_000 })
  consumer = await startConsumer()
  queues.deliverTo(consumer.url)
})

afterEach(async () => {
  await consumer.close()
  await queues.close()
  expect(queues.unexpected).toEqual([])
})

const clientWith = (more: { token?: string; deploymentId?: string } = {}) =>
  new QueueClient({
    region: 'iad1',
    resolveBaseUrl: () => new URL(queues.url),
    token: queues.token,
    deploymentId: queues.settings['VERCEL_DEPLOYMENT_ID']!,
    ...more,
  })

class Again extends Error {}

/** A function with the client's own handler. */
async function startConsumer() {
  const callback = clientWith().handleCallback<unknown>(
    async (message, metadata) => {
      heard.push({ message, count: metadata.deliveryCount })
      await handle(message, metadata)
    },
    { retry: (error) => (error instanceof Again ? { afterSeconds: 20 } : undefined) },
  )
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    const request = new Request(`http://localhost${incoming.url}`, {
      method: 'POST',
      headers: incoming.headers as Record<string, string>,
      ...(pieces.length > 0 ? { body: Buffer.concat(pieces) } : {}),
    })
    const answer = await callback(request)
    response.writeHead(answer.status).end(await answer.text())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

const deliveries = (count: number) => until(`${count} deliveries`, () => queues.deliveries.length >= count)

test.each([
  ['small', { text: 'hello' }],
  ['larger than a delivery holds', { text: 'x'.repeat(2_000) }],
])('a message that is %s is delivered once and acknowledged', async (_size, message) => {
  await clientWith().send(topic, message)
  await deliveries(1)
  expect(heard).toEqual([{ message, count: 1 }])
  expect(queues.messages()).toEqual([])
})

test('the same idempotency key is one message', async () => {
  const { send } = clientWith()
  await send(topic, 'first', { idempotencyKey: 'one' })
  await send(topic, 'second', { idempotencyKey: 'one' })
  await send(topic, 'third', { idempotencyKey: 'two' })
  await deliveries(2)
  expect(heard.map(({ message }) => message)).toEqual(['first', 'third'])
})

test('a key is free again after the retention of its message', async () => {
  const { send } = clientWith()
  await send(topic, 'first', { idempotencyKey: 'one', retentionSeconds: 60 })
  await deliveries(1)
  queues.advance(61)
  await send(topic, 'second', { idempotencyKey: 'one' })
  await deliveries(2)
  expect(heard.map(({ message }) => message)).toEqual(['first', 'second'])
})

test('a delayed message comes when its time has passed', async () => {
  await clientWith().send(topic, 'later', { delaySeconds: 100 })
  expect(queues.messages()).toMatchObject([{ dueInSeconds: 100, deliveryCount: 0 }])
  queues.advance(101)
  await deliveries(1)
  expect(heard).toEqual([{ message: 'later', count: 1 }])
})

test('a failed delivery comes again when the consumer says, or after the time of its trigger', async () => {
  handle = async (_message, { deliveryCount }) => {
    if (deliveryCount === 1) throw new Again()
    if (deliveryCount === 2) throw new Error('a defect')
  }
  await clientWith().send(topic, 'stubborn')
  await deliveries(1)
  expect(queues.messages()).toMatchObject([{ dueInSeconds: 20 }])
  queues.advance(20)
  await deliveries(2)
  expect(queues.messages()).toMatchObject([{ dueInSeconds: 60 }])
  queues.advance(60)
  await deliveries(3)
  expect(heard.map(({ count }) => count)).toEqual([1, 2, 3])
  expect(queues.deliveries.map(({ status }) => status)).toEqual([200, 500, 200])
  expect(queues.messages()).toEqual([])
})

test('a consumer that holds a message too long loses it: the next delivery comes, and the late acknowledgement is refused', async () => {
  const held = Promise.withResolvers<void>()
  handle = async (_message, { deliveryCount }) => {
    if (deliveryCount === 1) await held.promise
    else throw new Again()
  }
  await clientWith().send(topic, 'slow')
  await until('the first delivery', () => heard.length === 1)
  queues.advance(301)
  await deliveries(1)
  held.resolve()
  await deliveries(2)
  // The message is still there: only its newest receipt counts.
  expect(queues.messages()).toMatchObject([{ deliveryCount: 2 }])
})

test('no more deliveries run at once than the trigger allows', async () => {
  let running = 0
  let most = 0
  const proxy = Promise.withResolvers<void>()
  handle = async () => {
    running += 1
    most = Math.max(most, running)
    await proxy.promise
    running -= 1
  }
  const { send } = clientWith()
  await Promise.all(Array.from({ length: 14 }, (_none, index) => send(topic, index)))
  await until('ten run', () => running === 10)
  proxy.resolve()
  await deliveries(14)
  expect(most).toBe(10)
})

test('a message ends with its retention', async () => {
  handle = async () => {
    throw new Again()
  }
  await clientWith().send(topic, 'short', { retentionSeconds: 60 })
  await deliveries(1)
  queues.advance(61)
  expect(queues.messages()).toEqual([])
  expect(heard).toHaveLength(1)
})

test('a wrong token, another deployment, and what is out of range are refused as the service does it', async () => {
  await expect(clientWith({ token: 'guessed' }).send(topic, 1)).rejects.toThrow('token is missing or wrong')
  await expect(clientWith({ deploymentId: 'dpl_other' }).send(topic, 1)).rejects.toThrow('another deployment')
  const { send } = clientWith()
  await expect(send('not a name', 1)).rejects.toThrow('name of the topic')
  await expect(send(topic, 1, { retentionSeconds: 59 })).rejects.toThrow('Retention')
  await expect(send(topic, 1, { delaySeconds: 90, retentionSeconds: 60 })).rejects.toThrow('delay')
  await expect(send(topic, 1, { delaySeconds: 1.5 })).rejects.toThrow('delay')
  await expect(send(topic, 1, { idempotencyKey: 'x'.repeat(257) })).rejects.toThrow('idempotency key')
  expect(queues.messages()).toEqual([])
})

test('what the emulator does not know is refused and recorded', async () => {
  await expect(clientWith().experimental_sendBatch(topic, [{ payload: 1 }])).rejects.toThrow('does not know')
  expect(queues.unexpected.splice(0)).toEqual([`POST /api/v3/topic/${topic}/batch`])
})

test('vercel.json says what the builder of the platform accepts', async () => {
  const { getFunctionsSchema } = await import('@vercel/build-utils')
  const { functions } = JSON.parse(await readFile(join(root, 'vercel.json'), 'utf8'))
  const validate = new Ajv({ strict: false }).compile(getFunctionsSchema())
  expect([validate(functions), validate.errors]).toEqual([true, null])
  functions['api/queue.ts'].experimentalTriggers[0].maxConcurrency = 0
  expect(validate(functions)).toBe(false)
})
