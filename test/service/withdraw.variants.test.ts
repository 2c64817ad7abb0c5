// DELETE takes a question back: its machine ends, each waiter gets an event, and asking again works. What does not change has a tag.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.js'
import { call, type Deployment, deploy, name, otherToken, post, recordOf, sha256, token } from './kit.js'

let here: Deployment

beforeAll(async () => {
  const bearers = `a=${sha256(token)}=octo/tools; b=${sha256(otherToken)}=octo/tools`
  here = await deploy({ environment: { HANDOFF_BEARERS: bearers } })
}, 120_000)

afterAll(async () => {
  await here?.close()
})

const ask = (question: string) => ({ repository: name, run: here.run.run, question })

async function running(question: string) {
  const takeBack = here.stack.clouds.model.rule({ fault: { kind: 'delay', milliseconds: 15_000 } })
  const folder = `/api/runs/${here.run.run}/answers?repository=${encodeURIComponent(name)}`
  const waiting = post(here.url, ask(question))
  const self = await until(
    'the question is being answered',
    async () => {
      const { answers } = (await call(here.url, folder)).body
      return answers.find((one: { question: string; status: string }) => one.question === question)?.self as string
    },
    20_000,
  )
  await until('the sandbox is there', () => here.living() > 0, 20_000)
  return { self, waiting, takeBack }
}

test('the machine ends, the waiter gets an error, the record says so, and asking again gets an answer', async () => {
  const question = 'Which question is taken back?'
  const { self, waiting, takeBack } = await running(question)
  const removed = await call(here.url, self, { method: 'DELETE' })
  expect({ status: removed.status, body: removed.body }).toEqual({ status: 204, body: '' })
  const answer = await waiting
  expect(answer).toMatchObject({ status: 409, body: { code: 'withdrawn' } })
  await until('the sandbox is gone', () => here.living() === 0, 10_000)
  const id = /answers\/([0-9a-f]{32})/.exec(self)![1]!
  expect(recordOf(here, id)).toMatchObject({ status: 'failed', error: { code: 'withdrawn' } })
  takeBack()
  expect((await post(here.url, ask(question))).status).toBe(200)
})

test('another caller cannot, and an answer that is there stays', async () => {
  const { self, waiting, takeBack } = await running('Which question stays?')
  expect((await call(here.url, self, { method: 'DELETE', token: otherToken })).status).toBe(403)
  await call(here.url, self, { method: 'DELETE' })
  await waiting
  takeBack()
  const { body } = await post(here.url, ask('How is the token refreshed?'))
  expect((await call(here.url, body.self, { method: 'DELETE' })).status).toBe(409)
  expect((await call(here.url, body.self)).body.status).toBe('done')
  const missing = body.self.replace(body.id, '0'.repeat(32))
  expect((await call(here.url, missing, { method: 'DELETE' })).status).toBe(404)
})

test('a run, an answer, its lines and the description have tags, and a client that has them gets nothing again', async () => {
  const { body } = await post(here.url, ask('How is the token refreshed?'))
  const [{ path, from, to }] = body.citations
  const run = `/api/runs/${here.run.run}`
  const of = `?repository=${encodeURIComponent(name)}`
  const lines = `${run}/files${of}&path=${path}&from=${from}&to=${to}&answer=${body.id}`
  for (const address of [`${run}${of}`, body.self, lines, '/api/openapi']) {
    const first = await call(here.url, address)
    const etag = first.headers.get('etag') ?? ''
    expect({ status: first.status, etag }).toEqual({ status: 200, etag: expect.stringMatching(/^"[\w-]{27}"$/) })
    const again = await call(here.url, address, { headers: { 'if-none-match': `W/"x", ${etag}` } })
    expect({ status: again.status, body: again.body, etag: again.headers.get('etag') }).toEqual({
      status: 304,
      body: '',
      etag,
    })
    expect((await call(here.url, address, { headers: { 'if-none-match': '"x"' } })).status).toBe(200)
  }
})
