// Breaks the calls to one stand-in without a gate before it: some of the first by chance, and each kind of call when it comes for the first time,
// because some are only made when another failed.
import type { Fault, LocalServer, RecordedRequest } from '../../src/emulators/faulty-server.js'
import { type CloudName, routeOf } from './fault-proxy.js'
import type { Random } from './random.js'

type Server = Pick<LocalServer, 'rule'>

export interface CallBreaker {
  /** One to three of the first requests, each once; in words. */
  breakSome(server: Server, random: Random, among: number): string
  /** Each kind of request that no server of this breaker was asked before. */
  breakNewKinds(server: Server): void
  /** How many kinds there were so far. */
  readonly kinds: number
}

export function makeCallBreaker(cloud: CloudName, faults: readonly Fault[]): CallBreaker {
  const met = new Set<string>()
  return {
    breakSome(server, random, among) {
      const plan = Array.from({ length: 1 + random.below(3) }, () => {
        const skip = random.below(among)
        const fault = random.pick(faults)
        server.rule({ skip, times: 1, fault })
        return `request ${skip + 1} ${fault.kind}`
      })
      return plan.join(', ')
    },
    breakNewKinds(server) {
      const turns = new WeakMap<RecordedRequest, number>()
      const turn = (request: RecordedRequest) => {
        const route = routeOf(cloud, request)
        if (!turns.has(request)) turns.set(request, met.has(route) ? -1 : met.size % faults.length)
        met.add(route)
        return turns.get(request)
      }
      for (const [index, fault] of faults.entries()) server.rule({ match: (request) => turn(request) === index, fault })
    },
    get kinds() {
      return met.size
    },
  }
}
