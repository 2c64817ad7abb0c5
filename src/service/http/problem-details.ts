// Turns errors into RFC 9457 problem documents with stable codes.
import { retrySeconds } from '../../handoff/util/retry.js'

export interface Problem {
  status: number
  code: string
  detail: string
  next?: string | undefined
  retryAfterSeconds?: number | undefined
  headers?: Record<string, string> | undefined
}

/** An error of the HTTP layer. A `HandoffError` is recognised by its name, so that this file need not load the product. */
export class HttpError extends Error {
  override readonly name = 'Refusal'
  readonly problem: Problem

  constructor(status: number, code: string, detail: string, more: Partial<Problem> = {}) {
    super(detail)
    this.problem = { status, code, detail, ...more }
  }
}

interface HandoffErrorShape {
  name: 'HandoffError'
  code: string
  message: string
  next?: string | undefined
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

/** HTTP status by error code. Any other code is a defect. */
export const statusByCode: Record<string, number> = {
  'invalid-input': 400,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  'in-progress': 409,
  withdrawn: 409,
  'not-sealed': 409,
  budget: 429,
  'unknown-version': 501,
  sandbox: 502,
  drive: 502,
  git: 502,
  model: 502,
  corrupt: 502,
  'sandbox-limit': 503,
  'model-limit': 503,
  'missing-setting': 503,
  cancelled: 503,
  timeout: 504,
  'drive-quota': 507,
}

const titles: Record<number, string> = {
  400: 'The request is not valid',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'No reply in this format',
  409: 'Not possible now',
  413: 'The request is too large',
  415: 'Not JSON',
  422: 'The key stands for another question',
  429: 'Too many requests',
  500: 'Internal error',
  501: 'Not implemented',
  502: 'A service behind this one failed',
  503: 'Not available now',
  504: 'Out of time',
  507: 'No room',
}

export function toProblem(error: unknown): Problem {
  if (error instanceof HttpError) return error.problem
  if (isHandoffError(error)) {
    const { code, message, next } = error
    const status = statusByCode[code] ?? 500
    const wait = error.retryAfterSeconds ?? usualWait(error)
    return {
      status,
      code,
      detail: message,
      next,
      ...(wait === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(wait)) }),
    }
  }
  return {
    status: 500,
    code: 'internal',
    detail: 'Something went wrong inside handoff.',
    next: 'Report it with the request id; the log has the details under it.',
  }
}

/** A request that was cut short comes back to the same instance, which may be stopping. */
const waits: Record<string, number> = { ...retrySeconds, timeout: 10, cancelled: 10, budget: 10 }

/** An outside service that refused our key does so again. */
const isKeyRefusal = (cause: unknown) => isHandoffError(cause) && ['unauthorized', 'forbidden'].includes(cause.code)

const usualWait = ({ code, cause }: HandoffErrorShape) => (isKeyRefusal(cause) ? undefined : waits[code])

export function isHandoffError(error: unknown): error is HandoffErrorShape {
  return error instanceof Error && error.name === 'HandoffError'
}

/** Statuses that other RFCs define. */
const definitions: Record<number, string> = { 429: 'rfc6585#section-4', 507: 'rfc4918#section-11.5' }

export interface ProblemPlace {
  requestId: string
  instance: string
}

export function problemDocument(problem: Problem, place: ProblemPlace, more: Record<string, unknown> = {}) {
  const { status, code, detail, next, retryAfterSeconds } = problem
  return {
    type: `https://datatracker.ietf.org/doc/html/${definitions[status] ?? `rfc9110#status.${status}`}`,
    title: titles[status] ?? 'Error',
    status,
    detail,
    next,
    code,
    instance: place.instance,
    requestId: place.requestId,
    retryAfterSeconds,
    ...more,
  }
}

export function problemResponse(problem: Problem, place: ProblemPlace, more: Record<string, unknown> = {}): Response {
  return new Response(`${JSON.stringify(problemDocument(problem, place, more))}\n`, {
    status: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      ...(problem.retryAfterSeconds === undefined ? {} : { 'retry-after': String(problem.retryAfterSeconds) }),
      ...problem.headers,
    },
  })
}
