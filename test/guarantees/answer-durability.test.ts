// Several processes ask the same questions at once. Each of their calls fails in some schedule, and a later process asks again.
//
// Each schedule follows from its seed. SEED=17 replays one; LONG=1 runs two thousand, and more processes that are really killed.
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Rule } from '../../src/emulators/faulty-server.js'
import { systemClock } from '../../src/handoff/clients/system-clock.js'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import { artifact, type RunId } from '../../src/handoff/domain/run.js'
import { sha256 } from '../../src/handoff/store/run-store.js'
import { answerQuestion } from '../../src/handoff/workflows/answer/answer-question.js'
import type { AnswerResult } from '../../src/handoff/workflows/answer/find-answer.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import { watchAnswerStore } from '../support/answer-store-watch.js'
import { askInChild } from '../support/ask-in-child-process.js'
import {
  type CallTarget,
  listTargets,
  makeFaultLog,
  makePlan,
  planText,
  spreadSeed,
  unplannedFaultsText,
} from '../support/fault-plans.js'
import { lateMs, type PlannedFault } from '../support/fault-proxy.js'
import { randomFrom } from '../support/random.js'
import type { PlannedProcess, Scenario, TestProcess } from '../support/scenario.js'
import { figuresText, runSchedules, type Schedule, schedulesFrom } from '../support/schedules.js'
import { type ScriptedStack, startScriptedStack } from '../support/scripted-stack.js'
import { keysOf, leaksInValues } from '../support/secrets.js'
import { askLimited, laterMs, limitedContext, reservationsLeft, tokensOf } from '../support/service-limits.js'
import { sweepOrphans } from '../support/sweep-orphans.js'
import { until } from '../support/until.js'

const never = new AbortController().signal
const long = process.env['LONG'] === '1'
const faultLog = makeFaultLog()
const figures = {
  schedules: 0,
  asked: 0,
  answered: 0,
  refused: 0,
  died: 0,
  'answered by the next caller': 0,
  'orphans swept': 0,
}
/** Each round breaks calls that no earlier round broke. The rounds end when no such call is left. */
const rounds = 12
let stack: ScriptedStack
let targets: CallTarget[]
/** A sealed run, to be laid where a schedule wants one. */
let sealed: { path: string; bytes: Buffer }[]
let run: string

beforeAll(async () => {
  stack = await startScriptedStack()
  await using process = await stack.process({ patient: true })
  const place = stack.scenario('octo/sealed')
  run = (await summarise(place.summarise(process, 'first'), process.context, never)).run
  sealed = storedBelow(place.layout.repository)
  process.proxy.calls.length = 0
  await answerQuestion(place.ask(process, 'What is here?'), process.context, never)
  faultLog.add(process.proxy.calls)
  targets = listTargets(process.proxy.calls)
  stack.clouds.drive.remove(`${place.layout.run(run as RunId)}/${artifact.answers}`)
}, 60_000)

afterAll(() => stack?.close())

/** The tests of this file break each call that an answer makes. That can be said only when all of them have run. */
// biome-ignore lint/correctness/noEmptyPattern: the library takes a pattern of what a hook wants, and this one wants nothing.
afterAll(({}, file) => {
  console.log(faultLog.report())
  const all = file.tasks.every(({ result }) => result?.state === 'pass')
  expect(all ? faultLog.unbroken() : []).toEqual([])
})

function storedBelow(top: string): { path: string; bytes: Buffer }[] {
  const { drive } = stack.clouds
  return drive
    .tree(top)
    .filter((entry) => !entry.isDirectory)
    .map(({ path }) => ({ path: path.slice(top.length), bytes: drive.readFile(path)! }))
}

interface SealedPlace extends Scenario {
  directory: string
}

