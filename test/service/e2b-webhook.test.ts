// POST /api/sandboxes: a sandbox that ended without us frees the question that needed it, in this process and in another. The instances share no memory.
import { createHash, randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { SandboxRecord } from '../../src/emulators/e2b/server.js'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { madeByTest } from '../support/call-log.js'
import { until } from '../support/until.js'
import { type Answer, type Deployment, deploy, name, post, recordOf } from './kit.js'

const [secret, nextSecret] = ['first-secret-for-events-0123', 'second-secret-for-events-456']
let here: Deployment
let other: RunningFunctions
const webhooks: string[] = []

beforeAll(async () => {
  here = await deploy({
    environment: { HANDOFF_E2B_WEBHOOK_SECRETS: `${secret}, ${nextSecret}` },
    sandboxes: { webhookPauseMilliseconds: 20 },
  })
  other = await here.another()
}, 200_000)

afterAll(async () => {
  await here?.close()
})

beforeEach(() => webhooks.splice(0))

afterEach(async () => {
  here.stack.clouds.drive.clearRules()
  for (const id of webhooks) await events('DELETE', `/${id}`)
  await until('no sandbox is left', () => here.living() === 0, 20_000)
})

async function events(method: string, path: string, body?: object) {
  const { E2B_API_KEY, E2B_API_URL } = here.stack.clouds.sandboxes.settings
  const headers = { 'x-api-key': E2B_API_KEY, 'content-type': 'application/json', [madeByTest]: '1' }
  const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }
  const response = await fetch(`${E2B_API_URL}/events/webhooks${path}`, init)
  return (await response.json()) as { id: string }
}

/** As the documentation of E2B registers one. */
async function register(instance: RunningFunctions): Promise<void> {
  const { id } = await events('POST', '', {
    name: 'handoff',
    url: `${instance.url}/api/sandboxes`,
    enabled: true,
    events: ['sandbox.lifecycle.killed'],
    signatureSecret: nextSecret,
  })
  webhooks.push(id)
}

const ask = (question: string, instance: RunningFunctions = here.functions) =>
  post(instance.url, { repository: name, run: here.run.run, question })

/** A question whose sandbox never gets what it downloads. */
async function hanging(question: string): Promise<{ answer: Promise<Answer>; sandbox: SandboxRecord; id: string }> {
  const before = here.machines()
  here.stack.clouds.drive.rule({
    method: 'GET',
    path: /project\/.*\.tar/,
    fault: { kind: 'delay', milliseconds: 60_000 },
  })
  const answer = ask(question)
  const sandbox = await until('its sandbox works', () =>
    here.stack.clouds.sandboxes.sandboxes.slice(before).find(({ commands }) => commands.length > 0),
  )
  return { answer, sandbox, id: sandbox.metadata['answer']! }
}

const delivered = (sandbox: string) =>
  until('the event is delivered', () =>
    here.stack.clouds.sandboxes.deliveries.find((one) => one.sandbox === sandbox && one.status === 200),
  )

interface Sent {
  metadata?: Record<string, string>
  reason?: string
  at?: string
  type?: string
  sandbox?: string
  by?: string
  headers?: Record<string, string>
  tamper?: (body: string) => string
}

