// What every local cloud is built on: an HTTP server on a free loopback port that records each request and misbehaves by rule.
//
// A rule says which requests it meets (method, path, how many, after how many) and what happens to them. Rules are how the demo's latency
// and every fault of the tests are made; the code that is served to does not know that they exist.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Rule {
  /** `POST`; any method when absent. */
  method?: string
  /** Tested against the path with its query. */
  path?: RegExp
  /** For what method and path cannot tell apart. */
  match?: (request: RecordedRequest) => boolean
  /** Meet only the first n requests that match (after `skip`); all when absent. */
  times?: number
  /** Let the first n matching requests pass. */
  skip?: number
  fault: Fault
}

export type Fault =
  | { kind: 'delay'; milliseconds: number }
  /** Answer this instead of doing the work. */
  | { kind: 'answer'; status: number; headers?: Record<string, string>; body?: string }
  /** Never answer (until the client gives up or the server closes). */
  | { kind: 'hang' }
  /** Drop the connection before the work. */
  | { kind: 'reset' }
  /** Do the work, then drop the connection instead of answering: the lost reply. */
  | { kind: 'lose-reply' }
  /** Do the work, answer this many bytes of the body, then drop the connection. */
  | { kind: 'cut'; bytes: number }
  /** Do the work twice, as a network that repeats a request; the second answer is sent. */
  | { kind: 'twice' }

export interface RecordedRequest {
  at: number
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer
  /** The status that went out; 0 while open or when the connection was dropped. */
  status: number
  fault?: Fault['kind']
}

export interface Reply {
  status: number
  headers?: Record<string, string>
  body?: string | Uint8Array
}

/** Either returns a whole reply or writes to `response` itself (streams) and returns nothing. The request's body is read already. */
export type Handler = (
  request: RecordedRequest,
  response: ServerResponse,
) => Promise<Reply | undefined> | Reply | undefined

export interface LocalServer extends AsyncDisposable {
  url: string
  requests: RecordedRequest[]
  /** Adds a rule and returns how to take it back. The newest matching rule of each kind of moment wins. */
  rule(rule: Rule): () => void
  clearRules(): void
  close(): Promise<void>
}

const recentPorts: number[] = []
const rememberedPorts = 1_000

/** A free port that no server of this process had lately: who still calls one that is gone is not to be answered by its successor. */
async function listen(server: Server, wanted: number | undefined): Promise<number> {
  for (let tries = 0; ; tries += 1) {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted ?? 0, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
    const { port } = server.address() as AddressInfo
    if (wanted !== undefined || tries === 20 || !recentPorts.includes(port)) {
      recentPorts.push(port)
      if (recentPorts.length > rememberedPorts) recentPorts.shift()
      return port
    }
    await new Promise((resolve) => server.close(resolve))
  }
}

/** Called for every request to every server of this process, with the faults, before they are applied. */
type Witness = (server: string, request: RecordedRequest, faults: readonly Fault[]) => void

const witnesses = new Set<Witness>()

/** Returns how to stop listening. */
export function witnessRequests(witness: Witness): () => void {
  witnesses.add(witness)
  return () => void witnesses.delete(witness)
}

