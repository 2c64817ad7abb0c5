// A question over HTTP in three ways, against the built functions.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.js'
import { call, type Deployment, deploy, events, logged, name, post } from './kit.js'

let here: Deployment

beforeAll(async () => {
  here = await deploy()
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

test('an answer in one piece, with its citations, the lines behind them, and its times', async () => {
  const { status, headers, body } = await post(here.url, ask('How is the token refreshed?'))
  expect(status).toBe(200)
  expect(body).toMatchObject({
    status: 'done',
    repository: name,
    run: here.run.run,
    reused: false,
    question: 'How is the token refreshed?',
  })
  expect(body.citations.length).toBeGreaterThan(0)
  const [citation] = body.citations
  expect(citation.url).toContain(`/octo/tools/blob/${here.repository.head}/`)
  const lines = body.code.find((one: { path: string }) => one.path === citation.path)
  expect(lines.lines.length).toBeGreaterThan(0)
  expect(headers.get('server-timing')).toMatch(/open-sandbox;dur=\d+.*find;dur=\d+/)
  expect(headers.get('x-request-id')).toMatch(/^\S{10,}$/)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(here.living()).toBe(0)
})

test('the same question again is answered from the answer store: no machine', async () => {
  await post(here.url, ask('How does refreshToken work?'))
  const before = here.machines()
  const { body } = await post(here.url, ask('  how does refreshToken work ?'))
  expect({ reused: body.reused, machines: here.machines() - before }).toEqual({ reused: true, machines: 0 })
})

test('a deep question says what it costs at most, and the answer that it was deep', async () => {
  const { events: found } = await events(here.url, ask('What does requestToken return?', { depth: 'deep' }))
  const limit = found.find(({ data }) => data.state === 'limit')
  expect(limit?.data).toMatchObject({ depth: 'deep', calls: expect.any(Number), tokens: expect.any(Number) })
  const { body } = await post(here.url, ask('What does requestToken return?', { depth: 'deep' }))
  expect(body).toMatchObject({ depth: 'deep', reused: true })
})

test('as events: what happens, the words, one end', async () => {
  const { response, events: found } = await events(here.url, ask('What does requestToken need?'))
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-cache, no-transform')
  expect(found[0]).toMatchObject({ event: 'status', data: { state: 'looking' } })
  // Where a client can continue after each word.
  const words = found.filter(({ event }) => event === 'token')
  const places = words.map((_word, index) =>
    words.slice(0, index + 1).reduce((sum, { data }) => sum + data.text.length, 0),
  )
  expect(words.map(({ id }) => id.replace(/^[a-z0-9]+-/, ''))).toEqual(places.map(String))
  expect(found.filter(({ event, id }) => event !== 'token' && id !== '')).toEqual([])
  const states = found.filter(({ event }) => event === 'status').map(({ data }) => data.state)
  expect(states).toEqual(expect.arrayContaining(['accepted', 'sandbox-open', 'found', 'sandbox-gone']))
  const place = found.findIndex(({ data }) => data.state === 'found')
  expect(found[place]?.data.first).toEqual({
    path: expect.any(String),
    from: expect.any(Number),
    to: expect.any(Number),
  })
  const { citations } = found.at(-1)!.data
  expect(citations.map(({ path }: { path: string }) => path)).toContain(found[place]?.data.first.path)
  expect(found.findIndex(({ event }) => event === 'token')).toBeGreaterThan(place)
  expect(found.filter(({ event }) => event === 'usage')).toHaveLength(1)
  expect(found.filter(({ event }) => event === 'answer' || event === 'error')).toHaveLength(1)
  expect(found.at(-1)).toMatchObject({ event: 'answer', data: { status: 'done', reused: false } })
})

test('later: 202 with a place to look, and the answer there', async () => {
  const asked = ask('Which colour is it?')
  const { status, headers, body } = await post(here.url, asked, { prefer: 'respond-async' })
  expect(status).toBe(202)
  expect(body).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/), run: here.run.run })
  expect(headers.get('location')).toBe(body.self)
  expect(headers.get('retry-after')).toBe('2')
  expect(headers.get('preference-applied')).toBe('respond-async')
  const done = await until(
    'the answer',
    async () => {
      const looked = await call(here.url, body.self)
      expect(looked.status).toBe(200)
      return looked.body.status === 'done' ? looked.body : undefined
    },
    15_000,
  )
  expect(done).toMatchObject({ id: body.id, status: 'done' })
  const again = await post(here.url, asked, { prefer: 'respond-async' })
  expect({ status: again.status, id: again.body.id }).toEqual({ status: 200, id: body.id })
  const { inputTokens, outputTokens } = done.usage
  expect([inputTokens, outputTokens]).toEqual([expect.any(Number), expect.any(Number)])
  const line = await until('the log of the job', () =>
    logged(here.functions).find((one) => one['route'] === 'job' && one['answer'] === body.id),
  )
  expect(line).toMatchObject({ delivery: 1, reused: false })
})

