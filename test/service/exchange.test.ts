// A bug of ours, as callers see it: a problem document with an id to report, and nothing of the inside.
import { expect, test } from 'vitest'
import { HandoffError } from '../../src/handoff/domain/errors.js'
import { type Handler, serve } from '../../src/service/http/http-function.js'
import { installContexts, runInContext } from '../../src/service/server/request-context.js'

installContexts()

const manner = { name: 'test', corsOrigins: () => [], log: () => undefined, seconds: 5 }
const oops = new TypeError("Cannot read properties of undefined (reading 'secretPlace')")

test.each<[string, () => never | Promise<never>]>([
  [
    'thrown',
    () => {
      throw oops
    },
  ],
  ['rejected', () => Promise.reject(oops)],
  // What is thrown may be anything.
  ['a text', () => Promise.reject('secretPlace')],
])('500: %s', async (_how, handler) => {
  const response = await serve({ GET: handler }, manner).fetch(new Request('http://service.example/api/x'))
  const text = await response.text()
  expect(response.status).toBe(500)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect(JSON.parse(text)).toMatchObject({
    status: 500,
    code: 'internal',
    requestId: response.headers.get('x-request-id'),
    next: expect.stringContaining('request id'),
  })
  expect(text).not.toMatch(/secretPlace|TypeError|\bat\b .*:\d+/)
})

test.each([
  ['https://docs.example.org', true],
  ['https://other.example.org:8443', true],
  ['https://docs.example.org.evil.example', false],
  ['https://docs.example.or', false],
  ['https://docs.example.org:8443', false],
  ['https://other.example.org', false],
  ['http://docs.example.org', false],
  ['https://evil.example/https://docs.example.org', false],
  ['https://sub.docs.example.org', false],
  ['null', false],
])('a page of %s may read the answer: %s', async (origin, allowed) => {
  const corsOrigins = () => ['https://docs.example.org', 'https://other.example.org:8443']
  const service = serve({ GET: () => new Response('answer') }, { ...manner, corsOrigins })
  for (const method of ['GET', 'OPTIONS']) {
    const response = await service.fetch(new Request('http://service.example/api/x', { method, headers: { origin } }))
    expect(response.headers.get('access-control-allow-origin'), method).toBe(allowed ? origin : null)
    expect(response.headers.has('access-control-allow-methods'), method).toBe(allowed && method === 'OPTIONS')
    expect(response.headers.get('vary'), method).toContain('Origin')
  }
})

/** A function inside the platform: what its log says, and what the platform is asked to wait for. */
function onPlatform() {
  const lines: string[] = []
  const kept: Promise<unknown>[] = []
  const context = { headers: {}, waitUntil: (work: Promise<unknown>) => void kept.push(work) }
  return {
    kept,
    reported: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    ask: (handler: Handler) => {
      const service = serve({ GET: handler }, { ...manner, log: (fields) => void lines.push(JSON.stringify(fields)) })
      return runInContext(context, () => service.fetch(new Request('http://service.example/api/x')))
    },
  }
}

test('the caller has the answer before its log line is written, and the platform waits for the line', async () => {
  const { reported, kept, ask } = onPlatform()
  const response = await ask((exchange) => {
    exchange.note({ seen: 'something' })
    return new Response('answer')
  })
  expect(await response.text()).toBe('answer')
  expect(reported()).toEqual([])
  await Promise.all(kept)
  expect(reported()).toMatchObject([{ route: 'test', seen: 'something', status: 200 }])
})

test('of what fails behind the service the log has the sentence, cut; of what is the caller’s mistake only the code', async () => {
  const { reported, kept, ask } = onPlatform()
  const failures = [
    new HandoffError('drive', `drive9 answered ${'x'.repeat(600)}`),
    new HandoffError('unknown-version', 'It is of format version 2.'),
    new HandoffError('not-found', 'There is no such branch.'),
    new HandoffError('budget', 'The budget for today is spent.'),
  ]
  for (const failure of failures) await ask(() => Promise.reject(failure))
  await Promise.all(kept)
  expect(reported().map(({ status, code, detail, error }) => ({ status, code, detail, error }))).toEqual([
    { status: 502, code: 'drive', detail: `drive9 answered ${'x'.repeat(484)}` },
    { status: 501, code: 'unknown-version', detail: 'It is of format version 2.' },
    { status: 404, code: 'not-found' },
    { status: 429, code: 'budget' },
  ])
})

test('work that outlives its answer has a line of its own under the same id: what came of it, or why nothing did', async () => {
  const { reported, kept, ask } = onPlatform()
  const works: (() => Promise<Record<string, unknown>>)[] = [
    async () => ({ answer: 'a1' }),
    () => Promise.reject(new HandoffError('timeout', 'Out of time.')),
    () => Promise.reject(oops),
  ]
  const ids: unknown[] = []
  for (const work of works) {
    const response = await ask((exchange) => {
      exchange.logLater(work())
      return new Response(null, { status: 202 })
    })
    ids.push(response.headers.get('x-request-id'))
    await Promise.all(kept)
  }
  const later = reported().filter((line) => line['later'] === true)
  expect(later.map((line) => line['requestId'])).toEqual(ids)
  expect(later).toMatchObject([
    { answer: 'a1' },
    { code: 'timeout', detail: 'Out of time.' },
    { code: 'internal', error: expect.stringContaining('secretPlace') },
  ])
  expect(reported().filter((line) => line['later'] === undefined)).toHaveLength(3)
})
