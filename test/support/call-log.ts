// Records which outside calls a test file makes and which faults each call meets. The emulators report them, for every caller and every fault.
// Each file keeps its own log; `global-setup.ts` merges them.
import type { Fault, RecordedRequest } from '../../src/emulators/faulty-server.js'
import { routeOf } from './fault-proxy.js'

/** How often each kind of fault met a call; `made` counts all of them. */
export type CallLog = Record<string, { made: number; faults: Record<string, number> }>

export interface CallRecorder {
  record(server: string, request: RecordedRequest, faults: readonly Fault[]): void
  log: CallLog
}

/** Tests of a stand-in, and of the line that speaks to it, ask for things with made-up keys that the product never would. */
export const isEmulatorOrClientTest = /^(emulators|contract|handoff\/clients)\//

/** Calls of a person's browser, or of a client that signs in. The product never makes them. */
const madeByBrowser = /^\/login\/oauth\/authorize\?|^\/\.well-known\/oauth-authorization-server\//

/** The header of a call that a test makes itself, and the product never would. */
export const madeByTest = 'x-made-by-test'
/** A directory on drive9 that only tests have. */
const madeUp = /^\/v1\/fs\/x\//

const services: Record<string, string> = {
  'the local E2B cloud': 'sandboxes',
  'local model': 'model',
  'git remote': 'git',
  'git echo': 'git',
  drive9: 'drive',
}
const known = ['sandboxes', 'drive', 'inside', 'model', 'git', 'github']

export function recordCalls(): CallRecorder {
  const calls: CallLog = {}
  return {
    log: calls,
    record(server, request, faults) {
      if (request.headers[madeByTest] !== undefined || madeUp.test(request.path) || server === 'git echo') return
      const service = serviceOf(server, request)
      if (!known.includes(service) || (service === 'github' && madeByBrowser.test(request.path))) return
      const cloud = service === 'github' ? 'git' : service
      const name = `${service.padEnd(9)} ${routeOf(cloud as Parameters<typeof routeOf>[0], request)}`
      const call = calls[name] ?? { made: 0, faults: {} }
      calls[name] = call
      call.made += 1
      for (const way of faults.flatMap(describeFault)) call.faults[way] = (call.faults[way] ?? 0) + 1
    },
  }
}

/** Which of the outside's services a server stands for. What a sandbox's token opens is asked for from inside it. */
export function serviceOf(server: string, { headers }: Pick<RecordedRequest, 'headers'>): string {
  const service = services[server] ?? server
  return service === 'drive' && isScoped(headers['authorization'] ?? '') ? 'inside' : service
}

export function isScoped(text: string): boolean {
  const token = /drive9_([\w-]+)/.exec(text)?.[1] ?? ''
  const claims = Buffer.from(token, 'base64url').toString().split('.')[1] ?? ''
  return Buffer.from(claims, 'base64url').toString().includes('"token_version":2')
}

/** A short delay is not a fault. */
function describeFault(fault: Fault): string[] {
  if (fault.kind === 'delay') return fault.milliseconds < 500 ? [] : ['late']
  return [fault.kind === 'answer' ? `${fault.status}` : fault.kind]
}

export function addCalls(to: CallLog, more: CallLog): void {
  for (const [name, { made, faults }] of Object.entries(more)) {
    const call = to[name] ?? { made: 0, faults: {} }
    to[name] = call
    call.made += made
    for (const [way, times] of Object.entries(faults)) call.faults[way] = (call.faults[way] ?? 0) + times
  }
}

export const neverBroken = (calls: CallLog): string[] =>
  Object.keys(calls)
    .filter((name) => Object.keys(calls[name]!.faults).length === 0)
    .sort()

/** A line for each call. */
export function callsText(calls: CallLog): string {
  return Object.entries(calls)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { made, faults }]) => {
      const ways = Object.entries(faults).map(([way, times]) => `${way} ${times}`)
      return `${name.padEnd(76)} ${String(made).padStart(6)} calls; ${ways.join(', ') || 'never broken'}`
    })
    .join('\n')
}

/** A line for each service and method: how many calls there are, how often they were made, and how often they were broken in which way. */
export function callsTable(calls: CallLog): string {
  const groups = new Map<string, { calls: number; made: number; faults: Record<string, number> }>()
  for (const [name, { made, faults }] of Object.entries(calls)) {
    const [service = '', method = ''] = name.split(/ +/)
    const known = groups.get(`${service} ${method}`) ?? { calls: 0, made: 0, faults: {} }
    groups.set(`${service} ${method}`, known)
    known.calls += 1
    known.made += made
    for (const [way, times] of Object.entries(faults)) {
      const column = faultColumn(way)
      known.faults[column] = (known.faults[column] ?? 0) + times
    }
  }
  const columns = [...new Set([...groups.values()].flatMap(({ faults }) => Object.keys(faults)))].sort()
  const rows = [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
  const cells = [
    ['', 'calls', 'made', ...columns],
    ...rows.map(([name, { calls, made, faults }]) => [name, calls, made, ...columns.map((one) => faults[one] ?? '')]),
  ].map((row) => row.map(String))
  const widths = cells[0]!.map((_, index) => Math.max(...cells.map((row) => row[index]!.length)))
  const line = (row: string[]) =>
    row.map((cell, index) => (index === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[index]!))).join('  ')
  return cells.map(line).join('\n')
}

/** What a call was answered with instead is reported by its first digit. */
const faultColumn = (way: string) => (/^\d{3}$/.test(way) ? `${way[0]}xx` : way)