/** An event that the test signs itself. */
async function send(sent: Sent, instance: RunningFunctions = here.functions): Promise<Answer> {
  const { tamper = (body) => body, type = 'sandbox.lifecycle.killed', by = secret } = sent
  const body = JSON.stringify({
    id: randomUUID(),
    version: 'v2',
    type,
    timestamp: sent.at ?? new Date().toISOString(),
    event_data: { sandbox_metadata: sent.metadata ?? {}, kill_reason: sent.reason ?? 'timeout' },
    sandbox_id: sent.sandbox ?? 'i0unknown',
  })
  const headers = {
    'e2b-signature-version': 'v1',
    'e2b-signature': createHash('sha256').update(`${by}${body}`).digest('base64url'),
    ...sent.headers,
  }
  const response = await fetch(`${instance.url}/api/sandboxes`, { method: 'POST', headers, body: tamper(body) })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

test('in the process that answers, the question fails at once, and asking again works', async () => {
  await register(here.functions)
  const question = 'Which question loses its sandbox?'
  const { answer, sandbox, id } = await hanging(question)
  await here.stack.clouds.sandboxes.loseSandbox(sandbox.id)
  expect(await answer).toMatchObject({ status: 502, body: { code: 'sandbox' } })
  expect(recordOf(here, id)).toMatchObject({
    status: 'failed',
    error: { code: 'sandbox', message: expect.stringContaining('(orphaned)') },
  })
  here.stack.clouds.drive.clearRules()
  expect(await ask(question)).toMatchObject({ status: 200, body: { status: 'done' } })
})

test('in another process the claim is freed, and the next caller takes the question over', async () => {
  const question = 'Which question is held by an instance that hears nothing?'
  const { answer, sandbox, id } = await hanging(question)
  // The first instance hears of it when it renews its lease, which this test does not wait for.
  answer.catch(() => undefined)
  await register(other)
  await here.stack.clouds.sandboxes.loseSandbox(sandbox.id)
  await delivered(sandbox.id)
  const freed = recordOf(here, id) as { leaseUntil: string; claim: string }
  expect(freed).toMatchObject({ status: 'running', claim: sandbox.metadata['claim'] })
  expect(Date.parse(freed.leaseUntil)).toBeLessThanOrEqual(Date.now())
  here.stack.clouds.drive.clearRules()
  expect(await ask(question, other)).toMatchObject({ status: 200, body: { status: 'done' } })
})

test('a drive that fails meanwhile makes E2B deliver again, and a second delivery changes nothing', async () => {
  const { answer, sandbox, id } = await hanging('Which question is freed by the second delivery?')
  const metadata = { ...sandbox.metadata }
  // The webhook asks for the record's revision first. The sandbox, which mounts the directory meanwhile, does not.
  const refused = { method: 'HEAD', path: new RegExp(id), fault: { kind: 'answer', status: 503 } } as const
  const fail = here.stack.clouds.drive.rule(refused)
  expect(await send({ metadata }, other)).toMatchObject({ status: 502, body: { code: 'drive' } })
  fail()
  expect((await send({ metadata }, other)).body).toEqual({ freed: 'freed' })
  const after = recordOf(here, id)
  expect((await send({ metadata }, other)).body).toEqual({ freed: 'nothing' })
  expect(recordOf(here, id)).toEqual(after)
  // The process that answers knows the sandbox, whatever the labels are.
  expect((await send({ metadata, sandbox: sandbox.id, reason: 'request' })).body).toEqual({ freed: 'stopped' })
  expect((await answer).status).toBe(502)
})

test('a question that ends its own sandbox is left alone, by its own process and by another', async () => {
  await register(here.functions)
  await register(other)
  const { status, body } = await ask('Which sandbox is ended by its own question?')
  expect({ status, state: body.status }).toEqual({ status: 200, state: 'done' })
  const { deliveries, sandboxes } = here.stack.clouds.sandboxes
  const own = () => deliveries.filter(({ sandbox }) => sandbox === sandboxes.at(-1)?.id)
  await until('both have the event', () => own().length === 2)
  expect(own().map(({ status }) => status)).toEqual([200, 200])
  expect(recordOf(here, body.id)).toMatchObject({ status: 'done' })
})

test('a kill by request says nothing to another process', async () => {
  const { answer, sandbox, id } = await hanging('Which question was perhaps over?')
  const metadata = { ...sandbox.metadata }
  for (const reason of ['request', 'unknown']) {
    expect((await send({ metadata, reason }, other)).body).toEqual({ freed: 'nothing' })
  }
  expect(Date.parse((recordOf(here, id) as { leaseUntil: string }).leaseUntil)).toBeGreaterThan(Date.now())
  expect((await send({ metadata, sandbox: sandbox.id })).body).toEqual({ freed: 'stopped' })
  await answer
})

const labels = { handoff: '1', role: 'ask', claim: 'x', answer: '0'.repeat(32) }

test.for<[string, Sent, number]>([
  ['no signature', { headers: { 'e2b-signature': '' } }, 401],
  ['another version of the signature', { headers: { 'e2b-signature-version': 'v2' } }, 401],
  ['an unknown secret', { by: 'a-secret-of-a-stranger' }, 401],
  ['a changed body', { tamper: (body) => body.replace('timeout', 'admin') }, 401],
  ['more behind the body', { tamper: (body) => `${body} ` }, 401],
  ['an event of six minutes ago', { at: new Date(Date.now() - 360_000).toISOString() }, 400],
  ['an event of tomorrow', { at: new Date(Date.now() + 86_400_000).toISOString() }, 400],
  ['no time', { at: 'soon' }, 400],
  ['no id', { sandbox: '../i' }, 400],
  ['a directory that leads elsewhere', { metadata: { ...labels, directory: '/handoff/../secrets' } }, 400],
  ['another event', { type: 'sandbox.lifecycle.created' }, 200],
  ['a sandbox of other software', { metadata: { team: 'a' } }, 200],
  ['a sandbox of a push', { metadata: { ...labels, role: 'summarise' } }, 200],
  ['a directory outside ours', { metadata: { ...labels, directory: '/elsewhere/octo' } }, 200],
  ['no directory', { metadata: labels }, 200],
  ['an id that is none', { metadata: { ...labels, directory: '/handoff/x', answer: '../x' } }, 200],
])('%s reaches no cloud', async ([, sent, status]) => {
  const before = here.reached()
  expect((await send(sent)).status).toBe(status)
  expect(here.reached()).toBe(before)
})

test('a question that is over, or was never asked, is left alone', async () => {
  const { directory } = here.run
  expect((await send({ metadata: { ...labels, directory } })).body).toEqual({ freed: 'nothing' })
  const { body } = await ask('How is the token refreshed?')
  const record = recordOf(here, body.id)
  expect((await send({ metadata: { ...labels, directory, answer: body.id } })).body).toEqual({ freed: 'nothing' })
  expect(recordOf(here, body.id)).toEqual(record)
})

test('without a secret there is no webhook', async () => {
  const closed = await here.another({ HANDOFF_E2B_WEBHOOK_SECRETS: '' })
  expect(await send({}, closed)).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
})

test('a body of more than 64,000 bytes is refused', async () => {
  expect((await send({ metadata: { long: 'x'.repeat(70_000) } })).status).toBe(413)
})
