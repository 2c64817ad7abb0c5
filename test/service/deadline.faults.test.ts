// Every function under the deadline that the platform says as Vercel says it, a string in RFC 3339: far, near, absent and past. And when a
// request is over, nothing of its time limits is left.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import type { Pull, Repository } from '../../src/emulators/github/state.js'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { until } from '../support/until.js'
import { call, type Deployment, deploy, events, name, post, webhookSecrets } from './kit.js'

let here: Deployment
let github: LocalGitHub
let repository: Repository
let pull: Pull
let functions: RunningFunctions

beforeAll(async () => {
  github = await startGitHub()
  repository = github.addRepository({ name, app: true, collaborators: { wanda: 'write' } })
  here = await deploy({
    quickFinds: true,
    withoutFunctions: true,
    repositoryId: String(repository.id),
    environment: {
      GITHUB_API_URL: github.apiUrl,
      HANDOFF_GITHUB_TOKEN: github.issueToken({
        permissions: { contents: 'read', issues: 'write', pull_requests: 'write' },
      }),
      HANDOFF_WEBHOOK_SECRETS: webhookSecrets.join(','),
    },
  })
  pull = github.addPull(repository, { author: 'wanda', head: { ref: 'x', sha: here.run.handoff.commit } })
  await here.repository.git('update-ref', `refs/pull/${pull.number}/head`, here.run.handoff.commit)
}, 200_000)

afterAll(async () => {
  await here?.close()
  await github?.close()
})

let asked = 0
/** Each time another question: none is answered from what is stored. */
const ask = () => {
  asked += 1
  return { repository: name, run: here.run.run, question: `What is thing number ${asked}?` }
}

const delivered = () => {
  asked += 1
  const comment = github.addComment(repository, pull.number, 'wanda', `/ask What is comment ${asked}?`)
  return github.deliver(`${functions.url}/api/github`, github.eventOf(comment), { secret: webhookSecrets[0]! })
}

async function lastEvent() {
  const { events: found } = await events(functions.url, ask())
  const ends = found.filter(({ event }) => event === 'answer' || event === 'error')
  expect(ends).toHaveLength(1)
  return ends[0]!
}

const doneAt = (self: string) => async () => (await call(functions.url, self)).body.status === 'done'

describe.each([
  ['far', { inSeconds: 300 } as const],
  ['absent', 'absent' as const],
])('a deadline that is %s', (_how, deadline) => {
  // The first instance of the file waits for the build of the functions.
  beforeAll(async () => {
    functions = await here.another({}, undefined, deadline)
  }, 200_000)

  test('a question in one piece, in events, and in the background is answered', async () => {
    expect(await post(functions.url, ask())).toMatchObject({ status: 200, body: { status: 'done' } })
    expect(await lastEvent()).toMatchObject({ event: 'answer', data: { status: 'done' } })
    const { status, body } = await post(functions.url, ask(), { prefer: 'respond-async' })
    expect(status).toBe(202)
    await until('the answer', doneAt(body.self))
  })

  test('a comment is answered', async () => {
    expect((await delivered()).status).toBe(202)
    const ours = () =>
      github.visibleComments(repository, pull.number).filter((comment) => comment.author.type === 'Bot')
    const question = `What is comment ${asked}?`
    const done = ({ body }: { body: string }) => body.includes(question) && body.includes('state=done')
    await until('the answer below it', () => ours().some(done))
  })

  test('runs, health in depth and the description answer', async () => {
    expect((await call(functions.url, `/api/runs?repository=${name}`)).status).toBe(200)
    expect(await call(functions.url, '/api/health')).toMatchObject({ status: 200 })
    const well = { status: 'ok', drive: { status: 'ok' }, sandboxes: { status: 'ok' } }
    expect(await call(functions.url, '/api/health?deep=1')).toMatchObject({ status: 200, body: well })
    expect((await call(functions.url, '/api/openapi')).status).toBe(200)
  })
})

describe('a deadline that is near', () => {
  beforeAll(async () => {
    functions = await here.another({}, undefined, { inSeconds: 4 })
  })

  test('what takes longer is handed to a job in time: in one piece with 202, in events with the place of the answer', async () => {
    // Longer than the request has, and not so long that the job has to wait for it.
    const slow = { path: /chat\/completions/, fault: { kind: 'delay', milliseconds: 6_000 } } as const
    const takeBack = here.stack.clouds.model.rule(slow)
    const first = await post(functions.url, ask())
    const last = await lastEvent()
    takeBack()
    expect(first).toMatchObject({ status: 202, body: { self: expect.stringContaining('/answers/') } })
    expect(last).toMatchObject({ event: 'error', data: { status: 504, self: expect.stringContaining('/answers/') } })
    for (const { self } of [first.body, last.data]) await until('the answer', doneAt(self))
  }, 90_000)
})

describe('a deadline that is past', () => {
  beforeAll(async () => {
    functions = await here.another({}, undefined, { inSeconds: -1 })
  })

  test('no machine is started, and each learns that there is no time', async () => {
    const before = here.machines()
    const timeout = { status: 504, body: { code: 'timeout' } }
    expect(await post(functions.url, ask())).toMatchObject(timeout)
    expect(await post(functions.url, ask(), { prefer: 'respond-async' })).toMatchObject(timeout)
    // A stream that has not begun is refused by its status.
    expect((await events(functions.url, ask())).response.status).toBe(504)
    expect(await call(functions.url, `/api/runs?repository=${name}`)).toMatchObject(timeout)
    expect((await call(functions.url, '/api/health?deep=1')).status).toBe(503)
    expect((await call(functions.url, '/api/health')).status).toBe(200)
    expect(here.machines()).toBe(before)
  })
})

test('of requests that are over no time limit is left, however they ended', async () => {
  functions = await here.another()
  const each = async () => {
    await post(functions.url, ask())
    await post(functions.url, 'x', {}, null)
    await lastEvent()
    const { body } = await post(functions.url, ask(), { prefer: 'respond-async' })
    await until('the answer', doneAt(body.self))
    await delivered()
    await call(functions.url, '/api/health?deep=1')
    await until('the background is quiet', async () => (await functions.state()).pending === 0)
  }
  await functions.timers()
  for (let more = 0; more < 2; more += 1) await each()
  await until('no time limit is left', async () => (await functions.timers()) === 0)
}, 120_000)
