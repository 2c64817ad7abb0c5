// A whole summary, broken at every call it makes: refused, silent, late, lost, cut, done twice, or with the process dead at that point.
//
// Each schedule follows from its seed. SEED=17 replays one; LONG=1 runs two thousand.
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import type { ProgramRecord } from '../../src/handoff/domain/sandbox-protocol-decoder.js'
import { resolveRun } from '../../src/handoff/workflows/answer/resolve-run.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import type { SummariseRequest } from '../../src/handoff/workflows/summarise/types.js'
import {
  type CallTarget,
  listTargets,
  makeFaultLog,
  makePlan,
  planText,
  spreadSeed,
  unplannedFaultsText,
} from '../support/fault-plans.js'
import type { FaultName, PlannedFault } from '../support/fault-proxy.js'
import { randomFrom } from '../support/random.js'
import type { PlannedProcess, Scenario, TestProcess } from '../support/scenario.js'
import { figuresText, runSchedules, type Schedule, schedulesFrom } from '../support/schedules.js'
import { manyFiles, type ScriptedStack, startScriptedStack, withLink } from '../support/scripted-stack.js'
import { leaksIn } from '../support/secrets.js'
import { sweepOrphans } from '../support/sweep-orphans.js'
import { watchVisibleRun } from '../support/visible-run-watch.js'

const never = new AbortController().signal
const sha256 = 'f'.repeat(64)
/** For a whole workflow; nothing in it waits longer than half a second for an answer. */
const patienceMs = 8_000
const faultLog = makeFaultLog()
const figures = { schedules: 0, sealed: 0, refused: 0, died: 0, looks: 0, 'bytes compared': 0, 'orphans swept': 0 }
let small: ScriptedStack
/** Its clone and its tables are so large that they travel by upload. */
let large: ScriptedStack
let targets: Map<ScriptedStack, CallTarget[]>

beforeAll(async () => {
  ;[small, large] = await Promise.all([
    startScriptedStack({ files: withLink }),
    startScriptedStack({ files: manyFiles(330), cloneBytes: 60_000 }),
  ])
  const usual = await undisturbed(small)
  const known = new Set(usual.map(({ cloud, route }) => `${cloud} ${route}`))
  const isNew = ({ cloud, route }: CallTarget) => !known.has(`${cloud} ${route}`)
  const more = await undisturbed(large)
  targets = new Map([
    [small, usual],
    [large, [...more.filter(isNew), ...more.filter((target) => !isNew(target))]],
  ])
}, 60_000)

afterAll(async () => {
  await Promise.all([small?.close(), large?.close()])
})

/** The tests of this file break each call that a summary makes. That can be said only when all of them have run. */
// biome-ignore lint/correctness/noEmptyPattern: the library takes a pattern of what a hook wants, and this one wants nothing.
afterAll(({}, file) => {
  console.log(faultLog.report())
  const all = file.tasks.every(({ result }) => result?.state === 'pass')
  expect(all ? faultLog.unbroken() : []).toEqual([])
})

async function undisturbed(stack: ScriptedStack): Promise<CallTarget[]> {
  await using process = await stack.process({ patient: true })
  await summarise(stack.scenario('octo/undisturbed').summarise(process, 'first'), process.context, never)
  faultLog.add(process.proxy.calls)
  return listTargets(process.proxy.calls)
}

/** Every fifth schedule is of the large repository, which costs more; in each world the schedules go round its calls. */
function worldOf(seed: number): { stack: ScriptedStack; turn: number } {
  const turn = Math.floor(seed / 5)
  return seed % 5 === 4 ? { stack: large, turn } : { stack: small, turn: seed - turn }
}

test('if any call fails, a reader sees no run or a complete one, and the next attempt succeeds', async () => {
  const failures = await runSchedules(schedulesFrom(100, 2_000), schedule)
  const machines = [small, large].flatMap(({ clouds }) => clouds.sandboxes.sandboxes)
  const gone = machines.filter(({ state }) => state === 'gone').length
  const sandboxes = { 'sandboxes created': machines.length, 'sandboxes gone': gone }
  console.log(figuresText({ ...figures, 'faults injected': faultLog.injected(), ...sandboxes }))
  expect(failures).toEqual([])
}, 1_200_000)

