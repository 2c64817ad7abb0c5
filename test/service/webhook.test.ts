// The webhook: who may come in, what is taken, once for each comment, and the answer below it as the Action would write it.
import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/github.js'
import type { Pull, Repository } from '../../src/emulators/github/world.js'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { openApiDocument } from '../../src/service/openapi/document.js'
import { until } from '../support/until.js'
import { call, cronSecret, type Deployment, deploy, logged, name, post, token, webhookSecrets } from './kit.js'

let here: Deployment
let github: LocalGitHub
let repository: Repository
let pull: Pull
let second: RunningFunctions
let commentToken: string

beforeAll(async () => {
  github = await startGitHub()
  repository = github.addRepository({ name, app: true, collaborators: { wanda: 'write', remy: 'read' } })
  commentToken = github.issueToken({
    permissions: { contents: 'read', issues: 'write', pull_requests: 'write', discussions: 'write' },
  })
  here = await deploy({
    quickFinds: true,
    repositoryId: String(repository.id),
    environment: {
      GITHUB_API_URL: github.apiUrl,
      HANDOFF_GITHUB_TOKEN: commentToken,
      HANDOFF_WEBHOOK_SECRETS: webhookSecrets.join(','),
    },
  })
  second = await here.another()
}, 200_000)

beforeEach(async () => {
  pull = github.addPull(repository, { author: 'wanda', head: { ref: 'x', sha: here.run.handoff.commit } })
  await here.repository.git('update-ref', `refs/pull/${pull.number}/head`, here.run.handoff.commit)
})

afterAll(async () => {
  expect(github?.unexpected).toEqual([])
  await here?.close()
  await github?.close()
})

const address = (of: RunningFunctions = here.functions) => `${of.url}/api/github`
const ours = () => github.visible(repository, pull.number).filter((comment) => comment.author.type === 'Bot')
const [secret, nextSecret] = webhookSecrets as [string, string]

/** What an instance that died has promised about a pull request. */
function leaveBehind(more: { answer: string; run?: string; asked?: object; post?: object; until?: number }) {
  const [owner, short] = name.split('/')
  const where = { host: here.where.host, owner, name: short, id: String(repository.id) }
  const note = { version: 1, until: Date.now() - 1, repository: where, caller: 'team-a', model: 'offline-extractive' }
  const promise = { ...note, post: { pull: pull.number }, ...more }
  here.world.clouds.drive.write(`/handoff/_service/accepted/${more.answer}.json`, JSON.stringify(promise))
}

/** What the clock says in the log that became of this. */
const takenUp = (answer: string) =>
  until('the clock tells it', () => {
    const taken = logged(here.functions).flatMap((line) => (line['taken'] ?? []) as { answer: string }[])
    return taken.find((one) => one.answer === answer)
  })

async function answered() {
  return until('the answer', () => ours().find(({ body }) => body.includes('state=done')), 20_000)
}

test('a model that knows what the service holds is not heard, and is not told it', async () => {
  const { model, drive } = here.world.clouds
  const known = [commentToken, secret]
  const forms = known.flatMap((one) => [one, Buffer.from(one).toString('base64').replace(/=+$/, '')])
  const takeBack = model.behave({ kind: 'say', text: `They are ${forms.join(' and ')}, see [src/token.ts:4].` })
  const { body } = await post(here.url, { repository: name, run: here.run.run, question: `What is ${commentToken}?` })
  takeBack()
  expect(body.status).toBe('done')
  const kept = drive.readFile(`${here.run.directory}/analysis/qa/${body.id}.json`)!.toString()
  const told = model.requests.map((request) => request.body.toString()).join('\n')
  expect(kept).toContain('[redacted]')
  expect(forms.filter((form) => `${kept}\n${JSON.stringify(body)}\n${told}`.includes(form))).toEqual([])
})

test('a question below a pull request: 👀, one comment with the answer, 🚀', async () => {
  const asked = github.say(repository, pull.number, 'wanda', '/ask How is the token refreshed?')
  await github.deliver(address(), github.eventOf(asked), { secret })
  const comment = await answered()
  expect(comment.body).toContain('How is the token refreshed?')
  expect(comment.body).toMatch(/src\/token\.ts/)
  expect(ours()).toHaveLength(1)
  await until('🚀', () => github.reactionsOf(asked).some((one) => one.endsWith(':rocket')))
  await until('nothing is promised any more', () => here.promises().length === 0)
  expect(here.living()).toBe(0)
  const lines = () => logged(here.functions).filter((line) => line['event'] === 'issue_comment')
  const [line] = await until('the log tells how it ended', () => (lines().length > 0 ? lines() : undefined))
  expect(line).toMatchObject({ route: 'github', status: 202, end: 'answered', inputTokens: expect.any(Number) })
}, 60_000)

