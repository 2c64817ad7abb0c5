// Explores every order in which the requests of several processes can reach a drive, with late and doubled requests among them.
//
// A request that is late is reported to its process as lost, and may arrive at any later moment or never; a doubled one is answered, and may arrive once
// more. Only writes and deletions are late or doubled: a lost read is read again later.
import {
  type Automaton,
  makeAutomaton,
  type Outcome,
  type ProcessNode,
  type ProductProcess,
} from './process-automaton.js'
import { type DriveFiles, makeSmallDrive, type SmallDrive } from './small-drive.js'

export interface Exploration {
  files: DriveFiles
  processes: ProductProcess[]
  /** Late and doubled requests in one schedule. */
  faults: number
  /** Which writes and deletions are late or doubled; all if absent. */
  mayFail?: (path: string) => boolean
  /** Reads whose reply is always the same; their order is not explored. */
  isConstant?: (path: string) => boolean
  /** Says what is wrong with the files, given the result of each process that has ended. */
  judge(
    files: DriveFiles,
    results: (string | undefined)[],
    alone: RunAlone,
    faults: number,
  ): string | undefined | Promise<string | undefined>
}

/** Runs one more process to its end while all others stand still; its result. */
export type RunAlone = (process: ProductProcess) => Promise<string>

export interface Explored {
  states: number
  /** Histories of replies for which production code was run. */
  histories: number
  /** The first state of each kind that is wrong, with the steps that lead to it. */
  wrong: { what: string; steps: string[] }[]
}

interface State {
  files: number
  nodes: ProcessNode[]
  late: number[]
  faults: number
  parent: number
}

/** What happens next. Absent `who`: a late request arrives. Absent `request`: a process wakes up. */
interface Step {
  who?: number
  operation?: number
  request?: number
  outcome: Outcome
  kind: 'answered' | 'late' | 'doubled' | 'woken' | 'arrives'
  files: number
  late: number[]
}

export async function explore(plan: Exploration): Promise<Explored> {
  const drive = makeSmallDrive()
  const automata = plan.processes.map((process) => makeAutomaton(process, drive))
  const probes = new Map<string, { automaton: Automaton; results: Map<number, string> }>()
  const states = makeStateTable(plan.processes.length)
  const seen = new Set<string>()
  const judged = new Map<string, string | undefined>()
  const wrong = new Map<string, number>()
  /** By the number of their faults, so that a state is first reached with the fewest. */
  const queues: number[][] = Array.from({ length: plan.faults + 1 }, () => [])

  const mayFail = (request: number) => {
    const { changes, path } = drive.request(request)
    return changes && (plan.mayFail?.(path) ?? true)
  }
  const isConstant = (request: number | undefined) =>
    request !== undefined && plan.isConstant?.(drive.request(request).path) === true

  function* stepsFrom({ files, nodes, late, faults }: State): Generator<Step> {
    for (const [who, node] of nodes.entries()) {
      for (const { operation, request } of node.waiting) {
        if (request === undefined) continue
        const { files: changed, reply } = drive.apply(files, request)
        const one = { who, operation, request }
        yield { ...one, outcome: reply, kind: 'answered', files: changed, late }
        if (isConstant(request)) return
        if (faults === plan.faults || !mayFail(request)) continue
        const more = [...late, request].sort((a, b) => a - b)
        yield { ...one, outcome: 'lost', kind: 'late', files, late: more }
        yield { ...one, outcome: reply, kind: 'doubled', files: changed, late: more }
      }
    }
    for (const [at, request] of late.entries()) {
      const { files: changed, reply } = drive.apply(files, request)
      yield { request, outcome: reply, kind: 'arrives', files: changed, late: late.toSpliced(at, 1) }
    }
    // A process that sleeps again wakes when all others have ended or sleep: then a long time has passed.
    const isBusy = nodes.some(({ waiting }) => waiting.some(({ request }) => request !== undefined))
    for (const [who, node] of nodes.entries()) {
      const sleep = node.waiting.find(({ request }) => request === undefined)
      if (sleep && (node.sleeps === 0 || !isBusy))
        yield { who, operation: sleep.operation, outcome: 'woken', kind: 'woken', files, late }
    }
  }

  /** Most steps are known, and then nothing is awaited. */
  function nodesAfter(nodes: ProcessNode[], { who, operation, outcome }: Step): ProcessNode[] | Promise<ProcessNode[]> {
    if (who === undefined) return nodes
    const after = automata[who]!.after(nodes[who]!, operation!, outcome)
    return after instanceof Promise ? after.then((node) => nodes.with(who, node)) : nodes.with(who, after)
  }

  function add(state: State): void {
    const key = keyOf(state)
    if (seen.has(key)) return
    seen.add(key)
    queues[state.faults]!.push(states.add(state))
  }

  const aloneOn = (files: number) => async (process: ProductProcess) => {
    const probe = probes.get(process.name) ?? { automaton: makeAutomaton(process, drive), results: new Map() }
    probes.set(process.name, probe)
    const result = probe.results.get(files) ?? (await runToEnd(probe.automaton, drive, files))
    probe.results.set(files, result)
    return result
  }

  async function visit(index: number): Promise<void> {
    const state = states.read(index)
    const { files, nodes, faults } = state
    const results = nodes.map(({ result }) => result)
    const key = `${files} ${results.join('|')} ${faults === 0}`
    if (!judged.has(key)) judged.set(key, await plan.judge(drive.files(files), results, aloneOn(files), faults))
    const what = judged.get(key)
    if (what !== undefined && !wrong.has(what)) wrong.set(what, index)
    for (const step of stepsFrom(state)) {
      const after = nodesAfter(nodes, step)
      add(stateAfter(state, index, step, after instanceof Promise ? await after : after))
    }
  }

  const textOf = ({ who, request, kind }: Step): string => {
    const name = who === undefined ? 'the network' : plan.processes[who]!.name
    return `${name}: ${request === undefined ? 'sleep' : drive.request(request).text} (${kind})`
  }
  /** A state knows the one before it. Which step led from there is found again. */
  const stepsTo = async (index: number): Promise<string[]> => {
    const steps: string[] = []
    for (let at = states.read(index); at.parent >= 0; at = states.read(at.parent)) {
      const before = states.read(at.parent)
      for (const step of stepsFrom(before)) {
        const found = stateAfter(before, at.parent, step, await nodesAfter(before.nodes, step))
        if (keyOf(found) !== keyOf(at)) continue
        steps.unshift(textOf(step))
        break
      }
    }
    return steps
  }

  const nodes = await Promise.all(automata.map((automaton) => automaton.first()))
  add({ files: drive.intern(plan.files), nodes, late: [], faults: 0, parent: -1 })
  for (const queue of queues) for (let at = 0; at < queue.length; at += 1) await visit(queue[at]!)
  return {
    states: states.count(),
    histories: automata.reduce((sum, automaton) => sum + automaton.histories(), 0),
    wrong: await Promise.all([...wrong].map(async ([what, index]) => ({ what, steps: await stepsTo(index) }))),
  }
}