function schedule(seed: number): Promise<Schedule> {
  const { stack, turn } = worldOf(seed)
  const known = targets.get(stack)!
  const how = { breaking: faultLog.breakRemaining(known) }
  return broken(stack, makePlan(turn, known), `octo/schedule-${seed}`, how)
}

async function broken(
  stack: ScriptedStack,
  plan: PlannedFault[],
  name: string,
  how: Pick<PlannedProcess, 'real' | 'breaking'>,
  asked: Parameters<Scenario['summarise']>[2] = {},
): Promise<Schedule> {
  const place = stack.scenario(name)
  const reader = watchVisibleRun(stack.clouds.drive, place.layout, stack.repository.head)
  const wrong: string[] = []
  let met = ''
  const attempt = async (faults: PlannedFault[], called: string) => {
    await using process = await stack.process({ faults, watch: reader.look, ...how })
    wrong.push(...(await disturbed(stack, process, place.summarise(process, called, asked))))
    reader.look()
    faultLog.add(process.proxy.calls)
    met += unplannedFaultsText(process.proxy.calls, faults)
  }
  await attempt(plan, 'disturbed')
  const died = plan.some(({ fault }) => fault.startsWith('dies'))
  // Who finds what a dead process left is a reader or another attempt, which may be disturbed as well.
  if (died && plan.length % 2 === 1) await attempt([], 'disturbed-again')
  wrong.push(...(await readByProduction(stack, place)))
  wrong.push(...(await second(stack, place)))
  reader.look()
  figures.schedules += 1
  figures.looks += reader.looked
  figures['bytes compared'] += reader.bytesCompared
  reader.stopLooking()
  stack.clouds.drive.remove(place.layout.repository)
  stack.forget()
  return { plan: planText(plan) + met, wrong: [...wrong, ...reader.wrong] }
}

test('of attempts that run at the same time one becomes canonical, and each reports that one', async () => {
  const failures = await runSchedules(schedulesFrom(4, 200), async (seed) => {
    const random = randomFrom(seed)
    const place = small.scenario(`octo/racing-${seed}`)
    const reader = watchVisibleRun(small.clouds.drive, place.layout, small.repository.head)
    const plans = [[], [], random.below(2) === 0 ? [] : makePlan(random.below(10_000), targets.get(small)!)]
    const reported = await Promise.all(
      plans.map(async (faults, index) => {
        const how = { breaking: faultLog.breakRemaining(targets.get(small)), patient: faults.length === 0 }
        await using process = await small.process({ faults, watch: reader.look, ...how })
        return await race(process, place.summarise(process, `racer-${index}`)).finally(() =>
          faultLog.add(process.proxy.calls),
        )
      }),
    )
    reader.look()
    const other = reported.filter(({ run }) => run !== undefined && run !== reader.run())
    if (reported[0]!.run === undefined || other.length > 0)
      reader.wrong.push(`reported were ${JSON.stringify(reported)}, visible is ${reader.run()}`)
    reader.stopLooking()
    small.clouds.drive.remove(place.layout.repository)
    await using last = await small.process({ patient: true })
    const { wrong } = await sweepOrphans(small, place, last)
    return { plan: plans.map(planText).join(' | '), wrong: [...reader.wrong, ...wrong] }
  })
  expect(failures).toEqual([])
}, 600_000)

/** The run that it was reported of; none when its process died or it was refused in our words. */
async function race(process: TestProcess, request: SummariseRequest): Promise<{ run?: string; refused?: string }> {
  const workflow = summarise(request, process.context, AbortSignal.timeout(30_000)).then(
    ({ run }) => ({ run }),
    (error: unknown) => (isHandoffError(error) ? { refused: error.message } : { run: inspect(error) }),
  )
  return Promise.race([workflow, process.proxy.died.then(() => ({ refused: 'dead' }))])
}

