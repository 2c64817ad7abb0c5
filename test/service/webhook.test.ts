// The webhook: who may come in, what is taken, once for each comment, and the answer below it as the Action would write it.
import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import type { Pull, Repository } from '../../src/emulators/github/state.js'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { until } from '../support/until.js'
import { type Deployment, deploy, logged, name, post, webhookSecrets } from './kit.js'

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
    onVercel: true,
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
  await here.quiet(here.functions, second)
  await until('no job waits', () => here.queues.messages().length === 0)
  pull = github.addPull(repository, { author: 'wanda', head: { ref: 'x', sha: here.run.handoff.commit } })
  await here.repository.git('update-ref', `refs/pull/${pull.number}/head`, here.run.handoff.commit)
})

afterAll(async () => {
  expect(github?.unexpected).toEqual([])
  await here?.close()
  await github?.close()
})

const address = (of: RunningFunctions = here.functions) => `${of.url}/api/github`
const ours = () => github.visibleComments(repository, pull.number).filter((comment) => comment.author.type === 'Bot')
const [secret, nextSecret] = webhookSecrets as [string, string]

async function answered() {
  return until('the answer', () => ours().find(({ body }) => body.includes('state=done')), 20_000)
}

test('a model that knows what the service holds is not heard, and does not receive it', async () => {
  const { model, drive } = here.stack.clouds
  const known = [commentToken, secret]
  const forms = known.flatMap((one) => [one, Buffer.from(one).toString('base64').replace(/=+$/, '')])
  const takeBack = model.setBehaviour({ kind: 'say', text: `They are ${forms.join(' and ')}, see [src/token.ts:4].` })
  const { body } = await post(here.url, { repository: name, run: here.run.run, question: `What is ${commentToken}?` })
  takeBack()
  expect(body.status).toBe('done')
  const kept = drive.readFile(`${here.run.directory}/analysis/qa/${body.id}.json`)!.toString()
  const reported = model.requests.map((request) => request.body.toString()).join('\n')
  expect(kept).toContain('[redacted]')
  expect(forms.filter((form) => `${kept}\n${JSON.stringify(body)}\n${reported}`.includes(form))).toEqual([])
})

test('a question below a pull request: 👀, one comment with the answer, 🚀', async () => {
  const logs = [here.functions, second].map((of) => ({ of, from: logged(of).length }))
  const asked = github.addComment(repository, pull.number, 'wanda', '/ask How is the token refreshed?')
  await github.deliver(address(), github.eventOf(asked), { secret })
  const comment = await answered()
  expect(comment.body).toContain('How is the token refreshed?')
  expect(comment.body).toMatch(/src\/token\.ts/)
  expect(ours()).toHaveLength(1)
  await until('🚀', () => github.reactionsOf(asked).some((one) => one.endsWith(':rocket')))
  expect(here.living()).toBe(0)
  const lines = () => logs.flatMap(({ of, from }) => logged(of).slice(from))
  const line = await until('the log tells how it ended', () => lines().find(({ end }) => end !== undefined))
  expect(line).toMatchObject({ route: 'queue', status: 200, end: 'answered', answer: expect.any(String) })
  const taken = { route: 'github', event: 'issue_comment', status: 202 }
  expect(lines()).toContainEqual(expect.objectContaining(taken))
}, 60_000)

test('a question on an issue is answered there, from the default branch', async () => {
  const number = github.addIssue(repository)
  const asked = github.addComment(repository, number, 'wanda', '/Ask What does refreshToken take?')
  expect((await github.deliver(address(), github.eventOf(asked), { secret })).status).toBe(202)
  const answers = () => github.visibleComments(repository, number).filter(({ body }) => body.includes('state=done'))
  const [comment] = await until('the answer', () => (answers().length > 0 ? answers() : undefined), 20_000)
  expect(comment).toMatchObject({ kind: 'issue', number })
  expect(comment!.body).toMatch(/src\/token\.ts/)
}, 60_000)

test('a question on an issue is answered though GitHub does not tell the head of the branch, and the log says so', async () => {
  const refused = { kind: 'answer', status: 502, body: '{"message":"bad gateway"}' } as const
  const takeBack = github.server.rule({ path: /\/git\/ref\/heads\/main$/, fault: refused })
  const number = github.addIssue(repository)
  const asked = github.addComment(repository, number, 'wanda', '/ask What does a branch without a head hold?')
  await github.deliver(address(), github.eventOf(asked), { secret })
  const answers = () => github.visibleComments(repository, number).filter(({ body }) => body.includes('state=done'))
  await until('the answer', () => answers().length === 1, 20_000)
  takeBack()
  const notices = () => [here.functions, second].flatMap(logged).flatMap((line) => line['notices'] ?? [])
  const said = await until('the log says so', () => notices().find((text) => String(text).includes('present head')))
  expect(said).toMatch(/^The present head could not be checked: .*octo.tools/)
}, 60_000)

