// Sends one request to GitHub, with retries and waits for rate limits. No error shows the token.
//
// Rate limits (docs.github.com, "Rate limits for the REST API"): status 403 or 429. Wait as `retry-after` says; else until `x-ratelimit-reset` when
// `x-ratelimit-remaining` is 0; else at least a minute, and longer each time. GitHub did not execute a limited request, so even a POST is sent again.
// After a 5xx or a lost connection GitHub may have executed the request: only idempotent requests are sent again.
import { abortError, HandoffError } from '../../domain/errors.js'
import type { Call } from '../../domain/github.js'
import type { Clock } from '../../domain/ports.js'
import { quote } from '../../domain/run.js'
import { limited } from '../../util/abort.js'
import { parseJson } from '../../util/decode.js'
import { connectionProblem, readText } from '../../util/http.js'
import { doubled, type Pause, retry, retryAfterMs } from '../../util/retry.js'

export interface Transport {
  apiUrl: string
  userAgent: string
  clock: Clock
  onNotice: (text: string) => void
  /** Timeout of one attempt, from the first byte sent to the last byte read. */
  attemptMs: number
  /** Maximum sum of a call's waits for rate limits. */
  maximumWaitMs: number
}

export interface Request {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path below the API's address, with its query; or an absolute URL on the same origin. */
  path: string
  body?: unknown
  token?: string
  /** Beside the usual ones, or in their place. */
  headers?: Record<string, string>
  /** What the request does, for messages: "reading pull request 7 of o/r". */
  doing: string
  idempotent: boolean
  /** Statuses besides 2xx that the caller handles. */
  accept?: readonly number[]
}

export interface Reply {
  status: number
  headers: Headers
  /** Parsed JSON; null for an empty body. */
  body: unknown
}

/** The reply to a request that is not idempotent was lost: GitHub may have executed it. Does not leave this client. */
export class LostReply extends Error {
  override readonly name = 'LostReply'
  readonly error: HandoffError

  constructor(error: HandoffError) {
    super(error.message)
    this.error = error
  }
}

/** GitHub did not execute the request. */
class Limited extends Error {
  readonly pauseMs: number | undefined

  constructor(pauseMs: number | undefined) {
    super('rate limit')
    this.pauseMs = pauseMs
  }
}

/** GitHub may have executed the request. */
class Lost extends Error {
  readonly retryAfterMs: number | undefined

  constructor(why: string, retryAfterMs?: number | undefined) {
    super(why)
    this.retryAfterMs = retryAfterMs
  }
}

const maximumAttempts = 4
const maximumLimits = 5
/** A page of 100 comments of 65,536 characters. */
const longestReply = 32_000_000

/** Rejects with a HandoffError, or with LostReply when the request is not idempotent and its reply was lost. */
export function sendRequest(transport: Transport, request: Request, call: Call): Promise<Reply> {
  let losses = 0
  let limits = 0
  let unannounced = 0
  let waitedMs = 0

  function pauseAfterLoss({ message: why, retryAfterMs }: Lost): Pause {
    losses += 1
    const error = lostError(request, why)
    if (!request.idempotent) throw new LostReply(error)
    if (losses >= maximumAttempts) throw error
    const milliseconds = retryAfterMs ?? doubled(500, losses)
    if (retryAfterMs !== undefined) waitedMs += milliseconds
    if (waitedMs > transport.maximumWaitMs) throw error
    transport.onNotice(`GitHub ${why} while ${request.doing}; trying again.`)
    return { milliseconds }
  }

  /** When the deadline passes during the pause, the error reports the seconds that are left of it. */
  function pauseAtLimit({ pauseMs }: Limited): Pause {
    limits += 1
    const milliseconds = pauseMs ?? 60_000 * 2 ** unannounced++
    const exhausted = limits > maximumLimits || waitedMs + milliseconds > transport.maximumWaitMs
    if (call.patient === false || exhausted) throw limitError(request, milliseconds)
    transport.onNotice(`GitHub asks to wait ${seconds(milliseconds)} s while ${request.doing}.`)
    waitedMs += milliseconds
    const until = transport.clock.now() + milliseconds
    return { milliseconds, late: () => limitError(request, until - transport.clock.now()) }
  }

  function pauseAfter(error: unknown): Pause {
    if (error instanceof Lost) return pauseAfterLoss(error)
    if (error instanceof Limited) return pauseAtLimit(error)
    throw error
  }

  return retry(() => sendOnce(transport, request, call.signal), pauseAfter, {
    clock: transport.clock,
    signal: call.signal,
    doing: request.doing,
  })
}

async function sendOnce(transport: Transport, request: Request, signal: AbortSignal): Promise<Reply> {
  if (signal.aborted) throw abortError(signal, request.doing)
  using limit = limited(signal, transport.attemptMs)
  let response: Response
  let text: string
  try {
    response = await fetchWithRedirects(transport, request, limit.signal)
    text = await readText(response, longestReply)
  } catch (error) {
    if (signal.aborted) throw abortError(signal, request.doing)
    if (error instanceof HandoffError) throw error
    throw new Lost(`could not be reached (${connectionProblem(error) ?? 'connection lost'})`)
  }
  return readResponse(transport, request, response, text)
}

