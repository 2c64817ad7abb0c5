// A claim does not outlive the work that it was made for, and a sandbox outlives neither its request nor a claim that is lost.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Rule } from '../../../../src/emulators/faulty-server.js'
import type { AppContext } from '../../../../src/handoff/context.js'
import type { ClaimedAnswer } from '../../../../src/handoff/domain/answer.js'
import { HandoffError, isHandoffError } from '../../../../src/handoff/domain/errors.js'
import type { RunId } from '../../../../src/handoff/domain/run.js'
import { makeAdmission } from '../../../../src/handoff/workflows/answer/admission.js'
import { answerFound } from '../../../../src/handoff/workflows/answer/answer-question.js'
import { findAnswer } from '../../../../src/handoff/workflows/answer/find-answer.js'
import { summarise } from '../../../../src/handoff/workflows/summarise/summarise-commit.js'
import type { Scenario, TestProcess } from '../../../support/scenario.js'
import { type ScriptedStack, startScriptedStack } from '../../../support/scripted-stack.js'
import { until } from '../../../support/until.js'

const never = new AbortController().signal
let clouds: ScriptedStack
let place: Scenario
let directory: string
let rules: (() => void)[] = []

beforeAll(async () => {
  clouds = await startScriptedStack()
  place = clouds.scenario('octo/claims')
  await using process = await clouds.process({ patient: true })
  ;({ directory } = await summarise(place.summarise(process, 'first'), process.context, never))
}, 60_000)

afterEach(() => {
  for (const remove of rules) remove()
  rules = []
})

afterAll(() => clouds?.close())

const drive = (rule: Rule) => {
  rules.push(clouds.clouds.drive.rule(rule))
}

const sandboxRule = (rule: Rule) => {
  rules.push(clouds.clouds.sandboxes.rule(rule))
}

/** A claim of another process, which comes first. */
function claimElsewhere(id: string): void {
  const claim: ClaimedAnswer = {
    version: 1,
    id,
    run: directory.split('/').at(-1) as RunId,
    commit: clouds.repository.head,
    question: 'Who?',
    model: 'any',
    acceptedAt: new Date().toISOString(),
    status: 'running',
    leaseUntil: new Date(Date.now() + 60_000).toISOString(),
    claim: 'another',
  }
  clouds.clouds.drive.write(`${directory}/analysis/qa/${id}.json`, JSON.stringify(claim))
}

const recordOf = (id: string) => {
  const bytes = clouds.clouds.drive.readFile(`${directory}/analysis/qa/${id}.json`)
  return bytes ? (JSON.parse(bytes.toString()) as { status: string }) : undefined
}

/** A caller that asks, and may leave. */
async function ask(process: TestProcess, text: string, context: AppContext = process.context) {
  const found = await findAnswer(place.ask(process, text), context, never)
  const stop = new AbortController()
  const ended = answerFound(found, context, stop.signal).then(
    () => 'done',
    (error: unknown) => (isHandoffError(error) ? error.code : String(error)),
  )
  return { id: found.id, ended, leave: () => stop.abort(new DOMException('The client has gone.', 'AbortError')) }
}

test('a claim ends when the earlier answers cannot be listed', async () => {
  await using process = await clouds.process({ patient: true })
  drive({ method: 'GET', path: /analysis\/qa(?!\/)/, fault: { kind: 'answer', status: 403, body: '{}' } })
  const { id, ended } = await ask(process, 'What of a claim without a past?')
  expect(await ended).toBe('forbidden')
  expect(recordOf(id)?.status).toBe('failed')
})

