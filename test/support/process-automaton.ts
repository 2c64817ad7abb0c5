// Production code over the real drive9 client as an automaton. Between two replies it is deterministic, so it is run once for each history of replies
// and remembered: a node is what the process waits for after a history. The run that led to a node goes on with the first history that continues it;
// for another one a new run repeats the replies.
import { makeDrive } from '../../src/handoff/clients/drive9/client.js'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import type { Clock, Ports } from '../../src/handoff/domain/ports.js'
import { manualClock } from './clock.js'
import type { SmallDrive } from './small-drive.js'

/** Production code with a result in a word or two. */
export interface ProductProcess {
  name: string
  run(ports: Pick<Ports, 'drive' | 'clock'>, signal: AbortSignal): Promise<string>
}

/** `lost`: the process learns that the connection broke. `woken`: its sleep is over. Otherwise the number of a reply. */
export type Outcome = number | 'lost' | 'woken'

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
  after(node: ProcessNode, operation: number, outcome: Outcome): ProcessNode | Promise<ProcessNode>
}

interface Step {
  operation: number
  outcome: Outcome
}

/** The first sleep is short; when a process sleeps again, this time passes. */
const longTimeMs = 3_600_000
/** A run may wait for an hour of ours until it goes on: no request is late by itself. */
const patient = { answerMs: 1e9, smallAnswerMs: 1e9, silenceMs: 1e9 }
export const explorerTime = Date.parse('2026-11-19T10:00:00Z')

/** Runs that wait to go on. An older one is stopped, and repeated if it is needed after all. */
const mostRuns = 5_000

export function makeAutomaton(process: ProductProcess, drive: SmallDrive): Automaton {
  const histories: Step[][] = []
  const edges: Map<string, ProcessNode>[] = []
  const ended = new Map<string, ProcessNode>()
  const runs = new Map<number, ProcessRun>()
  let first: Promise<ProcessNode> | undefined

  async function learn(history: Step[], before?: ProcessNode): Promise<ProcessNode> {
    const kept = before && runs.get(before.id)
    if (before) runs.delete(before.id)
    const run = kept ?? startRun(process, drive)
    const { waiting, result } = await run.goOn(kept ? history.slice(-1) : history)
    // All ends with one result are one node.
    const same = result === undefined ? undefined : ended.get(result)
    if (same) return same
    const sleeps = history.filter(({ outcome }) => outcome === 'woken').length
    const node = { id: histories.length, waiting, sleeps, ...(result === undefined ? {} : { result }) }
    histories.push(history)
    edges.push(new Map())
    if (result !== undefined) ended.set(result, node)
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
    first: () => (first ??= learn([])),
    after(node, operation, outcome) {
      const key = `${operation} ${outcome}`
      const known = edges[node.id]!.get(key)
      if (known) return known
      return learn([...histories[node.id]!, { operation, outcome }], node).then((learned) => {
        edges[node.id]!.set(key, learned)
        return learned
      })
    },
  }
}

interface ProcessRun {
  /** Gives it these replies; what it waits for then, or its result. */
  goOn(steps: Step[]): Promise<Pick<ProcessNode, 'waiting' | 'result'>>
  stop(): void
}

function startRun(process: ProductProcess, small: SmallDrive): ProcessRun {
  const stop = new AbortController()
  const waiting = new Map<number, { request?: number; settle: (outcome: Outcome) => void }>()
  let issued = 0
  let sleeps = 0
  let result: string | undefined
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
      const settle = (outcome: Outcome) => (typeof outcome === 'number' ? resolve(outcome) : reject(new Error('lost')))
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
      result = value
    },
    (error: unknown) => {
      result = `error ${isHandoffError(error) ? error.code : String(error)}`
    },
  )
  const quiet = () => untilQuiet(() => waiting.size > 0 || result !== undefined)
  return {
    async goOn(steps) {
      await quiet()
      for (const { operation, outcome } of steps) {
        if (outcome === 'woken') sleeps += 1
        waiting.get(operation)!.settle(outcome)
        waiting.delete(operation)
        await quiet()
      }
      if (result !== undefined) return { waiting: [], result }
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
