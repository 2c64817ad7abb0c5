// A sandbox costs money as long as it lives. Whatever becomes of a workflow, of its process or of a reply, none is left, or none that cannot be
// found and that does not end by itself.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SandboxRecord } from '../../src/emulators/e2b/server.js'
import type { Sandboxes } from '../../src/handoff/domain/ports.js'
import { answerQuestion } from '../../src/handoff/workflows/answer/answer-question.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import type { FaultName, PlannedFault } from '../support/fault-proxy.js'
import { runProgram } from '../support/run-program.js'
import type { Scenario, TestProcess } from '../support/scenario.js'
import { type ScriptedStack, startScriptedStack } from '../support/scripted-stack.js'
import { until } from '../support/until.js'

const never = new AbortController().signal
let stack: ScriptedStack
/** Work that continues after its test. Only the end of the file waits for it. */
const running: Promise<unknown>[] = []

beforeAll(async () => {
  stack = await startScriptedStack()
}, 60_000)

afterAll(async () => {
  await Promise.all(running)
  await stack?.close()
})

/** The machines that a scenario made. */
const machinesOf = ({ name }: Scenario): SandboxRecord[] =>
  stack.clouds.sandboxes.sandboxes.filter(({ metadata }) => metadata['scenario'] === name)

const alive = (made: SandboxRecord[]) => made.filter(({ state }) => state !== 'gone')

const broken = (route: string, fault: FaultName): PlannedFault => ({ cloud: 'sandboxes', route, occurrence: 1, fault })

interface Both {
  place: Scenario
  process: TestProcess
  workflow: (signal?: AbortSignal) => Promise<unknown>
}

/** A summary and an answer, each in a process with these faults. */
async function bothWorkflows(name: string, faults: PlannedFault[]): Promise<{ summary: Both; answer: Both }> {
  const place = stack.scenario(name)
  const [first, second] = [await stack.process({ faults }), await stack.process({ faults })]
  return {
    summary: {
      place,
      process: first,
      workflow: (signal = never) => summarise(place.summarise(first, 'first'), first.context, signal),
    },
    answer: {
      place,
      process: second,
      workflow: (signal = never) =>
        answerQuestion(place.ask(second, 'How are people greeted?'), second.context, signal),
    },
  }
}

const outcome = (workflow: Promise<unknown>) =>
  workflow.then(
    () => 'well',
    (error: { code?: string }) => error.code ?? String(error),
  )

// First, because what is left of it goes on for a while beside the others.
test('if its owner is killed, its lifetime ends it, and npm run sweep ends it sooner', async () => {
  const others = await strangers()
  const { summary } = await bothWorkflows('octo/killed', [broken('POST /process.Process/Start', 'dies after')])
  const stop = new AbortController()
  running.push(outcome(summary.workflow(stop.signal)))
  await summary.process.proxy.died
  const [orphan] = machinesOf(summary.place)
  expect(alive([orphan!])).toHaveLength(1)
  expect(orphan!.metadata).toMatchObject({ role: 'summarise', attempt: 'first', run: expect.stringMatching(/-first$/) })
  expect(endsWithin(orphan!)).toBeLessThanOrEqual(121)

  expect(await sweep('--yes')).toContain('0 of them without an owner')
  expect(await sweep('--all')).toContain('would be destroyed')
  expect(alive([orphan!])).toHaveLength(1)
  expect(await sweep('--all', '--yes')).toContain(`${orphan!.id} since`)
  expect(alive([orphan!])).toEqual([])
  expect(alive(others)).toHaveLength(2)
  // It goes on trying to end its machine through a network that is gone.
  stop.abort()
})

// One after the other: their houses are in a hurry, and would take each other's load for a service that is silent.
test.each<[string, PlannedFault[]]>([
  ['a workflow that goes well', []],
  [
    'a reply to the creation that is lost: the machine is found by its metadata',
    [broken('POST /v2/sandboxes', 'loses its reply')],
  ],
  ['a reply to the creation that is cut', [broken('POST /v2/sandboxes', 'is cut')]],
  ['a creation that completes after the client stopped waiting', [broken('POST /v2/sandboxes', 'is late')]],
  ['a reply to the killing that is lost', [broken('DELETE /sandboxes/{id}', 'loses its reply')]],
  ['a killing that fails at first', [broken('DELETE /sandboxes/{id}', 'answers 500')]],
  ['a kill request without a reply', [broken('DELETE /sandboxes/{id}', 'hangs')]],
])('after %s, no sandbox is left', async (what, faults) => {
  const { summary, answer } = await bothWorkflows(`octo/${what.replace(/[^a-z]+/g, '-').slice(0, 60)}`, faults)
  for (const [index, { workflow, process, place }] of [summary, answer].entries()) {
    expect(await outcome(workflow())).toBe('well')
    expect(machinesOf(place).length).toBeGreaterThan(index)
    expect(alive(machinesOf(place))).toEqual([])
    expect(process.proxy.calls.filter(({ fault }) => fault)).toHaveLength(faults.length)
    await process.close()
  }
})

