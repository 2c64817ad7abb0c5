// Questions on pull requests, issues and discussions, from the built dist. `ask.test.ts` asks one.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { StoredComment } from '../../src/emulators/github/state.js'
import { tokenFiles, tokenSource } from '../support/token-files.js'
import { until } from '../support/until.js'
import { type ActionStack, startActionStack } from './kit.js'

let stack: ActionStack
const { 'README.md': readme, 'src/other.ts': other } = tokenFiles

/** By what the tests do with it. Only `base` and `head` have a run before the tests. */
const commits = { base: '', head: '', fresh: '', awaited: '', changed: '', quiet: '' }

beforeAll(async () => {
  const hours = (value: string) => ({ 'src/token.ts': tokenSource.replace('3_600_000', value) })
  stack = await startActionStack({
    repeated: { searchFor: 'What is `hour` in refreshToken?' },
    files: [
      { 'README.md': readme, 'src/token.ts': tokenSource },
      { 'src/other.ts': other },
      hours('1_800_000'),
      hours('900_000'),
      hours('600_000'),
      { 'src/quiet.ts': 'export const quiet = true\n' },
    ],
    refs: { 'refs/heads/main': 0, 'refs/heads/base': 0, 'refs/pull/7/head': 1 },
  })
  for (const [index, name] of Object.keys(commits).entries())
    commits[name as keyof typeof commits] = stack.repository.commits[index]!
  addPull(7, commits.head)
  stack.onGitHub.issues.add(30)
  stack.onGitHub.discussions.add(40)
  const [head, base] = await Promise.all([
    stack.step({ event: stack.pull(7, commits.head) }),
    stack.step({ event: stack.push({ sha: commits.base, ref: 'refs/heads/base' }) }),
  ])
  const main = await stack.step({ event: stack.push({ sha: commits.base }) })
  expect([...head.errors, ...base.errors, ...main.errors]).toEqual([])
})

afterAll(() => stack?.close())
afterEach(() => {
  stack.clouds.model.clearBehaviours()
  stack.github.server.clearRules()
})

function addPull(number: number, head: string, { base = 'base', fork = false } = {}) {
  const { github, onGitHub, repository } = stack
  const stranger = fork
    ? {
        author: 'stranger',
        repository: github.addRepository({ name: 'stranger/tools', directory: repository.directory }),
      }
    : undefined
  return github.addPull(onGitHub, {
    number,
    ...(stranger ? { author: stranger.author } : {}),
    head: { ref: `topic-${number}`, sha: head, ...(stranger ? { repository: stranger.repository } : {}) },
    base: { ref: base, sha: commits.base },
  })
}

const eventOf = (comment: StoredComment) => ({ ...stack.github.eventOf(comment), sha: commits.base })
const asked = (comment: StoredComment, inputs: Record<string, string> = {}) =>
  stack.step({ event: eventOf(comment), inputs })
const say = (login: string, body: string, number = 7) => stack.github.addComment(stack.onGitHub, number, login, body)
const answersTo = (comment: StoredComment) =>
  stack.github.comments.filter(
    (one) => one.body.startsWith(`<!-- handoff:ask v=1 comment=${comment.id} `) && !one.deleted,
  )
const reactions = (comment: StoredComment) => stack.github.reactionsOf(comment)
const writesAbout = (comment: StoredComment) =>
  stack.github.server.requests.filter(({ method, body }) => method !== 'GET' && body.includes(`comment=${comment.id} `))

test('who may ask is for the workflow to say', async () => {
  const question = say('reader', '/ask How does a reader refresh the token?')
  const refused = await asked(question)
  expect(refused.notices.join()).toContain('reader has the permission read in octo/tools; this takes write.')
  expect(answersTo(question)).toEqual([])
  await asked(question, { allow: 'read' })
  expect(answersTo(question)).toHaveLength(1)
})

test('a bot hears nothing', async () => {
  const question = say('writer[bot]', '/ask How does a bot refresh the token?')
  const before = stack.github.server.requests.length
  const step = await asked(question)
  expect(step).toMatchObject({ code: 0, errors: [], outputs: {} })
  expect(stack.github.server.requests.length).toBe(before)
})

