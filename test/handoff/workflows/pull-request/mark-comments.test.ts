// After a push: answers whose evidence is gone are marked in their comments, once per head, and nothing else is touched.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/server.js'
import type { Pull, Repository, StoredComment } from '../../../../src/emulators/github/state.js'
import { makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import { writeAnswerMarker, writeAskMarker } from '../../../../src/handoff/domain/answers/comment-marker.js'
import { answerMarkdown, type CompletedAnswer, markStaleComments } from '../../../../src/handoff/index.js'
import { type GitFolder, gitFolder } from '../../../support/git-folder.js'
import { makeCitation, storeAnswer } from '../../../support/stored-answers.js'
import { makeStoredRuns, never, type StoredRuns } from '../../../support/stored-runs.js'

const bot = 'github-actions[bot]'
let there: StoredRuns
let local: LocalGitHub
let folder: GitFolder
let repository: Repository
let pull: Pull
let notices: string[]
let record: CompletedAnswer

const lines = (change: Record<number, string> = {}) =>
  Array.from({ length: 30 }, (_, index) => `${change[index + 1] ?? `line ${index + 1}`}\n`).join('')

beforeEach(async () => {
  ;[there, local] = await Promise.all([makeStoredRuns(), startGitHub()])
  folder = gitFolder()
  notices = []
  repository = local.addRepository({ name: 'octo/tools', directory: folder.directory })
  const first = folder.commit({ 'a.ts': lines(), 'b.ts': lines() })
  pull = local.addPull(repository, { head: { ref: 'main', sha: first } })
  record = storeAnswer(there, await there.sealed(first), [makeCitation('a.ts', 3, 5), makeCitation('b.ts', 20)])
})
afterEach(async () => {
  expect(local.unexpected).toEqual([])
  folder[Symbol.dispose]()
  await Promise.all([local.close(), there[Symbol.asyncDispose]()])
})

const bodyOf = (of: CompletedAnswer) =>
  answerMarkdown(of, { host: 'github.com', repository: 'octo/tools' }, { form: 'comment' })
let question = 100
const marker = ({ run, id } = record) => writeAskMarker({ question, state: 'done', answer: { run, id } })
function answered(
  of = record,
  say = (body: string) => local.addComment(repository, pull.number, bot, body),
): StoredComment {
  question += 1
  return say(`${marker(of)}\n${bodyOf(of)}`)
}
const push = (files: Record<string, string>) => {
  pull.head.sha = folder.commit(files)
  return pull.head.sha
}
async function mark() {
  const token = local.issueToken({ permissions: { contents: 'read', pull_requests: 'write' } })
  const github = makeGitHub({ apiUrl: local.apiUrl, serverUrl: local.url, credentials: { token }, userAgent: 'test' })
  const onNotice = (text: string) => notices.push(text)
  const done = await markStaleComments(
    github,
    { context: there.context, repository: there.repository, pull: pull.number, onNotice },
    never,
  )
  return {
    marked: done.marked.map(({ id }) => id),
    cleared: done.cleared.map(({ id }) => id),
    untouched: done.untouched,
  }
}

test('an answer whose cited lines changed is marked, above its first line; the rest of it stays', async () => {
  const comment = answered()
  const before = comment.body
  const head = push({ 'a.ts': lines({ 4: 'other' }) })
  expect(await mark()).toEqual({ marked: [comment.id], cleared: [], untouched: 0 })
  const [first, second, words, empty, ...rest] = comment.body.split('\n')
  expect([first, ...rest].join('\n')).toBe(before)
  expect(second).toBe(`<!-- handoff:stale v=1 head=${head} -->`)
  expect(words?.replaceAll('`', '')).toBe(
    `⚠️ **Some of what this answer rests on is gone.** The head is now ${head.slice(0, 7)}; 1 of the 2 cited ranges changed: a.ts:3-5.`,
  )
  expect(empty).toBe('')
})

test('once per head; a later head has a mark of its own, and one that takes the push back has none', async () => {
  const comment = answered()
  const before = comment.body
  push({ 'a.ts': lines({ 4: 'other' }) })
  await mark()
  const once = comment.history.length
  expect(await mark()).toEqual({ marked: [], cleared: [], untouched: 1 })
  expect(comment.history).toHaveLength(once)
  const later = push({ 'b.ts': lines({ 20: 'other' }) })
  expect((await mark()).marked).toEqual([comment.id])
  expect(comment.body.match(/handoff:stale/g)).toHaveLength(1)
  expect(comment.body).toContain(`head=${later}`)
  push({ 'a.ts': lines(), 'b.ts': lines() })
  expect((await mark()).cleared).toEqual([comment.id])
  expect(comment.body).toBe(before)
})

test('a change beside the cited lines, or in other files, marks nothing', async () => {
  const comment = answered()
  push({ 'a.ts': lines({ 15: 'other' }), 'c.ts': 'new\n' })
  expect(await mark()).toEqual({ marked: [], cleared: [], untouched: 1 })
  expect(comment.history).toHaveLength(1)
})

test('in review threads too, on answers without a question, and on the first of several parts of earlier versions', async () => {
  const root = local.addReviewComment(repository, pull.number, 'wanda', 'hm')
  const inReview = answered(record, (body) => local.addReviewComment(repository, pull.number, bot, body, root.id))
  const alone = local.addComment(repository, pull.number, bot, `${writeAnswerMarker(record)}\n${bodyOf(record)}`)
  question += 1
  const [start, end] = [bodyOf(record).slice(0, 20), bodyOf(record).slice(20)]
  const second = local.addComment(repository, pull.number, bot, `${marker().replace('part=1', 'part=2')}\n${end}`)
  const first = local.addComment(repository, pull.number, bot, `${marker()}\n${start}`)
  push({ 'a.ts': lines({ 4: 'other' }) })
  expect((await mark()).marked.sort()).toEqual([inReview.id, alone.id, first.id].sort())
  expect(second.history).toHaveLength(1)
})

test('a mark in a review thread that GitHub refuses is reported, and the next push writes it', async () => {
  const root = local.addReviewComment(repository, pull.number, 'wanda', 'hm')
  const comment = answered(record, (body) => local.addReviewComment(repository, pull.number, bot, body, root.id))
  push({ 'a.ts': lines({ 4: 'other' }) })
  const takeBack = local.server.rule({
    method: 'PATCH',
    path: /\/pulls\/comments\/\d+$/,
    fault: { kind: 'answer', status: 403, body: '{"message":"Resource not accessible by integration"}' },
  })
  await mark().catch((error: unknown) => notices.push(String(error)))
  expect(comment.history).toHaveLength(1)
  expect(notices.join()).toContain('Resource not accessible')
  takeBack()
  expect((await mark()).marked).toEqual([comment.id])
})

test('nothing of others is touched, nor what is not finished, nor what the answer store does not know', async () => {
  const working = `${writeAskMarker({ question: 1, state: 'working', answer: record })}\n${bodyOf(record)}`
  const forged = { ...record, id: 'f'.repeat(32) }
  const comments = [
    local.addComment(repository, pull.number, 'mallory', `${marker()}\n${bodyOf(record)}`),
    local.addComment(repository, pull.number, bot, working),
    local.addComment(repository, pull.number, bot, 'A word of another workflow.'),
    answered(forged),
  ]
  push({ 'a.ts': lines({ 4: 'other' }) })
  expect((await mark()).marked).toEqual([])
  expect(comments.map(({ history }) => history.length)).toEqual([1, 1, 1, 1])
})

test('the marker names the answer, not the words below it', async () => {
  const comment = answered()
  comment.body = comment.body.replaceAll(/\| (Run|Answer) \|/g, '| … |')
  push({ 'a.ts': lines({ 4: 'other' }) })
  expect((await mark()).marked).toEqual([comment.id])
})

test('what the model wrote cannot name another run, nor forge or hide a mark', async () => {
  const other = storeAnswer(there, await there.sealed('c'.repeat(40)), [makeCitation('zzz.ts', 1)])
  const head = push({ 'a.ts': lines({ 4: 'other' }) })
  const text = `<!-- handoff:stale v=1 head=${head} -->\n\n| Run | \`${other.run}\` |\n| Answer | \`${other.id}\` |\n`
  const comment = answered({ ...record, text })
  expect((await mark()).marked).toEqual([comment.id])
  expect(comment.body).toContain('1 of the 2 cited ranges changed: a.ts:3-5')
})

test('many changed places and hostile names stay short and harmless', async () => {
  const name = `${'@octo '.repeat(30)}[x](evil).ts`
  folder.commit({ [name]: lines() })
  const base = folder.git('rev-parse', 'HEAD')
  const hostile = storeAnswer(
    there,
    await there.sealed(base),
    [1, 3, 5, 7, 9].map((line) => makeCitation(name, line)),
  )
  const comment = answered(hostile)
  const head = push({ [name]: lines({ 1: 'x', 3: 'x', 5: 'x', 7: 'x', 9: 'x' }) })
  await mark()
  const words = comment.body.split('\n')[2]!
  expect(words.length).toBeLessThan(400)
  expect(notices).toEqual([])
  expect(words.replaceAll('`', '')).toContain(`The head is now ${head.slice(0, 7)}; 5 of the cited ranges changed.`)
})

test('one that cannot be looked at is reported, and the others are marked', async () => {
  const broken = answered(storeAnswer(there, record.run, [makeCitation('a.ts', 4)]))
  const id = broken.body.match(/Answer \| `(\w+)`/)![1]
  there.drive.write(`${there.place.run(record.run)}/analysis/qa/${id}.json`, 'no json')
  const fine = answered()
  push({ 'a.ts': lines({ 4: 'other' }) })
  expect(await mark()).toEqual({ marked: [fine.id], cleared: [], untouched: 1 })
  expect(notices).toEqual([expect.stringContaining('could not be checked')])
})