/** The sealed run as one of another repository: its handoff names that one, and its pointer has the hash of this handoff. */
function lay(name: string): SealedPlace {
  const place = stack.scenario(name)
  const handoff = sealed.find(({ path }) => path.endsWith(`/${run}/${artifact.handoff}`))!.bytes
  const project = name.slice(name.indexOf('/') + 1)
  const renamed = `${handoff}`.replace('"octo/sealed"', `"${name}"`).replace('project/sealed', `project/${project}`)
  for (const { path, bytes } of sealed) {
    const content = bytes === handoff ? renamed : withHash(bytes, sha256(handoff), sha256(renamed))
    const laid = path.replace('/project/sealed', `/project/${project}`)
    stack.clouds.drive.write(`${place.layout.repository}${laid}`, content)
  }
  return { ...place, directory: `${place.layout.runs}/${run}` }
}

const withHash = (bytes: Buffer, old: string, hash: string): Buffer =>
  bytes.includes(old) ? Buffer.from(bytes.toString().replaceAll(old, hash)) : bytes

test('if any call fails, each question ends as one complete answer, the same for all callers', async () => {
  const failures = await runSchedules(schedulesFrom(20, 2_000), schedule)
  const machines = stack.clouds.sandboxes.sandboxes
  const gone = machines.filter(({ state }) => state === 'gone').length
  const sandboxes = { 'sandboxes created': machines.length, 'sandboxes gone': gone }
  console.log(figuresText({ ...figures, 'faults injected': faultLog.injected(), ...sandboxes }))
  expect(failures).toEqual([])
}, 1_800_000)

const questions = ['How are people greeted?', 'Where does the test script stand?']
/** It names code, so that the model is asked for an answer only, and not for search words before. */
const exactQuestion = 'How does greet() greet people?'

function schedule(seed: number): Promise<Schedule> {
  const random = randomFrom(seed)
  const faults = [makePlan(seed, targets), random.below(2) === 0 ? [] : makePlan(random.below(10_000), targets)]
  const second = random.below(3) === 0 ? questions[1]! : questions[0]!
  const asking = faults.map((plan, index) => ({
    faults: plan,
    breaking: faultLog.breakRemaining(targets),
    question: [questions[0]!, second][index]!,
  }))
  return broken(lay(`octo/asked-${seed}`), asking)
}

interface Asking extends PlannedProcess {
  question: string
}

/** Several processes ask at once, and then a later process asks again. */
async function broken(place: SealedPlace, askings: Asking[]): Promise<Schedule> {
  const watch = watchAnswerStore(stack.clouds.drive, place.directory)
  let met = ''
  const asked = new Set(askings.map(({ question }) => question))
  const results = await Promise.all(
    askings.map(async ({ question, ...plan }) => {
      await using process = await stack.process({ ...plan, watch: watch.look })
      const reported = await disturbed(place, process, question)
      faultLog.add(process.proxy.calls)
      met += unplannedFaultsText(process.proxy.calls, plan.faults ?? [])
      return reported
    }),
  )
  const wrong = results.filter((result) => typeof result === 'string')
  const answers = results.filter((result) => typeof result === 'object')
  for (const question of asked) answers.push(await whoComesNext(place, question))
  watch.look()
  for (const answer of answers) wrong.push(...sameAsKept(place, answer))
  const states = watch.records().map(({ status }) => status)
  wrong.push(...countRecords(states, asked.size), ...watch.wrong)
  stack.clouds.drive.remove(place.layout.repository)
  stack.forget()
  figures.schedules += 1
  return { plan: askings.map(({ faults = [] }) => planText(faults)).join(' | ') + met, wrong }
}

/** The answer, nothing when there is none, or what is wrong with how it ended. */
async function disturbed(
  place: Scenario,
  process: TestProcess,
  question: string,
): Promise<AnswerResult | string | undefined> {
  const stop = new AbortController()
  const deadline = setTimeout(() => stop.abort(), 4_000)
  figures.asked += 1
  const asking = answerQuestion(place.ask(process, question), process.context, stop.signal).catch((error: unknown) => ({
    error,
  }))
  const ending = await Promise.race([asking, process.proxy.died.then(() => 'died' as const)])
  clearTimeout(deadline)
  if (ending === 'died') {
    stop.abort()
    figures.died += 1
    return undefined
  }
  figures['error' in ending ? 'refused' : 'answered'] += 1
  if (!('error' in ending)) return ending
  if (!isHandoffError(ending.error)) return `not an error of ours: ${String(ending.error)}`
  const leaks = leaksInValues({ 'the error': ending.error }, keysOf(stack.clouds))
  return leaks.length === 0 ? undefined : leaks.join(', ')
}