test('one comment is answered once, however often its event comes', async () => {
  const question = say('writer', '/ask What colour is there?')
  const before = stack.clouds.sandboxes.sandboxes.length
  const both = await Promise.all([asked(question), asked(question)])
  expect(both.map((step) => step.errors)).toEqual([[], []])
  expect(answersTo(question)).toHaveLength(1)
  const opened = stack.clouds.sandboxes.sandboxes.slice(before)
  // Each job may open one beside a claim that it loses.
  expect(opened.length).toBeLessThanOrEqual(2)
  expect(opened.map(({ state }) => state)).toEqual(opened.map(() => 'gone'))
  expect(opened.flatMap(({ commands }) => commands)).toHaveLength(1)
  const writes = writesAbout(question).length
  const third = await asked(question)
  expect(third.lines).toContain('The question has its answer already.')
  expect(writesAbout(question).length).toBe(writes)
})

test('a lost reply to the making of the comment leaves one comment', async () => {
  stack.github.server.rule({ method: 'POST', path: /issues\/7\/comments/, times: 1, fault: { kind: 'lose-reply' } })
  const question = say('writer', '/ask Which colour does the other file have?')
  const step = await asked(question)
  expect(step.errors).toEqual([])
  expect(answersTo(question)).toHaveLength(1)
  expect(answersTo(question)[0]!.body).toContain('state=done')
})

test('a reply in a review thread is answered in that thread', async () => {
  const root = stack.github.addReviewComment(stack.onGitHub, 7, 'reader', 'Is this right?')
  const question = stack.github.addReviewComment(
    stack.onGitHub,
    7,
    'writer',
    '/ask When is the token older than an hour?',
    root.id,
  )
  const step = await asked(question)
  expect(step.errors).toEqual([])
  expect(answersTo(question)).toMatchObject([{ kind: 'review', root: root.id }])
  expect(reactions(question)).toEqual(['github-actions[bot]:rocket'])
})

test('before the head has a run, the newest one of the base branch answers and says so', async () => {
  addPull(8, commits.fresh)
  const question = say('writer', '/ask How is the token refreshed?', 8)
  const step = await asked(question)
  expect(step.errors).toEqual([])
  const { body } = answersTo(question)[0]!
  expect(step.outputs['commit']).toBe(commits.base)
  expect(body).toContain(
    `The head commit \`${commits.fresh.slice(0, 7)}\` has no summary yet, so this is answered from the newest one of base.`,
  )
  expect(body).toMatch(new RegExp(`The head is now \`${commits.fresh.slice(0, 7)}\`, 1 cited file changed`))
})

test('a pull request from a fork is answered from the base branch too', async () => {
  addPull(10, commits.fresh, { fork: true })
  const question = say('writer', '/ask How is the token refreshed here?', 10)
  const step = await asked(question)
  expect(step.errors).toEqual([])
  expect(step.outputs['commit']).toBe(commits.base)
  expect(answersTo(question)[0]!.body).toContain('has no summary yet')
})

test('with no run anywhere the comment says what to do', async () => {
  addPull(9, commits.fresh, { base: 'nowhere' })
  const question = say('writer', '/ask How is the token refreshed?', 9)
  const step = await asked(question)
  expect(step.code).toBe(1)
  expect(step.errors).toEqual([
    'Neither the head commit nor the base branch has a summary yet. Run the workflow that summarises the base branch, then ask again.',
  ])
  expect(answersTo(question)[0]!.body).toMatch(
    /state=failed -->[\s\S]*😕 There is no answer\. Neither the head commit nor the base branch/,
  )
  expect(reactions(question)).toEqual(['github-actions[bot]:confused'])
})

test('a run that is being made is waited for, if asked to', async () => {
  addPull(13, commits.awaited)
  const question = say('writer', '/ask What is an hour here?', 13)
  const summarising = stack.step({ event: stack.pull(13, commits.awaited) })
  await until('the run began', () => runsOf(commits.awaited).length > 0)
  const step = await asked(question, { 'wait-for-run': '60' })
  const summary = await summarising
  expect([...summary.errors, ...step.errors]).toEqual([])
  expect(step.outputs['commit']).toBe(commits.awaited)
  expect(answersTo(question)[0]!.body).not.toContain('has no summary yet')
})

test('a run that never began is not waited for', async () => {
  addPull(11, commits.quiet)
  const question = say('writer', '/ask Which colour does this repository like?', 11)
  const step = await asked(question, { 'wait-for-run': '60' })
  expect(step.errors).toEqual([])
  expect(step.outputs['commit']).toBe(commits.base)
  const shown = answersTo(question)[0]!.history.map(({ body }) => body)
  expect(shown.filter((body) => body.includes('Waiting for the summary'))).toEqual([])
})

