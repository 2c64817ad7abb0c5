// Many callers at once, and services that are full, slow or not ready: each caller gets an answer, or a true reason and retry time, the limits of the
// account hold, and neither memory nor sockets grow with the number of those who asked.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SandboxRecord } from '../../src/emulators/e2b/server.js'
import { HandoffError, isHandoffError } from '../../src/handoff/domain/errors.js'
import { artifact } from '../../src/handoff/domain/run.js'
import { answerQuestion } from '../../src/handoff/workflows/answer/answer-question.js'
import type { AnswerResult } from '../../src/handoff/workflows/answer/find-answer.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import { secretWatch } from '../support/recorded-requests.js'
import type { Scenario, TestProcess } from '../support/scenario.js'
import { figuresText } from '../support/schedules.js'
import { type ScriptedStack, startScriptedStack } from '../support/scripted-stack.js'
import { until } from '../support/until.js'

const never = new AbortController().signal
const long = process.env['LONG'] === '1'
let stack: ScriptedStack
let place: Scenario
let houses: TestProcess[]
/** The directory of the run that is asked about. */
let directory: string

beforeAll(async () => {
  stack = await startScriptedStack()
  place = stack.scenario('octo/busy')
  houses = await Promise.all([1, 2, 3].map(() => stack.process({ patient: true })))
  ;({ directory } = await summarise(place.summarise(houses[0]!, 'first'), houses[0]!.context, never))
}, 60_000)

afterAll(async () => {
  await Promise.all((houses ?? []).map((process) => process.close()))
  await stack?.close()
})

const alive = () => stack.clouds.sandboxes.sandboxes.filter(({ state }) => state !== 'gone').length
const asking = (process: TestProcess, text: string) => answerQuestion(place.ask(process, text), process.context, never)

/** As a caller does who is asked to come again: as often as it takes, and not before the time that was reported. */
async function patiently(process: TestProcess, text: string): Promise<AnswerResult> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    try {
      return await asking(process, text)
    } catch (error) {
      if (!isHandoffError(error, 'in-progress') && !isHandoffError(error, 'sandbox-limit')) throw error
      if (error.code === 'in-progress' && !(Number(error.retryAfterSeconds) > 0)) throw error
      // A part of the seconds that were reported; the long mode waits them.
      await new Promise((resolve) => setTimeout(resolve, (long ? 1_000 : 50) * (error.retryAfterSeconds ?? 2)))
    }
  }
  throw new HandoffError('timeout', 'No caller was ever answered.')
}

/** Questions that have no words in common, so that none is taken for another. */
const distinct = (number: number) =>
  `q${number.toString(36)} w${(number * 7_919).toString(36)} z${(number * 104_729).toString(36)}?`

test('a hundred callers of one question in three processes get one answer from one search', async () => {
  const before = stack.clouds.sandboxes.sandboxes.length
  const asked = Array.from({ length: 100 }, (_, index) => patiently(houses[index % 3]!, 'Who is greeted by a hundred?'))
  const answers = await Promise.all(asked)
  expect(new Set(answers.map(({ record: { id, text, completedAt } }) => `${id} ${completedAt} ${text}`)).size).toBe(1)
  const opened = stack.clouds.sandboxes.sandboxes.slice(before)
  // Each process may open one beside a claim that it loses.
  expect(opened.length).toBeLessThanOrEqual(3)
  expect(opened.reduce((sum, { commands }) => sum + commands.length, 0)).toBe(1)
  expect(alive()).toBe(0)
})

test('more questions than sandboxes are all answered, and the account limit is never exceeded', async () => {
  const { account } = stack.clouds.sandboxes
  const usual = account.concurrentLimit
  account.concurrentLimit = 3
  let most = 0
  const watching = setInterval(() => {
    most = Math.max(most, alive())
  }, 5)
  const questions = Array.from({ length: long ? 200 : 9 }, (_, index) => distinct(index))
  const answering = questions.map((text, index) => patiently(houses[index % 3]!, text))
  const answers = await Promise.all(answering).finally(() => {
    clearInterval(watching)
    account.concurrentLimit = usual
  })
  expect(answers.map(({ record }) => record.question)).toEqual(questions)
  expect(new Set(answers.map(({ record }) => record.id)).size).toBe(questions.length)
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(3)
  expect(alive()).toBe(0)
}, 900_000)

