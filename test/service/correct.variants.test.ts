// `/correct` through the webhook: one permission, one job, the correction in the directory, in the comment and over HTTP.
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import type { Pull, Repository } from '../../src/emulators/github/state.js'
import { decodeCorrections } from '../../src/handoff/domain/corrections/correction.js'
import { until } from '../support/until.js'
import { call, type Deployment, deploy, name, post, token, webhookSecrets } from './kit.js'
import { connect } from './mcp/kit.js'

let here: Deployment
let github: LocalGitHub
let repository: Repository
let pull: Pull
const secret = webhookSecrets[0]!

beforeAll(async () => {
  github = await startGitHub()
  repository = github.addRepository({ name, app: true, collaborators: { wanda: 'write', remy: 'read' } })
  here = await deploy({
    onVercel: true,
    quickFinds: true,
    repositoryId: String(repository.id),
    environment: {
      GITHUB_API_URL: github.apiUrl,
      HANDOFF_GITHUB_TOKEN: github.issueToken({
        permissions: { contents: 'read', issues: 'write', pull_requests: 'write', discussions: 'write' },
      }),
      HANDOFF_WEBHOOK_SECRETS: webhookSecrets.join(','),
      HANDOFF_ASK_PERMISSION: 'read',
    },
  })
}, 200_000)

beforeEach(async () => {
  pull = github.addPull(repository, { author: 'wanda', head: { ref: 'x', sha: here.run.handoff.commit } })
  await here.repository.git('update-ref', `refs/pull/${pull.number}/head`, here.run.handoff.commit)
})

afterAll(async () => {
  await here?.close()
  await github?.close()
})

const path = () => here.stack.clouds.drive.tree('/').find((entry) => entry.path.endsWith('octo/tools/corrections.json'))
const kept = () => (path() ? decodeCorrections(here.stack.clouds.drive.readFile(path()!.path)!).corrections : [])
const ours = () => github.visibleComments(repository, pull.number).filter(({ author }) => author.type === 'Bot')
async function say(login: string, body: string) {
  const comment = github.addComment(repository, pull.number, login, body)
  const { status } = await github.deliver(`${here.functions.url}/api/github`, github.eventOf(comment), { secret })
  return { comment, status }
}
const reacted = (comment: Parameters<LocalGitHub['reactionsOf']>[0], with_: string) =>
  until(with_, () => github.reactionsOf(comment).some((one) => one.endsWith(`:${with_}`)), 20_000)

/** The question's answer in the comment of this test's own pull request. */
async function answered(question: string) {
  await say('wanda', `/ask ${question}`)
  await until('the answer', () => ours().find(({ body }) => body.includes('state=done')), 20_000)
  await here.quiet()
}

/** The text of a stored answer for an OpenAI client, and for an agent over MCP. */
async function readElsewhere(question: string): Promise<string[]> {
  const openai = new OpenAI({ baseURL: `${here.url}/v1`, apiKey: token, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: question }]
  const { choices } = await openai.chat.completions.create({ model: `${name}@${here.run.run}`, messages })
  await using agent = await connect(here.url, 'modern')
  const asked = { repository: name, ref: here.run.run, question }
  const { content } = await agent.callTool({ name: 'ask_question', arguments: asked })
  return [String(choices[0]!.message.content), JSON.stringify(content)]
}

test('someone who may ask and not write causes one request for the permission, and nothing else', async () => {
  const before = kept()
  await answered('How is the token refreshed?')
  const [drive, asked] = [here.stack.clouds.drive.requests.length, github.server.requests.length]
  expect((await say('remy', '/correct It is not.')).status).toBe(200)
  expect(github.server.requests.slice(asked).filter(({ path: one }) => one.includes('/permission'))).toHaveLength(1)
  expect(here.stack.clouds.drive.requests.length).toBe(drive)
  expect(kept()).toEqual(before)
}, 60_000)

test('a writer’s correction stands in the comment, with the run and with the answer; --remove takes it back', async () => {
  await answered('How is the token refreshed?')
  const { comment, status } = await say('wanda', '/correct It is the server that refreshes it.')
  expect(status).toBe(202)
  await reacted(comment, 'rocket')
  expect(kept()).toMatchObject([
    { id: `issue-${comment.id}`, by: 'wanda', text: 'It is the server that refreshes it.' },
  ])
  expect(ours()[0]!.body).toContain('**Correction** by `wanda`')
  const shown = expect.objectContaining({ by: 'wanda', text: 'It is the server that refreshes it.' })
  const { run } = here.run
  const whole = await call(here.url, `/api/runs/${run}?repository=${name}`)
  expect(whole.body.corrections).toEqual([shown])
  const { answer } = whole.body.corrections[0]
  const one = await call(here.url, `/api/runs/${run}/answers/${answer}?repository=${name}`)
  expect(one.body.corrections).toEqual([shown])
  expect(JSON.stringify(one.body.blocks)).toMatch(/Correction.*wanda.*It is the server that refreshes it\./)
  const thread = `pull/${pull.number}`
  const stored = await post(here.url, { repository: name, run, question: one.body.question, thread })
  expect(stored.body.status).toBe('done')

  const gone = await say('wanda', '/correct --remove')
  await reacted(gone.comment, 'rocket')
  expect(kept()).toEqual([])
  expect(ours()[0]!.body).not.toContain('Correction')
  expect((await call(here.url, `/api/runs/${run}?repository=${name}`)).body.corrections).toEqual([])
}, 60_000)

test('OpenAI clients and agents get the correction behind its sentence', async () => {
  const question = 'How is the token refreshed?'
  const asked = await post(here.url, { repository: name, pull: pull.number, question, comment: true })
  expect(asked.body.status).toBe('done')
  const { comment } = await say('wanda', '/correct It comes from the partner, see src/token.ts:3-4.')
  await reacted(comment, 'rocket')
  const corrected = /`src\/token\.ts:\d+[^\n]*\*\*Correction\*\* by `wanda`, \d{4}-\d\d-\d\d: It comes from the partner/
  for (const text of await readElsewhere(question)) expect(text).toMatch(corrected)
  expect(kept()).toMatchObject([{ answer: asked.body.id }])
  await reacted((await say('wanda', '/correct --remove')).comment, 'rocket')
  for (const text of await readElsewhere(question)) expect(text).not.toContain('Correction')
}, 60_000)

test('a list that cannot be read or written costs the correction, and no answer', async () => {
  await answered('How is the token refreshed?')
  const { drive } = here.stack.clouds
  const broken = { kind: 'answer', status: 500, body: '{}' } as const
  const file = /\/octo\/tools\/corrections\.json$/
  const takeBack = drive.rule({ path: file, fault: broken })
  const asked = await post(here.url, { repository: name, run: here.run.run, question: 'How is it refreshed then?' })
  expect(asked.body.status).toBe('done')
  takeBack()
  const refused = drive.rule({ method: 'PUT', path: file, times: 1, fault: broken })
  drive.rule({ method: 'HEAD', path: file, times: 1, fault: { kind: 'lose-reply' } })
  const { comment } = await say('wanda', '/correct It takes an hour.')
  await reacted(comment, 'rocket')
  refused()
  expect(kept()).toMatchObject([{ id: `issue-${comment.id}` }])
  await reacted((await say('wanda', '/correct --remove')).comment, 'rocket')
  expect(kept()).toEqual([])
}, 60_000)
