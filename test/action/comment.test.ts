// The comment on a pull request is written by a job that may write to GitHub and that starts no sandbox, clones nothing and asks no model. The job
// that does all that holds a token that can only read.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ActionStack, startActionStack } from './kit.js'

let stack: ActionStack
const keysOfSummary = ['e2b-api-key', 'e2b-api-url', 'e2b-sandbox-url', 'llm-api-key', 'llm-base-url', 'llm-model']

beforeAll(async () => {
  stack = await startActionStack({
    files: [0, 1, 2, 3, 4].map((n) => ({ 'src/other.ts': `export const colour = ${n}\n` })),
    refs: { 'refs/pull/7/head': 3 },
  })
  stack.github.addPull(stack.onGitHub, { number: 7, head: { ref: 'topic', sha: commit(0) } })
})

afterAll(() => stack?.close())
afterEach(() => stack.github.server.clearRules())

const commit = (index: number) => stack.repository.commits[index]!
const pushToPull = (index: number) => {
  stack.onGitHub.pulls.get(7)!.head.sha = commit(index)
}
const summarise = (index: number) => stack.step({ event: stack.pull(7, commit(index)), inputs: readOnly() })
const comment = (index: number, inputs: Record<string, string> = {}) =>
  stack.step({ event: stack.pull(7, commit(index)), inputs: { mode: 'comment', ...inputs }, without: keysOfSummary })
const readOnly = () => {
  const reader = stack.github.issueToken({ permissions: { contents: 'read' } })
  return { 'github-token': reader, 'clone-token': reader }
}
const sticky = () =>
  stack.github.visibleComments(stack.onGitHub, 7).filter(({ body }) => body.startsWith('<!-- handoff:summary'))
const work = () => ({
  machines: stack.clouds.sandboxes.requests.length,
  model: stack.clouds.model.requests.length,
  git: stack.remote.requests.length,
})

/** The comment shows this commit, the head. */
async function shown(index: number) {
  pushToPull(index)
  await summarise(index)
  await comment(index)
  return sticky()[0]!
}

test('a job that can only read summarises, and another one that clones nothing keeps the comment', async () => {
  const earlier = sticky()[0]?.history.length ?? 0
  const bodies: string[] = []
  for (const index of [0, 1, 2]) {
    pushToPull(index)
    const summary = await summarise(index)
    expect([...summary.errors, ...summary.warnings]).toEqual([])
    expect(summary.outputs['commit'], 'the head, not the merge').toBe(commit(index))
    const before = work()
    const step = await comment(index)
    expect([...step.errors, ...step.warnings]).toEqual([])
    expect(step.outputs).toEqual({ run: summary.outputs['run'], commit: commit(index) })
    expect(work()).toEqual(before)
    expect(sticky()).toHaveLength(1)
    bodies.push(sticky()[0]!.body)
  }
  expect(new Set(bodies).size).toBe(3)
  expect(sticky()[0]!.history).toHaveLength(earlier + 3)
  expect(bodies[2]).toContain(commit(2).slice(0, 7))
})

test('a job that is late leaves the comment to the job of the head', async () => {
  await shown(1)
  const { body, history } = await shown(2)
  expect(body).toContain(commit(2).slice(0, 7))
  const late = await comment(1)
  expect(late).toMatchObject({ code: 0, errors: [], warnings: [] })
  expect(late.lines.join('\n')).toContain('the job for that commit writes the comment')
  expect(sticky()).toMatchObject([{ body, history }])
})

test('a head that was never summarised is one clear error', async () => {
  await shown(2)
  pushToPull(3)
  const step = await comment(3)
  expect(step.code).toBe(1)
  expect(step.errors).toEqual([expect.stringMatching(/was never summarised\. Summarise the commit first/)])
  expect(sticky()[0]!.body).toContain(commit(2).slice(0, 7))
})

test('a comment that GitHub refuses is an error of this job, which names the permission', async () => {
  await shown(2)
  pushToPull(1)
  await summarise(1)
  const step = await comment(1, readOnly())
  expect(step.code).toBe(1)
  expect(step.errors.join()).toContain('pull_requests=')
})

test('without the key of drive9 the input is named, and no other key is asked for', async () => {
  const event = stack.pull(7, commit(2))
  const step = await stack.step({ event, inputs: { mode: 'comment' }, without: [...keysOfSummary, 'drive9-api-key'] })
  expect(step.errors).toEqual([expect.stringContaining('This input is missing: drive9-api-key.')])
})

test.each([
  ['a push', () => stack.push({ sha: commit(2) }), 1],
  ['a closed pull request', () => stack.pull(7, commit(2), { action: 'closed' }), 0],
])('%s has nothing to comment on', async (_, event, code) => {
  const step = await stack.step({ event: event(), inputs: { mode: 'comment' }, without: keysOfSummary })
  expect(step.code).toBe(code)
  expect(step.errors).toEqual(code === 0 ? [] : [expect.stringContaining('has no pull request to comment on')])
})

test('a pull request from a fork has no secrets and gets a notice', async () => {
  const fork = { head: { sha: commit(4), ref: 'patch', repo: { id: 99 } }, base: { ref: 'main', repo: { id: 1 } } }
  const event = stack.pull(9, commit(4), { pull_request: { number: 9, ...fork } })
  const without = [...keysOfSummary, 'drive9-api-key']
  const step = await stack.step({ event, inputs: { mode: 'comment' }, without })
  expect(step).toMatchObject({ code: 0, errors: [], outputs: {} })
  expect(step.notices).toHaveLength(1)
})