test('a full account is reported, leaves no sandbox, and the next caller gets the question', async () => {
  const { account } = stack.clouds.sandboxes
  const usual = account.concurrentLimit
  account.concurrentLimit = 0
  const error: unknown = await asking(houses[0]!, distinct(9_001)).catch((reason: unknown) => reason)
  account.concurrentLimit = usual
  expect(error).toMatchObject({ code: 'sandbox-limit', next: expect.stringContaining('Try again') })
  expect(await asking(houses[1]!, distinct(9_001))).toMatchObject({ reused: false })
})

test('a busy drive9 is retried when it asks for that, and a busy model becomes a Retry-After', async () => {
  await using hasty = await stack.process()
  stack.clouds.drive.setProvisioning(2)
  expect(await asking(hasty, distinct(9_002))).toMatchObject({ reused: false })
  const stop = stack.clouds.model.setBehaviour({ kind: 'busy', retryAfter: '120' })
  const error: unknown = await asking(hasty, distinct(9_003)).catch((reason: unknown) => reason)
  stop()
  expect(error).toMatchObject({ code: 'model-limit', retryAfterSeconds: 120 })
  expect(alive()).toBe(0)
})

test('a slow model delays only the callers that asked it', async () => {
  const stop = stack.clouds.model.setBehaviour({ kind: 'slow', firstMs: 700 }, { times: 1 })
  const before = stack.clouds.model.requests.length
  const slow = asking(houses[0]!, distinct(9_004)).then(() => 'slow')
  await until('the model was asked', () => stack.clouds.model.requests.length > before)
  const known = asking(houses[1]!, 'How are people greeted?').then(() => 'known')
  expect(await Promise.race([slow, known])).toBe('known')
  await slow
  stop()
})

/** An hour in ten parts, or as many minutes as are asked for, after one part to get warm; in the short mode moments. */
const soakMinutes = Number(process.env['SOAK_MINUTES'] ?? 60)
const parts = long ? { count: 10, milliseconds: soakMinutes * 6_000 } : { count: 2, milliseconds: 400 }

test('a long series of questions leaves memory and sockets as they were', async () => {
  const asked = { all: 0, 'from the answer store': 0 }
  const round = async () => {
    const text = asked.all % 8 === 0 ? distinct(20_000 + asked.all) : 'How are people greeted?'
    asked.all += 1
    const { reused } = await patiently(houses[asked.all % 3]!, text)
    if (reused) asked['from the answer store'] += 1
  }
  const forAWhile = async (milliseconds: number): Promise<Usage> => {
    const end = performance.now() + milliseconds
    const asker = async () => {
      while (performance.now() < end) await round()
    }
    await Promise.all([asker(), asker(), asker(), asker()])
    forget()
    return usage()
  }
  const before = await forAWhile(parts.milliseconds)
  const seen: Usage[] = []
  for (let part = 0; part < parts.count; part += 1) {
    seen.push(await forAWhile(parts.milliseconds))
    console.log(figuresText({ part: part + 1, ...asked, ...seen.at(-1)! }))
  }
  expect(asked.all).toBeGreaterThan(8)
  for (const { heap, sockets, machines } of seen) {
    expect(heap - before.heap).toBeLessThan(15_000_000)
    expect(sockets).toBeLessThan(before.sockets + 60)
    expect(machines).toBe(0)
  }
}, 7_200_000)

/** What the test setup remembers for its own checks is not memory of the product. */
function forget(): void {
  const { sandboxes, drive, model } = stack.clouds
  for (const list of [sandboxes.requests, drive.requests, model.requests, model.prompts, stack.events]) list.length = 0
  for (const { proxy } of houses) proxy.calls.length = 0
  // The local account keeps a record of every machine there ever was.
  const machines = sandboxes.sandboxes as SandboxRecord[]
  machines.splice(0, machines.length, ...machines.filter(({ state }) => state !== 'gone'))
  // So does the local drive of every answer.
  drive.remove(`${directory}/${artifact.answers}`)
  secretWatch.look()
}

/** What is only waiting to be collected is not in use. */
const collectGarbage = (() => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
})()

interface Usage extends Record<string, number> {
  heap: number
  resident: number
  sockets: number
  machines: number
}

async function usage(): Promise<Usage> {
  // An HTTP client lets go of what belonged to a request only after the request itself was collected.
  for (let times = 0; times < 3; times += 1) {
    collectGarbage()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const sockets = process.getActiveResourcesInfo().filter((name) => /TCPSocket|TCPServer/.test(name)).length
  const { heapUsed: heap, rss: resident } = process.memoryUsage()
  return { heap, resident, sockets, machines: alive() }
}
