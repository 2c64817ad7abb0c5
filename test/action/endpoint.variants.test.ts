// An answer through a deployed service: the job has no keys and proves its repository with a token that GitHub signs. The service here
// is the real one, its functions behind a plain server, on the same local clouds.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '../support/until.js'
import { type ActionStack, startActionStack } from './kit.js'

type Function = { fetch(request: Request): Promise<Response> }

let stack: ActionStack
let server: Server
const received: { method: string; url: string; status: number; authorization: string }[] = []
const keys = [
  'e2b-api-key',
  'drive9-api-key',
  'llm-api-key',
  'llm-model',
  'e2b-api-url',
  'e2b-sandbox-url',
  'drive9-server',
  'llm-base-url',
]
/** Makes the service promise the answer instead of giving it. */
let promise = false

beforeAll(async () => {
  stack = await startActionStack({
    files: [
      {
        'README.md': '# Tools\n',
        'src/token.ts': '/** Refreshes the token. */\nexport const refreshToken = () => 1\n',
      },
      { 'b.ts': 'export const b = 1\n' },
      { 'c.ts': 'export const c = 1\n' },
    ],
    repeated: { searchFor: 'How is the token refreshed?' },
    refs: { 'refs/pull/7/head': 0, 'refs/heads/base': 0 },
  })
  const [first, second, third] = stack.repository.commits
  stack.github.addPull(stack.onGitHub, {
    number: 7,
    head: { ref: 'topic', sha: first! },
    base: { ref: 'base', sha: first! },
  })
  stack.github.addPull(stack.onGitHub, {
    number: 8,
    head: { ref: 'fresh', sha: second! },
    base: { ref: 'base', sha: first! },
  })
  stack.github.addPull(stack.onGitHub, {
    number: 9,
    head: { ref: 'awaited', sha: third! },
    base: { ref: 'base', sha: first! },
  })
  const step = await stack.step({ event: stack.push({ sha: first!, ref: 'refs/heads/base' }) })
  expect(step.errors).toEqual([])
  server = createServer((incoming, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      const headers = new Headers(incoming.headers as Record<string, string>)
      if (promise && incoming.method === 'POST') headers.set('prefer', 'respond-async')
      const { method = 'GET', url = '' } = incoming
      const answer = await serve(
        new Request(rewritten(url), { method, headers, ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}) }),
      )
      received.push({ method, url, status: answer.status, authorization: headers.get('authorization') ?? '' })
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.end(Buffer.from(await answer.arrayBuffer()))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  Object.assign(process.env, stack.clouds.settings, {
    GITHUB_SERVER_URL: stack.remote.url,
    GITHUB_API_URL: stack.github.apiUrl,
    HANDOFF_OIDC_AUDIENCE: address(),
    HANDOFF_OIDC_REPOSITORIES: '*',
    HANDOFF_OIDC_ISSUER: stack.github.oidc.issuer,
  })
  ask = ((await import('../../api/ask.js')) as { default: Function }).default
  runs = ((await import('../../api/runs.js')) as { default: Function }).default
})

afterAll(async () => {
  server?.closeAllConnections()
  server?.close()
  await stack?.close()
})

beforeEach(() => {
  received.length = 0
  promise = false
  stack.github.runJob(stack.onGitHub)
})

let ask: Function
let runs: Function
const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const serve = (request: Request) => (new URL(request.url).pathname === '/api/ask' ? ask : runs).fetch(request)

/** As vercel.json has it. */
function rewritten(url: string): string {
  const match = /^\/api\/runs\/([^/?]+)\/answers\/([^/?]+)\??(.*)$/.exec(url)
  return `${address()}${match ? `/api/runs?run=${match[1]}&part=answers&answer=${match[2]}&${match[3]}` : url}`
}

const identity = () => ({
  ACTIONS_ID_TOKEN_REQUEST_URL: stack.github.oidc.requestUrl,
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: stack.github.oidc.requestToken,
})
const asked = (
  words: string,
  number = 7,
  environment: Record<string, string> = identity(),
  inputs: Record<string, string> = {},
) => {
  const question = stack.github.addComment(stack.onGitHub, number, 'writer', `/ask ${words}`)
  const event = { ...stack.github.eventOf(question), sha: stack.repository.commits[0]! }
  return {
    question,
    step: stack.step({ event, inputs: { endpoint: address(), ...inputs }, without: keys, environment }),
  }
}
const answerTo = (id: number) =>
  stack.github.comments.find((one) => one.body.startsWith(`<!-- handoff:ask v=1 comment=${id} `))