test('a claim ends when its caller leaves while it is being written', async () => {
  await using process = await clouds.process({ patient: true })
  const { drive: server } = clouds.clouds
  // The client looks up what became of the write, and that takes a while.
  drive({ method: 'PUT', path: /analysis\/qa\//, times: 1, fault: { kind: 'lose-reply' } })
  drive({ method: 'HEAD', path: /analysis\/qa\//, fault: { kind: 'delay', milliseconds: 300 } })
  const before = server.requests.length
  const { id, ended, leave } = await ask(process, 'What of a caller that leaves in that moment?')
  await until('it is claimed', () => recordOf(id))
  leave()
  expect(await ended).toBe('cancelled')
  expect(recordOf(id)?.status).toBe('failed')
  expect(server.requests.slice(before).some(({ method, path }) => method === 'HEAD' && path.includes(id))).toBe(true)
})

test.each<[string, number]>([
  ['after it was opened', 0],
  ['while it is being opened', 800],
])('a claim that is lost ends the sandbox %s, which got no token and ran nothing', async (_, openingMs) => {
  await using process = await clouds.process({ patient: true })
  const { drive: server, sandboxes } = clouds.clouds
  sandboxRule({ method: 'POST', path: /^\/v2\/sandboxes$/, fault: { kind: 'delay', milliseconds: openingMs } })
  drive({ method: 'PUT', path: /analysis\/qa\//, fault: { kind: 'delay', milliseconds: 500 } })
  const before = { sandboxes: sandboxes.sandboxes.length, tokens: server.issuedTokens().length }
  const { id, ended } = await ask(process, `Who claims it first, ${openingMs}?`)
  await until('a sandbox is asked for', () => process.proxy.calls.some(({ route }) => route === 'POST /v2/sandboxes'))
  claimElsewhere(id)
  expect(await ended).toBe('in-progress')
  const opened = sandboxes.sandboxes.slice(before.sandboxes)
  expect(opened.every(({ state, commands }) => state === 'gone' && commands.length === 0)).toBe(true)
  expect(opened.length).toBeLessThanOrEqual(1)
  expect(server.issuedTokens().length).toBe(before.tokens)
})

test('a service does not wait for the end of a sandbox that it opens in vain', async () => {
  await using process = await clouds.process({ patient: true })
  sandboxRule({ method: 'POST', path: /^\/v2\/sandboxes$/, fault: { kind: 'delay', milliseconds: 3_000 } })
  drive({ method: 'PUT', path: /analysis\/qa\//, fault: { kind: 'delay', milliseconds: 100 } })
  const before = clouds.clouds.sandboxes.sandboxes.length
  const left: Promise<unknown>[] = []
  let undone = false
  const background = (work: Promise<unknown>) => {
    left.push(work.then(() => (undone = true)))
  }
  const { id, ended } = await ask(process, 'Who waits for nothing?', { ...process.context, background })
  claimElsewhere(id)
  expect(await ended).toBe('in-progress')
  expect({ left: left.length, undone }).toEqual({ left: 1, undone: false })
  await Promise.all(left)
  const opened = clouds.clouds.sandboxes.sandboxes.slice(before)
  expect(opened.map(({ state, commands }) => ({ state, commands }))).toEqual([{ state: 'gone', commands: [] }])
})

test('a claim that cannot be written leaves no sandbox', async () => {
  await using process = await clouds.process({ patient: true })
  drive({ method: 'PUT', path: /analysis\/qa\//, fault: { kind: 'answer', status: 403, body: '{}' } })
  const before = clouds.clouds.sandboxes.sandboxes.length
  const { ended } = await ask(process, 'What of a claim that is refused?')
  expect(await ended).toBe('forbidden')
  const opened = clouds.clouds.sandboxes.sandboxes.slice(before)
  expect(opened.every(({ state, commands }) => state === 'gone' && commands.length === 0)).toBe(true)
})

test('a model that refuses the key costs no sandbox', async () => {
  await using process = await clouds.process({ patient: true })
  const { ports } = process.context
  const refused = new HandoffError('model', 'The key is refused.')
  const model = { ...ports.model, check: () => Promise.reject(refused) }
  const before = clouds.clouds.sandboxes.sandboxes.length
  const { id, ended } = await ask(process, 'Whose key is it?', { ...process.context, ports: { ...ports, model } })
  expect(await ended).toBe('model')
  expect(recordOf(id)?.status).toBe('failed')
  expect(clouds.clouds.sandboxes.sandboxes.length).toBe(before)
})

test('of callers that ask the same in one process, one opens a sandbox', async () => {
  await using process = await clouds.process({ patient: true })
  const before = clouds.clouds.sandboxes.sandboxes.length
  const text = 'Who asks the same here?'
  const found = await Promise.all([1, 2, 3].map(() => findAnswer(place.ask(process, text), process.context, never)))
  const ended = await Promise.allSettled(found.map((one) => answerFound(one, process.context, never)))
  expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(clouds.clouds.sandboxes.sandboxes.length - before).toBe(1)
})

test('a sandbox that was waited for ends when its request ends, not later', async () => {
  await using process = await clouds.process({ patient: true })
  const sandboxBy = Date.now() + 30_000
  const admission = makeAdmission({ sandboxes: 1, waiting: 5, perCaller: 5 })
  const context: AppContext = { ...process.context, admission, limits: { ...process.context.limits, sandboxBy } }
  const other = admission.enter('another caller', 1)
  const before = clouds.clouds.sandboxes.sandboxes.length
  const { ended } = await ask(process, 'How long may a sandbox live?', context)
  process.advance(10_000)
  other[Symbol.dispose]()
  expect(await ended).toBe('done')
  const [sandbox] = clouds.clouds.sandboxes.sandboxes.slice(before)
  // The process believes that ten seconds passed while it waited: the sandbox gets ten seconds less.
  expect(sandbox!.endsAt.getTime()).toBeLessThanOrEqual(sandboxBy - 10_000 + 2_000)
})

test('a service waits while other processes fill the E2B account, and answers when there is room', async () => {
  await using process = await clouds.process({ patient: true })
  const { account } = clouds.clouds.sandboxes
  const usual = account.concurrentLimit
  account.concurrentLimit = 0
  const context: AppContext = { ...process.context, limits: { ...process.context.limits, accountWaitMs: 60_000 } }
  const refused = () => clouds.clouds.sandboxes.requests.filter(({ status }) => status === 429).length
  const before = refused()
  const { ended } = await ask(process, 'Is there room?', context)
  await until('the account refused it twice', () => refused() - before >= 2)
  account.concurrentLimit = usual
  expect(await ended).toBe('done')
})

test('where nothing is said of waiting, a full account is reported at once', async () => {
  await using process = await clouds.process({ patient: true })
  const { account } = clouds.clouds.sandboxes
  const usual = account.concurrentLimit
  account.concurrentLimit = 0
  const { ended } = await ask(process, 'Is there no room?')
  expect(await ended).toBe('sandbox-limit')
  account.concurrentLimit = usual
})
