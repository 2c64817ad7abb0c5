// Handles one request: gives it an id and a deadline, routes it, logs one line, and always responds.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { getDeadline, waitUntil } from '@vercel/functions'
import {
  HttpError,
  isHandoffError,
  type Problem,
  type ProblemPlace,
  problemResponse,
  toProblem,
} from './problem-details.js'
import { type TimeLimit, timeLimit } from './request-deadline.js'

export interface RequestContext {
  request: Request
  url: URL
  requestId: string
  /** The caller's `traceparent`, if it is valid. */
  trace: string | undefined
  /** When the platform ends the invocation, in milliseconds since 1970. */
  deadline: number
  /** The deadlines of this request. */
  limit: TimeLimit
  /** Bounds the work before the response starts. Aborted when the client has disconnected, or shortly before the deadline. */
  signal: AbortSignal
  /** Keeps the invocation alive for work after the response. The promise must not reject. */
  background(work: Promise<unknown>): void
  /** Adds fields to the log line. They must not contain content of the request. */
  note(fields: Record<string, unknown>): void
  /** Delays the log line, but not the response, until this work ends. An event stream ends long after it began. */
  logAfter(work: Promise<unknown>): void
  /** Logs the result of work that continues after the response, in a line of its own with the same id. */
  logLater(work: Promise<Record<string, unknown>>): void
  /** Headers that the reply has, whatever it is, as they are when it is sent. */
  replyWith(headers: () => Record<string, string>): void
  /** For `Server-Timing`. */
  time(name: string, milliseconds: number): void
}

export type Handler = (exchange: RequestContext) => Promise<Response> | Response

export interface FunctionOptions {
  /** The name in the log. The path is untrusted text. */
  name: string
  corsOrigins: () => string[]
  /** Writes one line of the log. */
  log: (fields: Record<string, unknown>) => unknown
  /** Throws for an unknown address before the method is checked. Absent where each request has the function's own address. */
  readAddress?: (url: URL) => unknown
  /** The form of errors; problem documents when absent. */
  errorResponse?: (problem: Problem, place: ProblemPlace) => Response
  /** The time limit when the platform gives no deadline. */
  seconds: number
}

/** Creates a platform function: routes by method, answers HEAD and OPTIONS, and turns errors into problem documents. */
export function serve(
  methods: Record<string, Handler>,
  manner: FunctionOptions,
): { fetch(request: Request): Promise<Response> } {
  return {
    async fetch(request) {
      const started = Date.now()
      // The platform identifies the request by its async context, so `waitUntil` is called in that context.
      const hold = AsyncLocalStorage.bind((work: Promise<unknown>) => waitUntil(work))
      const limit = timeLimit(request.signal, getDeadline()?.getTime() ?? started + manner.seconds * 1_000)
      // The request itself, and what goes on behind it.
      let going = 1
      const over = () => {
        going -= 1
        if (going === 0) limit.end()
      }
      const notes: Record<string, unknown> = {}
      const timings = new Map<string, number>()
      let last: Promise<unknown> = Promise.resolve()
      let headers: () => Record<string, string> = () => ({})
      const requestId = request.headers.get('x-vercel-id')?.slice(0, 100) ?? randomUUID()
      const url = new URL(request.url)
      const given = request.headers.get('traceparent')
      const trace = given !== null && traceForm.test(given) ? given : undefined
      const exchange: RequestContext = {
        request,
        url,
        requestId,
        trace,
        deadline: limit.deadline,
        limit,
        signal: limit.answering(),
        background: (work) => {
          going += 1
          hold(work.then(over, over))
        },
        logAfter: (work) => {
          last = work
        },
        logLater: (work) => {
          const ended = work.catch(logFieldsFor).then((fields) => tell({ later: true, ...fields }))
          exchange.background(ended)
        },
        note: (fields) => Object.assign(notes, fields),
        replyWith: (made) => {
          headers = made
        },
        time: (name, milliseconds) => timings.set(name, (timings.get(name) ?? 0) + milliseconds),
      }
      /** Logs one line of JSON with the id of the request. */
      const tell = async (fields: Record<string, unknown>) => {
        const milliseconds = Date.now() - started
        await nextTurn()
        const line = {
          at: new Date().toISOString(),
          route: manner.name,
          method: /^[A-Z]{1,10}$/.test(request.method) ? request.method : 'other',
          requestId,
          trace,
        }
        await manner.log({ ...line, ...fields, milliseconds })
      }
      const response = await answer(exchange, methods, manner)
      for (const [name, value] of Object.entries(headers())) response.headers.set(name, value)
      finish(response, exchange, manner, timings)
      const logging = last.catch(() => undefined).then(() => tell({ ...notes, status: response.status }))
      exchange.background(logging)
      over()
      return request.method === 'HEAD' ? new Response(null, response) : response
    },
  }
}

