// A proxy between one process and the emulators. It records every call and breaks the calls that a plan or a test names.
//
// A proxy serves one orchestrating process and the sandboxes it opens. A planned fault names a call by its route and its number within the route,
// so that a plan does not depend on how calls overtake each other. When the process "dies", the proxy drops its further calls, as if the process
// had been killed at that call. Open sandboxes and their own calls go on.
import { Agent, request as ask, type IncomingHttpHeaders } from 'node:http'
import {
  type Fault,
  type Handler,
  type LocalServer,
  type RecordedRequest,
  startServer,
} from '../../src/emulators/faulty-server.js'

/** `inside` is the drive as the program in a sandbox reaches it. */
export const cloudNames = ['sandboxes', 'drive', 'model', 'git', 'inside'] as const
export type CloudName = (typeof cloudNames)[number]

export type FaultName =
  | 'answers 500'
  | 'answers 503'
  | 'answers 429'
  | 'answers 403'
  | 'hangs'
  | 'is late'
  | 'loses its reply'
  | 'is reset'
  | 'happens twice'
  | 'is cut'
  | 'dies before'
  | 'dies after'

export const faultNames: readonly FaultName[] = [
  'answers 500',
  'answers 503',
  'answers 429',
  'answers 403',
  'hangs',
  'is late',
  'loses its reply',
  'is reset',
  'happens twice',
  'is cut',
  'dies before',
  'dies after',
]

export interface PlannedFault {
  cloud: CloudName
  /** As `routeOf` says it. */
  route: string
  /** The first call of this route is 1. */
  occurrence: number
  fault: FaultName
}

export interface ProxiedCall {
  cloud: CloudName
  route: string
  fault?: FaultName
}

export interface FaultProxy extends AsyncDisposable {
  url: Record<CloudName, string>
  /** Every call so far, in the order in which it came. */
  calls: ProxiedCall[]
  /** Resolves when the process is dead. */
  died: Promise<void>
  close(): Promise<void>
}

export interface FaultProxyOptions {
  targets: Record<CloudName, string>
  faults?: PlannedFault[]
  /** Asked about each call that no planned fault meets: how to break it. */
  breaking?: (call: ProxiedCall) => FaultName | undefined
  /** Called at each moment at which the drive may have changed. */
  watch?: () => void
}

/** Longer than any deadline in a scripted stack. */
export const lateMs = 750

const kinds: Record<FaultName, Fault> = {
  'answers 500': { kind: 'answer', status: 500, body: '{"error":"storage backend unavailable"}' },
  'answers 503': { kind: 'answer', status: 503, headers: { 'retry-after': '1' }, body: '{"error":"not ready"}' },
  'answers 429': { kind: 'answer', status: 429, headers: { 'retry-after': '1' }, body: '{"error":"slow down"}' },
  'answers 403': { kind: 'answer', status: 403, body: '{"error":"forbidden","code":403,"message":"forbidden"}' },
  hangs: { kind: 'hang' },
  'is late': { kind: 'delay', milliseconds: lateMs },
  'loses its reply': { kind: 'lose-reply' },
  'is reset': { kind: 'reset' },
  'happens twice': { kind: 'twice' },
  'is cut': { kind: 'cut', bytes: 7 },
  'dies before': { kind: 'reset' },
  'dies after': { kind: 'lose-reply' },
}

/** The control plane of the sandboxes does not say when to come back; its client would really wait. */
function faultOf(cloud: CloudName, name: FaultName): Fault {
  const fault = kinds[name]
  if (cloud !== 'sandboxes' || fault.kind !== 'answer') return fault
  const { headers: _headers, ...rest } = fault
  return rest
}

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { targets, faults = [], breaking = () => undefined, watch = () => undefined } = options
  const proxiedCalls: ProxiedCall[] = []
  const noted = new WeakMap<RecordedRequest, ProxiedCall>()
  // A connection for each call: one that is kept may be closed at the other end in the very moment it is used again.
  const agent = new Agent({ keepAlive: false })
  const death = Promise.withResolvers<void>()
  const servers = new Map<CloudName, LocalServer>()

  const note = (cloud: CloudName, request: RecordedRequest): ProxiedCall => {
    const known = noted.get(request)
    if (known) return known
    const passage: ProxiedCall = { cloud, route: routeOf(cloud, request) }
    noted.set(request, passage)
    proxiedCalls.push(passage)
    return passage
  }
  const die = () => {
    death.resolve()
    for (const [cloud, server] of servers) if (cloud !== 'inside') void server.close()
  }

  async function open(cloud: CloudName): Promise<void> {
    // `proxiedCalls` records the calls. No test reads the requests themselves.
    const server = await startServer(cloud, forwardTo(targets[cloud], agent, watch), { keepRequests: 0 })
    servers.set(cloud, server)
    // Matches nothing: it only sees every request first.
    server.rule({ match: (request) => note(cloud, request) === undefined, fault: { kind: 'hang' } })
    for (const planned of faults.filter((one) => one.cloud === cloud)) {
      let seen = 0
      const match = (request: RecordedRequest) => {
        const passage = note(cloud, request)
        if (passage.route !== planned.route) return false
        seen += 1
        if (seen !== planned.occurrence) return false
        passage.fault = planned.fault
        if (planned.fault.startsWith('dies')) die()
        return true
      }
      server.rule({ match, fault: faultOf(cloud, planned.fault) })
    }
    breakUnplanned(cloud, server)
  }

  function breakUnplanned(cloud: CloudName, server: LocalServer): void {
    const chosen = new WeakMap<RecordedRequest, { fault: FaultName | undefined }>()
    const choose = (request: RecordedRequest) => {
      const passage = note(cloud, request)
      const choice = chosen.get(request) ?? { fault: passage.fault ? undefined : breaking(passage) }
      chosen.set(request, choice)
      if (choice.fault) passage.fault = choice.fault
      return choice.fault
    }
    for (const name of faultNames.filter((one) => !one.startsWith('dies')))
      server.rule({ match: (request) => choose(request) === name, fault: faultOf(cloud, name) })
  }

  await Promise.all(cloudNames.map(open))
  const close = async () => {
    await Promise.all([...servers.values()].map((server) => server.close().catch(() => undefined)))
    agent.destroy()
  }
  return {
    url: Object.fromEntries([...servers].map(([cloud, { url }]) => [cloud, url])) as Record<CloudName, string>,
    calls: proxiedCalls,
    died: death.promise,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Passes a call on as it is, host name and all: addresses that a service signs lead back through here. */
function forwardTo(target: string, agent: Agent, watch: () => void): Handler {
  const { hostname, port } = new URL(target)
  return (request, response) =>
    new Promise((resolve) => {
      const { method, path, body } = request
      const headers = { ...without(request.headers, 'transfer-encoding', 'connection'), 'content-length': body.length }
      const call = ask({ hostname, port, method, path, headers, agent }, (answer) => {
        watch()
        response.writeHead(answer.statusCode ?? 502, without(answer.headers, 'transfer-encoding', 'connection'))
        // A client that is gone ends a stream; what only wanted to be done is done all the same.
        response.once('close', () => answer.destroy())
        answer.on('data', (chunk: Buffer) => response.write(chunk))
        answer.once('end', () => {
          response.end()
          resolve(undefined)
        })
        answer.once('close', () => {
          if (!answer.complete) response.destroy()
          resolve(undefined)
        })
        answer.on('error', () => undefined)
      })
      call.once('error', () => {
        response.destroy()
        resolve(undefined)
      })
      call.end(body)
    })
}

function without(headers: IncomingHttpHeaders, ...names: string[]): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
}