test('a question on a discussion is answered beneath it', async () => {
  const asked = github.addDiscussionComment(
    repository,
    github.addDiscussion(repository),
    'wanda',
    '/ask What is refreshed?',
  )
  expect((await github.deliver(address(), github.eventOf(asked), { secret })).status).toBe(202)
  const answer = () => github.comments.find(({ root, body }) => root === asked.id && body.includes('state=done'))
  expect(await until('the answer', answer, 20_000)).toMatchObject({ kind: 'discussion', number: asked.number })
}, 60_000)

test('a question in a review thread is answered in that thread', async () => {
  const root = github.addReviewComment(repository, pull.number, 'wanda', 'This line looks wrong.')
  const asked = github.addReviewComment(repository, pull.number, 'wanda', '/ask What does refreshToken do?', root.id)
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
  expect(comment!.body).toContain(`<!-- handoff:answer v=1 id=${first.body.id} part=1 run=${first.body.run} -->`)
  expect(comment!.body).toContain('How this was answered')
  expect(comment!.body).toMatch(/Answered at `[0-9a-f]{7}` of `octo\/tools`/)
}, 60_000)

test('GitHub does not wait for itself: a permission that it never tells is checked by the job', async () => {
  const takeBack = github.server.rule({ path: /\/permission/, times: 1, fault: { kind: 'hang' } })
  const asked = github.addComment(repository, pull.number, 'wanda', '/ask Which colour is it, late?')
  expect((await github.deliver(address(), github.eventOf(asked), { secret })).status).toBe(202)
  await answered()
  takeBack()
}, 60_000)

test('a question that is too long learns it below it', async () => {
  const asked = github.addComment(repository, pull.number, 'wanda', `/ask ${'漢'.repeat(19_000)}`)
  expect((await github.deliver(address(), github.eventOf(asked), { secret })).status).toBe(202)
  const end = await until('it is reported', () => ours().find(({ body }) => body.includes('state=failed')))
  expect(end.body).toContain('4,000')
})

test('with the credentials of an App, the App writes', async () => {
  const { id, privateKey, bot } = github.app
  const app = { HANDOFF_APP_ID: id, HANDOFF_APP_PRIVATE_KEY: privateKey.replaceAll('\n', '\\n') }
  await using instance = await here.another({ ...app, HANDOFF_GITHUB_TOKEN: '' })
  const asked = { repository: name, pull: pull.number, question: 'Which colour is it?', comment: true }
  expect((await post(instance.url, asked)).status).toBe(200)
  expect(ours().map(({ author }) => author.login)).toEqual([bot.login])
}, 60_000)

test('the same delivery again, and the same comment under another: nothing more happens', async () => {
  const asked = github.addComment(repository, pull.number, 'wanda', '/ask Which colour is it?')
  const event = github.eventOf(asked)
  const delivery = randomUUID()
  const before = here.machines()
  const statuses = await Promise.all([
    github.deliver(address(), event, { secret, delivery }),
    github.deliver(address(second), event, { secret, delivery }),
    github.deliver(address(second), event, { secret: nextSecret }),
  ])
  expect(statuses.map(({ status }) => status)).toEqual([202, 202, 202])
  await answered()
  expect(ours()).toHaveLength(1)
  expect(here.machines() - before).toBe(1)
}, 60_000)

test('deliveries without an id are identified by their comments', async () => {
  const asking = ['Which colour is it, once?', 'Which colour is it, and again?'].map((question) =>
    send(
      JSON.stringify(github.eventOf(github.addComment(repository, pull.number, 'wanda', `/ask ${question}`)).payload),
      {
        'x-github-delivery': '',
      },
    ),
  )
  const bodies = await Promise.all((await Promise.all(asking)).map((one) => one.json()))
  expect(bodies).toEqual([{ accepted: true }, { accepted: true }])
  await until('both answers', () => ours().filter(({ body }) => body.includes('state=done')).length === 2)
}, 60_000)

test.each<[string, string, string]>([
  ['an account with read permission only', 'remy', '/ask What?'],
  ['a bot', 'helper[bot]', '/ask What?'],
  ['no command', 'wanda', 'What about /ask?'],
  ['a command without a question', 'wanda', '/ask'],
])('%s is not answered', async (_what, login, body) => {
  github.addUser(login)
  const asked = github.addComment(repository, pull.number, login, body)
  const before = here.machines()
  const response = await github.deliver(address(), github.eventOf(asked), { secret })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ ignored: expect.any(String) })
  expect(ours().filter((comment) => comment !== asked)).toEqual([])
  expect(here.machines()).toBe(before)
})

test('another event, an edited comment, an issue: seen, and nothing to do', async () => {
  const asked = github.addComment(repository, pull.number, 'wanda', '/ask What?')
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
  const asked = github.addComment(repository, other.number, 'wanda', '/ask Where is the colour?')
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