test('a question is answered without a key, by a token for this service alone', async () => {
  const { question, step } = asked('How is the token refreshed?')
  const { errors, outputs, raw } = await step
  expect(errors).toEqual([])
  expect(received.map(({ method, status }) => `${method} ${status}`)).toEqual(['POST 200'])
  expect(outputs).toMatchObject({ commit: stack.repository.commits[0], reused: 'false', model: 'offline-extractive' })
  const body = answerTo(question.id)!.body
  expect(body).toContain('state=done')
  expect(body).toContain(`/octo/tools/blob/${stack.repository.commits[0]}/src/token.ts#L`)
  const token = received[0]!.authorization.replace('Bearer ', '')
  expect(raw).toContain(`::add-mask::${token}`)
  expect(raw.replaceAll(`::add-mask::${token}`, '')).not.toContain(token)
})

test('a promised answer is fetched when it is there', async () => {
  promise = true
  const { question, step } = asked('What does refreshToken give back?')
  expect((await step).errors).toEqual([])
  expect(received[0]).toMatchObject({ method: 'POST', status: 202 })
  expect(received.slice(1).every(({ method, url }) => method === 'GET' && url.startsWith('/api/runs/'))).toBe(true)
  expect(answerTo(question.id)!.body).toContain('state=done')
})

test('before the head has a run, the base branch answers', async () => {
  const { question, step } = asked('How is the token refreshed now?', 8)
  expect((await step).errors).toEqual([])
  expect(answerTo(question.id)!.body).toContain('has no summary yet, so this is answered from the newest one of base.')
})

test('a run that is being made is waited for through the service too', async () => {
  const [, , third] = stack.repository.commits
  const { drive } = stack.clouds
  const runs = drive.tree('/handoff').find(({ path }) => path.endsWith('/octo/tools/runs'))!.path
  drive.write(`${runs}/${third}-began/.handoff-marker`, 'x')
  const { question, step } = asked('How does the token come to be refreshed?', 9, identity(), { 'wait-for-run': '60' })
  await until('the service was asked before there is a summary', () => received.length > 0)
  const summarising = stack.step({ event: stack.pull(9, third!) })
  expect([...(await step).errors, ...(await summarising).errors]).toEqual([])
  expect((await step).outputs['commit']).toBe(third)
  expect(answerTo(question.id)!.body).not.toContain('has no summary yet')
})

test('deadline-seconds ends the waiting for an answer that never comes', async () => {
  const accepted = { headers: { location: '/never', 'retry-after': '1' }, body: { status: 'running' } }
  const never = createServer((incoming, response) => {
    incoming.resume()
    response.writeHead(incoming.method === 'POST' ? 202 : 200, accepted.headers)
    response.end(JSON.stringify(accepted.body))
  })
  await new Promise<void>((resolve) => never.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(never.address() as AddressInfo).port}`
  const { question, step } = asked('Will this ever be answered?', 7, identity(), { endpoint, 'deadline-seconds': '3' })
  expect((await step).errors).toEqual([expect.stringMatching(/time/i)])
  expect(answerTo(question.id)!.body).toContain('state=failed')
  never.closeAllConnections()
  never.close()
})

test('without id-token: write the lines to add are printed, and the service is not asked', async () => {
  const { question, step } = asked('How is the token refreshed?', 7, {})
  const { errors, code } = await step
  expect(code).toBe(1)
  expect(errors).toEqual([
    expect.stringMatching(/may not ask GitHub for an identity token.*permissions: \{ id-token: write/),
  ])
  expect(received).toEqual([])
  expect(answerTo(question.id)!.body).toContain('state=failed')
})

test('a job of another repository is refused by the service, and reported so', async () => {
  const other = stack.github.addRepository({ name: 'octo/other' })
  stack.github.runJob(other)
  const { question, step } = asked('How is the token refreshed?')
  const { errors } = await step
  expect(received[0]).toMatchObject({ status: 403 })
  expect(errors.join()).toContain('The token may not see this repository.')
  expect(answerTo(question.id)!.body).toContain('state=failed')
})

test('a service that is not there is one clear error', async () => {
  const question = stack.github.addComment(stack.onGitHub, 7, 'writer', '/ask Is a service there?')
  const event = { ...stack.github.eventOf(question), sha: stack.repository.commits[0]! }
  const step = await stack.step({
    event,
    inputs: { endpoint: 'http://127.0.0.1:1' },
    without: keys,
    environment: identity(),
  })
  expect(step.errors).toEqual(['The service at 127.0.0.1:1 could not be reached. Check the input endpoint.'])
})

test('mode ask works through the service too', async () => {
  const step = await stack.step({
    event: { name: 'workflow_dispatch', payload: {}, sha: stack.repository.commits[0]! },
    inputs: { mode: 'ask', question: 'How is the token refreshed?', endpoint: address() },
    without: keys,
    environment: identity(),
  })
  expect(step.errors).toEqual([])
  expect(step.outputs['answer']).toContain('refreshToken')
})