async function answer(
  exchange: RequestContext,
  methods: Record<string, Handler>,
  manner: FunctionOptions,
): Promise<Response> {
  const { request, url, requestId } = exchange
  const place = { requestId, instance: url.pathname.slice(0, 300) }
  try {
    manner.readAddress?.(url)
    const allowed = [...Object.keys(methods), ...('GET' in methods ? ['HEAD'] : []), 'OPTIONS'].join(', ')
    if (request.method === 'OPTIONS')
      return new Response(null, { status: 204, headers: { allow: allowed, ...preflight(request, manner, allowed) } })
    const handler = methods[request.method] ?? (request.method === 'HEAD' ? methods['GET'] : undefined)
    if (!handler || !Object.hasOwn(methods, request.method === 'HEAD' ? 'GET' : request.method)) {
      throw new HttpError(405, 'method-not-allowed', `This address takes ${allowed}.`, { headers: { allow: allowed } })
    }
    return await handler(exchange)
  } catch (error) {
    exchange.note(logFieldsFor(error))
    return (manner.errorResponse ?? problemResponse)(toProblem(error), place)
  }
}

/** Fields of the log line of a failure: the code, the message of an operational error, or the stack of a defect. */
export function logFieldsFor(error: unknown): Record<string, unknown> {
  const { code, status } = toProblem(error)
  if (status < 500 || error instanceof HttpError) return { code }
  return {
    code,
    ...(isHandoffError(error) ? { detail: error.message.slice(0, 500) } : { error: describeDefect(error) }),
  }
}

function describeDefect(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).slice(0, 4_000) : String(error).slice(0, 1_000)
}

const exposed = 'Location, Retry-After, Server-Timing, X-Request-Id, Link, ETag, RateLimit, RateLimit-Policy'

function corsOrigin(request: Request, manner: FunctionOptions): string | undefined {
  const origin = request.headers.get('origin')
  return origin !== null && manner.corsOrigins().includes(origin) ? origin : undefined
}

function preflight(request: Request, manner: FunctionOptions, allowed: string): Record<string, string> {
  if (corsOrigin(request, manner) === undefined) return {}
  return {
    'access-control-allow-methods': allowed,
    'access-control-allow-headers':
      'Authorization, Content-Type, Accept, Prefer, Idempotency-Key, Traceparent, Last-Event-ID, Mcp-Protocol-Version, Mcp-Method, Mcp-Name',
    'access-control-max-age': '600',
  }
}

const traceForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

function finish(
  response: Response,
  exchange: RequestContext,
  manner: FunctionOptions,
  timings: Map<string, number>,
): void {
  const { headers } = response
  const { request, requestId, trace } = exchange
  headers.set('x-request-id', requestId)
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  headers.set('x-content-type-options', 'nosniff')
  if (trace !== undefined) headers.set('traceparent', trace)
  const origin = corsOrigin(request, manner)
  if (manner.corsOrigins().length > 0) headers.append('vary', 'Origin')
  if (origin !== undefined) {
    headers.set('access-control-allow-origin', origin)
    headers.set('access-control-expose-headers', exposed)
  }
  const times = [...timings].map(([name, ms]) => `${name.replace(/[^a-z0-9]+/gi, '-')};dur=${Math.round(ms)}`)
  if (times.length > 0) headers.set('server-timing', times.join(', '))
}