const runsOf = (sha: string) => stack.clouds.drive.tree('/handoff').filter(({ path }) => path.includes(`/runs/${sha}-`))

test('the deadline of a job ends its waiting for an answer that another job is making', async () => {
  stack.clouds.model.setBehaviour({ kind: 'slow', firstMs: 8_000 })
  const words = '/ask Which deadline ends a question that another job holds?'
  const first = asked(say('writer', words))
  await until('the first job asks the model', () =>
    stack.clouds.model.prompts.some(({ text }) => text.includes(words.slice(5))),
  )
  const question = say('writer', words)
  const second = await asked(question, { 'deadline-seconds': '2' })
  expect(second.errors).toEqual([expect.stringMatching(/time/i)])
  expect(answersTo(question)[0]!.body).toContain('state=failed')
  expect((await first).errors).toEqual([])
})

test('a push while the question is answered is named with what it changed', async () => {
  const pull = addPull(15, commits.head)
  const question = say('writer', '/ask How is the token refreshed?', 15)
  // GitHub tells the old head at the moment of asking, and the new one when the answer is ready.
  const answering = asked(question, { fresh: 'true' })
  await until('the step read the pull request', () =>
    stack.github.server.requests.some(({ path, status }) => path.endsWith('/pulls/15') && status === 200),
  )
  pull.head.sha = commits.fresh
  expect((await answering).errors).toEqual([])
  expect(answersTo(question)[0]!.body).toMatch(
    /Answered at `\w{7}` of `octo\/tools`\. The head is now `\w{7}`, 1 cited file changed/,
  )
})

test('a question that is too long, and an empty one, learns it', async () => {
  for (const [body, said] of [
    ['/ask', 'The question is empty'],
    [`/ask ${'why '.repeat(1_500)}`, 'at most 4,000 are taken'],
  ] as const) {
    const question = say('writer', body)
    const step = await asked(question)
    expect(step.code).toBe(1)
    expect(answersTo(question)[0]!.body).toContain(said)
  }
})