/** A later process asks after every lease has expired. */
async function whoComesNext(place: Scenario, question: string): Promise<AnswerResult> {
  await using process = await stack.process({ patient: true })
  process.advance(3_600_000)
  const result = await answerQuestion(place.ask(process, question), process.context, never)
  if (!result.reused) figures['answered by the next caller'] += 1
  const { count, wrong } = await sweepOrphans(stack, place, process)
  figures['orphans swept'] += count
  if (wrong.length > 0) throw new Error(wrong.join('; '))
  return result
}

function sameAsKept({ directory }: { directory: string }, { record }: Pick<AnswerResult, 'record'>): string[] {
  const kept = stack.clouds.drive.readFile(`${directory}/${artifact.answer(record.id)}`)?.toString() ?? '{}'
  const same = isDeepStrictEqual(JSON.parse(kept), JSON.parse(JSON.stringify(record)))
  return same ? [] : [`a caller received another answer than is stored: ${JSON.stringify(record)} ${kept}`]
}

function countRecords(states: string[], expected: number): string[] {
  const right = states.length === expected && states.every((state) => state === 'done')
  return right ? [] : [`${expected} questions were asked, and the answer store has ${states.join(', ') || 'nothing'}`]
}

const earlierAnswer = '<!-- handoff:latest accepted=2020-01-01T00:00:00.000Z -->\nAn earlier one.\n'

test('it holds with the real sandbox program and a mount', async () => {
  // What a mount reads before its machine is ended is not the same every time.
  for (let round = 0, idle = 0; round < rounds && idle < 2; round += 1) {
    const before = faultLog.injected()
    const place = lay('octo/sealed')
    stack.clouds.drive.write(`${place.directory}/${artifact.latestAnswer}`, earlierAnswer)
    // What the plain form has beside the others, as far as a mount is asked for it.
    for (const path of ['project/sealed/src/greet.ts', artifact.treeTable])
      stack.clouds.drive.write(`${place.directory}/${path}`, 'x')
    const { plan, wrong } = await broken(place, [
      { real: true, breaking: faultLog.breakRemaining(), question: questions[0]! },
    ])
    expect({ plan, wrong }).toEqual({ plan, wrong: [] })
    idle = faultLog.injected() === before ? idle + 1 : 0
  }
}, 600_000)

test('it holds under the limits of a service, and no reservation is left', async () => {
  await using usual = await stack.process({ patient: true })
  await askLimited(limitedContext(usual), lay('octo/sealed'), usual, questions[0]!, never)
  faultLog.add(usual.proxy.calls)
  const calls = listTargets(usual.proxy.calls)
  const failures = await runSchedules(
    schedulesFrom(5, 300),
    (seed) => limited(makePlan(spreadSeed(seed, calls), calls), calls),
    1,
  )
  for (let round = 0; round < 2 || (round < rounds && faultLog.unbroken().length > 0); round += 1)
    failures.push(...(await runSchedules([round], () => limited([]))))
  expect(failures).toEqual([])
}, 600_000)

