// Work that outlives its request: jobs in Vercel Queues, through its own client, and in the memory of a process.
import { QueueClient } from '@vercel/queue'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import type { Pull, Repository } from '../../src/emulators/github/state.js'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { type AnswerJob, signJob } from '../../src/service/jobs/job.js'
import { until } from '../support/until.js'
import {
  call,
  type Deployment,
  deploy,
  events,
  expireLease,
  laterLine,
  logged,
  name,
  post,
  recordOf,
  token,
  webhookSecrets,
} from './kit.js'

let here: Deployment
let github: LocalGitHub
let repository: Repository
let pull: Pull

beforeAll(async () => {
  github = await startGitHub()
  repository = github.addRepository({ name, app: true, collaborators: { wanda: 'write', remy: 'read' } })
  here = await deploy({
    onVercel: true,
    quickFinds: true,
    repositoryId: String(repository.id),
    withoutFunctions: true,
    environment: {
      GITHUB_API_URL: github.apiUrl,
      HANDOFF_GITHUB_TOKEN: github.issueToken({
        permissions: { contents: 'read', issues: 'write', pull_requests: 'write' },
      }),
      HANDOFF_WEBHOOK_SECRETS: webhookSecrets.join(','),
    },
  })
}, 200_000)

beforeEach(async () => {
  await jobsAreOver()
  pull = github.addPull(repository, { author: 'wanda', head: { ref: 'x', sha: here.run.handoff.commit } })
  await here.repository.git('update-ref', `refs/pull/${pull.number}/head`, here.run.handoff.commit)
})

afterEach(() => {
  here.stack.clouds.model.clearRules()
  here.stack.clouds.model.clearBehaviours()
  here.queues.clearRules()
  github.server.clearRules()
})

afterAll(async () => {
  expect(here.queues.unexpected).toEqual([])
  expect(github.unexpected).toEqual([])
  await here?.close()
  await github?.close()
})

const jobsAreOver = () =>
  until(
    'earlier jobs are over',
    () => {
      here.queues.advance(60)
      return here.queues.messages().length === 0 && here.living() === 0
    },
    60_000,
  )

/** The queue delivers to the newest instance. One that is closed leaves no message behind. */
async function closeAfterJobs(instance: RunningFunctions | undefined): Promise<void> {
  await jobsAreOver()
  await instance?.close()
}

const later = { prefer: 'respond-async' }
const ask = (question: string, more: object = {}) => ({ repository: name, run: here.run.run, question, ...more })
/** The model says nothing until this is taken back. */
const silence = () => here.stack.clouds.model.rule({ fault: { kind: 'hang' } })
/** The messages of one job, by an answer's id or a comment's question. Messages of earlier tests may still wait for a delivery. */
const messagesOf = (name: string) =>
  here.queues.messages().filter(({ body }) => {
    const { job } = (body ?? {}) as { job?: { id?: string; question?: string } | null }
    return job?.id === name || job?.question === name
  })
const comments = (number = pull.number) =>
  github.visibleComments(repository, number).filter(({ author }) => author.type === 'Bot')

const stateAt = async (url: string, self: string) => (await call(url, self)).body

/** On a busy machine a function may run out of time. Its message is delivered again a minute later, which passes every five seconds. */
function inTheEnd<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  let advanced = Date.now()
  const lookAgain = () => {
    if (Date.now() - advanced > 5_000) {
      here.queues.advance(60)
      advanced = Date.now()
    }
    return look()
  }
  return until(what, lookAgain, 60_000)
}

function answered(url: string, self: string) {
  return inTheEnd('the answer', async () => {
    const body = await stateAt(url, self)
    return body.status === 'done' ? body : undefined
  })
}

