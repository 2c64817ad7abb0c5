// A caller says whether an answer was useful, and asks on from an answer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call, type Deployment, deploy, name, otherToken, post, sha256, token } from './kit.js'

let here: Deployment
let answer: { id: string; self: string }

beforeAll(async () => {
  const bearers = `a=${sha256(token)}=octo/tools; b=${sha256(otherToken)}=octo/tools; c=${sha256('stranger')}=octo/else`
  here = await deploy({ environment: { HANDOFF_BEARERS: bearers, HANDOFF_CALLER_TOKENS: '1000000' } })
  answer = (await post(here.url, ask('How is the token refreshed?'))).body
}, 120_000)

afterAll(async () => {
  await here?.close()
})

const ask = (question: string) => ({ repository: name, run: here.run.run, question })
const say = (body: unknown, options: Record<string, unknown> = {}, self = answer.self) =>
  call(here.url, self, {
    method: 'PATCH',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
    ...options,
  })
const path = () => `${here.run.directory}/analysis/qa/${answer.id}.feedback.json`
const kept = async () => {
  const bytes = await here.stack.context.ports.drive.read(path(), {
    maxBytes: 100_000,
    signal: AbortSignal.timeout(60_000),
  })
  return bytes === null ? undefined : JSON.parse(new TextDecoder().decode(bytes))
}

test('one word of each caller is kept beside the answer, and the newer one replaces the older', async () => {
  expect((await say({ useful: true })).body).toEqual({ useful: 1, notUseful: 0 })
  expect((await say({ useful: true }, { token: otherToken })).body).toEqual({ useful: 2, notUseful: 0 })
  expect((await say({ useful: false })).body).toEqual({ useful: 1, notUseful: 1 })
  const { said, version } = await kept()
  expect({ version, useful: said.map(({ useful }: { useful: boolean }) => useful) }).toEqual({
    version: 1,
    useful: [true, false],
  })
  expect(JSON.stringify(said), 'no name of a caller is stored').not.toMatch(/bearer/)
})

test('it is no answer: the list of answers stays as it is', async () => {
  const folder = `/api/runs/${here.run.run}/answers?repository=${encodeURIComponent(name)}`
  const listed = async () => (await call(here.url, folder)).body.answers.map(({ id }: { id: string }) => id)
  const before = await listed()
  expect(before).toContain(answer.id)
  expect((await say({ useful: true })).status).toBe(200)
  expect(await kept()).toBeDefined()
  expect(await listed()).toEqual(before)
})

test('an answer that is read later has the word of its reader, and how many found it useful', async () => {
  const { self } = (await post(here.url, ask('Who has judged this?'))).body
  const read = async (reader = token) => (await call(here.url, self, { token: reader })).body.feedback
  expect(await read()).toBeUndefined()
  await say({ useful: false }, {}, self)
  await say({ useful: true }, { token: otherToken }, self)
  expect([await read(), await read(otherToken)]).toEqual([
    { useful: 1, notUseful: 1, own: false },
    { useful: 1, notUseful: 1, own: true },
  ])
})

test.each([
  ['drive9 refuses to give', { kind: 'answer', status: 403, body: '{"error":"no"}' }],
  ['cannot be decoded', { kind: 'answer', status: 200, body: '{"version":1}' }],
] as const)('feedback that %s prevents no answer', async (_what, fault) => {
  const takeBack = here.stack.clouds.drive.rule({ method: 'GET', path: /feedback\.json/, fault })
  const { status, body } = await call(here.url, answer.self)
  takeBack()
  expect({ status, text: body.text !== '', feedback: body.feedback }).toEqual({ status: 200, text: true })
})

test('a stranger is refused before anything is read, and so is what makes no sense', async () => {
  const before = here.stack.clouds.drive.requests.length
  expect((await say({ useful: true }, { token: null })).status).toBe(401)
  expect((await say({ useful: true }, { token: 'stranger' })).status).toBe(403)
  for (const body of [{}, { useful: 'yes' }, { useful: true, more: 1 }, [], null])
    expect((await say(body)).status).toBe(400)
  expect((await say({ useful: true }, { headers: {} })).status).toBe(415)
  expect((await say('x'.repeat(2_000))).status).toBe(413)
  expect(here.stack.clouds.drive.requests.length).toBe(before)
  const missing = answer.self.replace(answer.id, '0'.repeat(32))
  const options = { method: 'PATCH', body: '{"useful":true}', headers: { 'content-type': 'application/json' } }
  expect((await call(here.url, missing, options)).status).toBe(404)
  expect((await call(here.url, '/api/runs', options)).status).toBe(405)
})

test('a word costs a caller some of its budget', async () => {
  const spent = async () => {
    const file = `/handoff/_service/budgets/${sha256('bearer:a').slice(0, 32)}.json`
    const bytes = await here.stack.context.ports.drive.read(file, {
      maxBytes: 100_000,
      signal: AbortSignal.timeout(60_000),
    })
    return JSON.parse(new TextDecoder().decode(bytes!)).tokens as number
  }
  const before = await spent()
  await say({ useful: true })
  expect((await spent()) - before).toBe(100)
})

test('a word that was not stored is not counted', async () => {
  // The same word again would need no write.
  await say({ useful: true })
  const takeBack = here.stack.clouds.drive.rule({
    method: 'PUT',
    path: /feedback\.json/,
    fault: { kind: 'answer', status: 403, body: '{"error":"no"}' },
  })
  const before = await kept()
  expect((await say({ useful: false })).status).toBeGreaterThanOrEqual(500)
  takeBack()
  expect(await kept()).toEqual(before)
})

test('a word replaces no list that could not be read', async () => {
  await say({ useful: true })
  const before = await kept()
  const takeBack = here.stack.clouds.drive.rule({
    method: 'GET',
    path: /feedback\.json/,
    fault: { kind: 'answer', status: 500, body: '{"error":"no"}' },
  })
  expect((await say({ useful: false })).status).toBeGreaterThanOrEqual(500)
  takeBack()
  expect(await kept()).toEqual(before)
})

test('a question that follows an answer finds its stored answer again, for each reader, and names the answer before it', async () => {
  const followUp = { ...ask('What does requestToken need?'), after: answer.id }
  const first = (await post(here.url, followUp)).body
  expect(first).toMatchObject({ status: 'done', reused: false, after: answer.id })
  const again = (await post(here.url, followUp, { token: otherToken })).body
  expect(again).toMatchObject({ id: first.id, reused: true, after: answer.id })
  expect((await post(here.url, { ...followUp, thread: 'x' })).status).toBe(400)
  expect((await post(here.url, { ...followUp, after: 'x' })).status).toBe(400)
})
