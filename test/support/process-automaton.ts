// Production code over the real drive9 client as an automaton. Between two replies it is deterministic, so it is run once for each history of replies
// and remembered: a node is what the process waits for after a history. The run that led to a node goes on with the first history that continues it;
// for another one a new run repeats the replies.
//
// A process may go on as another process. Then the history begins anew, so that many ways to one decision are one node.
import { makeDrive } from '../../src/handoff/clients/drive9/client.js'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import type { Clock, Ports } from '../../src/handoff/domain/ports.js'
import { manualClock } from './clock.js'
import type { SmallDrive } from './small-drive.js'

/** Production code. It ends with a result in a word or two, or goes on as the process that it returns. A name stands for one process. */
export interface ProductProcess {
  name: string
  run(ports: Pick<Ports, 'drive' | 'clock'>, signal: AbortSignal): Promise<string | ProductProcess>
}

/** The number of a reply, or one of the two below. */
export type Outcome = number
/** The process learns that the connection broke. */
export const lost: Outcome = -1
/** Its sleep is over. */
export const woken: Outcome = -2

export interface ProcessNode {
  id: number
  /** A request by its number; without one the process sleeps. */
  waiting: { operation: number; request?: number }[]
  result?: string
  sleeps: number
}

export interface Automaton {
  histories(): number
  first(): Promise<ProcessNode>
  node(id: number): ProcessNode
  after(node: ProcessNode, operation: number, outcome: Outcome): ProcessNode | Promise<ProcessNode>
}

interface Step {
  operation: number
  outcome: Outcome
}

interface History {
  process: ProductProcess
  steps: Step[]
}

/** The first sleep is short; when a process sleeps again, this time passes. */
const longTimeMs = 3_600_000
/** A run may wait for an hour of ours until it goes on: no request is late by itself. */
const patient = { answerMs: 1e9, smallAnswerMs: 1e9, silenceMs: 1e9 }
export const explorerTime = Date.parse('2026-11-19T10:00:00Z')

/** Runs that wait to go on. An older one is stopped, and repeated if it is needed after all. */
const mostRuns = 5_000

export function makeAutomaton(process: ProductProcess, drive: SmallDrive): Automaton {
  const histories: History[] = []
  const nodes: ProcessNode[] = []
  const edges: Map<number, ProcessNode>[] = []
  const firsts = new Map<string, Promise<ProcessNode>>()
  const ended = new Map<string, ProcessNode>()
  const runs = new Map<number, ProcessRun>()

  function firstOf(one: ProductProcess): Promise<ProcessNode> {
    const first = firsts.get(one.name) ?? learn({ process: one, steps: [] })
    firsts.set(one.name, first)
    return first
  }

  async function learn(history: History, before?: ProcessNode): Promise<ProcessNode> {
    const kept = before && runs.get(before.id)
    if (before) runs.delete(before.id)
    const run = kept ?? startRun(history.process, drive)
    const { waiting, end } = await run.goOn(kept ? history.steps.slice(-1) : history.steps)
    if (typeof end === 'object') return firstOf(end)
    // All ends with one result are one node.
    const same = end === undefined ? undefined : ended.get(end)
    if (same) return same
    const sleeps = history.steps.filter(({ outcome }) => outcome === woken).length
    const node = { id: nodes.length, waiting, sleeps, ...(end === undefined ? {} : { result: end }) }
    histories.push(history)
    nodes.push(node)
    edges.push(new Map())
    if (end !== undefined) ended.set(end, node)
    else keep(node, run)
    return node
  }

  function keep(node: ProcessNode, run: ProcessRun): void {
    runs.set(node.id, run)
    const [oldest] = runs
    if (runs.size <= mostRuns || !oldest) return
    runs.delete(oldest[0])
    oldest[1].stop()
  }

  return {
    histories: () => histories.length,
    first: () => firstOf(process),
    node: (id) => nodes[id]!,
    after(node, operation, outcome) {
      const key = operation * 2 ** 32 + outcome - woken
      const known = edges[node.id]!.get(key)
      if (known) return known
      const { process: one, steps } = histories[node.id]!
      return learn({ process: one, steps: [...steps, { operation, outcome }] }, node).then((learned) => {
        edges[node.id]!.set(key, learned)
        return learned
      })
    },
  }
}

/** What it waits for, or how it has ended. */
interface Pause {
  waiting: ProcessNode['waiting']
  end?: string | ProductProcess
}

interface ProcessRun {
  /** Gives it these replies. */
  goOn(steps: Step[]): Promise<Pause>
  stop(): void
}

function startRun(process: ProductProcess, small: SmallDrive): ProcessRun {
  const stop = new AbortController()
  const waiting = new Map<number, { request?: number; settle: (outcome: Outcome) => void }>()
  let issued = 0
  let sleeps = 0
  let end: string | ProductProcess | undefined
  const drive = makeDrive({
    server: 'http://drive9.example.org',
    key: 'key',
    clock: manualClock({ start: explorerTime, jump: true }),
    times: patient,
    send(url, { method, headers, body, signal }) {
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
      const request = small.internRequest({
        method,
        url,
        expected: headers['x-dat9-expected-revision'],
        body: Buffer.from(body ?? '').toString(),
      })
      const settle = (outcome: Outcome) => (outcome === lost ? reject(new Error('lost')) : resolve(outcome))
      waiting.set(issued++, { request, settle })
      return promise.then((number) => {
        const { status, headers: answered, body: text } = small.reply(number)
        return { status, header: (name: string) => answered[name] ?? null, body: piecesOf(text), drop: () => undefined }
      })
    },
  })
  const clock: Clock = {
    now: () => explorerTime + Math.max(0, sleeps - 1) * longTimeMs,
    sleep: () => new Promise((resolve) => waiting.set(issued++, { settle: () => resolve() })),
  }
  process.run({ drive, clock }, stop.signal).then(
    (value) => {
      end = value
    },
    (error: unknown) => {
      end = `error ${isHandoffError(error) ? error.code : String(error)}`
    },
  )
  const quiet = () => untilQuiet(() => waiting.size > 0 || end !== undefined)
  return {
    async goOn(steps) {
      await quiet()
      for (const { operation, outcome } of steps) {
        if (outcome === woken) sleeps += 1
        waiting.get(operation)!.settle(outcome)
        waiting.delete(operation)
        await quiet()
      }
      if (end !== undefined) return { waiting: [], end }
      const open = [...waiting].map(([operation, { request }]) => ({
        operation,
        ...(request === undefined ? {} : { request }),
      }))
      return { waiting: open }
    },
    stop: () => stop.abort(),
  }
}

/** Lets production code go on until it waits or has ended. */
async function untilQuiet(isQuiet: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2 || !isQuiet(); turn += 1) {
    if (turn > 100_000) throw new Error('The process waits for something that is neither the drive nor the clock.')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function* piecesOf(text: string): AsyncIterable<Uint8Array> {
  if (text !== '') yield Buffer.from(text)
}
