// Every status that the service promises, where it belongs, as a problem document with a code that stays.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call, type Deployment, deploy, name, otherToken, post, sha256, token } from './kit.js'

let here: Deployment

beforeAll(async () => {
  here = await deploy({ quickFinds: true })
}, 120_000)

afterAll(async () => {
  await here?.close()
})

const good = () => ({ repository: name, run: here.run.run, question: 'How is the token refreshed?' })

async function problem(answer: Promise<{ status: number; headers: Headers; body: Record<string, unknown> }>) {
  const { status, headers, body } = await answer
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(body).toMatchObject({
    status,
    title: expect.any(String),
    detail: expect.any(String),
    requestId: headers.get('x-request-id'),
  })
  return { status, code: body['code'], detail: body['detail'], next: body['next'], headers }
}

test.each<[string, unknown]>([
  ['not JSON', '{"repository":'],
  ['nothing', ''],
  ['a list', []],
  ['null', null],
  ['no question', { repository: name, ref: 'main' }],
  ['an empty question', { repository: name, ref: 'main', question: ' ' }],
  ['a question of 4,001 characters', { repository: name, ref: 'main', question: 'x'.repeat(4_001) }],
  ['a question that is a number', { repository: name, ref: 'main', question: 7 }],
  ['a question with half a character', '{"repository":"octo/tools","ref":"main","question":"\\ud800"}'],
  ['nothing to ask about', { repository: name, question: 'What?' }],
  ['two things to ask about', { repository: name, ref: 'main', pull: 1, question: 'What?' }],
  ['a run that is none', { repository: name, run: '../../etc', question: 'What?' }],
  ['a commit cut short', { repository: name, commit: 'abc', question: 'What?' }],
  ['a tag', { repository: name, ref: 'refs/tags/v1', question: 'What?' }],
  ['a pull request below one', { repository: name, pull: 0, question: 'What?' }],
  ['a pull request that is a text', { repository: name, pull: '1', question: 'What?' }],
  ['a field that there is not', { repository: name, ref: 'main', question: 'What?', tenant: 'x' }],
  ['fresh that is a text', { repository: name, ref: 'main', question: 'What?', fresh: 'yes' }],
  ['a comment without a pull request', { repository: name, ref: 'main', question: 'What?', comment: true }],
  ['an unknown depth', { repository: name, ref: 'main', question: 'What?', depth: 'bottomless' }],
  ['a comparison with nothing', { repository: name, ref: 'main', question: 'What?', compareWith: {} }],
  ['a comparison with a text', { repository: name, ref: 'main', question: 'What?', compareWith: 'main' }],
  [
    'a comparison with a tag',
    { repository: name, ref: 'main', question: 'What?', compareWith: { ref: 'refs/tags/x' } },
  ],
  ['a model that is not offered', { repository: name, ref: 'main', question: 'What?', model: 'gpt-9' }],
])('400: %s', async (_what, body) => {
  expect(await problem(post(here.url, body))).toMatchObject({ status: 400, code: 'invalid-input' })
})

test('400: bytes that are no text, and a key that is none', async () => {
  const bytes = new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])
  const headers = { 'content-type': 'application/json' }
  expect(await problem(call(here.url, '/api/ask', { method: 'POST', body: bytes, headers }))).toMatchObject({
    status: 400,
  })
  expect(await problem(post(here.url, good(), { 'idempotency-key': 'x'.repeat(256) }))).toMatchObject({
    status: 400,
    code: 'invalid-input',
  })
})

test('401 with a challenge, 403', async () => {
  const anonymous = await problem(post(here.url, good(), {}, null))
  expect(anonymous).toMatchObject({ status: 401, code: 'unauthorized' })
  expect(anonymous.headers.get('www-authenticate')).toMatch(/^Bearer/)
  expect(await problem(post(here.url, good(), {}, otherToken))).toMatchObject({ status: 403, code: 'forbidden' })
})

test('404: a commit without a summary, a branch without one, an answer that is not there, an address that is none', async () => {
  const question = 'What?'
  expect(await problem(post(here.url, { repository: name, commit: 'b'.repeat(40), question }))).toMatchObject({
    status: 404,
    code: 'not-found',
    next: expect.any(String),
  })
  expect(await problem(post(here.url, { repository: name, ref: 'none', question }))).toMatchObject({
    status: 404,
    code: 'not-found',
  })
  const at = `/api/runs/${here.run.run}`
  expect(await problem(call(here.url, `${at}/answers/${'0'.repeat(32)}?repository=${name}`))).toMatchObject({
    status: 404,
    code: 'not-found',
  })
  for (const path of ['/api/nothing', '/api/_door', '/api/runs/a/b/c/d', '/api/ask/more', '/api/runs?part=none'])
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
      expect(await problem(call(here.url, path, { method })), path).toMatchObject({ status: 404, code: 'not-found' })
  expect((await call(here.url, '/nothing')).status).toBe(404)
})