describe.each(['Vercel Queues', 'the memory of the process'])('jobs in %s', { timeout: 120_000 }, (kind) => {
  let instance: RunningFunctions
  /** Requests and deliveries have four seconds here. */
  let short: RunningFunctions
  const elsewhere = kind === 'Vercel Queues' ? {} : { VERCEL: '' }

  beforeAll(async () => {
    ;[instance, short] = await Promise.all([here.another(elsewhere), here.another(elsewhere, 4)])
  }, 120_000)

  afterAll(async () => {
    await closeAfterJobs(short)
    await instance.close()
  }, 120_000)

  test('health names the queue', async () => {
    const { body } = await call(instance.url, '/api/health')
    expect(body.ways.queue).toBe(kind === 'Vercel Queues' ? 'vercel' : 'memory')
  })

  test('a question that is only queued is answered by its job', async () => {
    const before = here.machines()
    const { status, headers, body } = await post(instance.url, ask(`What is queued in ${kind}?`), later)
    expect({ status, state: body.status, applied: headers.get('preference-applied') }).toEqual({
      status: 202,
      state: 'queued',
      applied: 'respond-async',
    })
    expect(await answered(instance.url, body.self)).toMatchObject({ id: body.id, acceptedAt: body.acceptedAt })
    expect(here.machines() - before).toBe(1)
    await until('its job is over', async () => messagesOf(body.id).length + (await instance.state()).pending === 0)
  })

  test('a question that runs out of time is answered by a job', async () => {
    const takeBack = silence()
    const { requests } = here.stack.clouds.sandboxes
    const from = requests.length
    const { status, body, headers } = await post(short.url, ask(`What takes too long in ${kind}?`))
    // The caller did not ask for a job, so that no preference was applied.
    const reply = { state: body.status, location: headers.get('location'), applied: headers.get('preference-applied') }
    expect({ status, ...reply }).toEqual({ status: 202, state: 'running', location: body.self, applied: null })
    // The sandbox is asked to end by itself soon after the function must be over.
    const created = requests.slice(from).filter(({ method, path }) => method === 'POST' && /sandboxes$/.test(path))
    const lifetimes = created.map((request) => (JSON.parse(request.body.toString()) as { timeout: number }).timeout)
    expect(lifetimes).toHaveLength(1)
    expect(lifetimes[0]).toBeLessThanOrEqual(4 + 5)
    expect(await laterLine(short, headers.get('x-request-id'))).toMatchObject({ route: 'ask', code: 'timeout' })
    takeBack()
    await until(
      'the answer',
      async () => {
        here.queues.advance(5)
        return (await stateAt(short.url, body.self)).status === 'done'
      },
      30_000,
    )
    await until('no sandbox is left', () => here.living() === 0)
  })

  test('a stream that runs out of time says where the answer will be', async () => {
    const takeBack = silence()
    const { events: found } = await events(short.url, ask(`What takes too long in events in ${kind}?`))
    takeBack()
    const last = found.at(-1)!
    expect(last).toMatchObject({ event: 'error', data: { status: 504, code: 'timeout', self: expect.any(String) } })
    expect(found.filter(({ event }) => event === 'answer' || event === 'error')).toHaveLength(1)
    await until('the answer', async () => {
      here.queues.advance(5)
      return (await stateAt(short.url, last.data.self)).status === 'done'
    })
  })
})

