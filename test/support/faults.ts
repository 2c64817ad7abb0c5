// Which calls are broken, and how: plans that follow from a seed alone, and a ledger of what was broken so far.
//
// The first calls of a plan go round systematically, so that a hundred seeds break every call of an undisturbed walk in several ways; up to
// two more are drawn by chance, because the interesting failures are those that meet.
import { type CloudName, type FaultName, faultNames, type Passage, type PlannedFault } from './gate.js'
import { randomFrom } from './random.js'

export interface CallTarget {
  cloud: CloudName
  route: string
  occurrence: number
}

/** Every call of an undisturbed walk, each route's first, second, … by itself. Sorted: the order of a walk differs from time to time. */
export function targetsIn(passages: readonly Passage[]): CallTarget[] {
  const counted = new Map<string, number>()
  return passages
    .map(({ cloud, route }) => {
      const occurrence = (counted.get(nameOf({ cloud, route })) ?? 0) + 1
      counted.set(nameOf({ cloud, route }), occurrence)
      return { cloud, route, occurrence }
    })
    .sort((a, b) => a.occurrence - b.occurrence || (nameOf(a) < nameOf(b) ? -1 : 1))
}

/** A sandbox is no process of ours: it does not die with one. */
const possible = (cloud: CloudName) =>
  cloud === 'inside' ? faultNames.filter((name) => !name.startsWith('dies')) : faultNames

export function planFrom(seed: number, targets: readonly CallTarget[]): PlannedFault[] {
  const random = randomFrom(seed)
  const index = seed % targets.length
  const first = targets[index]!
  const kinds = possible(first.cloud)
  const kind = (Math.floor(seed / targets.length) + index) % kinds.length
  const plan: PlannedFault[] = [{ ...first, fault: kinds[kind]! }]
  // The first round breaks one call at a time, so that nothing before it keeps a call from being made.
  for (let more = seed < targets.length ? 0 : random.below(3); more > 0; more -= 1) {
    const target = random.pick(targets)
    const fault = random.pick(possible(target.cloud))
    if (!plan.some((one) => sameCall(one, target))) plan.push({ ...target, fault })
  }
  return plan
}

/** A seed far from the next one's, so that a few meet very different calls; and many meet every call. */
export function strided(seed: number, targets: readonly CallTarget[]): number {
  let stride = 7
  while (divisor(stride, targets.length) !== 1) stride += 1
  return seed * stride
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))

const sameCall = (a: CallTarget, b: CallTarget) => nameOf(a) === nameOf(b) && a.occurrence === b.occurrence

const nameOf = ({ cloud, route }: { cloud: string; route: string }) => `${cloud.padEnd(9)} ${route}`

export const planText = (plan: readonly PlannedFault[]) =>
  plan.map(({ cloud, route, occurrence, fault }) => `${cloud} ${route} #${occurrence} ${fault}`).join('; ')

/** What was broken beside the plan. A seed that is replayed alone meets the same, and perhaps more: nothing was broken before it. */
export function metText(passages: readonly Passage[], plan: readonly PlannedFault[]): string {
  const isPlanned = (passage: Passage) => plan.some((one) => nameOf(one) === nameOf(passage))
  const met = passages.filter((passage) => passage.fault && !isPlanned(passage))
  return met.map((passage) => `; met ${nameOf(passage)} ${passage.fault}`).join('')
}

export interface FaultLedger {
  /** What was asked for, and which of it was broken; once for each list. */
  add(passages: readonly Passage[]): void
  /** Calls that production makes and nobody broke. */
  unbroken(): string[]
  /**
   * For a gate: breaks each call that nobody broke yet when it comes, in ways that go round. Calls that are planned for are left to their plans;
   * the others are made because something failed, and come when they will.
   */
  breakTheRest(planned?: readonly CallTarget[]): (call: Passage) => FaultName | undefined
  injected(): number
  /** A line for each call: how often it was made, and how it was broken. */
  report(): string
}

interface Known {
  made: number
  faults: Map<FaultName, number>
}

export function faultLedger(): FaultLedger {
  /** Lists that may still grow: a process that died, or was told to stop, makes calls for a moment. */
  const lists = new Set<readonly Passage[]>()
  /** Those that are about to be added, too. */
  const broken = new Set<string>()
  function calls(): Map<string, Known> {
    const all = new Map<string, Known>()
    for (const passage of [...lists].flat()) {
      const name = nameOf(passage)
      const call: Known = all.get(name) ?? { made: 0, faults: new Map() }
      all.set(name, call)
      call.made += 1
      if (passage.fault !== undefined) call.faults.set(passage.fault, (call.faults.get(passage.fault) ?? 0) + 1)
    }
    return all
  }
  return {
    add(passages) {
      lists.add(passages)
      for (const passage of passages) if (passage.fault !== undefined) broken.add(nameOf(passage))
    },
    unbroken: () => [...calls()].filter(([, { faults }]) => faults.size === 0).map(([name]) => name),
    breakTheRest(planned = []) {
      const left = new Set(planned.map(nameOf))
      return (call) => {
        const name = nameOf(call)
        if (left.has(name) || broken.has(name)) return undefined
        broken.add(name)
        return passing[broken.size % passing.length]
      }
    },
    injected: () =>
      [...calls().values()].flatMap(({ faults }) => [...faults.values()]).reduce((sum, times) => sum + times, 0),
    report() {
      const lines = [...calls()]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { made, faults }]) => {
          const ways = [...faults].map(([fault, times]) => `${fault} ${times}`).join(', ')
          return `${name.padEnd(64)} ${String(made).padStart(6)} calls; ${ways || 'never broken'}`
        })
      return lines.join('\n')
    },
  }
}

/** What is over when the call is made again. */
const passing: readonly FaultName[] = ['answers 503', 'is reset', 'loses its reply', 'answers 500', 'is cut']