test('404: a repository that the git host does not show', async () => {
  const all = await here.another({ HANDOFF_BEARERS: `team-a=${sha256(token)}=octo/*` })
  const asked = { repository: 'octo/typo', ref: 'main', question: 'What?' }
  expect(await problem(post(all.url, asked))).toMatchObject({ status: 404, code: 'not-found' })
  const listed = call(all.url, '/api/runs?repository=octo/typo&ref=main')
  expect(await problem(listed)).toMatchObject({ status: 404, code: 'not-found' })
  expect((await call(all.url, '/api/runs?ref=main')).status).toBe(400)
})

test.each([
  ['GET', '/api/ask', 'POST, OPTIONS'],
  ['PUT', '/api/ask', 'POST, OPTIONS'],
  ['DELETE', '/api/runs', 'GET, HEAD, OPTIONS'],
  ['POST', '/api/health', 'GET, HEAD, OPTIONS'],
  ['GET', '/api/github', 'POST, OPTIONS'],
  ['GET', '/api/sandboxes', 'POST, OPTIONS'],
])('405: %s %s', async (method, path, allow) => {
  const answer = await problem(call(here.url, path, { method }))
  expect(answer).toMatchObject({ status: 405, code: 'method-not-allowed', detail: `This address takes ${allow}.` })
  expect(answer.headers.get('allow')).toBe(allow)
})

test('HEAD is GET without a body, OPTIONS says what there is', async () => {
  const head = await call(here.url, '/api/health', { method: 'HEAD', token: null })
  expect({ status: head.status, body: head.body }).toEqual({ status: 200, body: '' })
  const options = await fetch(`${here.url}/api/runs`, { method: 'OPTIONS' })
  expect({ status: options.status, allow: options.headers.get('allow') }).toEqual({
    status: 204,
    allow: 'GET, DELETE, PATCH, HEAD, OPTIONS',
  })
})

test('406: a form that there is not', async () => {
  expect(await problem(post(here.url, good(), { accept: 'text/html' }))).toMatchObject({
    status: 406,
    code: 'not-acceptable',
    detail: 'Answers come as application/json or text/event-stream.',
  })
  const listed = call(here.url, '/api/runs', { headers: { accept: 'text/event-stream' } })
  expect(await problem(listed)).toMatchObject({ status: 406, detail: 'This address answers with application/json.' })
  expect(await problem(post(here.url, good(), { accept: 'application/json;q=0' }))).toMatchObject({ status: 406 })
})

test('409: a run that is not complete says when to come back', async () => {
  const other = 'c'.repeat(40)
  const { drive } = here.stack.clouds
  drive.write(`${here.run.directory.replace(/[^/]+$/, '')}${other}-1/.handoff-marker`, 'x')
  const answer = await problem(post(here.url, { repository: name, commit: other, question: 'What?' }))
  expect(answer).toMatchObject({ status: 409, code: 'not-sealed' })
  expect(answer.headers.get('retry-after')).toBe('30')
})

test('413: a body over what a question needs, and one over what the platform takes', async () => {
  expect(await problem(post(here.url, { ...good(), question: 'x'.repeat(100_001) }))).toMatchObject({
    status: 413,
    code: 'payload-too-large',
    detail: 'The body may have 100,000 bytes.',
  })
  const platform = await call(here.url, '/api/ask', { method: 'POST', body: 'x'.repeat(4_500_001) })
  expect({ status: platform.status, body: platform.body }).toEqual({
    status: 413,
    body: 'FUNCTION_PAYLOAD_TOO_LARGE\n',
  })
})

test('415: another type, a compressed body', async () => {
  const answer = await problem(post(here.url, good(), { 'content-type': 'text/plain' }))
  expect(answer).toMatchObject({
    status: 415,
    code: 'unsupported-media-type',
    detail: 'The body is to be application/json, not compressed.',
  })
  expect(answer.headers.get('accept')).toBe('application/json')
  expect(await problem(post(here.url, good(), { 'content-encoding': 'gzip' }))).toMatchObject({ status: 415 })
})