describe('deliveries of Vercel Queues', { timeout: 120_000 }, () => {
  let instance: RunningFunctions
  /** Absent while a test does without it, and after such a test failed. */
  let running: RunningFunctions | undefined

  beforeEach(async () => {
    running ??= await here.another()
    instance = running
  }, 120_000)

  afterAll(() => closeAfterJobs(running), 120_000)

  test('an instance that dies after its 202: the job answers after the lease has expired', async () => {
    await instance.close()
    running = undefined
    // Its sandbox ends by itself soon after the time of the delivery.
    const victim = await here.another({}, 8)
    const [machines, seen] = [here.machines(), here.queues.deliveries.length]
    const takeBack = silence()
    const { body } = await post(victim.url, ask('What is left behind?'), later)
    await until('it is at work', () => here.machines() > machines)
    victim.kill()
    takeBack()
    await until('the delivery broke', () => here.queues.deliveries.slice(seen).some(({ status }) => status === 0))
    instance = running = await here.another()
    here.queues.advance(60)
    // The dead process holds the question until its lease expires.
    await until('the job has to wait', () =>
      logged(instance).some((line) => line['route'] === 'queue' && line['code'] === 'in-progress'),
    )
    expireLease(here, body.id)
    here.queues.advance(60)
    expect(await answered(instance.url, body.self)).toMatchObject({ id: body.id, acceptedAt: body.acceptedAt })
    await until('its job is over', () => messagesOf(body.id).length === 0)
  })

  test('a failure that passes is tried again when it may have passed, and GET says that the question waits', async () => {
    const takeBack = here.stack.clouds.model.setBehaviour({ kind: 'busy', retryAfter: '40' })
    const { body } = await post(instance.url, ask('What waits for a busy model?'), later)
    const [message] = await until('the job waits', () => {
      const waiting = messagesOf(body.id).filter(({ dueInSeconds }) => dueInSeconds < 100)
      return waiting[0]?.deliveryCount === 1 && waiting[0].dueInSeconds > 0 ? waiting : undefined
    })
    expect(message!.dueInSeconds).toBeLessThanOrEqual(40)
    expect(message!.dueInSeconds).toBeGreaterThan(30)
    expect((await stateAt(instance.url, body.self)).status).toBe('queued')
    takeBack()
    here.queues.advance(40)
    await answered(instance.url, body.self)
  })

  test('a failure that does not pass ends the question; asked again, it is another job', async () => {
    const takeBack = here.stack.clouds.model.setBehaviour({ kind: 'broken', status: 401 })
    const question = ask('What does a wrong key say?')
    const { body } = await post(instance.url, question, later)
    const failed = await until('it has failed', async () => {
      const seen = await stateAt(instance.url, body.self)
      return seen.status === 'failed' ? seen : undefined
    })
    expect(failed.error.code).toBe('model')
    await until('its job is over', () => messagesOf(body.id).length === 0)
    takeBack()
    const again = await post(instance.url, question, later)
    expect(again).toMatchObject({ status: 202, body: { id: body.id } })
    await answered(instance.url, body.self)
  })

  test('a job that this deployment did not sign does nothing', async () => {
    const { send } = new QueueClient({
      region: 'iad1',
      resolveBaseUrl: () => new URL(here.queues.url),
      token: here.queues.token,
      deploymentId: here.queues.settings['VERCEL_DEPLOYMENT_ID']!,
    })
    const { body } = await post(instance.url, ask('What is stored?'))
    const job: AnswerJob = {
      kind: 'answer',
      repository: here.where,
      run: here.run.run,
      id: body.id,
      acceptedAt: body.acceptedAt,
      model: body.model,
      caller: 'forged',
      post: { pull: pull.number },
    }
    const before = here.reached()
    const sent: (string | null)[] = []
    for (const message of [signJob(job, 'another key'), { job }, { job: null, signature: '' }, null, 'text', []])
      sent.push((await send('handoff-jobs', message)).messageId)
    const ignored = () => logged(instance).filter((line) => line['ignored'] !== undefined && line['route'] === 'queue')
    await until('all are ignored', () => ignored().length === 6)
    await until('they are acknowledged', () => !here.queues.messages().some((message) => sent.includes(message.id)))
    expect([here.reached() - before, comments()]).toEqual([0, []])
  })

  test('a stranger cannot deliver: the platform lets the queues alone into the function', async () => {
    const forged = { method: 'POST', body: '{}', headers: { 'ce-type': 'com.vercel.queue.v2beta' } }
    expect((await call(instance.url, '/api/queue', forged)).status).toBe(404)
  })

  test('an answer that is to be posted is posted once, however often its job is delivered', async () => {
    const asked = { repository: name, pull: pull.number, question: 'What is posted once?', comment: true }
    const seen = here.queues.deliveries.length
    const { body } = await post(instance.url, asked, later)
    await answered(instance.url, body.self)
    await inTheEnd('its comment', () => comments().length === 1)
    const delivered = (test: (one: (typeof here.queues.deliveries)[number]) => boolean) =>
      until('it was delivered', () => here.queues.deliveries.slice(seen).find(test))
    const { id, deliveryCount } = await delivered(({ status }) => status === 200)
    here.queues.repeat(id)
    const again = await delivered((one) => one.deliveryCount > deliveryCount)
    expect(again).toMatchObject({ id, status: 200 })
    expect(comments().map((comment) => comment.body.split('\n')[0])).toEqual([
      `<!-- handoff:answer v=1 id=${body.id} part=1 run=${here.run.run} -->`,
    ])
  })

  test('an answer that GitHub does not take is posted later, and is not paid twice', async () => {
    const { model } = here.stack.clouds
    const refused = { kind: 'answer', status: 502, body: '{"message":"bad gateway"}' } as const
    const takeBack = github.server.rule({ path: /\/comments/, fault: refused })
    const asked = {
      repository: name,
      pull: pull.number,
      question: 'What does refreshToken() post late?',
      comment: true,
    }
    const { body } = await post(instance.url, asked, later)
    await answered(instance.url, body.self)
    await until('the job waits', () => messagesOf(body.id)[0]?.deliveryCount === 1, 30_000)
    takeBack()
    await until('its comment', () => {
      here.queues.advance(20)
      return comments().length === 1
    })
    const paid = model.prompts.filter(({ task, text }) => task === 'answer' && text.includes('post late'))
    expect(paid).toHaveLength(1)
  }, 60_000)

  test('a question for a model that is no longer offered ends in words', async () => {
    await instance.close()
    running = undefined
    const victim = await here.another({ HANDOFF_MODELS: 'a-second-model' }, 8)
    const before = here.machines()
    silence()
    const { body } = await post(victim.url, ask('Who is asked?', { model: 'a-second-model' }), later)
    await until('it is at work', () => here.machines() > before)
    victim.kill()
    await until('the delivery broke', () => messagesOf(body.id).some(({ dueInSeconds }) => dueInSeconds > 0))
    expireLease(here, body.id)
    instance = running = await here.another()
    here.queues.advance(60)
    const failed = await inTheEnd('it has failed', async () => {
      const seen = await stateAt(instance.url, body.self)
      return seen.status === 'failed' ? seen : undefined
    })
    expect(failed.error).toMatchObject({ code: 'model', message: expect.stringContaining('not offered any more') })
  }, 120_000)

  test('the queue is down: a queued question is refused, one that is waited for is answered', async () => {
    const takeBack = here.queues.rule({ fault: { kind: 'answer', status: 500, body: 'down' } })
    const refused = await post(instance.url, ask('What does a queue that is down take?'), later)
    expect(refused).toMatchObject({ status: 503, body: { code: 'queue', retryAfterSeconds: 5 } })
    expect((await post(instance.url, ask('What needs no queue?'))).status).toBe(200)
    takeBack()
  })

  test('a question whose time runs out while the queue is down says in the log that it was not queued', async () => {
    // A fifth of its time is left for the log, which a busy machine needs.
    await using short = await here.another({}, 10)
    const takeBack = [here.queues.rule({ fault: { kind: 'answer', status: 500, body: 'down' } }), silence()]
    const { status, headers } = await post(short.url, ask('What is late while the queue is down?'))
    for (const end of takeBack) end()
    expect(status).toBe(504)
    const id = headers.get('x-request-id')
    const line = await until('the log', () => logged(short).find(({ requestId }) => requestId === id))
    expect(line).toMatchObject({ code: 'timeout', notQueued: { code: 'queue' } })
  })
})

