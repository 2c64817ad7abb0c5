// The second story on real servers: a question becomes an answer, once.
import { expect, test } from 'vitest'
import { answerQuestion, isHandoffError, layout } from '../../../../src/handoff/index.js'
import { refusal } from '../../../support/refusal.js'
import { summarisedRepository } from '../../../support/summarised-repository.js'
import { tokenFiles } from '../../../support/token-files.js'

const name = 'octo/tools'
const never = new AbortController().signal

const here = summarisedRepository(name, tokenFiles, { repeated: { searchFor: 'How is the token refreshed?' } })
const { question } = here
const machines = () => here.stack.clouds.sandboxes.sandboxes.length
const storedRecords = () =>
  here.stack.clouds.drive
    .tree(`${here.run.directory}/analysis/qa`)
    .filter((entry) => !entry.isDirectory)
    .map(({ path }) => path)

test('an answer rests on lines of the commit, every citation is checked, and the same or nearly the same words reuse it', async () => {
  const { record, reused } = await answerQuestion(question('How is the token refreshed?'), here.stack.context, never)
  expect(reused).toBe(false)
  expect(record).toMatchObject({
    status: 'done',
    commit: here.repository.commits[0],
    rounds: 1,
    unanswered: false,
    model: 'offline-extractive',
  })
  expect(record.citations.length).toBeGreaterThan(0)
  expect(record.citations.every((citation) => citation.verified)).toBe(true)
  expect(record.citations.some((citation) => citation.path === 'src/token.ts')).toBe(true)
  expect(record.text).toMatch(/\[src\/token\.ts:\d+(-\d+)?\]/)

  // Sandbox B read only, had no way to the git host, and its token is revoked.
  const machine = here.stack.clouds.sandboxes.sandboxes.at(-1)!
  expect(machine).toMatchObject({ state: 'gone', metadata: { role: 'ask', run: here.run.run } })
  expect(machine.networks.at(-1)!.allowOut).toEqual(here.stack.context.ports.drive.hosts)
  const token = here.stack.clouds.drive.issuedTokens().at(-1)!
  expect(token.revoked).toBe(true)
  expect(token.scopes).toEqual([{ prefix: here.run.directory, ops: ['read', 'list'] }])

  const before = machines()
  const same = await answerQuestion(question('  how is the token refreshed ?'), here.stack.context, never)
  const near = await answerQuestion(question('How is the token refreshed here?'), here.stack.context, never)
  expect([same.reused, near.reused]).toEqual([true, true])
  // The earlier answers are read while a sandbox is being opened; it is ended before it runs anything.
  const opened = here.stack.clouds.sandboxes.sandboxes.slice(before)
  expect(opened.map(({ state, commands }) => ({ state, commands }))).toEqual([{ state: 'gone', commands: [] }])
  expect(near.record.reusedFrom).toMatch(/^[0-9a-f]{32}$/)
  expect(near.record.cited?.length).toBeGreaterThan(0)
})

test('nearly the same words to another model are answered by that model', async () => {
  const earlier = await answerQuestion(question('Where is the hour kept?'), here.stack.context, never)
  expect(earlier.record.model).not.toBe('offline-strict')
  const asked = question('Where is the hour kept here?')
  const { record, reused } = await answerQuestion(asked, here.stack.makeContext({ LLM_MODEL: 'offline-strict' }), never)
  expect(record).toMatchObject({ model: 'offline-strict', status: 'done' })
  expect({ reused, from: record.reusedFrom }).toEqual({ reused: false, from: undefined })
})

test('fresh answers again', async () => {
  await answerQuestion(question('What is answered again?'), here.stack.context, never)
  const before = machines()
  const asked = question('What is answered again?', { fresh: true })
  const { reused } = await answerQuestion(asked, here.stack.context, never)
  expect({ reused, machines: machines() - before }).toEqual({ reused: false, machines: 1 })
})

