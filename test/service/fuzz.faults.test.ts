// Malformed requests: whatever comes, no 5xx and no sandbox.

import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.js'
import { type Deployment, deploy, name, token } from './kit.js'

const count = process.env['LONG'] === '1' ? 10_000 : 500
let here: Deployment

beforeAll(async () => {
  here = await deploy({ environment: { HANDOFF_WEBHOOK_SECRETS: 'a-secret-of-the-webhook' } })
}, 200_000)

afterAll(async () => {
  await here?.close()
})

/** The same numbers from the same seed, so that a failure can be had again. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Attempt {
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer
}

const bodies = (pick: <T>(list: T[]) => T, random: () => number): Buffer => {
  const texts = [
    '',
    '{}',
    '[]',
    'null',
    '7',
    '{"repository":1}',
    `{"repository":"${name}"}`,
    `{"repository":"${name}","question":"What?"}`,
    `{"repository":"${name}","ref":"${'../'.repeat(20)}","question":"What?"}`,
    `{"repository":"${name}","ref":"none-${Math.floor(random() * 1e6)}","question":"What?"}`,
    `{"repository":"${name}","run":"${'a'.repeat(40)}-${pick(['1', '', '../', 'x'.repeat(100)])}","question":"What?"}`,
    `{"repository":"${name}","commit":"${pick(['b'.repeat(40), 'B'.repeat(40), 'x'])}","question":"\\u0000"}`,
    `{"repository":"../../x","ref":"main","question":"What?"}`,
    `{"repository":"octo/tools/../../other/x","ref":"main","question":"What?"}`,
    `{"repository":"${name}","pull":${pick(['-1', '1e99', '0.5', '999999', 'null', '"1"'])},"question":"What?"}`,
    `{"__proto__":{"admin":true},"repository":"${name}","ref":"none","question":"What?"}`,
    `{"repository":"${name}","ref":"none","question":${JSON.stringify('\ud800'.repeat(3))}}`,
    `{"repository":"${name}","ref":"${'n'.repeat(900)}","question":"What?"}`,
    '{"a":'.repeat(3_000),
    `"${'x'.repeat(50_000)}"`,
  ]
  if (random() < 0.2) return Buffer.from(Array.from({ length: 40 }, () => Math.floor(random() * 256)))
  return Buffer.from(pick(texts))
}

function attempt(seed: number): Attempt {
  const random = chance(seed)
  const pick = <T>(list: T[]): T => list[Math.floor(random() * list.length)]!
  const headers: Record<string, string> = {}
  const set = (key: string, values: string[], likely = 0.6) => {
    if (random() < likely) headers[key] = pick(values)
  }
  set(
    'authorization',
    [`Bearer ${token}`, `Bearer ${token}`, `Bearer ${token}`, 'Bearer x', 'Basic eA==', 'Bearer a.b.c', ''],
    0.9,
  )
  set(
    'content-type',
    ['application/json', 'application/json', 'text/plain', 'application/json; charset=utf-16', 'x', ''],
    0.9,
  )
  set('accept', ['application/json', 'text/event-stream', '*/*', 'text/html', ';;;', 'application/json;q=x', ',,'])
  set('prefer', ['respond-async', 'respond-async, wait=10', 'return=minimal', '"'], 0.3)
  set('idempotency-key', ['k', '"k"', '', 'x'.repeat(300), 'a b'], 0.2)
  set('traceparent', ['00-0-0-0', 'x'.repeat(500)], 0.2)
  set('content-encoding', ['gzip', 'identity', 'br'], 0.1)
  set('origin', ['null', 'https://evil.example.org'], 0.2)
  set('x-hub-signature-256', ['sha256=00', 'sha1=00', 'sha256='.padEnd(71, 'a')], 0.2)
  set('x-github-event', ['issue_comment', 'push', ''], 0.2)
  const run = pick([
    `${'a'.repeat(40)}-1`,
    here.run.run,
    '%2e%2e',
    '%00',
    '%ff',
    '..%2f..',
    'x'.repeat(2_000),
    '%F0%9F',
  ])
  const path = pick([
    '/api/ask',
    '/api/ask',
    '/api/ask?x=1',
    '/api/runs',
    `/api/runs?repository=${pick([encodeURIComponent(name), '..%2f..', '%00', 'x', ''])}&limit=${pick(['1', '-1', 'x', '1e9'])}&cursor=${pick(['', 'AAAA', '%ff', 'x'.repeat(3_000)])}`,
    `/api/runs/${run}?repository=${encodeURIComponent(name)}`,
    `/api/runs/${run}/answers?repository=${encodeURIComponent(name)}`,
    `/api/runs/${run}/answers/${pick(['0'.repeat(32), 'x', '%00'])}?repository=${encodeURIComponent(name)}`,
    `/api/runs/${run}/files?repository=${encodeURIComponent(name)}&path=${pick(['..%2f..%2fetc', '', 'src'])}&from=${pick(['1', '-1', 'x', '9e99'])}`,
    `/api/runs?run=${run}&part=${pick(['answers', 'files', '__proto__', ''])}&repository=${encodeURIComponent(name)}`,
    '/api/github',
    '/api/sandboxes',
    '/api/health',
    '/api/openapi',
    '/api/cron',
    '/api/_door',
    '/api//ask',
    '/api/ask/',
    '/api/../api/ask',
    '/%',
    '/api/constructor',
  ])
  const method = pick([
    'POST',
    'POST',
    'POST',
    'GET',
    'GET',
    'PUT',
    'DELETE',
    'PATCH',
    'OPTIONS',
    'HEAD',
    'PROPFIND',
    'TRACE',
  ])
  return { method, path, headers, body: bodies(pick, random) }
}

function send({ method, path, headers, body }: Attempt): Promise<number> {
  return new Promise((resolve, reject) => {
    const withBody = method !== 'GET' && method !== 'HEAD' && method !== 'TRACE'
    const request = httpRequest(
      `${here.url}/`,
      { method, path, headers: { ...headers, ...(withBody ? { 'content-length': String(body.length) } : {}) } },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    request.on('error', reject)
    request.end(withBody ? body : undefined)
  })
}

test(`${count} malformed requests: no 5xx, no sandbox`, async () => {
  const before = here.machines()
  const wrong: string[] = []
  const seeds = Array.from({ length: count }, (_none, index) => index + 1)
  const work = async () => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      const one = attempt(seed)
      const status = await send(one)
      if (status >= 500 || status === 0) wrong.push(`seed ${seed}: ${status} for ${one.method} ${one.path}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  expect(wrong).toEqual([])
  expect(here.machines()).toBe(before)
  await until('nothing is left in the background', async () => (await here.functions.state()).pending === 0)
}, 300_000)
