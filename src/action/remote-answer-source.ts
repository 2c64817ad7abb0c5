// Gets answers from a deployed service. The job has no keys: it proves its repository with an OIDC token for this service.

import {
  type AnswerData,
  abortError,
  type CompletedAnswer,
  type CorrectionData,
  type ErrorCode,
  HandoffError,
  isErrorCode,
  parseRunId,
  parseSha,
  type RunPlace,
  retryAfterMs,
  systemClock,
} from '../handoff/index.js'
import { parseJson } from '../handoff/util/decode.js'
import { fetchText } from '../handoff/util/http.js'
import type { Job } from './job-context.js'
import type { Environment } from './runner.js'
import { type AnswerSource, type Inquiry, type OnProgress, type Reply, tryInOrder } from './runs-for-question.js'

const requestMs = 120_000

export function remoteAnswerSource(job: Job): AnswerSource {
  const { signal } = job
  const { endpoint } = job.options
  const tokens = makeOidcTokens(job, new URL(endpoint).origin)
  const inOrder = tryInOrder(job)
  const ask = async (place: RunPlace, inquiry: Inquiry, onProgress: OnProgress): Promise<Reply> => {
    onProgress('Asking the service…')
    const reply = await send(`${endpoint}/api/ask`, requestBody(job, inquiry, place), await tokens(signal), signal)
    const answer = reply.status === 202 ? await poll(endpoint, reply, tokens, signal) : reply
    return parseReply(answer.body, place)
  }
  return {
    ask: (inquiry, onProgress) => inOrder(inquiry, onProgress, (place) => ask(place, inquiry, onProgress)),
  }
}

function requestBody(job: Job, inquiry: Inquiry, { name }: RunPlace) {
  return {
    repository: job.context.repository,
    ...name,
    question: inquiry.text,
    thread: inquiry.thread,
    ...(inquiry.fresh ? { fresh: true } : {}),
    depth: inquiry.depth,
  }
}

interface Received {
  status: number
  headers: Headers
  body: unknown
}

async function send(url: string, body: unknown, token: string, signal: AbortSignal): Promise<Received> {
  return receive(url, signal, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
      'user-agent': 'handoff-action',
    },
    body: JSON.stringify(body),
  })
}

/** A 202 response names the address of the later answer. Only addresses of the same service are requested. */
async function poll(
  endpoint: string,
  first: Received,
  tokens: (signal: AbortSignal) => Promise<string>,
  signal: AbortSignal,
): Promise<Received> {
  const location = new URL(first.headers.get('location') ?? '', `${endpoint}/api/ask`)
  if (location.origin !== new URL(endpoint).origin) throw unexpectedResponse('it sends us somewhere else')
  let last = first
  for (;;) {
    await systemClock.sleep(pollDelayMs(last.headers), signal)
    const headers = {
      authorization: `Bearer ${await tokens(signal)}`,
      accept: 'application/json',
      'user-agent': 'handoff-action',
    }
    last = await receive(location.href, signal, { method: 'GET', headers })
    const { status } = last.body as RemoteAnswer
    if (status !== 'queued' && status !== 'running') return last
  }
}

const pollDelayMs = (headers: Headers) =>
  Math.min(30_000, Math.max(1_000, retryAfterMs(headers.get('retry-after'), Date.now()) ?? 2_000))

async function receive(url: string, signal: AbortSignal, init: RequestInit): Promise<Received> {
  const { host } = new URL(url)
  const { status, headers, text } = await fetchText(url, { ...init, signal, timeoutMs: requestMs }).catch((error) => {
    if (signal.aborted) throw abortError(signal, 'asking the service')
    throw new HandoffError('git', `The service at ${host} could not be reached.`, {
      next: 'Check the input endpoint.',
      cause: error,
    })
  })
  const body = parseJson(text)
  if (status >= 200 && status < 300 && typeof body === 'object' && body !== null) return { status, headers, body }
  throw toHandoffError(host, { status, headers }, body)
}

/** The problem document of the service, if the response has one. */
function toHandoffError(host: string, { status, headers }: Omit<Received, 'body'>, body: unknown): HandoffError {
  const said = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value.slice(0, 1_000) : undefined)
  const code = text(said['code'])
  const known = isErrorCode(code) ? code : codeForStatus(status)
  const next = text(said['next']) ?? adviceForStatus(status)
  const waitMs = retryAfterMs(headers.get('retry-after'), Date.now())
  return new HandoffError(known, text(said['detail']) ?? `The service at ${host} answered ${status}.`, {
    next,
    ...(waitMs === undefined ? {} : { retryAfterSeconds: waitMs / 1_000 }),
  })
}

