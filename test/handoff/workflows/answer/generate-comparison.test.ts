// A question over two commits, on real servers: both runs are read, each by a machine of its own, and each citation is of the right one.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type AnswerRequest,
  answerFound,
  answerQuestion,
  findAnswer,
  findQueued,
  getAnswer,
  queueAnswer,
  type SummariseResult,
  summarise,
} from '../../../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { refusal } from '../../../support/refusal.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'

const name = 'octo/tools'
const never = new AbortController().signal
let stack: LocalStack
let repository: TestRepository
let earlier: SummariseResult
let later: SummariseResult

const token = (condition: string) =>
  [
    '/** Refreshes the token in time. */',
    'export function refreshToken(token: Token, now: number) {',
    `  if (${condition}) return requestToken(token)`,
    '  return token',
    '}',
    '',
  ].join('\n')

beforeAll(async () => {
  repository = await makeRepository([
    {
      'README.md': '# Tools\n',
      'src/token.ts': token('token.expires < now'),
      'src/same.ts': 'export const colour = "green"\n',
    },
    {
      'src/token.ts': token('token.expires - now < refreshMargin'),
      'src/margin.ts': 'export const refreshMargin = 60_000\n',
    },
  ])
  const [first, second] = repository.commits as [string, string]
  await repository.git('update-ref', 'refs/heads/old', first)
  stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  const make = (sha: string, ref: string) =>
    summarise({ commit: stack.commit(name, sha, ref), attempt: 'first' }, stack.context, never)
  ;[earlier, later] = await Promise.all([make(first, 'refs/heads/old'), make(second, 'refs/heads/main')])
})
beforeEach(() => {
  stack.events.length = 0
  stack.clouds.model.clearBehaviours()
})
afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const request = (text: string, more: Partial<AnswerRequest> = {}): AnswerRequest => ({
  repository: stack.commit(name, earlier.handoff.commit).repository,
  cloneUrl: stack.remote.cloneUrl(name),
  name: { run: later.run },
  compareWith: { ref: 'refs/heads/old' },
  question: { text, asker: 'test' },
  ...more,
})
const machines = () => stack.clouds.sandboxes.sandboxes
test('the answer rests on lines of both commits, and is stored with the later run', async () => {
  const before = machines().length
  const { record, run, reused } = await answerQuestion(
    request('What changed in how the token is refreshed?'),
    stack.context,
    never,
  )
  expect({ reused, run: run.handoff.run }).toEqual({ reused: false, run: later.run })
  expect(record.compareWith).toEqual({ run: earlier.run, commit: earlier.handoff.commit })
  const of = (commit: string) => record.citations.filter((citation) => citation.verified && citation.commit === commit)
  expect(record.citations.every(({ verified }) => verified)).toBe(true)
  expect(of(earlier.handoff.commit).some(({ quote }) => quote?.includes('token.expires < now'))).toBe(true)
  expect(of(later.handoff.commit).some(({ quote }) => quote?.includes('refreshMargin'))).toBe(true)
  expect(record.cited!.every(({ commit }) => commit !== undefined)).toBe(true)
  expect(record.text).toContain(`[${earlier.handoff.commit.slice(0, 7)}:src/token.ts:3]`)

  const used = machines().slice(before)
  expect(used.map(({ metadata }) => metadata['run']).sort()).toEqual([earlier.run, later.run].sort())
  expect(used.every(({ state }) => state === 'gone')).toBe(true)
  const scopes = stack.clouds.drive.issuedTokens().slice(-2)
  expect(scopes.map(({ scopes: [scope] }) => scope)).toEqual(
    expect.arrayContaining([earlier, later].map(({ directory }) => ({ prefix: directory, ops: ['read', 'list'] }))),
  )
  expect(scopes.every(({ revoked }) => revoked)).toBe(true)

  const prompt = stack.clouds.model.prompts.findLast(({ task }) => task === 'compare')!
  for (const machine of used) expect(machine.killedAt!.getTime()).toBeLessThanOrEqual(prompt.at)
  const changes = prompt.texts.find(({ kind }) => kind === 'changes')!.lines
  expect(changes).toEqual(
    expect.arrayContaining(['changed: "src/token.ts"', 'added: "src/margin.ts"', 'files that differ in all: 2']),
  )

  const again = await answerQuestion(request('what changed in how the token is refreshed'), stack.context, never)
  expect({ reused: again.reused, machines: machines().length - before }).toEqual({ reused: true, machines: 2 })
  const chosen = { handoff: later.handoff, directory: later.directory } as never
  expect(await getAnswer(stack.context, chosen, record.id, never)).toEqual(record)
  const latest = stack.clouds.drive.readFile(`${later.directory}/analysis/qa-response.md`)!.toString()
  expect(latest).toContain(`Compared \`${earlier.handoff.commit.slice(0, 7)}\` with`)
})

test('the other way round it is another question', async () => {
  const turned = request('What changed in how the token is refreshed?', {
    name: { run: earlier.run },
    compareWith: { run: later.run },
  })
  const { record, reused } = await answerQuestion(turned, stack.context, never)
  expect({ reused, run: record.run, with: record.compareWith?.run }).toEqual({
    reused: false,
    run: earlier.run,
    with: later.run,
  })
})

test('a job goes on with a queued comparison as a comparison', async () => {
  const asked = request('What is the margin now?')
  const found = await findAnswer(asked, stack.context, never)
  await queueAnswer(found, stack.context, never)
  const { repository, cloneUrl } = asked
  const job = { repository, cloneUrl: cloneUrl!, run: later.run, id: found.id }
  const queued = await findQueued(job, stack.context, never)
  const { record } = await answerFound(queued!, stack.context, never)
  expect(record).toMatchObject({ id: found.id, compareWith: { run: earlier.run } })
  expect(record.citations.some(({ commit }) => commit !== undefined)).toBe(true)
})

test('a commit with itself, and one that was never summarised, are refused before a machine is paid for', async () => {
  const before = machines().length
  const same = request('What changed?', { compareWith: { commit: later.handoff.commit } })
  expect(await refusal(answerQuestion(same, stack.context, never))).toMatchObject({ code: 'invalid-input' })
  const unknown = request('What changed?', { compareWith: { commit: 'e'.repeat(40) } })
  expect(await refusal(answerQuestion(unknown, stack.context, never))).toMatchObject({ code: 'not-found' })
  expect(machines().length).toBe(before)
})

test('one side that is broken ends both machines and is said', async () => {
  const { drive } = stack.clouds
  const path = `${earlier.directory}/project/tools.git.tar`
  const tar = drive.readFile(path)!
  drive.write(path, Buffer.concat([tar, Buffer.from('x')]))
  expect(await refusal(answerQuestion(request('Is it broken?'), stack.context, never))).toMatchObject({
    code: 'corrupt',
  })
  drive.write(path, tar)
  expect(machines().every(({ state }) => state === 'gone')).toBe(true)
})
