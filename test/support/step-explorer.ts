// Explores every order in which the requests of several processes can reach a drive, with late and doubled requests among them.
//
// A request that is late is reported to its process as lost, and may arrive at any later moment or never; a doubled one is answered, and may arrive once
// more. Only writes and deletions are late or doubled: a lost read is read again later.
import { type FoundState, makeFoundStates } from './found-states.js'
import { makeLateRequests } from './late-requests.js'
import { makeObserverSets } from './observer-sets.js'
import { type Automaton, lost, makeAutomaton, type Outcome, type ProductProcess, woken } from './process-automaton.js'
import { type DriveFiles, makeSmallDrive, type SmallDrive } from './small-drive.js'

export interface Exploration {
  files: DriveFiles
  processes: ProductProcess[]
  /** A process that only reads. Any number of them start at any moment. */
  observer?: Observer
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

export interface Observer {
  process: ProductProcess
  /** Whether an observer that starts now is owed a result. */
  isOwed(results: (string | undefined)[]): boolean
  judge(result: string, isOwed: boolean): string | undefined
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

/** What happens next. */
interface Step {
  /** Undefined: a late request arrives. */
  who?: number
  operation: number
  /** Undefined: a process wakes up. */
  request?: number
  outcome: Outcome
  kind: 'answered' | 'late' | 'doubled' | 'woken' | 'arrives'
  files: number
  late: number
}

export async function explore(plan: Exploration): Promise<Explored> {
  const drive = makeSmallDrive()
  const automata = plan.processes.map((process) => makeAutomaton(process, drive))
  const observers = plan.observer && makeObserverSets(makeAutomaton(plan.observer.process, drive), drive)
  const noObservers = observers?.none ?? 0
  const late = makeLateRequests()
  const states = makeFoundStates(plan.processes.length, observers?.union ?? (() => noObservers))
  const probes = new Map<string, { automaton: Automaton; results: Map<number, string> }>()
  const judged = new Map<string, string | undefined>()
  const wrong = new Map<string, number>()
  const fails: boolean[] = []
  const constants: boolean[] = []

  function mayFail(request: number): boolean {
    const { changes, path } = drive.request(request)
    fails[request] ??= changes && (plan.mayFail?.(path) ?? true)
    return fails[request]
  }
  function isConstant(request: number): boolean {
    constants[request] ??= plan.isConstant?.(drive.request(request).path) === true
    return constants[request]
  }

  function stepsFrom({ files, nodes, late: set, faults }: FoundState): Step[] {
    const steps: Step[] = []
    let isBusy = false
    let sleeps = false
    for (let who = 0; who < nodes.length; who += 1) {
      for (const { operation, request } of automata[who]!.node(nodes[who]!).waiting) {
        if (request === undefined) {
          sleeps = true
          continue
        }
        isBusy = true
        const { files: changed, reply } = drive.apply(files, request)
        const answered: Step = { who, operation, request, outcome: reply, kind: 'answered', files: changed, late: set }
        if (isConstant(request)) return [answered]
        steps.push(answered)
        if (faults === plan.faults || !mayFail(request)) continue
        const more = late.with(set, request)
        steps.push({ who, operation, request, outcome: lost, kind: 'late', files, late: more })
        steps.push({ who, operation, request, outcome: reply, kind: 'doubled', files: changed, late: more })
      }
    }
    for (const request of new Set(late.requests(set))) {
      const { files: changed, reply } = drive.apply(files, request)
      const left = late.without(set, request)
      steps.push({ operation: 0, request, outcome: reply, kind: 'arrives', files: changed, late: left })
    }
    if (!sleeps) return steps
    // A process that sleeps again wakes when all others have ended or sleep: then a long time has passed.
    for (let who = 0; who < nodes.length; who += 1) {
      const node = automata[who]!.node(nodes[who]!)
      const sleep = node.waiting.find(({ request }) => request === undefined)
      if (sleep && (node.sleeps === 0 || !isBusy))
        steps.push({ who, operation: sleep.operation, outcome: woken, kind: 'woken', files, late: set })
    }
    return steps
  }

  /** Most steps are known, and then nothing is awaited. */
  function nodesAfter(nodes: number[], { who, operation, outcome }: Step): number[] | Promise<number[]> {
    if (who === undefined) return nodes
    const after = automata[who]!.after(automata[who]!.node(nodes[who]!), operation, outcome)
    return after instanceof Promise ? after.then(({ id }) => nodes.with(who, id)) : nodes.with(who, after.id)
  }

  const aloneOn = (files: number) => async (process: ProductProcess) => {
    const probe = probes.get(process.name) ?? { automaton: makeAutomaton(process, drive), results: new Map() }
    probes.set(process.name, probe)
    const result = probe.results.get(files) ?? (await runToEnd(probe.automaton, drive, files))
    probe.results.set(files, result)
    return result
  }

  const resultsOf = (nodes: number[]) => nodes.map((node, who) => automata[who]!.node(node).result)
  const note = (what: string | undefined, index: number) => {
    if (what !== undefined && !wrong.has(what)) wrong.set(what, index)
  }

  async function judgeState({ index, files, faults }: FoundState, results: (string | undefined)[]): Promise<void> {
    const key = `${files} ${results.join('|')} ${faults === 0}`
    if (!judged.has(key)) judged.set(key, await plan.judge(drive.files(files), results, aloneOn(files), faults))
    note(judged.get(key), index)
  }

  /** The observers that may be under way after this state. */
  async function observe({ index, files, observers: set }: FoundState, results: (string | undefined)[]) {
    if (!plan.observer || !observers) return noObservers
    const looking = observers.look(set, files, plan.observer.isOwed(results))
    const { set: after, ended } = looking instanceof Promise ? await looking : looking
    for (const { result, isOwed } of ended) note(plan.observer.judge(result, isOwed), index)
    return after
  }

  async function visit(state: FoundState): Promise<void> {
    const results = resultsOf(state.nodes)
    await judgeState(state, results)
    const under = await observe(state, results)
    for (const step of stepsFrom(state)) {
      const after = nodesAfter(state.nodes, step)
      states.add(stateAfter(state, step, after instanceof Promise ? await after : after, under))
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
        const found = stateAfter(before, step, await nodesAfter(before.nodes, step), noObservers)
        if (states.add(found) !== at.index) continue
        steps.unshift(textOf(step))
        break
      }
    }
    return steps
  }