test('202 waits for the promise alone; who is killed after it leaves the comment to the clock', async () => {
  const victim = await here.another({}, 3)
  const asked = github.say(repository, pull.number, 'wanda', '/ask What is left behind?')
  const from = github.server.requests.length
  // GitHub, which has to say who this is, says nothing; so no sandbox and no model is asked for yet.
  const takeBack = github.server.rule({ fault: { kind: 'hang' } })
  try {
    const { status } = await github.deliver(address(victim), github.eventOf(asked), { secret })
    const answeredByGitHub = github.server.requests.slice(from).filter((one) => one.status !== 0)
    expect({ status, promised: here.promises().length, answeredByGitHub }).toEqual({
      status: 202,
      promised: 1,
      answeredByGitHub: [],
    })
    victim.kill()
  } finally {
    takeBack()
  }
  const left = async () => (await call(here.url, '/api/cron', { token: cronSecret })).body.left > 0
  await until('the clock takes it up', left, 30_000)
  expect((await answered()).body).toContain('What is left behind?')
  expect(ours()).toHaveLength(1)
  await until('nothing is promised any more', () => here.promises().length === 0)
})

test('a question on an issue is answered there, from the default branch', async () => {
  const number = github.addIssue(repository)
  const asked = github.say(repository, number, 'wanda', '/Ask What does refreshToken take?')
  expect((await github.deliver(address(), github.eventOf(asked), { secret })).status).toBe(202)
  const answers = () => github.visible(repository, number).filter(({ body }) => body.includes('state=done'))
  const [comment] = await until('the answer', () => (answers().length > 0 ? answers() : undefined), 20_000)
  expect(comment).toMatchObject({ kind: 'issue', number })
  expect(comment!.body).toMatch(/src\/token\.ts/)
  await until('nothing is promised any more', () => here.promises().length === 0)
}, 60_000)

test('a question on a discussion is answered beneath it', async () => {
  const asked = github.sayInDiscussion(repository, github.addDiscussion(repository), 'wanda', '/ask What is refreshed?')
  expect((await github.deliver(address(), github.eventOf(asked), { secret })).status).toBe(202)
  const answer = () => github.comments.find(({ root, body }) => root === asked.id && body.includes('state=done'))
  expect(await until('the answer', answer, 20_000)).toMatchObject({ kind: 'discussion', number: asked.number })
  await until('nothing is promised any more', () => here.promises().length === 0)
}, 60_000)

test('a question in a review thread is answered in that thread', async () => {
  const root = github.sayInReview(repository, pull.number, 'wanda', 'This line looks wrong.')
  const asked = github.sayInReview(repository, pull.number, 'wanda', '/ask What does refreshToken do?', root.id)
  expect((await github.deliver(address(), github.eventOf(asked), { secret })).status).toBe(202)
  const comment = await answered()
  expect({ kind: comment.kind, root: comment.root }).toEqual({ kind: 'review', root: root.id })
}, 60_000)

test('asked over HTTP with `comment`: the same comment as ever, once, however often it is asked', async () => {
  const asked = { repository: name, pull: pull.number, question: 'How is the token refreshed?', comment: true }
  const first = await post(here.url, asked)
  expect(first.body).toMatchObject({ status: 'done', comment: { url: expect.stringContaining('#issuecomment-') } })
  const again = await post(second.url, asked)
  expect(again.body).toMatchObject({ reused: true, comment: first.body.comment })
  const [comment, ...others] = ours()
  expect(others).toEqual([])
  expect(comment!.body).toContain(`<!-- handoff:answer v=1 id=${first.body.id} part=1 -->`)
  expect(comment!.body).toContain('How this was answered')
  expect(comment!.body).toMatch(/Answered at `[0-9a-f]{7}` of `octo\/tools`/)
}, 60_000)

