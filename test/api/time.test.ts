// When time runs out or an instance dies, nothing that was promised is lost, and no machine stays.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.js'
import { call, cronSecret, type Deployment, deploy, events, name, post } from './kit.js'

let here: Deployment

beforeAll(async () => {
  here = await deploy({ maxDuration: 5 })
}, 200_000)

afterAll(async () => {
  await here?.close()
})

const ask = (question: string) => ({ repository: name, run: here.run.run, question })
/** The model says nothing before this is taken back. */
const silence = () => here.world.clouds.model.rule({ fault: { kind: 'hang' } })

async function answered(self: string): Promise<Record<string, unknown>> {
  return until(
    'the answer',
    async () => {
      const { body } = await call(here.url, self)
      return body.status === 'done' ? body : undefined
    },
    25_000,
  )
}

test('near the deadline an answer in one piece becomes a place to look, and the next poll goes on with it', async () => {
  const takeBack = silence()
  const started = Date.now()
  const first = await post(here.url, ask('What takes too long?'))
  expect(first.status).toBe(202)
  expect(Date.now() - started).toBeLessThan(5_000)
  expect(first.headers.get('location')).toBe(first.body.self)
  await until('the machine is gone', () => here.living() === 0)
  takeBack()
  const done = await answered(first.body.self)
  expect(done).toMatchObject({ id: first.body.id, status: 'done' })
  await until('the promise is kept', () => here.promises().length === 0)
}, 60_000)

test('events end with one error that says where the answer will be', async () => {
  const takeBack = silence()
  const { events: found } = await events(here.url, ask('What takes too long in events?'))
  takeBack()
  const last = found.at(-1)!
  expect(last).toMatchObject({
    event: 'error',
    data: { status: 504, code: 'timeout', self: expect.stringContaining('/answers/') },
  })
  expect(found.filter(({ event }) => event === 'answer' || event === 'error')).toHaveLength(1)
  await until('the machine is gone', () => here.living() === 0)
  expect(await answered(last.data.self)).toMatchObject({ status: 'done' })
}, 60_000)

test('an instance that is killed leaves its promise to the clock', async () => {
  const victim = await here.another({}, 3)
  const takeBack = silence()
  const { status, body } = await post(victim.url, ask('What is left behind?'), { prefer: 'respond-async' })
  expect(status).toBe(202)
  await until('it is at work', () => here.living() > 0)
  victim.kill()
  takeBack()
  expect(here.promises()).toHaveLength(1)
  await until(
    'the clock takes it up',
    async () => {
      const { status: swept, body: told } = await call(here.url, '/api/cron', { token: cronSecret })
      expect(swept).toBe(202)
      return told.left > 0
    },
    15_000,
  )
  expect(await answered(body.self)).toMatchObject({ id: body.id, status: 'done' })
  await until(
    'the promise is kept and the machine is gone',
    () => here.promises().length === 0 && here.living() === 0,
    15_000,
  )
}, 60_000)

test.each(['events', 'one piece'])(
  'a client that leaves ends its machine: %s',
  async (way) => {
    const takeBack = silence()
    const leave = new AbortController()
    const question = ask(`Who leaves ${way}?`)
    const asking =
      way === 'events' ? events(here.url, question, { signal: leave.signal }) : leavingPost(question, leave.signal)
    const left = expect(asking).rejects.toThrow()
    await until('it is at work', () => here.living() > 0)
    leave.abort()
    await left
    await until('the machine is gone', () => here.living() === 0)
    takeBack()
    await until('nothing is left in the background', async () => (await here.functions.state()).pending === 0)
    const { body } = await post(here.url, question)
    expect(body).toMatchObject({ status: 'done', reused: false })
  },
  60_000,
)

const leavingPost = (question: unknown, signal: AbortSignal) =>
  fetch(`${here.url}/api/ask`, {
    method: 'POST',
    body: JSON.stringify(question),
    headers: { 'content-type': 'application/json', authorization: 'Bearer token-of-team-a-0123456789' },
    signal,
  })

test('a sandbox is told to die before the function does', () => {
  const lifetimes = here.world.clouds.sandboxes.requests
    .filter(({ method, path, body }) => method === 'POST' && /sandboxes$/.test(path) && body.includes('"role":"ask"'))
    .map(({ body }) => (JSON.parse(body.toString()) as { timeout: number }).timeout)
  expect(lifetimes.length).toBeGreaterThan(0)
  for (const seconds of lifetimes) expect(seconds).toBeLessThanOrEqual(5 + 5)
})
