// Which events are questions, and where their answers go.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/server.js'
import type { Pull, Repository, StoredComment } from '../../../../src/emulators/github/state.js'
import { readAskEvent } from '../../../../src/handoff/domain/answers/parse-ask-comment.js'

let local: LocalGitHub
let repository: Repository
let pull: Pull

beforeAll(async () => {
  local = await startGitHub()
  repository = local.addRepository({ name: 'octo/tools' })
  pull = local.addPull(repository, { head: { ref: 'x', sha: 'b'.repeat(40) } })
})
afterAll(async () => {
  await local.close()
})

const read = (comment: StoredComment, action?: string) => {
  const { name, payload } = local.eventOf(comment, action)
  return readAskEvent(name, JSON.parse(JSON.stringify(payload)))
}
const say = (body: string) => local.addComment(repository, pull.number, 'wanda', body)

test('a question in the conversation', () => {
  const comment = say('/ask how is the token refreshed?\r\n\r\nIn src/auth, I mean.')
  const wanda = local.addUser('wanda')
  expect(read(comment)).toEqual({
    command: 'ask',
    target: {
      thread: { kind: 'issue', repository: 'octo/tools', number: pull.number },
      question: comment.id,
      askedAt: `${new Date(comment.createdAt).toISOString().slice(0, 19)}Z`,
    },
    repositoryId: repository.id,
    asker: { login: 'wanda', id: wanda.id, type: 'User' },
    question: 'how is the token refreshed?\r\n\r\nIn src/auth, I mean.',
    body: comment.body,
  })
})

test.each([
  ['/correct It is refreshed each hour.', 'correct'],
  ['/CORRECT It is refreshed each hour.', 'correct'],
  ['/Ask how?', 'ask'],
])('%j is the command %s', (body, command) => {
  expect(read(say(body))).toMatchObject({ command })
})

test('a question at a line, and one in reply there: both are answered in that thread', () => {
  const root = local.addReviewComment(repository, pull.number, 'wanda', '/ask why?')
  const reply = local.addReviewComment(repository, pull.number, 'wanda', '/ask and then?', root.id)
  const thread = { kind: 'review', repository: 'octo/tools', number: pull.number, root: root.id }
  expect(read(root)).toMatchObject({ target: { thread, question: root.id } })
  expect(read(reply)).toMatchObject({ target: { thread, question: reply.id } })
})

test.each([
  ['/ask', ''],
  ['/ask\nhow?', 'how?'],
  ['/ask\thow?', 'how?'],
  ['/ask /ask twice', '/ask twice'],
  ['/Ask how?', 'how?'],
  ['/ASK how?', 'how?'],
])('%j asks %j', (body, question) => {
  expect(read(say(body))).toMatchObject({ question })
})

test.each([
  '',
  'ask why',
  '/asking why',
  ' /ask why',
  'Hello\n/ask why',
  '> /ask why',
  '\\/ask why',
  '`/ask why`',
  '<!-- handoff:ask v=1 -->\n/ask why',
])('%j asks nothing', (body) => {
  expect(read(say(body))).toEqual({ ignored: 'The comment does not start with /ask or /correct.' })
})

test('a question on an issue is about the default branch', () => {
  const number = local.addIssue(repository)
  const comment = local.addComment(repository, number, 'wanda', '/ask why?')
  const thread = { kind: 'issue', repository: 'octo/tools', number }
  expect(read(comment)).toMatchObject({ target: { thread, question: comment.id, branch: 'main' }, question: 'why?' })
})

test('a question on a discussion is about the default branch', () => {
  const number = local.addDiscussion(repository)
  const comment = local.addDiscussionComment(repository, number, 'wanda', '/ask why?')
  const read = (payload: object) => readAskEvent('discussion_comment', JSON.parse(JSON.stringify(payload)))
  const { payload } = local.eventOf(comment)
  const thread = { kind: 'discussion', repository: 'octo/tools', number, comment: `DC_${comment.id}` }
  expect(read(payload)).toMatchObject({ target: { thread, question: comment.id, branch: 'main' }, question: 'why?' })
  expect(read({ ...payload, discussion: undefined })).toHaveProperty('ignored')
})

/** An event without one of its parts. */
function without(comment: StoredComment, ...path: string[]) {
  const { name, payload } = local.eventOf(comment)
  const copy = JSON.parse(JSON.stringify(payload)) as Record<string, unknown>
  const parent = path.slice(0, -1).reduce((part, key) => part[key] as Record<string, unknown>, copy)
  delete parent[path.at(-1)!]
  return readAskEvent(name, copy)
}
const nowhere = { ignored: 'The event does not say what the comment is on.' }

test('a comment on nothing is ignored', () => {
  const onIssue = local.addComment(repository, local.addIssue(repository), 'wanda', '/ask why?')
  expect(without(onIssue, 'issue')).toEqual(nowhere)
  expect(without(onIssue, 'repository', 'default_branch')).toEqual(nowhere)
  const onPull = say('/ask why?')
  expect(without(onPull, 'repository', 'default_branch')).toHaveProperty('target')
  const inReview = local.addReviewComment(repository, pull.number, 'wanda', '/ask why?')
  expect(without(inReview, 'pull_request')).toEqual(nowhere)
  const inDiscussion = local.addDiscussionComment(repository, local.addDiscussion(repository), 'wanda', '/ask why?')
  expect(without(inDiscussion, 'comment', 'node_id')).toEqual(nowhere)
  expect(without(inDiscussion, 'repository', 'default_branch')).toEqual(nowhere)
  expect(without(inDiscussion, 'discussion')).toEqual(nowhere)
})

test('what is wrong with an event is said', () => {
  expect(() => without(say('/ask why?'), 'comment', 'id')).toThrow(/comment on GitHub: .*id/)
})

test('an edit, a deletion, another event and a comment without an author are ignored', () => {
  const comment = say('/ask why?')
  expect(read(comment, 'edited')).toEqual({ ignored: 'The comment is not new.' })
  expect(read(comment, 'deleted')).toEqual({ ignored: 'The comment is not new.' })
  expect(readAskEvent('push', {})).toEqual({ ignored: 'The event push is not a comment.' })
  const { name, payload } = local.eventOf(comment)
  const ghost = { ...payload, comment: { ...(payload['comment'] as object), user: null } }
  expect(readAskEvent(name, ghost)).toEqual({ ignored: 'GitHub does not say who wrote the comment.' })
})

test.each([null, 7, 'x', [], {}, { action: 'created', comment: { id: -1 }, repository: {} }])(
  '%j is no event',
  (payload) => {
    expect(() => readAskEvent('issue_comment', payload)).toThrow('This is not the event of a comment on GitHub')
  },
)
