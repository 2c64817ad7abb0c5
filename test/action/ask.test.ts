// A question on a pull request, from the built dist: who is answered, with what, and how often.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { StoredComment } from '../../src/emulators/github/state.js'
import { tokenFiles, tokenSource } from '../support/token-files.js'
import { until } from '../support/until.js'
import { type ActionStack, startActionStack } from './kit.js'
import { watchStory } from './story.js'

let stack: ActionStack
const { 'README.md': readme, 'src/other.ts': other } = tokenFiles

beforeAll(async () => {
  stack = await startActionStack({
    files: [
      { 'README.md': readme, 'src/token.ts': tokenSource },
      { 'src/other.ts': other },
      { 'src/token.ts': tokenSource.replace('3_600_000', '1_800_000') },
      { 'src/quiet.ts': 'export const quiet = true\n' },
    ],
    refs: { 'refs/pull/7/head': 1, 'refs/heads/base': 0, 'refs/heads/bare': 0 },
  })
  const [first, second, third, fourth] = stack.repository.commits
  const { github, onGitHub } = stack
  github.addPull(onGitHub, { number: 7, head: { ref: 'topic', sha: second! }, base: { ref: 'base', sha: first! } })
  // The head of this one was never summarised; nor was anything of the one after it.
  github.addPull(onGitHub, { number: 8, head: { ref: 'fresh', sha: third! }, base: { ref: 'base', sha: first! } })
  github.addPull(onGitHub, { number: 9, head: { ref: 'none', sha: third! }, base: { ref: 'nowhere', sha: first! } })
  github.addPull(onGitHub, { number: 11, head: { ref: 'quiet', sha: fourth! }, base: { ref: 'base', sha: first! } })
  const fork = github.addRepository({ name: 'stranger/tools', directory: stack.repository.directory })
  github.addPull(onGitHub, {
    number: 10,
    author: 'stranger',
    head: { ref: 'patch', sha: third!, repository: fork },
    base: { ref: 'base', sha: first! },
  })
  const [head, base] = await Promise.all([
    stack.step({ event: stack.pull(7, second!) }),
    stack.step({ event: stack.push({ sha: first!, ref: 'refs/heads/base' }) }),
  ])
  expect([...head.errors, ...base.errors]).toEqual([])
})

afterAll(() => stack?.close())
afterEach(() => {
  stack.clouds.model.clearBehaviours()
  stack.github.server.clearRules()
})

const eventOf = (comment: StoredComment) => ({ ...stack.github.eventOf(comment), sha: stack.repository.commits[0]! })
const asked = (comment: StoredComment, inputs: Record<string, string> = {}) =>
  stack.step({ event: eventOf(comment), inputs })
const say = (login: string, body: string, number = 7) => stack.github.addComment(stack.onGitHub, number, login, body)
const answersTo = (comment: StoredComment) =>
  stack.github.comments.filter(
    (one) => one.body.startsWith(`<!-- handoff:ask v=1 comment=${comment.id} `) && !one.deleted,
  )
const reactions = (comment: StoredComment) => stack.github.reactionsOf(comment)
const machines = () => stack.clouds.sandboxes.sandboxes.length
const writesAbout = (comment: StoredComment) =>
  stack.github.server.requests.filter(({ method, body }) => method !== 'GET' && body.includes(`comment=${comment.id} `))

test('a writer is answered in one comment, with links to checked lines', async () => {
  const question = say('writer', '/ask How is the token refreshed?')
  const story = watchStory(stack)
  const step = await asked(question)
  expect(story(step)).toMatchSnapshot()
  const [comment, ...others] = answersTo(question)
  expect(others).toEqual([])
  const head = stack.repository.commits[1]
  expect(comment!.body).toMatch(
    /^<!-- handoff:ask v=1 comment=\d+ part=1 state=done -->\n`writer` asks:\n\n> How is the token refreshed\?\n/,
  )
  expect(comment!.body).toContain(`](${stack.remote.url}/octo/tools/blob/${head}/src/token.ts#L`)
  expect(comment!.body).toContain('<details>\n<summary>How this was answered</summary>')
  expect(reactions(question)).toEqual(['github-actions[bot]:rocket'])
  for (const row of ['| Model |', '| Tokens |', '| Time |', '| Sandbox |', '| Run |', '| Reused | no |'])
    expect(comment!.body).toContain(row)
  const citations = JSON.parse(step.outputs['citations']!) as { path: string; url: string }[]
  expect(citations).toContainEqual(
    expect.objectContaining({ path: 'src/token.ts', url: expect.stringContaining(`/blob/${head}/`) }),
  )
})

test('the same question again comes from the answer store, without a sandbox', async () => {
  const before = machines()
  const question = say('writer', '/ask how is the token refreshed')
  const step = await asked(question)
  expect(step.outputs['reused']).toBe('true')
  expect(machines()).toBe(before)
  const [comment] = answersTo(question)
  expect(comment!.body).toContain('| Reused | yes')
  expect(comment!.history, 'GitHub mails the first version: it is the answer, and says who asked').toHaveLength(1)
  expect(comment!.body).toContain('`writer` asks:\n\n> How is the token refreshed?\n')
})

