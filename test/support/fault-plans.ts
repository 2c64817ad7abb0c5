// Fault plans: which calls are broken, and how. A plan depends on its seed only. A log records every injected fault.
//
// The first fault of a plan is chosen systematically, so that a hundred seeds break every call of an undisturbed run in several ways. Up to two
// more faults are drawn at random, because combined faults find the most defects.
import { type CloudName, type FaultName, faultNames, type PlannedFault, type ProxiedCall } from './fault-proxy.js'
import { randomFrom } from './random.js'

export interface CallTarget {
  cloud: CloudName
  route: string
  occurrence: number
}

/** Every call of an undisturbed run, numbered within its route. Sorted, because the order of calls differs between runs. */
export function listTargets(proxiedCalls: readonly ProxiedCall[]): CallTarget[] {
  const counted = new Map<string, number>()
  return proxiedCalls
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

export function makePlan(seed: number, targets: readonly CallTarget[]): PlannedFault[] {
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

/** Spreads neighbouring seeds over the targets: a few seeds meet very different calls, many seeds meet every call. */
export function spreadSeed(seed: number, targets: readonly CallTarget[]): number {
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
export function unplannedFaultsText(proxiedCalls: readonly ProxiedCall[], plan: readonly PlannedFault[]): string {
  const isPlanned = (call: ProxiedCall) => plan.some((one) => nameOf(one) === nameOf(call))
  const met = proxiedCalls.filter((call) => call.fault && !isPlanned(call))
  return met.map((call) => `; met ${nameOf(call)} ${call.fault}`).join('')
}

export interface FaultLog {
  /** What was asked for, and which of it was broken; once for each list. */
  add(proxiedCalls: readonly ProxiedCall[]): void
  /** Calls that production makes and no schedule broke. */
  unbroken(): string[]
  /**
   * For a gate: breaks each call that was not broken yet, and rotates through the faults. Planned calls are left to their plans.
   * The other calls are made after a failure, at unpredictable times.
   */
  breakRemaining(planned?: readonly CallTarget[]): (call: ProxiedCall) => FaultName | undefined
  injected(): number
  /** A line for each call: how often it was made, and how it was broken. */
  report(): string
}

interface Known {
  made: number
  faults: Map<FaultName, number>
}

export function makeFaultLog(): FaultLog {
  /** These lists may still grow: a process that died or was stopped makes calls for a moment. */
  const lists = new Set<readonly ProxiedCall[]>()
  /** Those that are about to be added, too. */
  const broken = new Set<string>()
  function calls(): Map<string, Known> {
    const all = new Map<string, Known>()
    for (const call of [...lists].flat()) {
      const name = nameOf(call)
      const known: Known = all.get(name) ?? { made: 0, faults: new Map() }
      all.set(name, known)
      known.made += 1
      if (call.fault !== undefined) known.faults.set(call.fault, (known.faults.get(call.fault) ?? 0) + 1)
    }
    return all
  }
  return {
    add(proxiedCalls) {
      lists.add(proxiedCalls)
      for (const call of proxiedCalls) if (call.fault !== undefined) broken.add(nameOf(call))
    },
    unbroken: () => [...calls()].filter(([, { faults }]) => faults.size === 0).map(([name]) => name),
    breakRemaining(planned = []) {
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
