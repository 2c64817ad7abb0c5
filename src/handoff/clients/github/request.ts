// One request to GitHub: repeated where that is safe, patient where GitHub asks for patience, and never telling the token.
//
// How GitHub limits (docs.github.com, "Rate limits for the REST API"): 403 or 429; `retry-after` first, else `x-ratelimit-reset` when
// `x-ratelimit-remaining` is 0, else at least a minute and longer each time. A limited request was not carried out, so even a POST may be
// sent again. A 5xx or a lost connection leaves open whether it was: only what may happen twice is repeated.

import { abortError, HandoffError } from '../../domain/errors.js'
import type { Call } from '../../domain/github.js'
import type { Clock } from '../../domain/ports.js'
import { quote } from '../../domain/run.js'
import { anyOf } from '../../util/abort.js'

export interface Wire {
  apiUrl: string
  userAgent: string
  fetch: typeof fetch
  clock: Clock
  onNotice: (text: string) => void
  /** For one attempt, from the first byte sent to the last byte read. */
  attemptMs: number
  /** Longest that one call waits for limits, all its waits together. */
  maximumWaitMs: number
}

export interface Request {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** From the API's address on, query included; or a whole address on the same origin. */
  path: string
  body?: unknown
  token: string
  /** What is being done, as it continues a sentence: "reading pull request 7 of o/r". */
  doing: string
  /** Whether it may safely happen twice. */
  repeatable: boolean
  /** Statuses besides 2xx that are answers. */
  accept?: readonly number[]
}

export interface Reply {
  status: number
  headers: Headers
  /** Decoded JSON; null for an empty body. */
  body: unknown
}

/** Inside this line only: the request may or may not have been carried out. */
export class LostReply extends Error {
  override readonly name = 'LostReply'
  readonly error: HandoffError

  constructor(error: HandoffError) {
    super(error.message)
    this.error = error
  }
}

type Outcome =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'limited'; milliseconds: number | null }
  | { kind: 'lost'; why: string; milliseconds: number | null }

const attempts = 4
const limitRounds = 5

/** Rejects with a HandoffError, or with LostReply when `repeatable` is false and nobody knows what happened. */
export async function send(wire: Wire, request: Request, call: Call): Promise<Reply> {
  let lost = 0
  let limited = 0
  let unannounced = 0
  let waitedMs = 0
  for (;;) {
    const outcome = await attempt(wire, request, call.signal)
    if (outcome.kind === 'reply') return outcome.reply
    if (outcome.kind === 'lost') {
      lost += 1
      const error = lostError(request, outcome.why)
      if (!request.repeatable) throw new LostReply(error)
      if (lost >= attempts) throw error
      const pause = outcome.milliseconds ?? 500 * 2 ** (lost - 1)
      if (outcome.milliseconds !== null) waitedMs += pause
      if (waitedMs > wire.maximumWaitMs) throw error
      wire.onNotice(`GitHub ${outcome.why} while ${request.doing}; trying again.`)
      await wire.clock.sleep(pause, call.signal)
      continue
    }
    limited += 1
    const pause = outcome.milliseconds ?? 60_000 * 2 ** unannounced++
    const hopeless = limited > limitRounds || waitedMs + pause > wire.maximumWaitMs
    if (call.patient === false || hopeless) throw limitError(request, pause)
    wire.onNotice(`GitHub asks to wait ${seconds(pause)} s while ${request.doing}.`)
    await waitForLimit(wire, request, call.signal, pause)
    waitedMs += pause
  }
}

/** Our time may run out before GitHub's: then the caller learns how much of the wait is left. */
async function waitForLimit(wire: Wire, request: Request, signal: AbortSignal, milliseconds: number): Promise<void> {
  const until = wire.clock.now() + milliseconds
  try {
    await wire.clock.sleep(milliseconds, signal)
  } catch {
    const error = abortError(signal, request.doing)
    throw error.code === 'timeout' ? limitError(request, until - wire.clock.now()) : error
  }
}

async function attempt(wire: Wire, request: Request, signal: AbortSignal): Promise<Outcome> {
  if (signal.aborted) throw abortError(signal, request.doing)
  let response: Response
  let text: string
  try {
    response = await follow(wire, request, anyOf(signal, AbortSignal.timeout(wire.attemptMs)))
    text = await response.text()
  } catch (error) {
    if (signal.aborted) throw abortError(signal, request.doing)
    if (error instanceof HandoffError) throw error
    return { kind: 'lost', why: `could not be reached (${reason(error)})`, milliseconds: null }
  }
  return judge(wire, request, response, text)
}