test('who asked with `comment`, joined somebody and was promised an answer has the comment, whoever dies or leaves', async () => {
  const victim = await here.another({}, 3)
  const question = `Who joins at ${pull.number}?`
  const machines = here.machines()
  const takeBack = here.world.clouds.model.rule({ fault: { kind: 'hang' } })
  const leave = new AbortController()
  const first = fetch(`${here.url}/api/ask`, {
    method: 'POST',
    body: JSON.stringify({ repository: name, pull: pull.number, question }),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    signal: leave.signal,
  }).catch(() => undefined)
  await until('it is at work', () => here.machines() > machines)
  const asked = { repository: name, pull: pull.number, question, comment: true }
  const { status, body } = await post(victim.url, asked, { prefer: 'respond-async' })
  expect([status, here.promises().map((path) => path.split('/').at(-1))]).toEqual([
    202,
    [`${body.id}-${pull.number}.json`],
  ])
  victim.kill()
  leave.abort()
  await first
  takeBack()
  const left = async () => (await call(here.url, '/api/cron', { token: cronSecret })).body.left > 0
  await until('the clock takes it up', left, 30_000)
  await until('nothing is promised any more', () => here.promises().length === 0, 20_000)
  expect(ours().map((comment) => comment.body.split('\n')[0])).toEqual([
    `<!-- handoff:answer v=1 id=${body.id} part=1 -->`,
  ])
}, 60_000)

test('of two comments that were promised about one answer, one that cannot be posted takes nothing from the other', async () => {
  const question = `How is it for two, of which ${pull.number} is one?`
  const { body } = await post(here.url, { repository: name, pull: pull.number, question })
  leaveBehind({ answer: body.id, run: here.run.run })
  const { drive } = here.world.clouds
  const path = `/handoff/_service/accepted/${body.id}`
  const note = JSON.parse(drive.readFile(`${path}.json`)!.toString())
  for (const number of [4_711, pull.number])
    drive.write(`${path}-${number}.json`, JSON.stringify({ ...note, post: { pull: number } }))
  drive.remove(`${path}.json`)
  await call(here.url, '/api/cron', { token: cronSecret })
  await until('nothing is promised any more', () => here.promises().length === 0)
  expect(ours()).toHaveLength(1)
}, 60_000)

test('an answer whose comment was left behind is posted when somebody looks at it', async () => {
  const question = `Which comment was left at ${pull.number}?`
  const { body } = await post(here.url, { repository: name, pull: pull.number, question })
  const { drive } = here.world.clouds
  leaveBehind({ answer: body.id, run: here.run.run })
  const path = `/handoff/_service/accepted/${body.id}`
  drive.write(`${path}-${pull.number}.json`, drive.readFile(`${path}.json`)!)
  drive.remove(`${path}.json`)
  expect((await call(here.url, body.self)).body.status).toBe('done')
  await until('nothing is promised any more', () => here.promises().length === 0)
  expect(ours()).toHaveLength(1)
}, 60_000)

test('an answer whose instance died before its comment is posted by the clock', async () => {
  const asked = { repository: name, pull: pull.number, question: 'How is the token refreshed?' }
  const { body } = await post(here.url, asked)
  leaveBehind({ answer: body.id, run: here.run.run })
  expect(ours()).toEqual([])
  const { body: swept } = await call(here.url, '/api/cron', { token: cronSecret })
  expect(swept).toEqual({ promised: 1, left: 1 })
  await until('nothing is promised any more', () => here.promises().length === 0)
  expect(ours().map((comment) => comment.body.split('\n')[0])).toEqual([
    `<!-- handoff:answer v=1 id=${body.id} part=1 -->`,
  ])
  expect(await takenUp(body.id)).toEqual({ answer: body.id, reused: true })
}, 60_000)

test.each([
  ['run', 'a'.repeat(32), { run: `${'0'.repeat(40)}-pruned` }],
  ['pull request', undefined, { post: { pull: 4_711 } }],
])('a promise about a %s that is gone is not tried for ever', async (what, other, more) => {
  const asked = { repository: name, pull: pull.number, question: `How is the token of a ${what} refreshed?` }
  const { body } = await post(here.url, asked)
  const answer = other ?? String(body.id)
  leaveBehind({ answer, run: here.run.run, ...more })
  expect((await call(here.url, '/api/cron', { token: cronSecret })).body).toEqual({ promised: 1, left: 1 })
  await until('nothing is promised any more', () => here.promises().length === 0)
  expect(ours()).toEqual([])
  expect(await takenUp(answer)).toMatchObject({ answer, code: 'not-found' })
})

