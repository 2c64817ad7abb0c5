// A cancelled job leaves nothing behind: the shipped dist is interrupted at every step of both workflows, and killed where it could not say
// goodbye; then the step after the job runs, twice.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { StoredComment } from '../../src/emulators/github/state.js'
import { type ActionStack, type Step, startActionStack } from './kit.js'

let stack: ActionStack

beforeAll(async () => {
  stack = await startActionStack({
    files: [
      {
        'README.md': '# Tools\n\nTools that refresh tokens.\n',
        'src/token.ts': 'export const refreshToken = () => 1\n',
      },
    ],
    refs: { 'refs/pull/7/head': 0 },
  })
  stack.github.addPull(stack.onGitHub, { number: 7, head: { ref: 'topic', sha: stack.repository.commits[0]! } })
  const step = await stack.step({ event: stack.push() })
  expect(step.errors).toEqual([])
})

afterAll(() => stack?.close())
afterEach(() => {
  stack.clouds.sandboxes.clearRules()
  stack.clouds.model.clearBehaviours()
  stack.github.server.clearRules()
})

const living = () =>
  stack.clouds.sandboxes.sandboxes.filter((sandbox) => sandbox.state !== 'gone').map((sandbox) => sandbox.id)
const ended: string[] = []
const openTokens = () =>
  stack.clouds.drive.issuedTokens().filter(({ id, revoked }) => !revoked && !ended.includes(id)).length
const answerTo = (question: StoredComment) =>
  stack.github.comments.filter(
    (one) => one.body.startsWith(`<!-- handoff:ask v=1 comment=${question.id} `) && !one.deleted,
  )
const stateOf = (question: StoredComment) => answerTo(question).map((one) => /state=(\w+)/.exec(one.body)?.[1])
const ask = (words: string) => {
  const question = stack.github.addComment(stack.onGitHub, 7, 'writer', `/ask ${words}`)
  return { question, event: { ...stack.github.eventOf(question), sha: stack.repository.commits[0]! } }
}

/** A commit that was never summarised, so that every step of the workflow is there to be interrupted. */
async function freshPush() {
  const number = stack.repository.commits.length
  return stack.push({
    sha: await stack.repository.commit({ 'src/token.ts': `export const refreshToken = () => ${number}\n` }),
  })
}

async function expectClean(step: Step): Promise<void> {
  expect(step.signal, 'it ends by itself').toBe(null)
  expect(living()).toEqual([])
  expect(openTokens(), 'what opens the directory is closed').toBe(0)
  await revokeAll()
  const post = await stack.post(step)
  expect(post).toMatchObject({ code: 0, errors: [], warnings: [] })
  expect(living()).toEqual([])
}

/** Every fourth moment; all of them in the long mode. */
const some = (moments: string[]) => moments.filter((_, index) => process.env['LONG'] === '1' || index % 4 === 0)

const summarising = [
  'Summarising octo/tools',
  '✓ look up',
  'New run:',
  '✓ open directory',
  'is open (template',
  '✓ mount',
  '✓ close sandbox',
  'The model will be asked',
  'Model (summary)',
  '✓ seal',
]

test.each(some(summarising))('a summary that is interrupted at “%s” leaves no sandbox', async (line) => {
  // An update of an earlier summary may have nothing to ask the model.
  const step = await stack.step({ event: await freshPush(), inputs: { force: 'true' }, interruptAt: line })
  await expectClean(step)
  const sealed = step.code === 0
  expect(Boolean(step.outputs['run'])).toBe(sealed)
  expect(step.errors).toEqual(sealed ? [] : [expect.stringMatching(/cancelled|Stopped/)])
})

test('SIGTERM alone is enough', async () => {
  const step = await stack.step({ event: await freshPush(), interruptAt: 'is open (template', signal: 'SIGTERM' })
  await expectClean(step)
  expect(step.code).toBe(1)
})

test('a sandbox whose creation is under way when the job is cancelled does not stay', async () => {
  const isCreation = ({ method, path }: { method: string; path: string }) =>
    method === 'POST' && path === '/v2/sandboxes'
  const creations = stack.clouds.sandboxes.requests.filter(isCreation).length
  stack.clouds.sandboxes.rule({
    method: 'POST',
    path: /^\/v2\/sandboxes/,
    times: 1,
    fault: { kind: 'delay', milliseconds: 600 },
  })
  const step = await stack.step({
    event: await freshPush(),
    interruptWhen: () => stack.clouds.sandboxes.requests.filter(isCreation).length > creations,
  })
  await expectClean(step)
  expect(step.code).toBe(1)
})

const asking = [
  'Question ',
  '✓ claim',
  'is open (template',
  'excerpts of',
  'Model (answer)',
  '✓ close sandbox',
  '✓ keep',
]

