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
import { makeStateTable } from './state-table.js'

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
  /** Its number; states are numbered in the order in which they are found. */
  index: number
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
  const states = makeStates(plan.processes.length)
  const judged = new Map<string, string | undefined>()
  const wrong = new Map<string, number>()

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

  const aloneOn = (files: number) => async (process: ProductProcess) => {
    const probe = probes.get(process.name) ?? { automaton: makeAutomaton(process, drive), results: new Map() }
    probes.set(process.name, probe)
    const result = probe.results.get(files) ?? (await runToEnd(probe.automaton, drive, files))
    probe.results.set(files, result)
    return result
  }

  async function visit(state: State): Promise<void> {
    const { files, nodes, faults } = state
    const results = nodes.map(({ result }) => result)
    const key = `${files} ${results.join('|')} ${faults === 0}`
    if (!judged.has(key)) judged.set(key, await plan.judge(drive.files(files), results, aloneOn(files), faults))
    const what = judged.get(key)
    if (what !== undefined && !wrong.has(what)) wrong.set(what, state.index)
    for (const step of stepsFrom(state)) {
      const after = nodesAfter(nodes, step)
      states.add(stateAfter(state, step, after instanceof Promise ? await after : after))
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
        const found = stateAfter(before, step, await nodesAfter(before.nodes, step))
        if (states.add(found) !== at.index) continue
        steps.unshift(textOf(step))
        break
      }
    }
    return steps
  }

  const nodes = await Promise.all(automata.map((automaton) => automaton.first()))
  states.add({ files: drive.intern(plan.files), nodes, late: [], faults: 0, parent: -1 })
  for (let faults = 0; faults <= plan.faults; faults += 1)
    for (const state of states.withFaults(faults)) await visit(state)
  return {
    states: states.count(),
    histories: automata.reduce((sum, automaton) => sum + automaton.histories(), 0),
    wrong: await Promise.all([...wrong].map(async ([what, index]) => ({ what, steps: await stepsTo(index) }))),
  }
}

type FoundState = Omit<State, 'index'>

function stateAfter({ faults, index }: State, { kind, files, late }: Step, nodes: ProcessNode[]): FoundState {
  return { files, nodes, late, faults: kind === 'late' || kind === 'doubled' ? faults + 1 : faults, parent: index }
}

/** Every state that was found, as a row of numbers. */
function makeStates(processes: number) {
  const nodes: ProcessNode[][] = Array.from({ length: processes }, () => [])
  const lates: number[][] = []
  const lateNumbers = new Map<string, number>()
  const keyWidth = 2 + processes
  const [faultsColumn, parentColumn] = [keyWidth, keyWidth + 1]
  const table = makeStateTable(keyWidth + 2, keyWidth)
  /** Rows before this one were looked at. */
  let next = 0
  /** Rows before it that have fewer faults now. */
  const lowered: number[] = []

  function numberOf(late: number[]): number {
    const number = lateNumbers.get(late.join()) ?? lates.push(late) - 1
    lateNumbers.set(late.join(), number)
    return number
  }

  function read(index: number): State {
    const column = (at: number) => table.read(index, at)
    return {
      index,
      files: column(0),
      late: lates[column(1)]!,
      nodes: nodes.map((known, who) => known[column(2 + who)]!),
      faults: column(faultsColumn),
      parent: column(parentColumn),
    }
  }

  return {
    count: table.count,
    read,
    /** A state counts as reached with the fewest faults. */
    add(state: FoundState): number {
      for (const [who, node] of state.nodes.entries()) nodes[who]![node.id] = node
      const key = [state.files, numberOf(state.late), ...state.nodes.map(({ id }) => id)]
      const { row, isNew } = table.find([...key, state.faults, state.parent])
      if (isNew || table.read(row, faultsColumn) <= state.faults) return row
      table.write(row, faultsColumn, state.faults)
      table.write(row, parentColumn, state.parent)
      if (row < next) lowered.push(row)
      return row
    },
    /** Each state with so many faults, also those that are found meanwhile. */
    *withFaults(faults: number): Generator<State> {
      for (next = 0; next < table.count(); ) {
        next += 1
        if (table.read(next - 1, faultsColumn) === faults) yield read(next - 1)
        for (let row = lowered.pop(); row !== undefined; row = lowered.pop()) yield read(row)
      }
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