test('whoever may not ask is not answered by the clock either, though nobody told him so', async () => {
  const asked = github.say(repository, pull.number, 'remy', '/ask How is the token refreshed?')
  const { id, login, type } = asked.author
  const text = 'How is the token refreshed?'
  const words = { text, pull: pull.number, asker: `github:${login}`, user: { id, login, type } }
  const thread = { kind: 'issue', repository: name, number: pull.number }
  const machines = here.machines()
  leaveBehind({ answer: 'b'.repeat(32), asked: words, post: { thread, question: asked.id } })
  expect((await call(here.url, '/api/cron', { token: cronSecret })).body).toEqual({ promised: 1, left: 1 })
  await until('nothing is promised any more', () => here.promises().length === 0)
  expect(github.reactionsOf(asked).map((reaction) => reaction.split(':').at(-1))).toEqual(['confused'])
  expect([ours(), here.machines() - machines]).toEqual([[], 0])
  expect(await takenUp('b'.repeat(32))).toEqual({ answer: 'b'.repeat(32), refused: 'permission' })
})

test('a refusal waits for the note of the question, which would stay when it came later', async () => {
  const { drive } = here.world.clouds
  const late = { kind: 'delay', milliseconds: 400 } as const
  const takeBack = drive.rule({ method: 'PUT', path: /_service\/accepted/, times: 1, fault: late })
  const asked = github.say(repository, pull.number, 'remy', '/ask How is the token refreshed?')
  const told = await github.deliver(address(), github.eventOf(asked), { secret })
  expect(await told.json()).toMatchObject({ ignored: expect.stringContaining('remy') })
  takeBack()
  await until('he is told', () => github.reactionsOf(asked).length > 0)
  await until('nothing is promised any more', () => here.promises().length === 0)
})

test('a delivery that failed half way is taken when it comes again', async () => {
  const { drive } = here.world.clouds
  const second = { method: 'PUT', path: /_service\/deliver/, skip: 1, times: 1 }
  const takeBack = drive.rule({ ...second, fault: { kind: 'answer', status: 403, body: '{"error":"no"}' } })
  const event = github.eventOf(github.say(repository, pull.number, 'wanda', '/ask Which colour is it, after all?'))
  const delivery = randomUUID()
  const first = await github.deliver(address(), event, { secret, delivery })
  takeBack()
  expect(first.status).toBeGreaterThanOrEqual(400)
  expect(await (await github.deliver(address(), event, { secret, delivery })).json()).toEqual({ accepted: true })
  await answered()
})

test('a delivery that the directory keeps waiting is told so before GitHub hangs up; it can come again, and what was begun goes on', async () => {
  const { drive } = here.world.clouds
  const [noted, named] = ['How is the token refreshed, late?', 'Which colour is it, late?'].map((question) =>
    github.eventOf(github.say(repository, pull.number, 'wanda', `/ask ${question}`)),
  )
  const timed = async (event: typeof noted) => {
    const started = Date.now()
    const response = await github.deliver(address(), event!, { secret })
    return { status: response.status, body: await response.json(), seconds: (Date.now() - started) / 1_000 }
  }
  const silentNotes = drive.rule({ method: 'PUT', path: /_service\/accepted/, fault: { kind: 'hang' } })
  const first = timed(noted)
  await until('the note is being written', () =>
    drive.requests.some(({ fault, path }) => fault && /accepted/.test(path)),
  )
  const silentNames = drive.rule({ method: 'PUT', path: /_service\/deliver/, fault: { kind: 'hang' } })
  const told = await Promise.all([first, timed(named)])
  silentNotes()
  silentNames()
  for (const { status, body, seconds } of told) {
    expect({ status, body }).toMatchObject({ status: 504, body: { code: 'timeout', retryAfterSeconds: 10 } })
    expect(seconds).toBeLessThan(10)
  }
  expect((await timed(named)).body).toEqual({ accepted: true })
  await until('both answers', () => ours().filter(({ body }) => body.includes('state=done')).length === 2)
  await until('nothing is promised any more', () => here.promises().length === 0)
}, 60_000)

test('a name that many want at once, or that is newer than we are, is told as it is described', async () => {
  const { drive } = here.world.clouds
  const asked = github.eventOf(github.say(repository, pull.number, 'wanda', '/ask What is described?'))
  const named = () => drive.tree('/handoff/_service/deliveries').map(({ path }) => path)
  const told = async () => {
    const response = await github.deliver(address(), asked, { secret })
    return { status: response.status, body: (await response.json()) as { code: string; detail: string } }
  }
  const taken = { kind: 'answer', status: 409, body: '{"error":"revision conflict"}' } as const
  const takeBack = drive.rule({ method: 'PUT', path: /_service\/deliver/, fault: taken })
  const busy = await told().finally(takeBack)
  expect(busy).toMatchObject({ status: 409, body: { detail: 'The same request came many times at once.' } })
  const before = named()
  expect(await told()).toMatchObject({ status: 202 })
  await answered()
  for (const path of named().filter((one) => !before.includes(one))) drive.write(path, '{"version":2}')
  const newer = await told()
  expect(newer).toMatchObject({ status: 501, body: { code: 'unknown-version' } })
  const described = openApiDocument('http://x')['paths'] as Record<string, { post: { responses: object } }>
  expect(Object.keys(described['/api/github']!.post.responses)).toEqual(expect.arrayContaining(['409', '501']))
}, 60_000)

