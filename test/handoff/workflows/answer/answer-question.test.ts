// The second story on real servers: a question becomes an answer, once.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type AnswerRequest,
  answerQuestion,
  isHandoffError,
  layout,
  type SummariseResult,
  summarise,
} from '../../../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { refusal } from '../../../support/refusal.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'
import { tokenFiles } from '../../../support/token-files.js'

let stack: LocalStack
let repository: TestRepository
let run: SummariseResult
const name = 'octo/tools'
const never = new AbortController().signal

beforeAll(async () => {
  repository = await makeRepository(tokenFiles)
  stack = await startLocalStack({
    repositories: { [name]: repository.directory },
    repeated: { searchFor: 'How is the token refreshed?' },
  })
  run = await summarise(
    { commit: stack.commit(name, repository.head, 'refs/heads/main'), attempt: 'first' },
    stack.context,
    never,
  )
})

beforeEach(() => {
  stack.events.length = 0
  stack.clouds.model.clearBehaviours()
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const question = (text: string, more: Partial<AnswerRequest['question']> = {}): AnswerRequest => ({
  repository: stack.commit(name, run.handoff.commit).repository,
  cloneUrl: stack.remote.cloneUrl(name),
  name: { run: run.run },
  question: { text, asker: 'test', ...more },
})
const machines = () => stack.clouds.sandboxes.sandboxes.length
const storedRecords = () =>
  stack.clouds.drive
    .tree(`${run.directory}/analysis/qa`)
    .filter((entry) => !entry.isDirectory)
    .map(({ path }) => path)

test('an answer rests on lines of the commit, every citation is checked, and the same or nearly the same words reuse it', async () => {
  const { record, reused } = await answerQuestion(question('How is the token refreshed?'), stack.context, never)
  expect(reused).toBe(false)
  expect(record).toMatchObject({
    status: 'done',
    commit: repository.commits[0],
    rounds: 1,
    unanswered: false,
    model: 'offline-extractive',
  })
  expect(record.citations.length).toBeGreaterThan(0)
  expect(record.citations.every((citation) => citation.verified)).toBe(true)
  expect(record.citations.some((citation) => citation.path === 'src/token.ts')).toBe(true)
  expect(record.text).toMatch(/\[src\/token\.ts:\d+(-\d+)?\]/)

  // Sandbox B read only, had no way to the git host, and its token is revoked.
  const machine = stack.clouds.sandboxes.sandboxes.at(-1)!
  expect(machine).toMatchObject({ state: 'gone', metadata: { role: 'ask', run: run.run } })
  expect(machine.networks.at(-1)!.allowOut).toEqual(stack.context.ports.drive.hosts)
  const token = stack.clouds.drive.issuedTokens().at(-1)!
  expect(token.revoked).toBe(true)
  expect(token.scopes).toEqual([{ prefix: run.directory, ops: ['read', 'list'] }])

  const before = machines()
  const same = await answerQuestion(question('  how is the token refreshed ?'), stack.context, never)
  const near = await answerQuestion(question('How is the token refreshed here?'), stack.context, never)
  expect([same.reused, near.reused]).toEqual([true, true])
  // The earlier answers are read while a sandbox is being opened; it is ended before it runs anything.
  const opened = stack.clouds.sandboxes.sandboxes.slice(before)
  expect(opened.map(({ state, commands }) => ({ state, commands }))).toEqual([{ state: 'gone', commands: [] }])
  expect(near.record.reusedFrom).toMatch(/^[0-9a-f]{32}$/)
  expect(near.record.cited?.length).toBeGreaterThan(0)
})

test('nearly the same words to another model are answered by that model', async () => {
  const earlier = await answerQuestion(question('Where is the hour kept?'), stack.context, never)
  expect(earlier.record.model).not.toBe('offline-strict')
  const asked = question('Where is the hour kept here?')
  const { record, reused } = await answerQuestion(asked, stack.makeContext({ LLM_MODEL: 'offline-strict' }), never)
  expect(record).toMatchObject({ model: 'offline-strict', status: 'done' })
  expect({ reused, from: record.reusedFrom }).toEqual({ reused: false, from: undefined })
})

test('fresh answers again', async () => {
  await answerQuestion(question('What is answered again?'), stack.context, never)
  const before = machines()
  const asked = question('What is answered again?', { fresh: true })
  const { reused } = await answerQuestion(asked, stack.context, never)
  expect({ reused, machines: machines() - before }).toEqual({ reused: false, machines: 1 })
})

test('the latest answer stands whole in qa-response.md', async () => {
  const { record } = await answerQuestion(question('Which colour is the latest?'), stack.context, never)
  const text = stack.clouds.drive.readFile(`${run.directory}/analysis/qa-response.md`)!.toString()
  expect(text).toContain('Which colour is the latest?')
  expect(text.startsWith(`<!-- handoff:latest accepted=${record.acceptedAt} -->\n`)).toBe(true)
})

test('ten callers ask the same at once: one sandbox, one record, and the same answer for all', async () => {
  const before = { machines: machines(), records: storedRecords().length }
  const asked = question('What does requestToken need?')
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, () => answerQuestion(asked, stack.makeContext(), never)),
  )
  const answered = results.filter((result) => result.status === 'fulfilled')
  const refused = results.filter((result) => result.status === 'rejected')
  expect(machines() - before.machines).toBe(1)
  expect(storedRecords().length - before.records).toBe(1)
  expect(answered).toHaveLength(1)
  expect(refused.every((result) => isHandoffError(result.reason, 'in-progress'))).toBe(true)
})