  const first = await Promise.all(automata.map(async (automaton) => (await automaton.first()).id))
  const files = drive.intern(plan.files)
  states.add({ files, nodes: first, late: late.none, faults: 0, parent: -1, observers: noObservers })
  for (let faults = 0; faults <= plan.faults; faults += 1)
    for (const state of states.withFaults(faults)) await visit(state)
  return {
    states: states.count(),
    histories: automata.reduce((sum, automaton) => sum + automaton.histories(), 0),
    wrong: await Promise.all([...wrong].map(async ([what, index]) => ({ what, steps: await stepsTo(index) }))),
  }
}

function stateAfter({ faults, index }: FoundState, { kind, files, late }: Step, nodes: number[], observers: number) {
  const more = kind === 'late' || kind === 'doubled' ? faults + 1 : faults
  return { files, nodes, late, faults: more, parent: index, observers }
}

async function runToEnd(automaton: Automaton, drive: SmallDrive, files: number): Promise<string> {
  let node = await automaton.first()
  let now = files
  while (node.result === undefined) {
    const { operation, request } = node.waiting[0]!
    if (request === undefined) node = await automaton.after(node, operation, woken)
    else {
      const after = drive.apply(now, request)
      now = after.files
      node = await automaton.after(node, operation, after.reply)
    }
  }
  return node.result
}