test('the latest answer stands whole in qa-response.md', async () => {
  const { record } = await answerQuestion(question('Which colour is the latest?'), here.stack.context, never)
  const text = here.stack.clouds.drive.readFile(`${here.run.directory}/analysis/qa-response.md`)!.toString()
  expect(text).toContain('Which colour is the latest?')
  expect(text.startsWith(`<!-- handoff:latest accepted=${record.acceptedAt} -->\n`)).toBe(true)
})

test('ten callers ask the same at once: one sandbox, one record, and the same answer for all', async () => {
  const before = { machines: machines(), records: storedRecords().length }
  const asked = question('What does requestToken need?')
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, () => answerQuestion(asked, here.stack.makeContext(), never)),
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
  const results = await Promise.all(
    texts.map((text) => answerQuestion(question(text), here.stack.makeContext(), never)),
  )
  expect(results.map(({ record }) => record.question)).toEqual(texts)
  expect(new Set(results.map(({ record }) => record.id)).size).toBe(3)
})

test('a model that asks for more gets one more round trip', async () => {
  here.stack.clouds.model.setBehaviour({ kind: 'ask-more' }, { times: 1 })
  const { record } = await answerQuestion(question('Tell me about issuedAt'), here.stack.context, never)
  expect(record.rounds).toBe(2)
  expect(here.stack.clouds.sandboxes.sandboxes.at(-1)!.commands).toHaveLength(2)
})

test('a reply that begins like an answer and then asks for more costs no second machine and still ends in an answer', async () => {
  const thinking = `I should look at the code first.\n${'Some more thoughts that are of no interest. '.repeat(12)}\n</think>\nMORE\nread "src/token.ts" 1-5`
  here.stack.clouds.model.setBehaviour({ kind: 'say', text: thinking }, { times: 1, task: 'answer' })
  const before = machines()
  const { record } = await answerQuestion(question('What does Token hold?'), here.stack.context, never)
  expect({ status: record.status, machines: machines() - before }).toEqual({ status: 'done', machines: 1 })
})

test('forged citations are dropped, and the sentences that lost theirs are marked', async () => {
  here.stack.clouds.model.setBehaviour({ kind: 'forge', how: 'path' }, { times: 1 })
  const { record } = await answerQuestion(question('Who calls refreshToken?'), here.stack.context, never)
  const dropped = record.citations.filter((citation) => !citation.verified)
  expect(dropped.length).toBeGreaterThan(0)
  for (const citation of dropped) expect(record.text).not.toContain(`[${citation.path}:${citation.from}`)
})

test('a model that fails leaves a failed record, no machine, and room to ask again', async () => {
  const takeBack = here.stack.clouds.model.setBehaviour({ kind: 'broken', status: 500 })
  const asked = question('What is account?')
  expect(await refusal(answerQuestion(asked, here.stack.context, AbortSignal.timeout(20_000)))).toMatchObject({
    code: 'model',
  })
  expect(here.stack.clouds.sandboxes.sandboxes.every((sandbox) => sandbox.state === 'gone')).toBe(true)
  takeBack()
  const { record } = await answerQuestion(asked, here.stack.context, never)
  expect(record.status).toBe('done')
})

test('an interrupted question ends its machine and says that it was stopped', async () => {
  const stop = new AbortController()
  const context = here.stack.makeContext()
  const emit = context.ports.emit
  context.ports.emit = (event) => {
    emit(event)
    if (event.type === 'sandbox-open') stop.abort()
  }
  expect(await refusal(answerQuestion(question('What is stopped?'), context, stop.signal))).toMatchObject({
    code: 'cancelled',
  })
  expect(here.stack.clouds.sandboxes.sandboxes.every((sandbox) => sandbox.state === 'gone')).toBe(true)
})

test('an answer whose time ends while it is being kept is kept whole, and reported', async () => {
  const stop = new AbortController()
  const context = here.stack.makeContext()
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
  const latest = here.stack.clouds.drive.readFile(`${here.run.directory}/analysis/qa-response.md`)!.toString()
  expect(latest).toContain('What is kept at the last moment?')
})