test('different questions at once do not mix', async () => {
  const texts = ['Where is colour defined?', 'What is hour used for?', 'What do the tools do?']
  const results = await Promise.all(texts.map((text) => answerQuestion(question(text), stack.makeContext(), never)))
  expect(results.map(({ record }) => record.question)).toEqual(texts)
  expect(new Set(results.map(({ record }) => record.id)).size).toBe(3)
})

test('a model that asks for more gets one more round trip', async () => {
  stack.clouds.model.setBehaviour({ kind: 'ask-more' }, { times: 1 })
  const { record } = await answerQuestion(question('Tell me about issuedAt'), stack.context, never)
  expect(record.rounds).toBe(2)
  expect(stack.clouds.sandboxes.sandboxes.at(-1)!.commands).toHaveLength(2)
})

test('a reply that begins like an answer and then asks for more costs no second machine and still ends in an answer', async () => {
  const thinking = `I should look at the code first.\n${'Some more thoughts that are of no interest. '.repeat(12)}\n</think>\nMORE\nread "src/token.ts" 1-5`
  stack.clouds.model.setBehaviour({ kind: 'say', text: thinking }, { times: 1, task: 'answer' })
  const before = machines()
  const { record } = await answerQuestion(question('What does Token hold?'), stack.context, never)
  expect({ status: record.status, machines: machines() - before }).toEqual({ status: 'done', machines: 1 })
})

test('forged citations are dropped, and the sentences that lost theirs are marked', async () => {
  stack.clouds.model.setBehaviour({ kind: 'forge', how: 'path' }, { times: 1 })
  const { record } = await answerQuestion(question('Who calls refreshToken?'), stack.context, never)
  const dropped = record.citations.filter((citation) => !citation.verified)
  expect(dropped.length).toBeGreaterThan(0)
  for (const citation of dropped) expect(record.text).not.toContain(`[${citation.path}:${citation.from}`)
})

test('a model that fails leaves a failed record, no machine, and room to ask again', async () => {
  const takeBack = stack.clouds.model.setBehaviour({ kind: 'broken', status: 500 })
  const asked = question('What is account?')
  expect(await refusal(answerQuestion(asked, stack.context, AbortSignal.timeout(20_000)))).toMatchObject({
    code: 'model',
  })
  expect(stack.clouds.sandboxes.sandboxes.every((sandbox) => sandbox.state === 'gone')).toBe(true)
  takeBack()
  const { record } = await answerQuestion(asked, stack.context, never)
  expect(record.status).toBe('done')
})

test('an interrupted question ends its machine and says that it was stopped', async () => {
  const stop = new AbortController()
  const context = stack.makeContext()
  const emit = context.ports.emit
  context.ports.emit = (event) => {
    emit(event)
    if (event.type === 'sandbox-open') stop.abort()
  }
  expect(await refusal(answerQuestion(question('What is stopped?'), context, stop.signal))).toMatchObject({
    code: 'cancelled',
  })
  expect(stack.clouds.sandboxes.sandboxes.every((sandbox) => sandbox.state === 'gone')).toBe(true)
})

test('an answer whose time ends while it is being kept is kept whole, and reported', async () => {
  const stop = new AbortController()
  const context = stack.makeContext()
  const { drive } = context.ports
  const write: typeof drive.write = (path, bytes, options) => {
    const isDone = path.includes('/analysis/qa/') && JSON.parse(Buffer.from(bytes).toString()).status === 'done'
    // The write succeeds, and the waiting caller gets an abort error.
    const landing = drive.write(path, bytes, options)
    if (isDone) stop.abort()
    return landing
  }
  context.ports.drive = { ...drive, write }
  const { record } = await answerQuestion(question('What is kept at the last moment?'), context, stop.signal)
  expect(stop.signal.aborted).toBe(true)
  expect(record.status).toBe('done')
  const latest = stack.clouds.drive.readFile(`${run.directory}/analysis/qa-response.md`)!.toString()
  expect(latest).toContain('What is kept at the last moment?')
})