test.concurrent.each<[string, PlannedFault, ...PlannedFault[]]>([
  [
    'a machine whose creation was not answered cannot be joined',
    broken('POST /v2/sandboxes', 'loses its reply'),
    broken('POST /v2/sandboxes/{id}/connect', 'answers 500'),
  ],
  ['the command cannot be started', broken('POST /process.Process/Start', 'answers 503')],
  ['the command breaks off', broken('POST /process.Process/Start', 'is cut')],
  [
    'the program inside fails',
    { cloud: 'inside', route: 'GET /v1/fs/…/runs/{run}/analysis/handoff.json', occurrence: 1, fault: 'answers 403' },
  ],
  ['the model refuses', { cloud: 'model', route: 'POST /v1/chat/completions', occurrence: 1, fault: 'answers 403' }],
])('after an error because %s, no sandbox is left', async (what, ...faults) => {
  const { summary, answer } = await bothWorkflows(`octo/${what.replaceAll(' ', '-')}`, faults)
  for (const { workflow, process, place } of [summary, answer]) {
    await outcome(workflow())
    expect(alive(machinesOf(place))).toEqual([])
    await process.close()
  }
})

test('a summary that is cancelled at any step leaves no sandbox', async () => {
  const steps = ['look up', 'open sandbox', 'sandbox is open', 'close sandbox', 'verify', 'summarise', 'seal'] as const
  for (const [index, step] of steps.entries()) {
    const place = stack.scenario(`octo/cancelled-${index}`)
    await using process = await stack.process()
    const stop = new AbortController()
    process.context.ports.emit = (event) => {
      const now = event.type === 'sandbox-open' ? 'sandbox is open' : event.type === 'step-start' ? event.step : ''
      if (now === step) stop.abort()
    }
    expect(await outcome(summarise(place.summarise(process, 'first'), process.context, stop.signal))).toBe('cancelled')
    expect({ step, alive: alive(machinesOf(place)) }).toEqual({ step, alive: [] })
  }
})

test('an answer that is cancelled at any step leaves no sandbox', async () => {
  const steps = [
    'claim',
    'open sandbox',
    'sandbox is open',
    'find',
    'answer',
    'close sandbox',
    'check',
    'keep',
  ] as const
  const place = stack.scenario('octo/cancelled-answers')
  await using before = await stack.process({ patient: true })
  await summarise(place.summarise(before, 'first'), before.context, never)
  for (const step of steps) {
    await using process = await stack.process()
    const stop = new AbortController()
    let met = false
    process.context.ports.emit = (event) => {
      const now = event.type === 'sandbox-open' ? 'sandbox is open' : event.type === 'step-start' ? event.step : ''
      if (now !== step) return
      met = true
      stop.abort()
    }
    const ended = await outcome(
      answerQuestion(place.ask(process, `What is here, at ${step}?`), process.context, stop.signal),
    )
    // What is there by then is given all the same.
    expect({ step, met, ended: ['cancelled', 'well'].includes(ended) }).toEqual({ step, met: true, ended: true })
    expect({ step, alive: alive(machinesOf(place)) }).toEqual({ step, alive: [] })
  }
})

test.each<FaultName>(['answers 500', 'is reset'])(
  'cancelled while its program runs, when the call that kills the program %s, a workflow leaves no sandbox',
  async (fault) => {
    const place = stack.scenario(`octo/cancelled-${fault.replaceAll(' ', '-')}`)
    const storing = 'PUT /v1/fs/…/runs/{run}/stage/project/{repository}.git.tar'
    const faults: PlannedFault[] = [
      { cloud: 'inside', route: storing, occurrence: 1, fault: 'hangs' },
      broken('POST /process.Process/SendSignal', fault),
    ]
    await using process = await stack.process({ faults, patient: true })
    const stop = new AbortController()
    const ending = outcome(summarise(place.summarise(process, 'first'), process.context, stop.signal))
    await until('the program stores', () => process.proxy.calls.some(({ route }) => route === storing))
    stop.abort()
    expect(await ending).toBe('cancelled')
    expect(alive(machinesOf(place))).toEqual([])
    expect(process.proxy.calls.filter((passage) => passage.fault)).toHaveLength(2)
  },
)

test('a create call that arrives twice leaves one sandbox, which the sweep finds and which ends by itself', async () => {
  const { summary } = await bothWorkflows('octo/doubled', [broken('POST /v2/sandboxes', 'happens twice')])
  expect(await outcome(summary.workflow())).toBe('well')
  const left = alive(machinesOf(summary.place))
  expect(left).toHaveLength(1)
  expect(endsWithin(left[0]!)).toBeLessThanOrEqual(121)
  await summary.process.close()
  expect(await sweep('--all', '--yes')).toMatch(/1 sandboxes of handoff are alive, 1 of them without an owner/)
  expect(alive(left)).toEqual([])
})

const endsWithin = ({ createdAt, endsAt }: SandboxRecord) => (endsAt.getTime() - createdAt.getTime()) / 1_000

/** Machines of other projects in the same account, one of them with metadata that looks a little like ours. */
async function strangers(): Promise<SandboxRecord[]> {
  await using process = await stack.process({ patient: true })
  const open = (metadata: Record<string, string>) =>
    (process.context.ports.sandboxes as Sandboxes).open({ metadata, lifetimeMs: 60_000, egress: [] }, never)
  await open({ project: 'another' })
  await open({ handoff: '2', role: 'summarise' })
  return stack.clouds.sandboxes.sandboxes.filter(({ metadata }) => metadata['scenario'] === undefined)
}

/** `npm run sweep`, with the age at which a sandbox has lost its owner being the usual one. */
async function sweep(...words: string[]): Promise<string> {
  const { stdout, stderr } = await runProgram('src/cli/sweep.ts', words, stack.clouds.sandboxes.settings)
  expect(stderr).toBe('')
  return stdout
}