test('a stranger gets a reaction and no answer, and no cloud is reached', async () => {
  const question = say('stranger', '/ask Where are the keys?')
  const story = watchStory(stack)
  const step = await asked(question)
  expect(story(step)).toMatchSnapshot()
  expect(answersTo(question)).toEqual([])
  expect(reactions(question)).toEqual(['github-actions[bot]:confused'])
})

test('who may ask is for the workflow to say', async () => {
  const question = say('reader', '/ask How is the token refreshed?')
  const refused = await asked(question)
  expect(refused.notices.join()).toContain('reader has the permission read in octo/tools; this takes write.')
  expect(answersTo(question)).toEqual([])
  await asked(question, { allow: 'read' })
  expect(answersTo(question)).toHaveLength(1)
})

test.each(['dependabot[bot]', 'writer[bot]'])('%s is a bot and hears nothing', async (login) => {
  const question = say(login, '/ask How is the token refreshed?')
  const before = stack.github.server.requests.length
  const step = await asked(question)
  expect(step).toMatchObject({ code: 0, errors: [], outputs: {} })
  expect(stack.github.server.requests.length).toBe(before)
})

test('one comment is answered once, however often its event comes', async () => {
  const question = say('writer', '/ask What colour is there?')
  const before = machines()
  const both = await Promise.all([asked(question), asked(question)])
  expect(both.map((step) => step.errors)).toEqual([[], []])
  expect(answersTo(question)).toHaveLength(1)
  expect(machines()).toBe(before + 1)
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
  const question = say('writer', '/ask How is the token refreshed?', 8)
  const step = await asked(question)
  expect(step.errors).toEqual([])
  const [, , third] = stack.repository.commits
  const { body } = answersTo(question)[0]!
  expect(step.outputs['commit']).toBe(stack.repository.commits[0])
  expect(body).toContain(
    `The head commit \`${third!.slice(0, 7)}\` has no summary yet, so this is answered from the newest one of base.`,
  )
  expect(body).toMatch(new RegExp(`The head is now \`${third!.slice(0, 7)}\`, 1 cited file changed`))
})

test('a pull request from a fork is answered from the base branch too', async () => {
  const question = say('writer', '/ask How is the token refreshed here?', 10)
  const step = await asked(question)
  expect(step.errors).toEqual([])
  expect(step.outputs['commit']).toBe(stack.repository.commits[0])
  expect(answersTo(question)[0]!.body).toContain('has no summary yet')
})

test('with no run anywhere the comment says what to do', async () => {
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
  const [, , third] = stack.repository.commits
  const question = say('writer', '/ask What is half an hour here?', 8)
  const summarising = stack.step({ event: stack.pull(8, third!) })
  await until('the run began', () => runsOf(third!).length > 0)
  const step = await asked(question, { 'wait-for-run': '60' })
  const summary = await summarising
  expect([...summary.errors, ...step.errors]).toEqual([])
  expect(step.outputs['commit']).toBe(third)
  expect(answersTo(question)[0]!.body).not.toContain('has no summary yet')
})

test('a run that never began is not waited for', async () => {
  const question = say('writer', '/ask Which colour does this repository like?', 11)
  const step = await asked(question, { 'wait-for-run': '60' })
  expect(step.errors).toEqual([])
  expect(step.outputs['commit']).toBe(stack.repository.commits[0])
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
  const pull = stack.onGitHub.pulls.get(7)!
  const before = pull.head.sha
  pull.head.sha = stack.repository.commits[2]!
  stack.github.server.rule({ method: 'GET', path: /pulls\/7$/, times: 1, fault: { kind: 'delay', milliseconds: 1 } })
  const question = say('writer', '/ask How is the token refreshed?')
  // The head at the moment of asking is the old one: GitHub tells it once, and the new one when the answer is ready.
  pull.head.sha = before
  const answering = asked(question, { fresh: 'true' })
  await waitForWorking(question)
  pull.head.sha = stack.repository.commits[2]!
  const step = await answering
  pull.head.sha = before
  expect(step.errors).toEqual([])
  expect(answersTo(question)[0]!.body).toMatch(
    /Answered at `\w{7}` of `octo\/tools`\. The head is now `\w{7}`, 1 cited file changed/,
  )
})