test('by branch: the head of the host, and what is behind it is said', async () => {
  await answerQuestion(question('Which colour is it?'), stack.context, never)
  const byBranch = { ...question('Which colour is it?'), name: { ref: 'refs/heads/main' } }
  expect(await answerQuestion(byBranch, stack.context, never)).toMatchObject({
    reused: true,
    run: { handoff: { run: run.run } },
  })
  const [summarised = ''] = repository.commits
  const head = await repository.commit({ 'src/later.ts': 'export const later = true\n' })
  const { run: chosen } = await answerQuestion(byBranch, stack.context, never)
  await repository.git('update-ref', 'refs/heads/main', summarised)
  expect(chosen.behind).toEqual({ head })
})

test.each([
  ['a run that never was', { run: `${'a'.repeat(40)}-1` }, 'not-found'],
  ['a commit that never was', { commit: 'b'.repeat(40) }, 'not-found'],
  ['a branch without a summary', { ref: 'refs/heads/none' }, 'not-found'],
  ['a run id with ..', { run: '../../etc' }, 'invalid-input'],
  ['a tag', { ref: 'refs/tags/v1' }, 'invalid-input'],
])('%s is its own clear error, before any machine', async (_what, named, code) => {
  const before = machines()
  expect(await refusal(answerQuestion({ ...question('What?'), name: named }, stack.context, never))).toMatchObject({
    code,
    next: expect.any(String),
  })
  expect(machines()).toBe(before)
})

test('an unfinished run, a replaced run, an unknown version and a changed handoff are four different errors', async () => {
  const { drive } = stack.clouds
  const place = layout('/handoff', question('x').repository)
  const other = 'c'.repeat(40)
  drive.write(`${place.runs}/${other}-1/.handoff-marker`, 'x')
  expect(
    await refusal(answerQuestion({ ...question('What?'), name: { commit: other } }, stack.context, never)),
  ).toMatchObject({
    code: 'not-sealed',
    retryAfterSeconds: 30,
  })
  const { clock } = stack.context.ports
  const later = { ...stack.context.ports, clock: { ...clock, now: () => Date.now() + 3_700_000 } }
  const failed = { ...question('What?'), name: { commit: other } }
  const reported = await refusal(answerQuestion(failed, { ...stack.context, ports: later }, never))
  expect(reported, 'nothing is coming').toMatchObject({
    code: 'not-sealed',
    message: expect.stringContaining('failed'),
  })
  expect(reported).not.toHaveProperty('retryAfterSeconds', expect.any(Number))
  expect(
    await refusal(
      answerQuestion({ ...question('What?'), name: { run: `${repository.commits[0]}-old` } }, stack.context, never),
    ),
  ).toMatchObject({
    code: 'not-sealed',
    message: expect.stringContaining(run.run),
  })
  const pointer = drive.readFile(place.pointer(repository.commits[0]!))!
  drive.write(place.pointer(repository.commits[0]!), pointer.toString().replace('"version": 1', '"version": 2'))
  expect(await refusal(answerQuestion(question('What now?'), stack.context, never))).toMatchObject({
    code: 'unknown-version',
  })
  drive.write(place.pointer(repository.commits[0]!), pointer)
  const handoff = drive.readFile(`${run.directory}/analysis/handoff.json`)!
  drive.write(`${run.directory}/analysis/handoff.json`, Buffer.concat([handoff, Buffer.from(' ')]))
  expect(await refusal(answerQuestion(question('What now?'), stack.context, never))).toMatchObject({ code: 'corrupt' })
  drive.write(`${run.directory}/analysis/handoff.json`, handoff)
})

test('a clone that was changed on the drive is not believed', async () => {
  const { drive } = stack.clouds
  const path = `${run.directory}/project/tools.git.tar`
  const tar = drive.readFile(path)!
  const changed = Buffer.from(tar)
  changed[600] = (changed[600] ?? 0) ^ 1
  drive.write(path, changed)
  expect(await refusal(answerQuestion(question('Is this believed?'), stack.context, never))).toMatchObject({
    code: 'corrupt',
  })
  drive.write(path, tar)
})

test.each(['', '   ', '?'.repeat(100_000)])('a question of a length that makes no sense is refused', async (text) => {
  const before = machines()
  expect(await refusal(answerQuestion(question(text), stack.context, never))).toMatchObject({ code: 'invalid-input' })
  expect(machines()).toBe(before)
})