export async function startServer(
  name: string,
  handle: Handler,
  options: { port?: number; keepRequests?: number } = {},
): Promise<LocalServer> {
  const rules: { rule: Rule; seen: number }[] = []
  const requests: RecordedRequest[] = []
  const keep = options.keepRequests ?? 10_000

  const server = createServer((incoming, response) => {
    void serve(incoming, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else send(response, { status: 500, body: `${name}: ${error instanceof Error ? error.stack : String(error)}` })
    })
  })

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await record(incoming)
    response.on('finish', () => {
      request.status = response.statusCode
    })
    requests.push(request)
    if (requests.length > keep) requests.shift()
    const faults = faultsFor(request)
    for (const witness of witnesses) witness(name, request, faults)
    for (const fault of faults) {
      if (fault.kind === 'delay') {
        await delay(fault.milliseconds)
        continue
      }
      request.fault = fault.kind
      if (await misbehave(fault, request, response)) return
    }
    const reply = await handle(request, response)
    if (reply) send(response, reply)
  }

  /** True when the fault has dealt with the request. */
  async function misbehave(fault: Fault, request: RecordedRequest, response: ServerResponse): Promise<boolean> {
    switch (fault.kind) {
      case 'delay':
        return false
      case 'answer':
        send(response, { status: fault.status, headers: fault.headers ?? {}, body: fault.body ?? '' })
        return true
      case 'hang':
        return true
      case 'reset':
        response.destroy()
        return true
      case 'lose-reply':
        await handle(request, detached(response))
        response.destroy()
        return true
      case 'cut':
        await cut(await handle(request, cutting(response, fault.bytes)), response, fault.bytes)
        return true
      case 'twice':
        await handle(request, detached(response))
        return false
    }
  }

  function faultsFor(request: RecordedRequest): Fault[] {
    const met: Fault[] = []
    for (const entry of rules) {
      const { method, path, match, skip = 0, times = Number.POSITIVE_INFINITY, fault } = entry.rule
      if ((method && method !== request.method) || (path && !path.test(request.path))) continue
      if (match && !match(request)) continue
      entry.seen += 1
      if (entry.seen > skip && entry.seen <= skip + times) met.push(fault)
    }
    return met
  }

  const port = await listen(server, options.port)

  const close = () => closeServer(server)
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    rule(rule) {
      const entry = { rule, seen: 0 }
      rules.push(entry)
      return () => {
        const index = rules.indexOf(entry)
        if (index >= 0) rules.splice(index, 1)
      }
    },
    clearRules: () => {
      rules.length = 0
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function record(incoming: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const headers: Record<string, string> = {}
  for (const [key, value] of Object.entries(incoming.headers))
    headers[key] = Array.isArray(value) ? value.join(', ') : (value ?? '')
  return {
    at: Date.now(),
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers,
    body: Buffer.concat(chunks),
    status: 0,
  }
}

function send(response: ServerResponse, reply: Reply): void {
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : (reply.body ?? new Uint8Array())
  const bodiless = reply.status === 204 || reply.status === 304
  response.writeHead(reply.status, { ...(bodiless ? {} : { 'content-length': String(body.length) }), ...reply.headers })
  response.end(bodiless ? undefined : body)
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

/** A response that takes everything and sends nothing: for work whose reply is lost. */
function detached(response: ServerResponse): ServerResponse {
  return new Proxy(response, {
    get(target, property) {
      if (property === 'write' || property === 'end' || property === 'writeHead' || property === 'flushHeaders')
        return () => true
      const value: unknown = Reflect.get(target, property)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** A response that lets this many bytes of the body through and then drops the connection. */
function cutting(response: ServerResponse, bytes: number): ServerResponse {
  let left = bytes
  const pass = (chunk: unknown) => {
    const data = typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from((chunk as Uint8Array | undefined) ?? [])
    const part = data.subarray(0, left)
    left -= part.length
    if (part.length > 0) response.write(part)
    if (left <= 0) setImmediate(() => response.destroy())
    return true
  }
  return new Proxy(response, {
    get(target, property) {
      if (property === 'write') return pass
      if (property === 'end') {
        return (chunk: unknown) => {
          pass(chunk)
          response.destroy()
        }
      }
      const value: unknown = Reflect.get(target, property)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function cut(reply: Reply | undefined, response: ServerResponse, bytes: number): Promise<void> {
  if (!reply) return
  const body = Buffer.from(reply.body ?? '')
  response.writeHead(reply.status, { 'content-length': String(body.length), ...reply.headers })
  response.write(body.subarray(0, bytes), () => response.destroy())
}

async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

const delay = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

export const freshId = () => randomUUID().replaceAll('-', '')
