// GitHub Enterprise Server: other addresses for the API and for people, a private repository, and a server that limits.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ActionStack, startActionStack } from './kit.js'

let stack: ActionStack

beforeAll(async () => {
  stack = await startActionStack({
    basePath: '/api/v3',
    private: true,
    files: {
      'README.md': '# Tools\n',
      'src/token.ts': '/** Refreshes the token. */\nexport const refreshToken = () => 1\n',
    },
    refs: { 'refs/pull/7/head': 0, 'refs/pull/8/head': 0 },
  })
  for (const number of [7, 8])
    stack.github.addPull(stack.onGitHub, { number, head: { ref: `topic${number}`, sha: head() } })
})
afterAll(() => stack?.close())

const head = () => stack.repository.commits[0]!

test('summarises with a comment, and answers, at its own addresses', async () => {
  const pushed = stack.pull(7, head())
  for (const mode of ['summarise', 'comment']) {
    const step = await stack.step({ event: pushed, inputs: { mode } })
    expect([...step.errors, ...step.warnings]).toEqual([])
  }
  stack.github.limits.exhaustHourlyLimit(1)
  const question = stack.github.addComment(stack.onGitHub, 7, 'writer', '/ask How is the token refreshed?')
  const step = await stack.step({ event: { ...stack.github.eventOf(question), sha: head() } })
  expect(step.errors).toEqual([])
  const bodies = stack.github.visibleComments(stack.onGitHub, 7).map((comment) => comment.body)
  expect(bodies.filter((body) => body.startsWith('<!-- handoff:'))).toHaveLength(2)
  expect(bodies.at(-1)).toContain(`](${stack.remote.url}/octo/tools/blob/${head()}/src/token.ts#L`)
  expect(stack.github.server.requests.every(({ path }) => path.startsWith('/api/'))).toBe(true)
})

test('progress is shown when the answer takes more than ten seconds, at most every three', async () => {
  expect((await stack.step({ event: stack.pull(8, head()), inputs: { mode: 'summarise' } })).errors).toEqual([])
  stack.clouds.model.setBehaviour({ kind: 'slow', firstMs: 17_000 }, { task: 'answer' })
  const question = stack.github.addComment(stack.onGitHub, 8, 'writer', '/ask What is slow about refreshToken?')
  const step = await stack.step({ event: { ...stack.github.eventOf(question), sha: head() } })
  stack.clouds.model.clearBehaviours()
  expect(step.errors).toEqual([])
  const { history } = stack.github.visibleComments(stack.onGitHub, 8).at(-1)!
  const states = history.map(({ body }) => /state=(\w+)/.exec(body)?.[1])
  expect(states).toEqual([...states.slice(1).map(() => 'working'), 'done'])
  expect(states.length).toBeGreaterThan(1)
  expect(history[0]!.body, 'what GitHub mails says who asks what').toContain('**writer** asks:\n\n> What is slow')
  expect(history[0]!.body).toMatch(
    /⏳ (Starting a sandbox|Reading|Found \d+ excerpts).*\n\n\[Watch the work\]\(.*\/actions\/runs\/\d+\/attempts\/1\)/,
  )
  for (const [index, { at }] of history.slice(1, -1).entries())
    expect(at - history[index]!.at).toBeGreaterThanOrEqual(2_900)
})

test('a private repository cannot be read without a token, and the error says what to give', async () => {
  const sha = await stack.repository.commit({ 'new.ts': 'export const n = 1\n' })
  const step = await stack.step({ event: stack.push({ sha }), inputs: { 'clone-token': 'not-the-right-token' } })
  expect(step.code).toBe(1)
  expect(step.errors).toEqual([expect.stringMatching(/clone-token/)])
  expect(stack.clouds.sandboxes.sandboxes.every((sandbox) => sandbox.state === 'gone')).toBe(true)
})