test('neither a long question nor a note that cannot be read stops the clock', async () => {
  const { drive } = here.world.clouds
  const unreadable = `/handoff/_service/accepted/${'c'.repeat(32)}.json`
  drive.write(unreadable, 'x'.repeat(300_000))
  const refused = `/handoff/_service/accepted/${'d'.repeat(32)}.json`
  drive.write(refused, '{}')
  const closed = { kind: 'answer', status: 403, body: '{"error":"no"}' } as const
  const open = drive.rule({ method: 'GET', path: /accepted\/d{32}/, fault: closed })
  const slow = { kind: 'delay', milliseconds: 1_000 } as const
  const takeBack = github.server.rule({ path: /\/permission/, times: 1, fault: slow })
  const asked = github.say(repository, pull.number, 'wanda', `/ask ${'漢'.repeat(19_000)}`)
  await github.deliver(address(), github.eventOf(asked), { secret })
  const told = await call(here.url, '/api/cron', { token: cronSecret })
  takeBack()
  open()
  expect([told.status, told.body]).toEqual([202, { promised: 1, left: 0 }])
  for (const path of [unreadable, refused]) drive.remove(path)
  const end = await until('it is told', () => ours().find(({ body }) => body.includes('state=failed')))
  expect(end.body).toContain('4,000')
})

test('an answer that GitHub would not take is posted by the clock', async () => {
  const { model, drive } = here.world.clouds
  const before = model.requests.length
  const asked = github.say(repository, pull.number, 'wanda', '/ask Who refreshes the token, and when?')
  const down = { method: 'PATCH', path: /comments/, match: () => model.requests.length > before }
  const refused = { kind: 'answer', status: 502, body: '{"message":"bad gateway"}' } as const
  const takeBack = github.server.rule({ ...down, fault: refused })
  await github.deliver(address(), github.eventOf(asked), { secret })
  await until('it was given up', async () => (await here.functions.state()).pending === 0, 30_000)
  takeBack()
  const [path] = here.promises() as [string]
  drive.write(path, JSON.stringify({ ...JSON.parse(drive.readFile(path)!.toString()), until: Date.now() - 1 }))
  await call(here.url, '/api/cron', { token: cronSecret })
  await answered()
  expect([ours().length, model.requests.length - before]).toEqual([1, 1])
  await until('nothing is promised any more', () => here.promises().length === 0)
}, 60_000)

test('with the credentials of an App, the App writes', async () => {
  const { id, privateKey, bot } = github.app
  const app = { HANDOFF_APP_ID: id, HANDOFF_APP_PRIVATE_KEY: privateKey.replaceAll('\n', '\\n') }
  const instance = await here.another({ ...app, HANDOFF_GITHUB_TOKEN: '' })
  const asked = { repository: name, pull: pull.number, question: 'Which colour is it?', comment: true }
  expect((await post(instance.url, asked)).status).toBe(200)
  expect(ours().map(({ author }) => author.login)).toEqual([bot.login])
}, 60_000)

test('the same delivery again, and the same comment under another: nothing more happens', async () => {
  const asked = github.say(repository, pull.number, 'wanda', '/ask Which colour is it?')
  const event = github.eventOf(asked)
  const delivery = randomUUID()
  const before = here.machines()
  const statuses = await Promise.all([
    github.deliver(address(), event, { secret, delivery }),
    github.deliver(address(second), event, { secret, delivery }),
    github.deliver(address(second), event, { secret: nextSecret }),
  ])
  const bodies = (await Promise.all(statuses.map((one) => one.json()))) as { duplicate?: boolean }[]
  expect(statuses.map(({ status }) => status)).toEqual([202, 202, 202])
  expect(bodies.filter(({ duplicate }) => duplicate).length).toBeGreaterThanOrEqual(2)
  await answered()
  expect(ours()).toHaveLength(1)
  expect(here.machines() - before).toBe(1)
}, 60_000)

