// Comments on discussions: found, made once, edited, deleted and reacted to, by GraphQL.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/server.js'
import type { Repository, StoredComment } from '../../../../src/emulators/github/state.js'
import { makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import { readAskEvent } from '../../../../src/handoff/domain/answers/parse-ask-comment.js'
import type { GitHub, Thread } from '../../../../src/handoff/domain/github.js'

let local: LocalGitHub
let repository: Repository
let github: GitHub
let number: number
let question: StoredComment
let thread: Thread

const call = { signal: AbortSignal.timeout(300_000) }
const marker = '<!-- handoff:test -->'
const makeClient = (permission: 'read' | 'write') =>
  makeGitHub({
    apiUrl: local.apiUrl,
    serverUrl: local.url,
    credentials: { token: local.issueToken({ permissions: { discussions: permission } }) },
    userAgent: 'test',
  })
const threadOf = (comment: StoredComment): Thread => {
  const { name, payload } = local.eventOf(comment)
  const event = readAskEvent(name, JSON.parse(JSON.stringify(payload)))
  if ('ignored' in event) throw new Error(event.ignored)
  return event.target.thread
}
const ours = () => local.comments.filter(({ body, deleted }) => body.startsWith(marker) && !deleted)
const keyOfQuestion = () => ({
  kind: 'discussion' as const,
  repository: 'octo/tools',
  id: question.id,
  node: `DC_${question.id}`,
})

beforeAll(async () => {
  local = await startGitHub({ limits: { contentPerMinute: 10_000 } })
  repository = local.addRepository({ name: 'octo/tools' })
  github = makeClient('write')
})
beforeEach(() => {
  local.server.clearRules()
  number = local.addDiscussion(repository)
  question = local.addDiscussionComment(repository, number, 'wanda', '/ask why?')
  thread = threadOf(question)
  for (const comment of ours()) local.deleteComment(comment, 'wanda')
})
afterAll(async () => {
  await local.close()
  expect(local.unexpected).toEqual([])
})

test('an answer replies to the question, once', async () => {
  local.addDiscussionComment(repository, number, 'mallory', `${marker}\nforged`, question.id)
  const first = await github.ensureComment(thread, { marker, body: `${marker}\nworking` }, call)
  expect(first).toMatchObject({ created: true, comment: { kind: 'discussion', node: expect.any(String) } })
  const again = await github.ensureComment(thread, { marker, body: `${marker}\nworking` }, call)
  expect(again).toMatchObject({ created: false, comment: { id: first.comment.id } })
  const [made] = ours().filter(({ author }) => author.type === 'Bot')
  expect(made).toMatchObject({ id: first.comment.id, number, root: question.id })
})

test('the answer to a question that is a reply becomes the next reply', async () => {
  const reply = local.addDiscussionComment(repository, number, 'wanda', '/ask and then?', question.id)
  const { comment } = await github.ensureComment(threadOf(reply), { marker, body: marker }, call)
  expect(local.comments.find(({ id }) => id === comment.id)).toMatchObject({ root: question.id })
})

test('a lost create reply leaves one comment', async () => {
  const making = { method: 'POST', path: /graphql/, skip: 1, times: 1, fault: { kind: 'lose-reply' } } as const
  local.server.rule(making)
  await github.ensureComment(thread, { marker, body: marker }, call)
  expect(ours()).toHaveLength(1)
})

test('the answer is found among 250 other replies', async () => {
  for (let n = 0; n < 250; n += 1) local.addDiscussionComment(repository, number, 'wanda', `Reply ${n}`, question.id)
  const { comment } = await github.ensureComment(thread, { marker, body: marker }, call)
  expect(await github.ownComments(thread, { marker }, call)).toMatchObject([{ id: comment.id, body: marker }])
})

test('an answer is edited and deleted; a deleted one returns null', async () => {
  const { comment } = await github.ensureComment(thread, { marker, body: marker }, call)
  expect(await github.updateComment(comment, `${marker}\ndone`, call)).toMatchObject({ body: `${marker}\ndone` })
  expect(await github.getComment(comment, call)).toMatchObject({ body: `${marker}\ndone` })
  expect(await github.deleteComment(comment, call)).toBe(true)
  expect(await github.deleteComment(comment, call)).toBe(false)
  expect(await github.getComment(comment, call)).toBeNull()
  expect(await github.updateComment(comment, marker, call)).toBeNull()
  expect(ours()).toEqual([])
})

test('our reactions to the question are added and removed; those of others stay', async () => {
  expect(await github.addReaction(keyOfQuestion(), 'eyes', call)).toBe(true)
  expect(await github.addReaction(keyOfQuestion(), 'eyes', call)).toBe(true)
  question.reactions.push({ id: 1, user: local.addUser('mallory'), content: 'eyes', at: 0 })
  await github.addReaction(keyOfQuestion(), 'rocket', call)
  await github.removeReactions(keyOfQuestion(), ['eyes', 'confused'], call)
  expect(local.reactionsOf(question).sort()).toEqual(['github-actions[bot]:rocket', 'mallory:eyes'])
})

test('a deleted question takes no answer and no reaction', async () => {
  local.deleteComment(question, 'wanda')
  expect(await github.addReaction(keyOfQuestion(), 'eyes', call)).toBe(false)
  expect(await github.ownComments(thread, { marker }, call)).toEqual([])
  await expect(github.createComment(thread, marker, call)).rejects.toMatchObject({ code: 'not-found' })
})

test('a read-only token is refused with the permission it lacks', async () => {
  const reader = makeClient('read')
  await expect(reader.ensureComment(thread, { marker, body: marker }, call)).rejects.toMatchObject({
    code: 'forbidden',
    next: expect.stringContaining('discussions: write'),
  })
})

test.each([
  ['RATE_LIMITED', { code: 'git', retryAfterSeconds: 60 }],
  ['SOMETHING_NEW', { code: 'git' }],
])('the error %s is reported as ours', async (type, expected) => {
  const body = JSON.stringify({ data: null, errors: [{ type, message: 'no' }] })
  local.server.rule({ method: 'POST', path: /graphql/, fault: { kind: 'answer', status: 200, body } })
  await expect(github.getComment(keyOfQuestion(), call)).rejects.toMatchObject(expected)
})