test('if a process dies around the seal, the next attempt completes the run, whichever call fails then', async () => {
  const moments = targets
    .get(small)!
    .filter(({ route }) => /^PUT .*(sealing|handoff|commits\/\{sha\})\.json/.test(route))
  expect(moments).toHaveLength(3)
  for (const moment of moments)
    for (const fault of ['dies before', 'dies after'] as const) {
      const how = { breaking: faultLog.breakRemaining(targets.get(small)) }
      const { plan, wrong } = await broken(
        small,
        [{ ...moment, fault }],
        `octo/${fault.replace(' ', '-')}-${moment.route.length}`,
        how,
      )
      expect({ plan, wrong }).toEqual({ plan, wrong: [] })
    }
})

test.each<[string, RegExp, FaultName]>([
  ['after the seal', /^PUT .*\/handoff\.json/, 'dies after'],
  ['before its pointer', /^PUT .*commits\/\{sha\}\.json/, 'dies before'],
  ['after its pointer', /^PUT .*commits\/\{sha\}\.json/, 'dies after'],
])('a run whose process died %s is used by readers and by the next attempt', async (when, route, fault) => {
  const place = small.scenario(`octo/died-${when.replaceAll(' ', '-')}`)
  const moment = targets.get(small)!.find((target) => route.test(target.route))!
  await using dying = await small.process({ faults: [{ ...moment, fault }] })
  expect(await disturbed(small, dying, place.summarise(dying, 'disturbed'))).toEqual([])
  await using next = await small.process({ patient: true })
  const { repository, name } = place.ask(next, 'x')
  const read = await resolveRun({ repository }, name, next.context, never)
  expect(read.handoff.run).toMatch(/-disturbed$/)
  const again = await summarise(place.summarise(next, 'second'), next.context, never)
  expect(again).toMatchObject({ run: read.handoff.run, reused: true })
})

test('it holds with the real sandbox program and a mount', async () => {
  await using process = await small.process({ patient: true, real: true })
  await summarise(small.scenario('octo/real').summarise(process, 'first'), process.context, never)
  const all = listTargets(process.proxy.calls)
  // What the host does is broken above; here it is mostly what the programs in the sandbox meet.
  const inside = all.filter(({ cloud, route }) => cloud === 'inside' || cloud === 'git' || route.includes('Start'))
  const failures = await runSchedules(schedulesFrom(3, 120), (seed) =>
    broken(small, makePlan(spreadSeed(seed, inside), inside), `octo/real-${seed}`, {
      real: true,
      breaking: faultLog.breakRemaining(inside),
    }),
  )
  expect(failures).toEqual([])
  // The plain form makes every call that the other makes, and more; and a pull request has a ref of its own.
  for (let round = 0, before = -1; round < rounds && faultLog.injected() > before; round += 1) {
    before = faultLog.injected()
    const how = { real: true, breaking: faultLog.breakRemaining() }
    const { wrong } = await broken(small, [], `octo/rest-${round}`, how, { form: 'plain', ref: 'refs/pull/7' })
    expect(wrong).toEqual([])
  }
}, 1_200_000)

const rounds = 12

test('a run that is replaced by force is complete at every moment, if any call fails', async () => {
  const place = small.scenario('octo/replaced')
  const force = async (process: TestProcess, attempt: string) =>
    (await summarise(place.summarise(process, attempt, { force: true }), process.context, never)).run
  await using first = await small.process({ patient: true })
  await force(first, 'first')
  for (let round = 0; round === 0 || (round < rounds && faultLog.unbroken().length > 0); round += 1) {
    const reader = watchVisibleRun(small.clouds.drive, place.layout, small.repository.head, { mayBeReplaced: true })
    await using process = await small.process({ breaking: faultLog.breakRemaining(), watch: reader.look })
    const reported = await force(process, `forced-${round}`).catch((error: unknown) => {
      if (!isHandoffError(error)) reader.wrong.push(inspect(error))
    })
    reader.look()
    faultLog.add(process.proxy.calls)
    if (reported && reported !== reader.run()) reader.wrong.push(`reported was ${reported}, visible is ${reader.run()}`)
    expect({ round, wrong: reader.wrong }).toEqual({ round, wrong: [] })
  }
  expect(await force(first, 'last')).toMatch(/-last$/)
}, 600_000)

