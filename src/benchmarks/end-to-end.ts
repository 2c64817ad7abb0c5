// Round trips and latencies of both workflows. The clouds are on this machine and made as slow as real ones; the critical path is what no program could
// do faster: the same workflow's own work without any latency, and behind it the chain of answers that each must be there before the next can be
// asked for. Calls to drive9 that can go side by side count once. The summary is of one folder, so that the model is asked once.
import { performance } from 'node:perf_hooks'
import { commitOf, readTarget } from '../cli/resolve-repository.js'
import { programText, repositoryRoot } from '../cli/sandbox-program.js'
import { startGitRemote } from '../emulators/git-http-server.js'
import { type Clouds, startClouds } from '../emulators/start-all.js'
import {
  type AppContext,
  answerQuestion,
  createContext,
  parseSettings,
  type RunEvent,
  summarise,
} from '../handoff/index.js'

/** Milliseconds. */
const latency = { sandboxStart: 200, command: 40, drive: 50, model: 2_000 }

/**
 * Round trips to drive9 that have to follow each other, by step. Inside the sandbox they are the program's own: status and listing for a mount, the
 * upload of one file in three (initiate, address, part) and its completion, a rename.
 */
export const chain = {
  summarise: {
    'look up': 2,
    'revoke the token': 1,
    verify: 2,
    'keep what was paid': 1,
    seal: 2,
    point: 1,
    'clear up': 1,
  },
  ask: { 'look up': 2, 'revoke the token': 1, keep: 3 },
}

interface Run {
  milliseconds: number
  sandboxCalls: Record<string, number>
  hostCalls: number
  /** What the program inside took for its own talk with drive9. */
  inside: number
}

export async function benchWorkflows(): Promise<void> {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  say('\nWorkflows: round trips, and wall time against the critical path')
  say(
    `  latencies: ${Object.entries(latency)
      .map(([name, value]) => `${name} ${value} ms`)
      .join(', ')}`,
  )
  const fast = await measure(false, 3)
  const slow = await measure(true, 3)
  for (const workflow of ['summarise', 'ask'] as const) {
    const work = median(fast.map((run) => run[workflow].milliseconds))
    const wall = median(slow.map((run) => run[workflow].milliseconds))
    const inside = median(slow.map((run) => run[workflow].inside)) - median(fast.map((run) => run[workflow].inside))
    const trips = Object.values(chain[workflow]).reduce((sum, count) => sum + count, 0)
    const critical = work + latency.sandboxStart + latency.command + latency.model + trips * latency.drive + inside
    say(`  ${workflow}`)
    say(
      `    sandbox calls ${JSON.stringify(slow[0]![workflow].sandboxCalls)}, host calls to drive9 ${slow[0]![workflow].hostCalls}`,
    )
    say(`    own work, no latency: ${list(fast.map((run) => run[workflow].milliseconds))} ms`)
    say(`    with latency:         ${list(slow.map((run) => run[workflow].milliseconds))} ms`)
    say(
      `    critical path ${Math.round(critical)} ms (own work ${Math.round(work)}, ${trips} round trips of the host, ${Math.round(inside)} ms of drive9 inside the sandbox)`,
    )
    say(`    ratio ${(wall / critical).toFixed(3)} (goal 1.15)`)
  }
}

async function measure(slow: boolean, times: number): Promise<{ summarise: Run; ask: Run }[]> {
  const runs = []
  for (let index = 0; index < times; index += 1) runs.push(await once(slow))
  return runs
}

async function once(slow: boolean): Promise<{ summarise: Run; ask: Run }> {
  const target = await readTarget(repositoryRoot)
  if (target.kind !== 'path') throw new Error('The bench runs in a clone of the repository.')
  await using clouds = await startClouds({ model: slow ? { pace: { firstMs: latency.model } } : {} })
  await using remote = await startGitRemote({ repositories: { 'local/project': target.directory } })
  if (slow) slowDown(clouds)
  const events: RunEvent[] = []
  const settings = { ...clouds.settings, LLM_CONTEXT_TOKENS: '1000000' }
  const context = createContext(parseSettings(settings), {
    program: programText,
    emit: (event) => void events.push(event),
  })
  const signal = AbortSignal.timeout(120_000)
  const commit = { ...commitOf(target, remote.cloneUrl('local/project')) }
  await warmUp(context)

  const first = startCounting(clouds, events)
  const attempt = `bench-${context.ports.uniqueId()}`
  const summary = await summarise(
    { commit, attempt, include: ['/src/handoff/util/step-timer.ts', '/README.md'] },
    context,
    signal,
  )
  const summariseRun = first()
  const second = startCounting(clouds, events)
  const question = { text: 'How is a run sealed, and what does a reader check?' }
  await answerQuestion({ repository: commit.repository, name: { run: summary.run }, question }, context, signal)
  return { summarise: summariseRun, ask: second() }
}

/** The SDKs are loaded at their first call; that is start-up, measured elsewhere. */
async function warmUp(context: AppContext): Promise<void> {
  const signal = AbortSignal.timeout(20_000)
  await context.ports.sandboxes.find({ handoff: 'warm-up' }, signal)
}

function slowDown(clouds: Clouds): void {
  clouds.sandboxes?.rule({
    method: 'POST',
    path: /^\/v2\/sandboxes$/,
    fault: { kind: 'delay', milliseconds: latency.sandboxStart },
  })
  clouds.sandboxes?.rule({
    path: /^\/process\.Process\/Start/,
    fault: { kind: 'delay', milliseconds: latency.command },
  })
  clouds.drive?.rule({ fault: { kind: 'delay', milliseconds: latency.drive } })
}

function startCounting(clouds: Clouds, events: RunEvent[]): () => Run {
  const from = {
    sandboxes: clouds.sandboxes!.requests.length,
    drive: clouds.drive!.requests.length,
    events: events.length,
  }
  const start = performance.now()
  return () => {
    const milliseconds = performance.now() - start
    const calls = clouds.sandboxes!.requests.slice(from.sandboxes)
    const count = (method: string, path: RegExp) =>
      calls.filter((call) => call.method === method && path.test(call.path)).length
    const owner = `Bearer ${clouds.drive!.ownerKey}`
    return {
      milliseconds,
      sandboxCalls: {
        create: count('POST', /^\/v2\/sandboxes$/),
        run: count('POST', /Process\/Start/),
        kill: count('DELETE', /^\/sandboxes\//),
        other:
          calls.length -
          count('POST', /^\/v2\/sandboxes$/) -
          count('POST', /Process\/Start/) -
          count('DELETE', /^\/sandboxes\//),
      },
      hostCalls: clouds.drive!.requests.slice(from.drive).filter((call) => call.headers['authorization'] === owner)
        .length,
      inside: insideOf(events.slice(from.events)),
    }
  }
}

/** Steps of the survey program that wait for drive9: the mount, beside the clone; what is stored; the drain. */
function insideOf(events: RunEvent[]): number {
  const times = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'step-end') times.set(event.step, (times.get(event.step) ?? 0) + event.milliseconds)
  }
  const of = (step: string) => times.get(step) ?? 0
  return Math.max(of('mount'), of('clone')) + Math.max(of('store'), of('survey')) + of('drain')
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

const list = (values: number[]) => values.map((value) => Math.round(value)).join(', ')