test.each(some(asking))('an answer that is interrupted at “%s” comes to an end that people see', async (line) => {
  const { question, event } = ask(`What happens at ${asking.indexOf(line)} times refreshToken?`)
  const step = await stack.step({ event, interruptAt: line })
  await expectClean(step)
  expect(stateOf(question).filter((state) => state === 'working')).toEqual([])
  expect(answerTo(question).length).toBeLessThanOrEqual(1)
  const eyes = stack.github.reactionsOf(question).includes('github-actions[bot]:eyes')
  expect(step.state['talk'] !== undefined && eyes, 'a step that began to answer takes its eyes back').toBe(false)
  const stopped = answerTo(question).filter(({ body }) =>
    body.includes('🛑 This was stopped before there was an answer.'),
  )
  expect(stopped).toHaveLength(stateOf(question).filter((state) => state === 'cancelled').length)
})

test('what was stopped can be asked again, in the same comment', async () => {
  const { question, event } = ask('Can refreshToken be asked again?')
  await stack.step({ event, interruptAt: 'is open (template' })
  expect(stateOf(question)).toEqual(['cancelled'])
  const again = await stack.step({ event })
  expect(again.errors).toEqual([])
  expect(stateOf(question)).toEqual(['done'])
})

test('a step that is killed with a sandbox open: the step after the job destroys it, once', async () => {
  const step = await stack.step({ event: await freshPush(), interruptAt: 'is open (template', signal: 'SIGKILL' })
  expect(step.signal).toBe('SIGKILL')
  expect(living()).toEqual([step.state['sandbox']])
  const post = await stack.post(step)
  expect(post).toMatchObject({ code: 0, errors: [], warnings: [] })
  expect(post.lines).toContain(`Sandbox ${step.state['sandbox']} was still there; it is destroyed.`)
  expect(living()).toEqual([])
  const twice = await stack.post(step)
  expect(twice).toMatchObject({ code: 0, errors: [], warnings: [] })
  await revokeAll()
})

test('a step that is killed before it knew its sandbox: the label finds it', async () => {
  stack.clouds.sandboxes.rule({
    method: 'POST',
    path: /^\/v2\/sandboxes/,
    times: 1,
    fault: { kind: 'lose-reply' },
  })
  // The reply to the creation is lost: the step looks for the machine, and is killed before it finds it.
  const stop = stack.clouds.sandboxes.rule({ method: 'GET', path: /sandboxes/, fault: { kind: 'hang' } })
  const step = await stack.step({
    event: await freshPush(),
    interruptWhen: () => living().length > 0,
    signal: 'SIGKILL',
  })
  stop()
  expect(step.state['sandbox']).toBe(undefined)
  expect(living()).toHaveLength(1)
  const post = await stack.post(step)
  expect(post).toMatchObject({ code: 0, errors: [], warnings: [] })
  expect(living()).toEqual([])
  await revokeAll()
})

test('a step that is killed while it answers: the step after the job finishes the comment and the sandbox', async () => {
  const { question, event } = ask('Will another process finish what refreshToken began?')
  const step = await stack.step({ event, interruptAt: 'is open (template', signal: 'SIGKILL' })
  expect(stateOf(question), 'the first ten seconds have no comment').toEqual([])
  expect(stack.github.reactionsOf(question), 'seen at once').toEqual(['github-actions[bot]:eyes'])
  const post = await stack.post(step)
  expect(post).toMatchObject({ code: 0, errors: [], warnings: [] })
  expect(stateOf(question)).toEqual(['cancelled'])
  expect(stack.github.reactionsOf(question)).toEqual(['github-actions[bot]:confused'])
  expect(living()).toEqual([])
  const writes = stack.github.server.requests.filter(({ method }) => method === 'PATCH').length
  const twice = await stack.post(step)
  expect(twice.code).toBe(0)
  expect(stateOf(question)).toEqual(['cancelled'])
  expect(stack.github.server.requests.filter(({ method }) => method === 'PATCH').length).toBe(writes)
  await revokeAll()
})

test('the step after the job never fails it, whatever is broken', async () => {
  const { event } = ask('Does it fail when refreshToken is broken?')
  const step = await stack.step({ event, interruptAt: 'is open (template', signal: 'SIGKILL' })
  const taken = [
    stack.clouds.sandboxes.rule({
      method: 'DELETE',
      fault: { kind: 'answer', status: 403, body: '{"code":403,"message":"no"}' },
    }),
    stack.clouds.sandboxes.rule({
      method: 'GET',
      fault: { kind: 'answer', status: 403, body: '{"code":403,"message":"no"}' },
    }),
    stack.github.server.rule({ fault: { kind: 'answer', status: 403, body: '{}' } }),
  ]
  const post = await stack.post(step)
  expect(post.code).toBe(0)
  expect(post.errors).toEqual([])
  expect(post.warnings.length).toBeGreaterThan(0)
  for (const takeBack of taken) takeBack()
  expect((await stack.post(step)).warnings).toEqual([])
  expect(living()).toEqual([])
  await revokeAll()
})

/** Tokens of a process that was killed end with their lifetime; here they are ended so that the next test starts clean. */
async function revokeAll(): Promise<void> {
  for (const token of stack.clouds.drive.issuedTokens()) if (!token.revoked) stack.clouds.drive.expireToken(token.id)
  ended.push(...stack.clouds.drive.issuedTokens().map(({ id }) => id))
}
