// What a stranger sends is refused, and costs nothing: no file, no sandbox, no model, one question to GitHub at most, and no memory. And a crowd of
// callers that may ask is answered, or learns when to come back, by one process with few descriptors.
import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import type { Repository } from '../../src/emulators/github/state.js'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { layout } from '../../src/handoff/domain/run.js'
import { mapConcurrent } from '../../src/handoff/util/map-concurrent.js'
import { type Deployment, deploy, name, post, webhookSecrets } from '../service/kit.js'
import { startServerProcess, withDescriptors } from '../support/server-process.js'
import { storeAnswer } from '../support/stored-answers.js'
import { until } from '../support/until.js'

const long = process.env['LONG'] === '1'
const audience = 'https://handoff.example.org'
let here: Deployment
let github: LocalGitHub
let repository: Repository
let instance: RunningFunctions

beforeAll(async () => {
  // GitHub's limit of 5,000 requests an hour would end the long run: a permission that it refuses to tell becomes a job.
  github = await startGitHub({ limits: { perHour: 1_000_000 } })
  repository = github.addRepository({ name, app: true, collaborators: { remy: 'read' } })
  github.runJob(repository)
  here = await deploy({
    onVercel: true,
    quickFinds: true,
    withoutFunctions: true,
    repositoryId: String(repository.id),
    environment: {
      GITHUB_API_URL: github.apiUrl,
      HANDOFF_GITHUB_TOKEN: github.issueToken({ permissions: { contents: 'read', issues: 'write' } }),
      HANDOFF_WEBHOOK_SECRETS: webhookSecrets.join(','),
      HANDOFF_E2B_WEBHOOK_SECRETS: webhookSecrets.join(','),
      HANDOFF_OIDC_AUDIENCE: audience,
      HANDOFF_OIDC_ISSUER: github.oidc.issuer,
      HANDOFF_OIDC_REPOSITORIES: name,
    },
  })
  instance = await here.another()
  // A free plan.
  here.stack.clouds.drive.setQuota({ files: 500 })
}, 200_000)

afterAll(async () => {
  await here?.close()
  await github?.close()
})

const files = () => here.stack.clouds.drive.readAll().length

/** A timer or a request that is kept for each of them is several thousand bytes. */
const bytesEach = 1_500
/** Connections that were closed meanwhile may be opened once more. */
const moreDescriptors = 40
/** A connection may hold its last request. */
const moreRequests = 40

/** A timer of twenty seconds that a request leaves holds it for longer. */
const soonMs = 10_000

/** Sends them, and waits until as little is held as after the first tenth. Buffers are collected some time after their requests. */
async function leavesNothing(count: number, send: (index: number) => Promise<unknown>, atOnce = 32): Promise<void> {
  const wave = (from: number, to: number) =>
    mapConcurrent(
      atOnce,
      Array.from({ length: to - from }, (_, index) => from + index),
      send,
    )
  await wave(0, count / 10)
  const [before, stored, reached] = [await instance.held(), files(), here.reached()]
  await instance.timers()
  await wave(count / 10, count)
  expect([files() - stored, here.reached() - reached]).toEqual([0, 0])
  await until('no time limit of a request is left', async () => (await instance.timers()) === 0)
  await until(
    'memory, requests and descriptors are as they were',
    async () => {
      const { held, requests, descriptors } = await instance.held()
      const areFew = requests < moreRequests && descriptors - before.descriptors < moreDescriptors
      return areFew && held - before.held < bytesEach * count * 0.9
    },
    soonMs,
  )
}