function codeForStatus(status: number): ErrorCode {
  if (status === 401) return 'unauthorized'
  if (status === 403) return 'forbidden'
  if (status === 404) return 'not-found'
  if (status === 409) return 'in-progress'
  return status === 429 || status === 503 ? 'sandbox-limit' : 'git'
}

function adviceForStatus(status: number): string | undefined {
  if (status === 401)
    return 'Check that the service knows this repository, and that endpoint is the address it was deployed at.'
  return status === 404 ? 'Check the input endpoint, and that the commit was summarised.' : undefined
}

const unexpectedResponse = (what: string) =>
  new HandoffError('git', `The service's answer is not what we know: ${what}.`)

interface RemoteAnswer extends AnswerData {
  status?: string
  reused?: boolean
  seconds?: Record<string, number>
  error?: { code?: unknown; message?: unknown; next?: unknown }
  behind?: { head: string }
  corrections?: CorrectionData[]
}

/** Turns the service's JSON into a record, which is rendered and escaped as a local one is. */
function parseReply(body: unknown, { note }: RunPlace): Reply {
  const data = body as RemoteAnswer
  if (data.status === 'failed') throw failed(data.error ?? {})
  if (typeof data.text !== 'string' || typeof data.id !== 'string' || !Array.isArray(data.citations)) {
    throw unexpectedResponse('there is no answer in it')
  }
  const { id, run, commit, question, model, acceptedAt, completedAt, text, unsupported, truncated, unanswered } = data
  const record: CompletedAnswer = {
    version: 1,
    id,
    run: parseRunId(run),
    commit: parseSha(commit),
    question,
    model,
    acceptedAt,
    completedAt,
    status: 'done',
    text,
    citations: data.citations.map(({ path, from, to }) => ({ path, from, to, verified: true })),
    unsupported,
    truncated,
    unanswered,
    excerpts: [],
    searched: [],
    rounds: 1,
    usage: data.usage,
    cost: data.cost,
    seconds: data.seconds ?? {},
    depth: data.depth,
    reusedFrom: data.reusedFrom,
  }
  const notes = note ?? (data.behind ? `The head ${data.behind.head.slice(0, 7)} has no run yet.` : undefined)
  const corrections = (data.corrections ?? []).map((one) => ({ ...one, commit: record.commit }))
  return { record, reused: data.reused === true, corrections, notes: notes === undefined ? [] : [notes] }
}

function failed({ code, message, next }: NonNullable<RemoteAnswer['error']>): HandoffError {
  const known = isErrorCode(code) ? code : 'git'
  const said = typeof message === 'string' ? message.slice(0, 1_000) : 'The service could not answer.'
  return new HandoffError(known, said, typeof next === 'string' ? { next: next.slice(0, 1_000) } : {})
}

// Requests the OIDC token that proves the job's repository. Most workflows lack the permission for it, so the error gives the lines to add.
//
// `getIDToken` of `@actions/core` is not used: its error names only a variable, it cannot be cancelled, and it adds an HTTP client of 400 KB.

const missing = new HandoffError(
  'missing-setting',
  'The job may not ask GitHub for an identity token, which the endpoint needs.',
  {
    next: 'Add these lines to the job: permissions: { id-token: write, contents: read, pull-requests: write }. Runs for pull requests from forks never get it.',
  },
)

/** Returns a new token on each call, because tokens expire within minutes. */
export function makeOidcTokens(
  job: Pick<Job, 'runner' | 'environment'>,
  audience: string,
): (signal: AbortSignal) => Promise<string> {
  return async (signal) => {
    const { url, secret } = requestUrl(job.environment)
    const token = await request(`${url}&audience=${encodeURIComponent(audience)}`, secret, signal)
    job.runner.mask(token)
    return token
  }
}

function requestUrl(environment: Environment): { url: string; secret: string } {
  const url = environment['ACTIONS_ID_TOKEN_REQUEST_URL']
  const secret = environment['ACTIONS_ID_TOKEN_REQUEST_TOKEN']
  if (!url || !secret) throw missing
  return { url, secret }
}

async function request(url: string, secret: string, signal: AbortSignal): Promise<string> {
  const headers = { authorization: `Bearer ${secret}`, accept: 'application/json', 'user-agent': 'handoff-action' }
  const { text } = await fetchText(url, { headers, signal, timeoutMs: 20_000 }).catch((cause: unknown) => {
    if (signal.aborted) throw abortError(signal, 'asking GitHub for an identity token')
    throw noToken(cause)
  })
  const { value } = (parseJson(text) ?? {}) as { value?: unknown }
  if (typeof value === 'string' && value !== '') return value
  throw noToken()
}

const noToken = (cause?: unknown) =>
  new HandoffError('git', "GitHub did not give the job's identity token.", { next: 'Run the job again.', cause })
