// One request from its beginning to its end: an id, its time, its steps, one line in the log, and an answer whatever happens.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { getDeadline, waitUntil } from '@vercel/functions'
import { HttpError, isHandoffError, problemResponse, toProblem } from './problem-details.js'
import { nextTurn, type TimeLimit, timeLimit } from './request-deadline.js'

export interface RequestContext {
  request: Request
  url: URL
  requestId: string
  /** The caller's `traceparent`, where it is one. */
  trace: string | undefined
  /** When the platform ends us, in milliseconds since 1970. */
  deadline: number
  /** What ends at a time of this request. */
  limit: TimeLimit
  /** For all that is waited for before an answer begins: the caller has gone, or there is just time left to say that time is over. */
  signal: AbortSignal
  /** For what goes on after the answer; nothing that is handed in may reject. */
  background(work: Promise<unknown>): void
  /** For the log line: nothing of a request's content belongs here. */
  note(fields: Record<string, unknown>): void
  /** The log line, which nobody's answer waits for, waits for this: an answer in events ends long after it began. */
  logAfter(work: Promise<unknown>): void
  /** Work that goes on when the answer and its line are out gets a line of its own, under the same id: what came of it, or why nothing did. */
  logLater(work: Promise<Record<string, unknown>>): void
  /** For `Server-Timing`. */
  time(name: string, milliseconds: number): void
}

export type Handler = (exchange: RequestContext) => Promise<Response> | Response

export interface FunctionOptions {
  /** For the log; the path itself may hold anything. */
  name: string
  corsOrigins: () => string[]
  /** Takes secrets out of a log line. */
  redact: (text: string) => string
  /** Refuses an address at which there is nothing, whatever the method; absent where all that comes here is the function's own address. */
  readAddress?: (url: URL) => unknown
  /** The function's own limit, where the platform does not say its deadline. */
  seconds: number
}

/** A function of the platform: routes by method, answers HEAD and OPTIONS, and turns what is thrown into problem documents. */
export function serve(
  methods: Record<string, Handler>,
  manner: FunctionOptions,
): { fetch(request: Request): Promise<Response> } {
  return {
    async fetch(request) {
      const started = Date.now()
      // The platform knows the request by the context that it calls us in; work may be handed over from another.
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
      const requestId = request.headers.get('x-vercel-id')?.slice(0, 100) ?? randomUUID()
      const url = new URL(request.url)
      const exchange: RequestContext = {
        request,
        url,
        requestId,
        trace: callerTrace(request),
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
        time: (name, milliseconds) => timings.set(name, (timings.get(name) ?? 0) + milliseconds),
      }
      const tell = async (fields: Record<string, unknown>) => {
        const milliseconds = Date.now() - started
        await nextTurn()
        log(exchange, manner, { ...fields, milliseconds })
      }
      const response = await answer(exchange, methods, manner)
      finish(response, exchange, manner, timings)
      const tellThis = () => tell({ ...notes, status: response.status })
      exchange.background(last.then(tellThis, tellThis))
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
    const allowed = allowedMethods(methods)
    if (request.method === 'OPTIONS')
      return new Response(null, { status: 204, headers: { allow: allowed, ...preflight(request, manner, allowed) } })
    const handler = methods[request.method] ?? (request.method === 'HEAD' ? methods['GET'] : undefined)
    if (!handler || !Object.hasOwn(methods, request.method === 'HEAD' ? 'GET' : request.method)) {
      throw new HttpError(405, 'method-not-allowed', `This address takes ${allowed}.`, { headers: { allow: allowed } })
    }
    return await handler(exchange)
  } catch (error) {
    exchange.note(logFieldsFor(error))
    return problemResponse(toProblem(error), place)
  }
}

/** What the log is told of a failure: its code, the house's sentence where a service or a setting is at fault, and of a bug of ours where it happened. */
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

const allowedMethods = (methods: Record<string, Handler>) =>
  [...Object.keys(methods), ...('GET' in methods ? ['HEAD'] : []), 'OPTIONS'].join(', ')

const exposed = 'Location, Retry-After, Server-Timing, X-Request-Id, Link'

function corsOrigin(request: Request, manner: FunctionOptions): string | undefined {
  const origin = request.headers.get('origin')
  return origin !== null && manner.corsOrigins().includes(origin) ? origin : undefined
}

function preflight(request: Request, manner: FunctionOptions, allowed: string): Record<string, string> {
  if (corsOrigin(request, manner) === undefined) return {}
  return {
    'access-control-allow-methods': allowed,
    'access-control-allow-headers': 'Authorization, Content-Type, Accept, Prefer, Idempotency-Key, Traceparent',
    'access-control-max-age': '600',
  }
}

const traceForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

function callerTrace(request: Request): string | undefined {
  const trace = request.headers.get('traceparent')
  return trace !== null && traceForm.test(trace) ? trace : undefined
}

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
  if (timings.size > 0) headers.set('server-timing', serverTiming(timings))
}

export function serverTiming(timings: Map<string, number>): string {
  return [...timings]
    .map(([name, milliseconds]) => `${name.replace(/[^a-z0-9]+/gi, '-')};dur=${Math.round(milliseconds)}`)
    .join(', ')
}

/** One line of JSON. Whoever reads logs finds a request by its id and a slow or broken one by its numbers. */
export function log(
  exchange: RequestContext,
  manner: Pick<FunctionOptions, 'name' | 'redact'>,
  fields: Record<string, unknown>,
): void {
  const { request, requestId, trace } = exchange
  const line = JSON.stringify({
    at: new Date().toISOString(),
    route: manner.name,
    method: /^[A-Z]{1,10}$/.test(request.method) ? request.method : 'other',
    requestId,
    ...(trace === undefined ? {} : { trace }),
    ...fields,
  })
  console.log(manner.redact(line))
}