test('by branch and by commit the same run answers', async () => {
  const question = 'What does refreshToken return?'
  await post(here.url, ask(question))
  const branch = await post(here.url, { repository: name, ref: 'main', question })
  const commit = await post(here.url, { repository: name, commit: here.repository.head, question })
  expect([branch.body.run, commit.body.run]).toEqual([here.run.run, here.run.run])
  expect([branch.body.reused, commit.body.reused]).toEqual([true, true])
})

test('fresh answers again', async () => {
  await post(here.url, ask('Which colour is shown?'))
  const before = here.machines()
  const { body } = await post(here.url, ask('Which colour is shown?', { fresh: true }))
  expect({ reused: body.reused, machines: here.machines() - before }).toEqual({ reused: false, machines: 1 })
})

test('ten ask the same at once, in all ways: one machine, the same answer for all', async () => {
  const before = here.machines()
  const asked = ask('Where is the hour used?')
  const answers = await Promise.all([
    ...Array.from({ length: 5 }, () => post(here.url, asked).then(({ body }) => body.id)),
    ...Array.from({ length: 3 }, () => events(here.url, asked).then(({ events: found }) => found.at(-1)!.data.id)),
    ...Array.from({ length: 2 }, () => post(here.url, asked, { prefer: 'respond-async' }).then(({ body }) => body.id)),
  ])
  expect(new Set(answers).size).toBe(1)
  expect(answers[0]).toMatch(/^[0-9a-f]{32}$/)
  expect(here.machines() - before).toBe(1)
})

test('a trace goes through, and every request has one line in the log without a secret', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const { requests } = here.stack.clouds.model
  const from = requests.length
  const { headers } = await post(here.url, ask('Which colour is traced?'), { traceparent })
  expect(headers.get('traceparent')).toBe(traceparent)
  // The model is asked for words to look for, then for the answer.
  const asked = requests.slice(from).filter(({ method }) => method === 'POST')
  expect(asked.map((request) => request.headers['traceparent'])).toEqual([traceparent, traceparent])
  const line = await until('the line', () =>
    here.functions.lines.find((one) => one.includes('0af7651916cd43dd8448eb211c80319c')),
  )
  expect(JSON.parse(line)).toMatchObject({
    route: 'ask',
    method: 'POST',
    status: 200,
    caller: 'bearer:team-a',
    requestId: headers.get('x-request-id'),
  })
  const unsampled = '00-00000000000000000000000000000000-b7ad6b7169203331-01'
  expect(
    (await post(here.url, ask('Which colour is traced?'), { traceparent: unsampled })).headers.get('traceparent'),
  ).toBeNull()
  const text = here.functions.lines.join('\n')
  for (const secret of [
    here.environment['E2B_API_KEY']!,
    here.environment['DRIVE9_API_KEY']!,
    here.environment['LLM_API_KEY']!,
  ])
    expect(text).not.toContain(secret)
})