async function waitForWorking(question: StoredComment): Promise<void> {
  const end = Date.now() + 10_000
  while (
    !stack.github.server.requests.some(
      (request) => request.path.endsWith('/pulls/7') && request.status === 200 && request.at > question.createdAt,
    )
  ) {
    if (Date.now() > end) throw new Error('The step never read the pull request')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

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

test('an answer as long as may be becomes several comments under the limit, once', async () => {
  const long = Array.from({ length: 880 }, (_, n) => `Line ${n} of the answer says this [src/token.ts:4].`).join('\n\n')
  stack.clouds.model.setBehaviour(
    { kind: 'say', text: `${long}\n\n\`\`\`ts\n${'const a = 1\n'.repeat(1_300)}` },
    { task: 'answer' },
  )
  const question = say('writer', '/ask Tell me everything there is.')
  const step = await asked(question)
  expect(step.errors).toEqual([])
  const parts = answersTo(question)
  expect(parts.length).toBeGreaterThan(2)
  expect(parts.every((part) => part.body.length <= 65_536 && part.body.includes('state=done'))).toBe(true)
  for (const part of parts) expect((part.body.match(/^`{3,}/gm) ?? []).length % 2, 'every fence is closed').toBe(0)
  expect(Buffer.byteLength(step.summary)).toBeLessThanOrEqual(1_048_576)
  expect(step.outputs['answer']!.length).toBeGreaterThan(60_000)
  await asked(question)
  expect(answersTo(question)).toHaveLength(parts.length)
})

test('a deleted comment is not made again', async () => {
  stack.clouds.model.setBehaviour({ kind: 'slow', firstMs: 14_000 }, { task: 'answer' })
  const question = say('writer', '/ask Is there anything about deleting?')
  const answering = asked(question)
  const end = Date.now() + 40_000
  while (answersTo(question).length === 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5))
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

test('mode ask puts the answer into outputs and writes no comment', async () => {
  const before = stack.github.comments.length
  const step = await stack.step({
    event: { name: 'workflow_dispatch', payload: {}, sha: stack.repository.commits[1]! },
    inputs: { mode: 'ask', question: 'How is the token refreshed?' },
  })
  expect(step.errors).toEqual([])
  expect(step.outputs['answer']).toContain('refreshToken')
  expect(step.outputs['answer-id']).toMatch(/^[0-9a-f]{32}$/)
  expect(step.summary).toContain('> How is the token refreshed?')
  expect(stack.github.comments.length).toBe(before)
})

test('mode ask needs a question, and a run that makes sense', async () => {
  const event = { name: 'workflow_dispatch', payload: {} }
  const none = await stack.step({ event, inputs: { mode: 'ask' } })
  expect(none.errors).toEqual([expect.stringContaining('needs a question. Add the input question')])
  const odd = await stack.step({ event, inputs: { mode: 'ask', question: 'Why?', run: 'yesterday' } })
  expect(odd.errors).toEqual([expect.stringContaining('is neither a run, nor a commit, nor a ref')])
})

test('a base branch with a long name answers like any other', async () => {
  const base = '機能/ユーザー登録画面のバリデーション修正対応'
  const [first, , , fourth] = stack.repository.commits
  await stack.repository.git('update-ref', `refs/heads/${base}`, first!)
  const summary = await stack.step({ event: stack.push({ sha: first!, ref: `refs/heads/${base}` }) })
  expect([...summary.errors, ...summary.warnings]).toEqual([])
  const pull = { number: 12, head: { ref: 'long', sha: fourth! }, base: { ref: base, sha: first! } }
  stack.github.addPull(stack.onGitHub, pull)
  const question = say('writer', '/ask How is the token refreshed below a long name?', 12)
  const step = await asked(question)
  expect([...step.errors, ...step.warnings]).toEqual([])
  expect(step.outputs['commit']).toBe(first)
})

describe('on an issue', () => {
  const ask = (login: string, body: string) => say(login, body, 30)

  beforeAll(async () => {
    stack.onGitHub.issues.add(30)
    expect((await stack.step({ event: stack.push() })).errors).toEqual([])
  })

  test.each(['/ask', '/Ask', '/ASK'])('%s is answered from the newest run of the default branch', async (command) => {
    const question = ask('writer', `${command} Where is the token refreshed?`)
    const step = await asked(question)
    expect([...step.errors, ...step.warnings]).toEqual([])
    expect(step.outputs['commit']).toBe(stack.repository.head)
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
  beforeAll(() => {
    stack.onGitHub.discussions.add(40)
  })

  test('a question is answered beneath it, from the newest run of the default branch', async () => {
    const question = ask('writer', '/ask Where is the token refreshed?')
    const step = await asked(question)
    expect([...step.errors, ...step.warnings]).toEqual([])
    expect(step.outputs['commit']).toBe(stack.repository.head)
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
  const question = say('writer', '/ask What is `hour`?')
  await asked(question)
  const [, before, third] = stack.repository.commits as [string, string, string]
  const pull = stack.onGitHub.pulls.get(7)!
  pull.head.sha = third
  const marks = () =>
    answersTo(question).filter(({ body }) => body.includes(`<!-- handoff:stale v=1 head=${third} -->`))
  expect((await stack.step({ event: stack.pull(7, third) })).errors).toEqual([])
  for (const _again of [1, 2]) {
    const step = await stack.step({ event: stack.pull(7, third), inputs: { mode: 'comment' } })
    expect([...step.errors, ...step.warnings]).toEqual([])
    expect(marks()).toHaveLength(1)
  }
  expect(marks()[0]!.body).toContain('Some of what this answer rests on is gone.')
  pull.head.sha = before
})