/** What is wrong after a disturbed process and the caller that asks once more, an hour later. */
async function limited(faults: PlannedFault[], planned: CallTarget[] = []): Promise<Schedule> {
  const place = lay('octo/sealed')
  const { drive } = stack.clouds
  const watch = watchAnswerStore(drive, place.directory)
  const charged = tokensOf(drive)
  const modelCalls = stack.clouds.model.requests.length
  const wrong: string[] = []
  await using process = await stack.process({ faults, breaking: faultLog.breakRemaining(planned), watch: watch.look })
  const stop = new AbortController()
  const deadline = setTimeout(() => stop.abort(), 4_000)
  const asking = askLimited(limitedContext(process), place, process, questions[0]!, stop.signal).catch((error) => {
    if (!isHandoffError(error)) wrong.push(`not an error of ours: ${String(error)}`)
  })
  await Promise.race([asking, process.proxy.died])
  clearTimeout(deadline)
  if (faults.some(({ fault }) => fault.startsWith('dies'))) stop.abort()
  faultLog.add(process.proxy.calls)
  // A late reply belongs to this process, and must not meet the next scenario.
  if (process.proxy.calls.some(({ fault }) => fault === 'is late')) await systemClock.sleep(lateMs, never)
  await using next = await stack.process({ patient: true })
  const context = limitedContext(next, laterMs)
  const answer = await askLimited(context, place, next, questions[0]!, never)
  watch.look()
  wrong.push(...watch.wrong, ...sameAsKept(place, answer))
  wrong.push(
    ...countRecords(
      watch.records().map(({ status }) => status),
      1,
    ),
  )
  wrong.push(...(await sweepOrphans(stack, place, next)).wrong, ...(await reservationsLeft(context, drive)))
  // Each call of the model costs what the answer's did, also one that nothing came of; nothing is charged twice.
  const { inputTokens, outputTokens } = answer.record.usage
  const most = (inputTokens + outputTokens) * (stack.clouds.model.requests.length - modelCalls)
  if (tokensOf(drive) - charged > most) wrong.push('the caller was charged twice')
  drive.remove(place.layout.repository)
  return { plan: planText(faults) + unplannedFaultsText(process.proxy.calls, faults), wrong }
}