/** It may end well, or with an error of ours that tells no secret; or its process dies and it does not end at all. */
async function disturbed(stack: ScriptedStack, process: TestProcess, request: SummariseRequest): Promise<string[]> {
  const stop = new AbortController()
  const deadline = setTimeout(() => stop.abort(), patienceMs)
  const workflow = summarise(request, process.context, stop.signal).then(
    () => 'sealed' as const,
    (error: unknown) => ({ error }),
  )
  const ending = await Promise.race([workflow, process.proxy.died.then(() => 'died' as const)])
  clearTimeout(deadline)
  if (ending === 'died') stop.abort()
  figures[typeof ending === 'string' ? ending : 'refused'] += 1
  if (typeof ending === 'string') return []
  const { error } = ending
  const reported = `${JSON.stringify(error)}\n${inspect(error, { depth: 10, showHidden: true })}`
  const { E2B_API_KEY: key } = stack.clouds.sandboxes.settings
  const keys = {
    'the key of the sandboxes': key,
    'the owner key': stack.clouds.drive.ownerKey,
    'the model key': stack.clouds.model.key,
  }
  return [
    ...(isHandoffError(error) ? [] : [`not an error of ours: ${reported}`]),
    ...leaksIn('the error', reported, keys),
  ]
}

/** The next reader finds a complete run or no run. It may repair what a crash left between seal and pointer. */
async function readByProduction(stack: ScriptedStack, place: Scenario): Promise<string[]> {
  await using process = await stack.process({ patient: true })
  const { repository, name } = place.ask(process, 'x')
  const seen = await resolveRun({ repository }, name, process.context, never).then(
    ({ handoff }) => handoff.run as string,
    (error: unknown) => (isHandoffError(error) ? error.code : `not an error of ours: ${String(error)}`),
  )
  return /^[0-9a-f]{40}-disturbed(-again)?$|^not-found$|^not-sealed$/.test(seen) ? [] : [`a reader receives ${seen}`]
}

async function second(stack: ScriptedStack, place: Scenario): Promise<string[]> {
  await using process = await stack.process({ patient: true })
  const { run } = await summarise(place.summarise(process, 'second'), process.context, never)
  const { count, wrong } = await sweepOrphans(stack, place, process)
  figures['orphans swept'] += count
  const visible = watchVisibleRun(stack.clouds.drive, place.layout, stack.repository.head).run()
  return run === visible ? wrong : [...wrong, `the second attempt gave ${run}, visible is ${visible}`]
}

const isTable = (record: ProgramRecord) => record.type === 'stored' && record.path.endsWith('outline.json')

test.each<[string, (records: ProgramRecord[]) => ProgramRecord[]]>([
  ['forgets a file', (records) => records.filter((record) => !isTable(record))],
  ['claims one more', (records) => records.flatMap((one) => (isTable(one) ? [one, { ...one, path: 'x' }] : [one]))],
  ['claims the same twice', (records) => records.flatMap((one) => (isTable(one) ? [one, one] : [one]))],
  ['claims to have stored other bytes', (records) => records.map((one) => (isTable(one) ? { ...one, sha256 } : one))],
])('a sandbox that %s seals nothing', async (what, change) => {
  const before = small.sandboxProgram.can((usual) => ({ ...usual, summarise: change(usual.summarise) }))
  const place = small.scenario(`octo/${what.replaceAll(' ', '-')}`)
  await using process = await small.process({ patient: true })
  const workflow = summarise(place.summarise(process, 'first'), process.context, never)
  const error: unknown = await workflow
    .catch((reason: unknown) => reason)
    .finally(() => small.sandboxProgram.can(() => before))
  expect(isHandoffError(error)).toBe(true)
  expect(
    small.clouds.drive.tree(place.layout.repository).filter(({ path }) => /handoff\.json|commits\//.test(path)),
  ).toEqual([])
})
