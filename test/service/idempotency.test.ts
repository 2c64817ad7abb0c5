// A request with a name is worked on once, whatever the network and the instances do.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { until } from '../support/until.js'
import { call, type Deployment, deploy, events, name, otherToken, post, sha256, token } from './kit.js'

let here: Deployment
let second: RunningFunctions
let keys = 0

beforeAll(async () => {
  here = await deploy({
    quickFinds: true,
    environment: { HANDOFF_BEARERS: `a=${sha256(token)}=octo/tools; b=${sha256(otherToken)}=octo/tools` },
  })
  second = await here.another()
}, 120_000)

afterAll(async () => {
  await here?.close()
})

const ask = (question: string, more: Record<string, unknown> = {}) => ({
  repository: name,
  run: here.run.run,
  question,
  ...more,
})
const newKey = () => {
  keys += 1
  return { 'idempotency-key': `"key-${keys}"` }
}

test('the same request again, on another instance: the same answer and no second machine, fresh or not', async () => {
  for (const asked of [ask('How is the token refreshed?'), ask('How is the token refreshed?', { fresh: true })]) {
    const key = newKey()
    const before = here.machines()
    const first = await post(here.url, asked, key)
    const again = await post(second.url, asked, key)
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.body.id).toBe(first.body.id)
    expect(here.machines() - before).toBe(1)
  }
})

test('another body under the same key: 422, and nothing happens', async () => {
  const key = newKey()
  await post(here.url, ask('Which colour is it?'), key)
  const before = here.machines()
  const { status, body } = await post(second.url, ask('Which colour is it not?'), key)
  expect({ status, code: body.code, detail: body.detail, machines: here.machines() - before }).toEqual({
    status: 422,
    code: 'idempotency-key-reused',
    detail: 'The Idempotency-Key stands for another request.',
    machines: 0,
  })
})

test('while the first is being answered: 409 with a time to come back; afterwards the answer', async () => {
  const key = newKey()
  const asked = ask('What is being answered?')
  const takeBack = here.world.clouds.model.rule({ fault: { kind: 'delay', milliseconds: 1_500 } })
  const first = post(here.url, asked, key)
  await until('it is being answered', () => here.living() > 0)
  const meanwhile = await post(second.url, asked, key)
  takeBack()
  expect(meanwhile.status).toBe(409)
  expect(meanwhile.body.code).toBe('in-progress')
  expect(Number(meanwhile.headers.get('retry-after'))).toBeGreaterThan(0)
  const answered = await first
  const again = await post(second.url, asked, key)
  expect([again.status, again.body.id]).toEqual([200, answered.body.id])
})

test('accepted and repeated: the same place to look', async () => {
  const key = newKey()
  const asked = ask('What is asked for later?')
  const first = await post(here.url, asked, { ...key, prefer: 'respond-async' })
  const again = await post(second.url, asked, { ...key, prefer: 'respond-async' })
  expect(first.status).toBe(202)
  expect([200, 202]).toContain(again.status)
  expect(again.body.id).toBe(first.body.id)
  // Whoever follows a question that is left behind takes it up: it must not happen while others count machines.
  await until('the answer', async () => (await call(here.url, first.body.self)).body.status === 'done', 15_000)
})

test('a request that failed may be repeated under its key', async () => {
  const key = newKey()
  const asked = ask('What fails at first?')
  const takeBack = here.world.clouds.model.behave({ kind: 'broken', status: 404 })
  expect((await post(here.url, asked, key)).status).toBe(502)
  takeBack()
  expect((await post(second.url, asked, key)).status).toBe(200)
})

test('two callers may choose the same key', async () => {
  const key = newKey()
  const mine = await post(here.url, ask('What is mine?'), key)
  const theirs = await post(here.url, ask('What is theirs?'), key, otherToken)
  expect([mine.status, theirs.status]).toEqual([200, 200])
  expect(theirs.body.id).not.toBe(mine.body.id)
})

test('twenty at once under one key, over two instances: one machine', async () => {
  const key = newKey()
  const asked = ask('What do twenty ask at once?', { fresh: true })
  const before = here.machines()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_none, index) => post(index % 2 ? here.url : second.url, asked, key)),
  )
  const counts = answers.map(({ status }) => status)
  expect(counts.filter((status) => status === 200).length).toBeGreaterThan(0)
  expect(counts.every((status) => status === 200 || status === 409)).toBe(true)
  expect(here.machines() - before).toBe(1)
})

test('a name that cannot be settled costs neither the answer nor the end of a stream', async () => {
  const { drive } = here.world.clouds
  const closed = { kind: 'answer', status: 403, body: '{"error":"no"}' } as const
  const asked = (question: string) => ({ repository: name, run: here.run.run, question })
  const told = async <T>(asking: () => Promise<T>) =>
    asking().finally(drive.rule({ method: 'PUT', path: /_service\/keys\//, skip: 1, fault: closed }))
  const whole = await told(() => post(here.url, asked('What is told at once?'), { 'idempotency-key': 'unsettled-1' }))
  expect([whole.status, whole.body.status]).toEqual([200, 'done'])
  const headers = { 'idempotency-key': 'unsettled-2' }
  const { events: found } = await told(() => events(here.url, asked('What is told in events?'), { headers }))
  expect(found.at(-1)).toMatchObject({ event: 'answer' })
})

test('whoever asks about a repository that was never summarised leaves no name behind', async () => {
  const job = await here.another({ HANDOFF_BEARERS: `a=${sha256(token)}=octo/*` })
  const names = () => here.world.clouds.drive.tree('/handoff/_service/keys').length
  const before = names()
  const { status, body } = await post(
    job.url,
    { repository: 'octo/none', commit: 'a'.repeat(40), question: 'What?' },
    newKey(),
  )
  expect([status, body.code, names() - before]).toEqual([404, 'not-found', 0])
})

test('in events too: repeated, the answer comes at once', async () => {
  const { 'idempotency-key': key } = newKey()
  const asked = ask('What comes in events?', { fresh: true })
  const headers = { 'idempotency-key': key }
  const first = await events(here.url, asked, { headers })
  const before = here.machines()
  const again = await events(second.url, asked, { headers })
  expect(again.events.at(-1)).toMatchObject({ event: 'answer', data: { id: first.events.at(-1)!.data.id } })
  expect(here.machines() - before).toBe(0)
})