test('by branch: the head of the host, and what is behind it is said', async () => {
  await answerQuestion(question('Which colour is it?'), here.stack.context, never)
  const byBranch = { ...question('Which colour is it?'), name: { ref: 'refs/heads/main' } }
  expect(await answerQuestion(byBranch, here.stack.context, never)).toMatchObject({
    reused: true,
    run: { handoff: { run: here.run.run } },
  })
  const [summarised = ''] = here.repository.commits
  const head = await here.repository.commit({ 'src/later.ts': 'export const later = true\n' })
  const { run: chosen } = await answerQuestion(byBranch, here.stack.context, never)
  await here.repository.git('update-ref', 'refs/heads/main', summarised)
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
  expect(await refusal(answerQuestion({ ...question('What?'), name: named }, here.stack.context, never))).toMatchObject(
    {
      code,
      next: expect.any(String),
    },
  )
  expect(machines()).toBe(before)
})

test('an unfinished run, a replaced run, an unknown version and a changed handoff are four different errors', async () => {
  const { drive } = here.stack.clouds
  const place = layout('/handoff', question('x').repository)
  const other = 'c'.repeat(40)
  drive.write(`${place.runs}/${other}-1/.handoff-marker`, 'x')
  expect(
    await refusal(answerQuestion({ ...question('What?'), name: { commit: other } }, here.stack.context, never)),
  ).toMatchObject({
    code: 'not-sealed',
    retryAfterSeconds: 30,
  })
  const { clock } = here.stack.context.ports
  const later = { ...here.stack.context.ports, clock: { ...clock, now: () => Date.now() + 3_700_000 } }
  const failed = { ...question('What?'), name: { commit: other } }
  const reported = await refusal(answerQuestion(failed, { ...here.stack.context, ports: later }, never))
  expect(reported, 'nothing is coming').toMatchObject({
    code: 'not-sealed',
    message: expect.stringContaining('failed'),
  })
  expect(reported).not.toHaveProperty('retryAfterSeconds', expect.any(Number))
  expect(
    await refusal(
      answerQuestion(
        { ...question('What?'), name: { run: `${here.repository.commits[0]}-old` } },
        here.stack.context,
        never,
      ),
    ),
  ).toMatchObject({
    code: 'not-sealed',
    message: expect.stringContaining(here.run.run),
  })
  const pointer = drive.readFile(place.pointer(here.repository.commits[0]!))!
  drive.write(place.pointer(here.repository.commits[0]!), pointer.toString().replace('"version": 1', '"version": 2'))
  expect(await refusal(answerQuestion(question('What now?'), here.stack.context, never))).toMatchObject({
    code: 'unknown-version',
  })
  drive.write(place.pointer(here.repository.commits[0]!), pointer)
  const handoff = drive.readFile(`${here.run.directory}/analysis/handoff.json`)!
  drive.write(`${here.run.directory}/analysis/handoff.json`, Buffer.concat([handoff, Buffer.from(' ')]))
  expect(await refusal(answerQuestion(question('What now?'), here.stack.context, never))).toMatchObject({
    code: 'corrupt',
  })
  drive.write(`${here.run.directory}/analysis/handoff.json`, handoff)
})

test('a clone that was changed on the drive is not believed', async () => {
  const { drive } = here.stack.clouds
  const path = `${here.run.directory}/project/tools.git.tar`
  const tar = drive.readFile(path)!
  const changed = Buffer.from(tar)
  changed[600] = (changed[600] ?? 0) ^ 1
  drive.write(path, changed)
  expect(await refusal(answerQuestion(question('Is this believed?'), here.stack.context, never))).toMatchObject({
    code: 'corrupt',
  })
  drive.write(path, tar)
})

test.each(['', '   ', '?'.repeat(100_000)])('a question of a length that makes no sense is refused', async (text) => {
  const before = machines()
  expect(await refusal(answerQuestion(question(text), here.stack.context, never))).toMatchObject({
    code: 'invalid-input',
  })
  expect(machines()).toBe(before)
})