test('a note about a comment that GitHub never lets us see is let go in the end', async () => {
  const asked = github.say(repository, pull.number, 'wanda', '/ask How is the token refreshed?')
  const { id, login, type } = asked.author
  const words = { text: 'How is it?', pull: pull.number, asker: `github:${login}`, user: { id, login, type } }
  const thread = { kind: 'issue', repository: name, number: pull.number }
  const refused = { kind: 'answer', status: 403, body: '{"message":"Resource not accessible"}' } as const
  const takeBack = github.server.rule({ path: /\/permission/, fault: refused })
  const day = 24 * 60 * 60 * 1_000
  leaveBehind({
    answer: 'e'.repeat(32),
    asked: words,
    post: { thread, question: asked.id },
    until: Date.now() - 4 * day,
  })
  await call(here.url, '/api/cron', { token: cronSecret })
  await until('nothing is promised any more', () => here.promises().length === 0)
  takeBack()
})

test('deliveries that nobody numbered are known by their comments', async () => {
  const asking = ['Which colour is it, once?', 'Which colour is it, and again?'].map((question) =>
    send(JSON.stringify(github.eventOf(github.say(repository, pull.number, 'wanda', `/ask ${question}`)).payload), {
      'x-github-delivery': '',
    }),
  )
  const bodies = await Promise.all((await Promise.all(asking)).map((one) => one.json()))
  expect(bodies).toEqual([{ accepted: true }, { accepted: true }])
  await until('both answers', () => ours().filter(({ body }) => body.includes('state=done')).length === 2)
}, 60_000)

test.each<[string, string, string]>([
  ['somebody who may only read', 'remy', '/ask What?'],
  ['a bot', 'helper[bot]', '/ask What?'],
  ['no command', 'wanda', 'What about /ask?'],
  ['a command without a question', 'wanda', '/ask'],
])('%s is not answered', async (_what, login, body) => {
  github.addUser(login)
  const asked = github.say(repository, pull.number, login, body)
  const before = here.machines()
  const response = await github.deliver(address(), github.eventOf(asked), { secret })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ ignored: expect.any(String) })
  expect(ours().filter((comment) => comment !== asked)).toEqual([])
  expect(here.machines()).toBe(before)
})

test('another event, an edited comment, an issue: seen, and nothing to do', async () => {
  const asked = github.say(repository, pull.number, 'wanda', '/ask What?')
  const edited = await github.deliver(address(), github.eventOf(asked, 'edited'), { secret })
  expect(await edited.json()).toEqual({ ignored: 'The comment is not new.' })
  const ping = await send('{"zen":"Keep it logically awesome."}', { 'x-github-event': 'ping' })
  expect(await ping.json()).toEqual({ ok: true })
  const other = await send('{}', { 'x-github-event': 'push' })
  expect(other.status).toBe(200)
})

test.each<[string, string, Record<string, string>, number]>([
  ['no signature', '{}', { 'x-hub-signature-256': '' }, 401],
  ['a signature of another secret', '{}', { 'x-hub-signature-256': sign('{}', 'guessed') }, 401],
  ['a signature of another body', '{}', { 'x-hub-signature-256': sign('{ }', secret) }, 401],
  ['an old kind of signature', '{}', { 'x-hub-signature-256': '', 'x-hub-signature': 'sha1=00' }, 401],
  ['a body over the limit', `"${'x'.repeat(1_000_001)}"`, {}, 413],
  ['another type', '{}', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
  ['no JSON', '{', {}, 400],
  ['an event without its parts', '{}', {}, 400],
])('%s is refused before any cloud was reached', async (_what, body, headers, status) => {
  const before = here.reached() + github.server.requests.length
  expect((await send(body, headers)).status).toBe(status)
  expect(here.reached() + github.server.requests.length).toBe(before)
})

test('a commit without a summary: the newest of the branch answers, and says so', async () => {
  const other = github.addPull(repository, { author: 'wanda', head: { ref: 'y', sha: 'd'.repeat(40) } })
  pull = other
  const asked = github.say(repository, other.number, 'wanda', '/ask Where is the colour?')
  await github.deliver(address(), github.eventOf(asked), { secret })
  expect((await answered()).body).toContain('has no summary yet')
}, 60_000)

function sign(body: string, with_: string): string {
  return `sha256=${createHmac('sha256', with_).update(body).digest('hex')}`
}

function send(body: string, headers: Record<string, string>): Promise<Response> {
  return fetch(address(), {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'issue_comment',
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': sign(body, secret),
      ...headers,
    },
  })
}