/** Follows renamed repositories, with the same method and only on the same origin: the token goes nowhere else. */
async function follow(wire: Wire, request: Request, signal: AbortSignal): Promise<Response> {
  let address = request.path.startsWith('/') ? `${wire.apiUrl}${request.path}` : request.path
  const origin = new URL(wire.apiUrl).origin
  for (let hop = 0; hop < 4; hop += 1) {
    if (new URL(address).origin !== origin) break
    const response = await wire.fetch(address, { ...init(wire, request), redirect: 'manual', signal })
    const location = response.headers.get('location')
    if (![301, 302, 307, 308].includes(response.status) || location === null) return response
    await response.body?.cancel()
    address = new URL(location, address).href
  }
  throw new HandoffError('git', `GitHub sent us somewhere else while ${request.doing}.`, {
    next: 'Check the address of the GitHub API.',
  })
}

function init(wire: Wire, request: Request): RequestInit {
  const headers: Record<string, string> = {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${request.token}`,
    'user-agent': wire.userAgent,
    'x-github-api-version': '2022-11-28',
  }
  if (request.body === undefined) return { method: request.method, headers }
  return {
    method: request.method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  }
}

function judge(wire: Wire, request: Request, response: Response, text: string): Outcome {
  const { status, headers } = response
  if (status >= 500) return { kind: 'lost', why: `answered ${status}`, milliseconds: retryAfter(headers, wire.clock) }
  const body = parse(text)
  const settled = (status >= 200 && status < 300) || (request.accept?.includes(status) ?? false)
  if (settled && body !== undefined) return { kind: 'reply', reply: { status, headers, body } }
  if (settled) return { kind: 'lost', why: `answered ${status} with something that is not JSON`, milliseconds: null }
  const message = messageOf(body)
  const limit = limitOf(status, headers, message, wire.clock)
  if (limit) return limit
  throw refusal(request, status, headers, message)
}

/** Undefined for what is not JSON. */
function parse(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function limitOf(status: number, headers: Headers, message: string, clock: Clock): Outcome | null {
  if (status !== 403 && status !== 429) return null
  const asked = retryAfter(headers, clock)
  if (asked !== null) return { kind: 'limited', milliseconds: asked }
  if (headers.get('x-ratelimit-remaining') === '0') {
    const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN)
    // A second more: the reset is told in whole seconds, and clocks differ.
    const pause = Number.isFinite(reset) ? Math.max(0, reset * 1_000 - clock.now()) + 1_000 : null
    return { kind: 'limited', milliseconds: pause }
  }
  const limited = status === 429 || /rate limit|abuse detection/i.test(message)
  return limited ? { kind: 'limited', milliseconds: null } : null
}

function retryAfter(headers: Headers, clock: Clock): number | null {
  const text = headers.get('retry-after')
  if (text === null) return null
  const wait = /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1_000 : Date.parse(text) - clock.now()
  return Number.isFinite(wait) ? Math.max(0, wait) : null
}

function refusal(request: Request, status: number, headers: Headers, message: string): HandoffError {
  const said = message === '' ? '' : ` GitHub says ${quote(message)}.`
  if (status === 401) {
    return new HandoffError('unauthorized', `GitHub does not accept our token while ${request.doing}.${said}`, {
      next: 'Check that the token is valid and has not expired.',
    })
  }
  if (status === 403) {
    const wanted = headers.get('x-accepted-github-permissions')
    return new HandoffError('forbidden', `GitHub does not allow ${request.doing}.${said}`, {
      next: wanted ? `The token needs one of these permissions: ${quote(wanted)}.` : 'Give the token the permission.',
    })
  }
  if (status === 404 || status === 410) {
    return new HandoffError('not-found', `GitHub does not find what was asked for while ${request.doing}.`, {
      next: 'Check the name, and that the token may see it: GitHub hides what a token may not see.',
    })
  }
  if (status === 422) return new HandoffError('invalid-input', `GitHub refused ${request.doing}.${said}`)
  return new HandoffError('git', `GitHub answered ${status} while ${request.doing}.${said}`)
}

/** GitHub's sentence, and what it says of single fields. */
function messageOf(body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const { message, errors } = body as { message?: unknown; errors?: unknown }
  const details = (Array.isArray(errors) ? errors : []).map((entry: unknown) =>
    typeof entry === 'string' ? entry : String((entry as { message?: unknown } | null)?.message ?? ''),
  )
  return [message, ...details].filter((part) => typeof part === 'string' && part !== '').join(': ')
}

function limitError(request: Request, milliseconds: number): HandoffError {
  const wait = seconds(milliseconds)
  return new HandoffError('git', `GitHub limits our requests; it stopped us while ${request.doing}.`, {
    next: `Try again in ${wait} s.`,
    retryAfterSeconds: wait,
  })
}

function lostError(request: Request, why: string): HandoffError {
  return new HandoffError('git', `GitHub ${why} while ${request.doing}.`, {
    next: 'Try again; if it stays so, look at the status page of GitHub or the address of its API.',
  })
}

const seconds = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds / 1_000))

/** Only the code: messages of fetch may repeat headers. */
function reason(error: unknown): string {
  if (error instanceof DOMException) return error.name === 'TimeoutError' ? 'no answer in time' : error.name
  const cause = error instanceof Error ? error.cause : undefined
  const code = (cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : 'connection lost'
}