describe('comments', { timeout: 120_000 }, () => {
  let instance: RunningFunctions
  const secret = webhookSecrets[0]!
  const deliver = (body: string, login = 'wanda') => {
    const asked = github.addComment(repository, pull.number, login, body)
    return github.deliver(`${instance.url}/api/github`, github.eventOf(asked), { secret })
  }

  beforeAll(async () => {
    instance = await here.another()
  }, 120_000)

  afterAll(() => closeAfterJobs(instance), 120_000)

  test('a comment whose job is delivered twice has one answer', async () => {
    const earlier = here.queues.deliveries.length
    expect((await deliver('/ask What is answered once?')).status).toBe(202)
    await inTheEnd('the answer', () => comments().some(({ body }) => body.includes('state=done')))
    await inTheEnd('its job is over', () => here.queues.messages().length === 0)
    await until('its delivery is over', () => here.queues.deliveries.length > earlier)
    const seen = here.queues.deliveries.length
    const delivery = here.queues.deliveries.at(-1)!
    const before = here.machines()
    here.queues.repeat(delivery.id)
    await until('it was delivered again', () => here.queues.deliveries.length > seen, 20_000)
    expect(comments()).toHaveLength(1)
    expect(here.machines()).toBe(before)
  })

  test('an answer that GitHub does not let into its comment is reported later, and is not paid twice', async () => {
    const { model } = here.stack.clouds
    const before = model.requests.length
    // The first version of a comment that is answered soon is the answer.
    const isLate = ({ method }: { method: string }) => method !== 'GET' && model.requests.length > before
    const refused = { kind: 'answer', status: 502, body: '{"message":"bad gateway"}' } as const
    const path = /\/issues\/(\d+\/comments|comments\/\d+)$/
    const takeBack = github.server.rule({ path, match: isLate, fault: refused })
    const text = 'What does refreshToken() report late?'
    expect((await deliver(`/ask ${text}`)).status).toBe(202)
    await until('the job waits', () => (messagesOf(text)[0]?.dueInSeconds ?? 0) > 0, 30_000)
    expect(comments().filter(({ body }) => body.includes('state=done'))).toEqual([])
    takeBack()
    await until('the answer', () => {
      here.queues.advance(20)
      return comments().some(({ body }) => body.includes('state=done'))
    })
    await until('one comment', () => comments().filter(({ body }) => body.includes(text)).length === 1)
    expect(model.prompts.filter((one) => one.task === 'answer' && one.text.includes(text))).toHaveLength(1)
  }, 60_000)

  test('the comment of an account without permission leaves nothing: no file, no job, and one request to GitHub', async () => {
    const files = () =>
      here.stack.clouds.drive
        .tree('/handoff')
        .filter(({ isDirectory }) => !isDirectory)
        .map(({ path }) => path)
    await until('earlier jobs are over', async () => {
      here.queues.advance(60)
      const { pending } = await instance.state()
      return here.queues.messages().length === 0 && pending === 0
    })
    // An earlier message may still be acknowledged.
    const sent = () =>
      here.queues.requests.filter(({ method, path }) => method === 'POST' && /\/topic\/[^/]+$/.test(path)).length
    const before = { files: files(), sent: sent(), machines: here.machines() }
    const from = github.server.requests.length
    // A second delivery of an earlier job may still be at work on its own pull request.
    const earlierComments = github.comments.map(({ id }) => String(id))
    const isEarlier = (path: string) => {
      const [, kind, number] = /\/(comments|pulls|issues)\/(\d+)/.exec(path) ?? []
      if (kind === undefined || number === undefined) return false
      return kind === 'comments' ? earlierComments.includes(number) : Number(number) !== pull.number
    }
    const response = await deliver('/ask What may I see?', 'remy')
    expect([response.status, await response.json()]).toMatchObject([200, { ignored: expect.stringContaining('remy') }])
    const paths = github.server.requests.slice(from).map(({ path }) => path)
    expect(paths.filter((path) => !isEarlier(path))).toEqual([
      expect.stringMatching(/\/collaborators\/remy\/permission$/),
    ])
    expect({ files: files(), sent: sent(), machines: here.machines() }).toEqual(before)
    expect(comments()).toEqual([])
  })
})