test('refused requests leave no file, no memory and no descriptor, and reach no cloud', async () => {
  const stranger = github.oidc.mint({ aud: audience, repository: 'stranger/tools', repository_id: '5' })
  const forged = `${github.oidc.mint({ aud: audience }).slice(0, -8)}AAAAAAAA`
  const body = { repository: name, run: here.run.run, question: 'What does it cost?' }
  const forgedByE2b = { 'e2b-signature-version': 'v1', 'e2b-signature': 'A'.repeat(43) }
  const refusals: (() => Promise<number>)[] = [
    async () => (await post(instance.url, body, {}, null)).status,
    async () => (await post(instance.url, body, {}, 'a-token-that-no-caller-has')).status,
    async () => (await post(instance.url, { ...body, repository: 'other/tools' })).status,
    async () => (await post(instance.url, { ...body, repository: 'stranger/tools' }, {}, stranger)).status,
    async () => (await post(instance.url, body, {}, forged)).status,
    async () => (await post(instance.url, 'x'.repeat(90_000))).status,
    async () => (await fetch(`${instance.url}/api/github`, { method: 'POST', body: '{}' })).status,
    async () =>
      (await fetch(`${instance.url}/api/sandboxes`, { method: 'POST', body: '{}', headers: forgedByE2b })).status,
    async () => (await fetch(`${instance.url}/api/runs?repository=${name}`)).status,
  ]
  const statuses = new Set<number>()
  await leavesNothing(long ? 100_000 : 2_000, async (index) => {
    statuses.add(await refusals[index % refusals.length]!())
  })
  expect([...statuses].sort()).toEqual([400, 401, 403])
}, 1_800_000)

test('comments of an account without permission leave no file on a free plan, and cost one question to GitHub each', async () => {
  const pull = github.addPull(repository, { author: 'remy', head: { ref: 'x', sha: here.run.handoff.commit } })
  const count = long ? 10_000 : 600
  const sent = here.queues.requests.length
  const asked = () => github.server.requests.filter(({ path }) => path.includes('/permission')).length
  const before = asked()
  const deliver = async () => {
    const comment = github.addComment(repository, pull.number, 'remy', '/ask What may I see?')
    const event = github.eventOf(comment)
    const { status } = await github.deliver(`${instance.url}/api/github`, event, { secret: webhookSecrets[0]! })
    expect(status).toBe(200)
  }
  // A permission that takes six seconds is asked for by a job, so a slow machine gets few at once.
  await leavesNothing(count, deliver, 4)
  expect([asked() - before, here.queues.requests.length - sent]).toEqual([count, 0])
}, 1_800_000)

const descriptorsOf = (pid: number) => (existsSync(`/proc/${pid}/fd`) ? readdirSync(`/proc/${pid}/fd`).length : 0)

test('a crowd is answered, or learns when to come back, by one process with 1,024 descriptors', async () => {
  const { drive } = here.stack.clouds
  drive.setQuota({})
  // Each question looks through earlier answers, so a run that was asked before needs the most connections.
  const place = layout('/handoff', here.where)
  for (let answer = 0; answer < 40; answer += 1) storeAnswer({ drive, place }, here.run.run, [])
  const environment = { ...here.environment, HANDOFF_SANDBOXES: '8', HANDOFF_CALLER_QUESTIONS: '400' }
  await using server = await startServerProcess(environment, withDescriptors(1_024))
  const most = { descriptors: 0, sandboxes: 0 }
  const look = setInterval(() => {
    most.descriptors = Math.max(most.descriptors, descriptorsOf(server.pid))
    most.sandboxes = Math.max(most.sandboxes, here.living())
  }, 10)
  const askers = Array.from({ length: long ? 1_000 : 60 }, (_, index) => index)
  const asked = askers.map(async (index) => {
    const text = `w${(index * 7_919).toString(36)} z${(index * 104_729).toString(36)}?`
    const { status, headers, body } = await post(server.url, { repository: name, run: here.run.run, question: text })
    return { status, code: body.code, comesBack: status === 200 || Number(headers.get('retry-after')) > 0 }
  })
  const seen = await Promise.all(asked).finally(() => clearInterval(look))
  expect(seen.filter(({ comesBack }) => !comesBack)).toEqual([])
  expect(seen.filter(({ status }) => ![200, 202, 503].includes(status))).toEqual([])
  expect(seen.filter(({ status }) => status === 200).length).toBeGreaterThan(Math.min(100, askers.length * 0.8))
  expect(server.output()).not.toMatch(/EMFILE|ENFILE|EAI_AGAIN/)
  expect(most.sandboxes).toBeLessThanOrEqual(8)
  // A connection for each asker, and 64 to drive9 for all of them.
  expect(most.descriptors).toBeLessThan(Math.min(1_024, askers.length + 280))
  console.log(`${askers.length} askers: at most ${most.descriptors} descriptors and ${most.sandboxes} sandboxes`)
}, 900_000)