test.each<[string, Rule]>([
  [
    'the file for people cannot be written',
    { method: 'PUT', path: /qa-response\.md/, fault: { kind: 'answer', status: 507, body: '{"error":"full"}' } },
  ],
  [
    'the file for people cannot be looked at',
    { method: 'HEAD', path: /qa-response\.md/, fault: { kind: 'answer', status: 403 } },
  ],
  [
    "the machine's token is not revoked",
    { method: 'DELETE', path: /\/v1\/tokens\//, fault: { kind: 'answer', status: 403, body: '{"error":"no"}' } },
  ],
])('an answer of the model is stored and returned, though %s; its sandbox is gone by then', async (_what, rule) => {
  const place = lay(`octo/reported-${rule.method?.toLowerCase()}`)
  const { drive, sandboxes } = stack.clouds
  const slowEnd = sandboxes.rule({
    method: 'DELETE',
    path: /\/sandboxes\//,
    fault: { kind: 'delay', milliseconds: 300 },
  })
  const takeBack = drive.rule(rule)
  await using process = await stack.process({ patient: true })
  const reported = await answerQuestion(place.ask(process, exactQuestion), process.context, never).finally(takeBack)
  slowEnd()
  const machines = sandboxes.sandboxes.filter(({ metadata }) => metadata['directory'] === place.directory)
  expect(machines.map(({ state }) => state)).toEqual(['gone'])
  expect(sameAsKept(place, reported)).toEqual([])
  expect(await answerQuestion(place.ask(process, exactQuestion), process.context, never)).toMatchObject({
    reused: true,
  })
  expect(completions(process)).toBe(1)
  drive.remove(place.layout.repository)
})

test('a caller that takes a question over pays for its own work, however late the first caller settles', async () => {
  const { drive } = stack.clouds
  await using process = await stack.process({ patient: true })
  const { budgets } = limitedContext(process)
  const before = tokensOf(drive)
  const first = await budgets.reserve('late', 'a question', { tokens: 100, cost: 0 }, Date.now() - 1)
  const second = await budgets.reserve('late', 'a question', { tokens: 100, cost: 0 }, Date.now() + 60_000)
  await first({ tokens: 60, cost: 0 })
  await second({ tokens: 70, cost: 0 })
  expect(tokensOf(drive) - before).toBe(130)
})

test.each(['twice', 'lose-reply'] as const)(
  'the cost of a question is charged once, if its write meets %s',
  async (kind) => {
    const { drive } = stack.clouds
    await using process = await stack.process({ patient: true })
    const { budgets } = limitedContext(process)
    const settle = await budgets.reserve(kind, 'a question', { tokens: 100, cost: 0 }, Date.now() + 60_000)
    const before = tokensOf(drive)
    const takeBack = drive.rule({ method: 'PUT', path: /\/budgets\//, times: 1, fault: { kind } })
    await settle({ tokens: 70, cost: 0 })
    takeBack()
    expect(tokensOf(drive) - before).toBe(70)
  },
)

test('a question without an answer costs what the model was paid', async () => {
  const place = lay('octo/sealed')
  const { drive, model } = stack.clouds
  await using process = await stack.process({ patient: true })
  const before = tokensOf(drive)
  const takeBack = model.setBehaviour({ kind: 'say', text: 'MORE\nread src/greet.ts 1-2' })
  const asking = askLimited(limitedContext(process), place, process, questions[0]!, never).finally(takeBack)
  await expect(asking).rejects.toMatchObject({ name: 'HandoffError' })
  expect(tokensOf(drive) - before).toBeGreaterThan(100)
  drive.remove(place.layout.repository)
})

test('an answer whose caller disconnects costs what the model wrote', async () => {
  await leaveWhenSaid(60)
})

test('a question whose caller disconnects before the first word costs its input', async () => {
  await leaveWhenSaid(0)
})

/** What the model was asked by one process. A late request of an earlier test may come meanwhile. */
const completions = ({ proxy }: TestProcess) =>
  stack.clouds.model.requests.filter(
    ({ path, headers }) => path.endsWith('/completions') && headers.host === new URL(proxy.url.model).host,
  ).length

/** Asks, leaves when the model has said so many letters and stands still, and waits until that is charged. */
async function leaveWhenSaid(letters: number): Promise<void> {
  const place = lay('octo/sealed')
  const { drive, model } = stack.clouds
  await using process = await stack.process({ patient: true })
  const before = tokensOf(drive)
  let begun = false
  process.context.ports.emit = ({ type }) => {
    begun ||= type === 'model-text'
  }
  const takeBack = model.setBehaviour({ kind: 'stall', after: letters })
  const leave = new AbortController()
  const asking = askLimited(limitedContext(process), place, process, exactQuestion, leave.signal)
  const ended = asking.then(
    () => 'answered',
    () => 'left',
  )
  await until('it was asked', () => (letters > 0 ? begun : completions(process) > 0))
  leave.abort()
  expect(await ended).toBe('left')
  takeBack()
  await until('it is charged', () => tokensOf(drive) - before > 100)
  drive.remove(place.layout.repository)
}

test('if a process is killed during an answer, the next one takes the question over', async () => {
  const random = randomFrom(long ? Date.now() : 4)
  const times = long ? 40 : 2
  for (let number = 0; number < times; number += 1) {
    const place = lay(`octo/killed-${number}`)
    const watch = watchAnswerStore(stack.clouds.drive, place.directory)
    const killAt = 1 + random.below(targets.length - 1)
    await using way = await stack.process({ watch: watch.look })
    const { killed } = await askInChild({ stack, place, proxy: way.proxy, question: questions[0]!, killAt })
    const answer = await whoComesNext(place, questions[0]!)
    watch.look()
    expect({ killAt, killed, wrong: watch.wrong, other: sameAsKept(place, answer) }).toEqual({
      killAt,
      killed: true,
      wrong: [],
      other: [],
    })
    expect(
      countRecords(
        watch.records().map(({ status }) => status),
        1,
      ),
    ).toEqual([])
  }
}, 600_000)
