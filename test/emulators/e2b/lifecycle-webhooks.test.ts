// Webhooks of the local E2B cloud: what its API takes, and that an event arrives as the documentation says.
import { createHash } from 'node:crypto'
import { Sandbox } from 'e2b'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type SandboxCloud, startSandboxCloud } from '../../../src/emulators/e2b/server.js'
import { type LocalServer, type RecordedRequest, startServer } from '../../../src/emulators/faulty-server.js'
import { until } from '../../support/until.js'

const secret = 'a-secret-of-the-webhook'
let cloud: SandboxCloud
let receiver: LocalServer
let received: RecordedRequest[]

beforeEach(async () => {
  cloud = await startSandboxCloud({ webhookPauseMilliseconds: 5 })
  received = []
  receiver = await startServer('the receiver', (request) => {
    received.push(request)
    return { status: 200 }
  })
})

afterEach(async () => {
  await cloud.close()
  await receiver.close()
})

async function api(method: string, path: string, body?: object) {
  const response = await fetch(`${cloud.url}/events/webhooks${path}`, {
    method,
    headers: { 'x-api-key': cloud.settings.E2B_API_KEY, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return { status: response.status, body: (await response.json()) as { id: string } }
}

const webhook = (more: object = {}) => ({
  name: 'ends',
  url: receiver.url,
  enabled: true,
  events: ['sandbox.lifecycle.created', 'sandbox.lifecycle.killed'],
  signatureSecret: secret,
  ...more,
})

const open = () =>
  Sandbox.create('handoff', {
    apiKey: cloud.settings.E2B_API_KEY,
    apiUrl: cloud.url,
    sandboxUrl: cloud.url,
    metadata: { team: 'a' },
  })

const eventsIn = (requests: readonly RecordedRequest[]) =>
  requests.map((request) => JSON.parse(request.body.toString()) as Record<string, Record<string, unknown>>)

test('a sandbox begins and ends, and each event is signed', async () => {
  expect(await api('POST', '', webhook())).toMatchObject({ status: 201, body: { enabled: true, url: receiver.url } })
  const sandbox = await open()
  await sandbox.kill()
  await until('both events are there', () => received.length === 2)
  const event = eventsIn(received).find(({ type }) => String(type) === 'sandbox.lifecycle.killed')
  expect(event).toMatchObject({
    version: 'v2',
    event_category: 'lifecycle',
    event_label: 'kill',
    sandbox_id: sandbox.sandboxId,
    event_data: { sandbox_metadata: { team: 'a' }, kill_reason: 'request', execution: { vcpu_count: 2 } },
  })
  for (const { headers, body } of received) {
    // As the documentation computes it.
    const expected = createHash('sha256').update(`${secret}${body.toString()}`).digest('base64')
    const trimmed = expected.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
    expect([headers['e2b-signature'], headers['e2b-signature-version']]).toEqual([trimmed, 'v1'])
  }
})

test('a delivery that fails is repeated three times, and no more', async () => {
  await api('POST', '', webhook({ events: ['sandbox.lifecycle.created'] }))
  receiver.rule({ fault: { kind: 'answer', status: 500 } })
  await (await open()).kill()
  await until('it is given up', () => cloud.deliveries.length === 4)
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(cloud.deliveries.map(({ attempt, status }) => [attempt, status])).toEqual([1, 2, 3, 4].map((at) => [at, 500]))
})

test('a webhook is shown without its secret, and hears nothing once it is removed', async () => {
  const registered = await api('POST', '', webhook())
  expect(JSON.stringify(registered.body)).not.toContain(secret)
  expect((await api('DELETE', `/${registered.body.id}`)).status).toBe(200)
  await (await open()).kill()
  expect((await api('DELETE', `/${registered.body.id}`)).status).toBe(404)
  expect(cloud.deliveries).toEqual([])
})

test.for<[string, object]>([
  ['an unknown field', { retries: 3 }],
  ['an unknown event', { events: ['sandbox.lifecycle.exploded'] }],
  ['no secret', { signatureSecret: undefined }],
  ['no address', { url: 'somewhere' }],
])('%s is refused', async ([, more]) => {
  expect((await api('POST', '', webhook(more))).status).toBe(400)
})

test('a lost sandbox is heard of by its event alone', async () => {
  await api('POST', '', webhook({ events: ['sandbox.lifecycle.killed'] }))
  const sandbox = await open()
  const command = await sandbox.commands.run('sleep 60', { background: true })
  let ended = false
  command.wait().then(
    () => (ended = true),
    () => (ended = true),
  )
  await cloud.loseSandbox(sandbox.sandboxId)
  await until('the event is there', () => received.length === 1)
  expect(eventsIn(received)[0]).toMatchObject({ event_data: { kill_reason: 'orphaned' } })
  expect(ended).toBe(false)
})
