// What the Action takes from a deployed service: answers of its own address, and an account of what went wrong. The service here is a plain server
// that answers what a test wants.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Job } from '../../src/action/job-context.js'
import { remoteAnswerSource } from '../../src/action/remote-answer-source.js'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import { type ErrorCode, type HandoffError, isHandoffError } from '../../src/handoff/domain/errors.js'

let github: LocalGitHub
let service: Server
let elsewhere: Server
let answer: RequestListener
const strayed: string[] = []

const listening = (handler: RequestListener) =>
  new Promise<Server>((resolve) => {
    const server = createServer(handler).listen(0, '127.0.0.1', () => resolve(server))
  })
const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

beforeAll(async () => {
  github = await startGitHub()
  service = await listening((request, response) => answer(request, response))
  elsewhere = await listening((request, response) => {
    strayed.push(`${request.method} ${request.headers['authorization']}`)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"failed"}')
  })
})

afterEach(() => {
  strayed.length = 0
})

afterAll(async () => {
  await github.close()
  for (const server of [service, elsewhere]) {
    server.closeAllConnections()
    server.close()
  }
})

/** The error of a question that the service answers as `answer` says. */
async function refusal(): Promise<ReturnType<HandoffError['toJSON']>> {
  const job = {
    options: { endpoint: addressOf(service), waitSeconds: 0 },
    context: { repository: 'octo/tools' },
    signal: new AbortController().signal,
    runner: { mask: () => undefined },
    environment: {
      ACTIONS_ID_TOKEN_REQUEST_URL: github.oidc.requestUrl,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: github.oidc.requestToken,
    },
  } as unknown as Job
  const inquiry = { text: 'Why?', asker: 'octocat', places: [{ name: { commit: 'a'.repeat(40) } }] }
  const error = await remoteAnswerSource(job)
    .ask(inquiry, () => undefined)
    .catch((reason: unknown) => reason)
  if (isHandoffError(error)) return error.toJSON()
  throw new Error('the service was believed', { cause: error })
}

test.each(['/api/runs/x', ''])(
  'a promise at another origin is not fetched: the token stays (path %j)',
  async (path) => {
    answer = (_request, response) => response.writeHead(202, { location: `${addressOf(elsewhere)}${path}` }).end('{}')
    expect(await refusal()).toMatchObject({ code: 'git', message: expect.stringContaining('sends us somewhere else') })
    expect(strayed).toEqual([])
  },
)

test.each([301, 302, 303, 307, 308])('a redirection is not followed: %i', async (status) => {
  answer = (_request, response) => response.writeHead(status, { location: addressOf(elsewhere) }).end()
  expect(await refusal()).toMatchObject({ code: 'git', message: expect.stringContaining('could not be reached') })
  expect(strayed).toEqual([])
})

test('a redirection of a promised answer is not followed', async () => {
  answer = ({ method }, response) => {
    if (method === 'POST') response.writeHead(202, { location: '/api/runs/x', 'retry-after': '1' }).end('{}')
    else response.writeHead(302, { location: addressOf(elsewhere) }).end()
  }
  expect(await refusal()).toMatchObject({ code: 'git', message: expect.stringContaining('could not be reached') })
  expect(strayed).toEqual([])
})

/** Every code there is: the compiler refuses a table that misses one. */
const codes: Record<ErrorCode, true> = {
  'invalid-input': true,
  'missing-setting': true,
  unauthorized: true,
  forbidden: true,
  'not-found': true,
  'not-sealed': true,
  'unknown-version': true,
  corrupt: true,
  conflict: true,
  'in-progress': true,
  sandbox: true,
  'sandbox-limit': true,
  drive: true,
  'drive-quota': true,
  withdrawn: true,
  git: true,
  model: true,
  'model-limit': true,
  budget: true,
  timeout: true,
  cancelled: true,
}

test.each(Object.keys(codes))('the code %s of the service is the code of the error', async (code) => {
  // No code follows from this status, so what arrives was read from the body.
  const status = code === 'git' ? 403 : 418
  const problem = { code, detail: 'So it went.', next: 'Do that.' }
  answer = (_request, response) => response.writeHead(status, { 'retry-after': '7' }).end(JSON.stringify(problem))
  expect(await refusal()).toMatchObject({ code, message: 'So it went.', next: 'Do that.', retryAfterSeconds: 7 })
})

test.each(['internal', '__proto__', 'constructor', '', 7, null])(
  'a code that is none of ours, %j, is not taken',
  async (code) => {
    answer = (_request, response) => response.writeHead(403).end(JSON.stringify({ code }))
    expect(await refusal()).toMatchObject({ code: 'forbidden' })
  },
)