const keyOf = ({ files, nodes, late }: State) => `${files} ${nodes.map(({ id }) => id).join(' ')} ${late.join(',')}`

function stateAfter({ faults }: State, parent: number, { kind, files, late }: Step, nodes: ProcessNode[]): State {
  return { files, nodes, late, faults: kind === 'late' || kind === 'doubled' ? faults + 1 : faults, parent }
}

/** A row of numbers for each state, so that ten million of them take a few hundred megabytes. */
function makeStateTable(processes: number) {
  const width = 4 + processes
  const nodes: ProcessNode[][] = Array.from({ length: processes }, () => [])
  const lates: number[][] = []
  const lateNumbers = new Map<string, number>()
  let rows = new Int32Array(1_024 * width)
  let count = 0

  function numberOf(late: number[]): number {
    const number = lateNumbers.get(late.join()) ?? lates.push(late) - 1
    lateNumbers.set(late.join(), number)
    return number
  }

  return {
    count: () => count,
    add(state: State): number {
      const from = count * width
      if (from + width > rows.length) {
        const more = new Int32Array(2 * rows.length)
        more.set(rows)
        rows = more
      }
      for (const [who, node] of state.nodes.entries()) nodes[who]![node.id] = node
      const numbers = [
        state.files,
        numberOf(state.late),
        state.faults,
        state.parent,
        ...state.nodes.map(({ id }) => id),
      ]
      rows.set(numbers, from)
      count += 1
      return count - 1
    },
    read(index: number): State {
      const [files = 0, late = 0, faults = 0, parent = 0, ...ids] = rows.subarray(index * width, (index + 1) * width)
      return { files, late: lates[late]!, faults, parent, nodes: ids.map((id, who) => nodes[who]![id]!) }
    },
  }
}

async function runToEnd(automaton: Automaton, drive: SmallDrive, files: number): Promise<string> {
  let node = await automaton.first()
  let now = files
  while (node.result === undefined) {
    const { operation, request } = node.waiting[0]!
    if (request === undefined) node = await automaton.after(node, operation, 'woken')
    else {
      const after = drive.apply(now, request)
      now = after.files
      node = await automaton.after(node, operation, after.reply)
    }
  }
  return node.result
}