/** Follows redirects of renamed repositories with the same method, on the same origin only: no other server gets the token. */
async function fetchWithRedirects(transport: Transport, request: Request, signal: AbortSignal): Promise<Response> {
  let address = request.path.startsWith('/') ? `${transport.apiUrl}${request.path}` : request.path
  const origin = new URL(transport.apiUrl).origin
  for (let hop = 0; hop < 4; hop += 1) {
    if (new URL(address).origin !== origin) break
    const response = await fetch(address, { ...requestInit(transport, request), redirect: 'manual', signal })
    const location = response.headers.get('location')
    if (![301, 302, 307, 308].includes(response.status) || location === null) return response
    await response.body?.cancel()
    address = new URL(location, address).href
  }
  throw new HandoffError('git', `GitHub redirected to another server while ${request.doing}.`, {
    next: 'Check the address of the GitHub API.',
  })
}

function requestInit(transport: Transport, request: Request): RequestInit {
  const headers: Record<string, string> = {
    accept: 'application/vnd.github+json',
    ...(request.token === undefined ? {} : { authorization: `Bearer ${request.token}` }),
    'user-agent': transport.userAgent,
    'x-github-api-version': '2022-11-28',
    ...request.headers,
  }
  if (request.body === undefined) return { method: request.method, headers }
  return {
    method: request.method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  }
}

function readResponse(transport: Transport, request: Request, response: Response, text: string): Reply {
  const { status, headers } = response
  if (status >= 500) throw new Lost(`answered ${status}`, retryAfter(headers, transport.clock))
  const body = text === '' ? null : parseJson(text)
  const accepted = (status >= 200 && status < 300) || (request.accept?.includes(status) ?? false)
  if (accepted && body !== undefined) return { status, headers, body }
  if (accepted) throw new Lost(`answered ${status} with something that is not JSON`)
  const message = errorMessage(body)
  throw rateLimit(status, headers, message, transport.clock) ?? refusal(request, status, headers, message)
}

function rateLimit(status: number, headers: Headers, message: string, clock: Clock): Limited | undefined {
  if (status !== 403 && status !== 429) return undefined
  const requestedMs = retryAfter(headers, clock)
  if (requestedMs !== undefined) return new Limited(requestedMs)
  if (headers.get('x-ratelimit-remaining') === '0') {
    const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN)
    // One second more: GitHub gives the reset in whole seconds, and clocks differ.
    const pause = Number.isFinite(reset) ? Math.max(0, reset * 1_000 - clock.now()) + 1_000 : undefined
    return new Limited(pause)
  }
  const limited = status === 429 || /rate limit|abuse detection/i.test(message)
  return limited ? new Limited(undefined) : undefined
}

const retryAfter = (headers: Headers, clock: Clock) => retryAfterMs(headers.get('retry-after'), clock.now())

function refusal(request: Request, status: number, headers: Headers, message: string): HandoffError {
  const detail = message === '' ? '' : ` GitHub says ${quote(message)}.`
  if (status === 401) {
    return new HandoffError('unauthorized', `GitHub rejected the token while ${request.doing}.${detail}`, {
      next: 'Check that the token is valid and has not expired.',
    })
  }
  if (status === 403) {
    const permissions = headers.get('x-accepted-github-permissions')
    return new HandoffError('forbidden', `GitHub does not allow ${request.doing}.${detail}`, {
      next: permissions
        ? `The token needs one of these permissions: ${quote(permissions)}.`
        : 'Give the token the permission.',
    })
  }
  if (status === 404 || status === 410) {
    return new HandoffError('not-found', `GitHub answered ${status} (not found) while ${request.doing}.`, {
      next: 'Check the name, and that the token may read it: GitHub hides what a token may not read.',
    })
  }
  if (status === 422) return new HandoffError('invalid-input', `GitHub refused ${request.doing}.${detail}`)
  return new HandoffError('git', `GitHub answered ${status} while ${request.doing}.${detail}`)
}

/** GitHub's message, with the messages about single fields. */
function errorMessage(body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const { message, errors } = body as { message?: unknown; errors?: unknown }
  const details = (Array.isArray(errors) ? errors : []).map((entry: unknown) =>
    typeof entry === 'string' ? entry : String((entry as { message?: unknown } | null)?.message ?? ''),
  )
  return [message, ...details].filter((part) => typeof part === 'string' && part !== '').join(': ')
}

function limitError(request: Request, milliseconds: number): HandoffError {
  const wait = seconds(milliseconds)
  return new HandoffError('git', `GitHub's rate limit stopped us while ${request.doing}.`, {
    next: `Try again in ${wait} s.`,
    retryAfterSeconds: wait,
  })
}

function lostError(request: Request, why: string): HandoffError {
  return new HandoffError('git', `GitHub ${why} while ${request.doing}.`, {
    next: 'Try again. If it fails again, check the status page of GitHub and the address of its API.',
  })
}

const seconds = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds / 1_000))