test('an answer as long as may be is cut under the limit of a comment, and says so', async () => {
  const long = Array.from({ length: 880 }, (_, n) => `Line ${n} of the answer says this [src/token.ts:4].`).join('\n\n')
  stack.clouds.model.setBehaviour(
    { kind: 'say', text: `${long}\n\n\`\`\`ts\n${'const a = 1\n'.repeat(1_300)}` },
    { task: 'answer' },
  )
  const question = say('writer', '/ask Explain each line of refreshToken and requestToken at length.')
  const step = await asked(question)
  expect(step.errors).toEqual([])
  const answers = answersTo(question)
  expect(answers.length).toBe(1)
  const { body } = answers[0]!
  expect([body.length > 50_000, body.length <= 65_536, body.includes('state=done')]).toEqual([true, true, true])
  expect(body).toMatch(/too long to be shown here\.\n$/)
  expect((body.match(/^`{3,}/gm) ?? []).length % 2, 'every fence is closed').toBe(0)
  expect(Buffer.byteLength(step.summary)).toBeLessThanOrEqual(1_048_576)
  expect(step.outputs['answer']!.length).toBeGreaterThan(60_000)
  await asked(question)
  expect(answersTo(question)).toHaveLength(1)
})

test('a deleted comment is not made again', async () => {
  stack.clouds.model.setBehaviour({ kind: 'slow', firstMs: 14_000 }, { task: 'answer' })
  const question = say('writer', '/ask Is there anything about deleting?')
  const answering = asked(question)
  await until('the comment is there', () => answersTo(question).length > 0, 40_000)
  stack.github.deleteComment(answersTo(question)[0]!, 'writer')
  const step = await answering
  expect(step.code).toBe(0)
  expect(answersTo(question)).toEqual([])
  expect(step.outputs['answer']).toBeTruthy()
})

test('GitHub asking to slow down delays the answer and does not lose it', async () => {
  stack.github.limits.addSecondaryLimit({ times: 1, method: 'PATCH', retryAfterSeconds: 1 })
  stack.github.server.rule({
    method: 'GET',
    path: /pulls\/7/,
    times: 1,
    fault: { kind: 'answer', status: 502, body: 'bad gateway' },
  })
  const question = say('writer', '/ask How is the token refreshed, again?')
  const step = await asked(question)
  expect(step.errors).toEqual([])
  expect(answersTo(question)[0]!.body).toContain('state=done')
})

test('mode ask needs a question, and a run that makes sense', async () => {
  const event = { name: 'workflow_dispatch', payload: {} }
  const none = await stack.step({ event, inputs: { mode: 'ask' } })
  expect(none.errors).toEqual([expect.stringContaining('needs a question. Add the input question')])
  const odd = await stack.step({ event, inputs: { mode: 'ask', question: 'Why?', run: 'yesterday' } })
  expect(odd.errors).toEqual([expect.stringContaining('refs/heads/yesterday of octo/tools has no summary yet')])
})

describe('on an issue', () => {
  const ask = (login: string, body: string) => say(login, body, 30)

  test('a question is answered from the newest run of the default branch, whatever the case of its command', async () => {
    const question = ask('writer', '/Ask Where is the token refreshed?')
    const step = await asked(question)
    expect([...step.errors, ...step.warnings]).toEqual([])
    expect(step.outputs['commit']).toBe(commits.base)
    expect(answersTo(question)).toMatchObject([{ kind: 'issue', number: 30 }])
    expect(answersTo(question)[0]!.body).toContain('state=done')
    expect(reactions(question)).toEqual(['github-actions[bot]:rocket'])
  })

  test('who may ask is the same as on a pull request', async () => {
    const question = ask('stranger', '/ask Where is the token refreshed?')
    const step = await asked(question)
    expect(step.notices.join()).toContain('this takes write')
    expect(answersTo(question)).toEqual([])
    expect(reactions(question)).toEqual(['github-actions[bot]:confused'])
  })

  test('without issues: write the error names the permission', async () => {
    const token = stack.github.issueToken({ permissions: { contents: 'read', pull_requests: 'write', issues: 'read' } })
    const step = await asked(ask('writer', '/ask Where is the token refreshed?'), { 'github-token': token })
    expect(step.errors.join()).toMatch(/issues[=:] ?write/)
  })
})

describe('on a discussion', () => {
  const ask = (login: string, body: string) => stack.github.addDiscussionComment(stack.onGitHub, 40, login, body)

  test('a question is answered beneath it, from the newest run of the default branch', async () => {
    const question = ask('writer', '/ask Where is the token refreshed?')
    const step = await asked(question)
    expect([...step.errors, ...step.warnings]).toEqual([])
    expect(step.outputs['commit']).toBe(commits.base)
    expect(answersTo(question)).toMatchObject([{ kind: 'discussion', number: 40, root: question.id }])
    expect(answersTo(question)[0]!.body).toContain('state=done')
    expect(reactions(question)).toEqual(['github-actions[bot]:rocket'])
  })

  test('who may ask is the same as on a pull request', async () => {
    const question = ask('stranger', '/ask Where is the token refreshed?')
    const step = await asked(question)
    expect(step.notices.join()).toContain('this takes write')
    expect(answersTo(question)).toEqual([])
    expect(reactions(question)).toEqual(['github-actions[bot]:confused'])
  })

  test('a job that is killed leaves a comment that post brings to its end', async () => {
    const question = ask('writer', '/ask Is there an end to this discussion?')
    const step = await stack.step({ event: eventOf(question), interruptAt: 'is open (template', signal: 'SIGKILL' })
    const post = await stack.post(step)
    expect(post).toMatchObject({ code: 0, errors: [], warnings: [] })
    expect(answersTo(question).map(({ body }) => /state=(\w+)/.exec(body)?.[1])).toEqual(['cancelled'])
  })
})

test('a push that changes what an answer rests on marks the answer, once', async () => {
  const pull = addPull(14, commits.head)
  const question = say('writer', '/ask What is `hour`?', 14)
  await asked(question)
  pull.head.sha = commits.changed
  const marks = () =>
    answersTo(question).filter(({ body }) => body.includes(`<!-- handoff:stale v=1 head=${commits.changed} -->`))
  expect((await stack.step({ event: stack.pull(14, commits.changed) })).errors).toEqual([])
  for (const _again of [1, 2]) {
    const step = await stack.step({ event: stack.pull(14, commits.changed), inputs: { mode: 'comment' } })
    expect([...step.errors, ...step.warnings]).toEqual([])
    expect(marks()).toHaveLength(1)
  }
  expect(marks()[0]!.body).toContain('Some of what this answer rests on is gone.')
})