describe('requests', { timeout: 120_000 }, () => {
  let instance: RunningFunctions

  beforeAll(async () => {
    instance = await here.another()
  }, 120_000)

  afterAll(() => closeAfterJobs(instance), 120_000)

  test('an Idempotency-Key names one fresh question, whatever the spacing of its JSON', async () => {
    const key = { 'idempotency-key': 'once' }
    const question = ask('What is fresh, and once?', { fresh: true })
    const before = here.machines()
    const first = await post(instance.url, question, key)
    const spaced = await post(instance.url, JSON.stringify(question, null, 4), key)
    expect(spaced.body).toMatchObject({ id: first.body.id, reused: true })
    expect(here.machines() - before).toBe(1)
    const other = await post(instance.url, { ...question, question: 'Something else?' }, key)
    expect(other.status).toBe(422)
    expect(other.body.code).toBe('idempotency-key-reused')
    expect((await post(instance.url, question)).body.id).not.toBe(first.body.id)
    expect(here.machines() - before).toBe(2)
  })

  test('a caller that leaves ends its question and its sandbox; a question that is queued goes on', async () => {
    const takeBack = silence()
    const leave = new AbortController()
    const before = here.machines()
    const question = ask('Who leaves?')
    const leaving = fetch(`${instance.url}/api/ask`, {
      method: 'POST',
      body: JSON.stringify(question),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      signal: leave.signal,
    }).catch(() => undefined)
    await until('it is at work', () => here.machines() === before + 1)
    leave.abort()
    await leaving
    const { sandboxes } = here.stack.clouds.sandboxes
    await until('its sandbox is gone', () => sandboxes[before]!.state === 'gone')
    // A request that the model has begun to ignore would stay ignored.
    takeBack()
    const { body } = await post(instance.url, ask('Who may leave?'), later)
    await answered(instance.url, body.self)
    expect(recordOf(here, body.id)).toMatchObject({ status: 'done' })
    expect((await post(instance.url, question)).body).toMatchObject({ status: 'done', reused: false })
  })
})