/** What a call is for, without what differs between two workflows. */
export function routeOf(cloud: CloudName, { method, path }: Pick<RecordedRequest, 'method' | 'path'>): string {
  const [place = '', query = ''] = path.split('?', 2)
  const plain = decoded(place)
    .replace(/^\/v1\/fs\/[\w/-]+\/_service\/(\w+)\/.+/, '/v1/fs/_service/$1/{name}')
    .replace(/^\/v1\/fs\/[\w/-]+\/_service\//, '/v1/fs/_service/')
    .replace(/^\/v1\/fs\/handoff\/smoke\/[^/]+/, '/v1/fs/smoke/{id}')
    // An owner may be several names, one in the other, and a repository may be called `runs`.
    .replace(
      /^\/v1\/fs\/handoff\/[^/]+\/[^/]+\/(?:[^/]+\/)+?(?=(?:commits|refs|runs)(?:\/|$)|corrections\.json$)/,
      '/v1/fs/…/',
    )
    .replace(/^\/v1\/fs\/…\/runs\/(?=(?:commits|refs|runs)(?:\/|$))/, '/v1/fs/…/')
    .replace(/^\/v1\/fs\/handoff\/[^/]+\/[^/]+\/.+/, '/v1/fs/…')
    .replace(/^\/v1\/fs\/handoff(?:\/.+)?$/, '/v1/fs/{folder}')
    .replace(/\/refs\/(heads|pull)\/.+\.json/, '/refs/$1/{name}.json')
    .replace(/^\/api\/(v3|graphql)/, (_, rest) => (rest === 'v3' ? '' : '/graphql'))
    .replace(/\b[0-9a-f]{40}-[a-z0-9-]+/g, '{run}')
    .replace(/\b[0-9a-f]{40}\b/g, '{sha}')
    .replace(/(\/(?:sandboxes|tokens|uploads|s3|qa)\/)(?!initiate$)[0-9a-zA-Z_-]{8,}/g, '$1{id}')
    .replace(/^\/v1\/models\/.+/, '/v1/models')
    .replace(/^\/templates\/aliases\/.+/, '/templates/aliases/{name}')
    .replace(/(\/templates\/)(?!aliases)[0-9a-z]+/, '$1{id}')
    .replace(/(\/builds\/)[0-9a-f-]+/, '$1{id}')
    .replace(/(\/(?:comments|reactions|issues|pulls)\/)\d+/g, '$1{id}')
    .replace(/project\/.+\.git\.tar/, 'project/{repository}.git.tar')
    .replace(/\/project\/(?!\{).+/, '/project/{path}')
    // The name that a file has for a moment.
    .replace(/\.tmp$/, '')
    .replace(/^\/[\w.-]+\/[\w.-]+\.git\//, '/{repository}.git/')
    .replace(/^((?:\/api\/v3)?\/repos)\/[^/]+\/[^/]+/, '$1/{repository}')
    .replace(/\/comments\/\d+/, '/comments/{id}')
    .replace(/\/collaborators\/[^/]+/, '/collaborators/{login}')
    .replace(/\/compare\/.+/, '/compare/{range}')
    .replace(/\/app\/installations\/\d+/, '/app/installations/{id}')
    .replace(/\/users\/[^/]+/, '/users/{login}')
    .replace(/\/applications\/[^/]+/, '/applications/{client}')
  const asked = cloud === 'drive' || cloud === 'inside' ? query.replace(/^after_seq=\d+/, 'after_seq={number}') : ''
  // Each directory of a stage is listed with the same call.
  const route = asked === 'list=1' ? plain.replace(/\/stage\/.+/, '/stage/{path}') : plain
  return `${method} ${route}${asked === '' ? '' : `?${asked}`}`
}

/** A path that is no text is shown as it came: it is written down by servers that must answer it. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