test('502: what a corrupt run, a failing directory and a failing model are', async () => {
  const { drive, model } = here.stack.clouds
  const handoff = `${here.run.directory}/analysis/handoff.json`
  const bytes = drive.readFile(handoff)!
  drive.write(handoff, Buffer.concat([bytes, Buffer.from(' ')]))
  expect(await problem(post(here.url, good()))).toMatchObject({ status: 502, code: 'corrupt' })
  drive.write(handoff, bytes)
  const calls = () => model.requests.filter(({ path }) => path.endsWith('/completions')).length
  const asked = calls()
  const takeBack = model.setBehaviour({ kind: 'broken', status: 500 })
  expect(await problem(post(here.url, { ...good(), question: 'What fails?' }))).toMatchObject({
    status: 502,
    code: 'model',
  })
  expect(calls() - asked, 'the call, and one more').toBe(2)
  takeBack()
  const remove = drive.rule({ path: /\/v1\/fs/, fault: { kind: 'answer', status: 403, body: '{"error":"no"}' } })
  const refused = await problem(post(here.url, { ...good(), question: 'What is refused?' }))
  remove()
  expect(refused).toMatchObject({ status: 502, code: 'drive' })
  // A key that is refused is refused again.
  expect(refused.headers.get('retry-after')).toBe(null)
  const takeDown = drive.rule({ path: /\/v1\/fs/, fault: { kind: 'answer', status: 500, body: '{"error":"down"}' } })
  const down = await problem(post(here.url, { ...good(), question: 'What is down?' }))
  takeDown()
  expect(down).toMatchObject({ status: 502, code: 'drive' })
  expect(down.headers.get('retry-after')).toBe('10')
})

test('501: a run written by a newer handoff', async () => {
  const { drive } = here.stack.clouds
  const pointer = `/handoff/${here.where.host.replace(':', '_')}/${name}/commits/${here.repository.head}.json`
  const bytes = drive.readFile(pointer)!
  drive.write(pointer, bytes.toString().replace('"version": 1', '"version": 2'))
  expect(await problem(post(here.url, good()))).toMatchObject({ status: 501, code: 'unknown-version' })
  drive.write(pointer, bytes)
})

test('503: settings are missing, and the account has no more sandboxes', async () => {
  const bare = await here.another({ LLM_API_KEY: '', E2B_API_KEY: '' })
  const stored = { ...good(), question: 'What is answered without keys?' }
  expect(await problem(post(bare.url, stored))).toMatchObject({ status: 503, code: 'missing-setting' })
  // What is stored needs drive9 and the name of the model only.
  expect((await post(here.url, stored)).status).toBe(200)
  expect(await post(bare.url, stored)).toMatchObject({ status: 200, body: { reused: true } })
  const { account } = here.stack.clouds.sandboxes
  const most = account.concurrentLimit
  account.concurrentLimit = 0
  // A request that has little time waits a part of it for room in the account.
  const short = await here.another({}, 8)
  const full = await problem(post(short.url, { ...good(), question: 'What about limits?' }))
  account.concurrentLimit = most
  expect(full).toMatchObject({ status: 503, code: 'sandbox-limit' })
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0)
})

test('503: a model that is busy says when to come back', async () => {
  const takeBack = here.stack.clouds.model.setBehaviour({ kind: 'busy', retryAfter: '30' })
  const answer = await problem(post(here.url, { ...good(), question: 'Is the model there?' }))
  takeBack()
  expect(answer).toMatchObject({ status: 503, code: 'model-limit' })
  expect(answer.headers.get('retry-after')).toBe('30')
})

test('a model that is offered is the one that is asked', async () => {
  const usual = here.environment['LLM_MODEL']!
  const other = await here.another({ LLM_MODEL: 'a-model-that-is-gone', HANDOFF_MODELS: usual })
  const chosen = await post(other.url, { ...good(), question: 'Who answers this?', model: usual })
  expect({ status: chosen.status, model: chosen.body.model }).toEqual({ status: 200, model: usual })
  const gone = await problem(post(other.url, { ...good(), question: 'Who answers that?' }))
  expect(gone).toMatchObject({ status: 502, code: 'model' })
})

test('507: the directory has no room', async () => {
  const { drive } = here.stack.clouds
  const remove = drive.rule({
    method: 'PUT',
    path: /\/qa\//,
    fault: { kind: 'answer', status: 507, body: '{"error":"storage quota exceeded"}' },
  })
  const answer = await problem(post(here.url, { ...good(), question: 'Is there room?' }))
  remove()
  expect(answer).toMatchObject({ status: 507, code: 'drive-quota' })
})

test('no sandbox is left of all this', () => {
  expect(here.living()).toBe(0)
})
