// The client of the ask service. A token stays in this closure: not in storage, not in an address, not in the document. The session of a person who
// signed in is a cookie that no script sees.
import type {
  Answer,
  AnswerPage,
  Citation,
  Lines,
  PendingAnswer,
  ProblemDocument,
  Question,
  RunAddress,
  RunPage,
  SignInState,
  StoredAnswer,
  WholeRun,
} from './api-types.js'
import { longestSilence, readEvents, type ServerEvent } from './event-source.js'

/** A failure as a problem document, of the service or of the network. */
export class Problem extends Error {
  readonly document: ProblemDocument
  constructor(document: ProblemDocument) {
    super(document.detail ?? document.title)
    this.document = document
  }
}

export type ApiClient = ReturnType<typeof createApiClient>

export function createApiClient() {
  /** A token, or the cookie of a session. */
  let access: { token: string } | 'session' | undefined
  const send: Send = async (path, options) => {
    try {
      return await request(path, access, options)
    } catch (error) {
      const isOver = error instanceof Problem && error.document.code === 'session-expired'
      if (!isOver || !(await session(options.signal)).signedIn) throw error
      return request(path, access, options)
    }
  }
  /** Renews a session that is nearly over. */
  const session = async (signal?: AbortSignal): Promise<SignInState> => {
    const state = (await readJson(await request('/api/auth/session', 'session', { signal }))) as SignInState
    if (state.signedIn && access === undefined) access = 'session'
    return state
  }
  const read = async <T>(path: string, signal?: AbortSignal) => (await readJson(await send(path, { signal }))) as T
  return {
    session,
    setToken(text: string) {
      access = { token: checkToken(text) }
    },
    async signOut() {
      const before = access
      access = undefined
      if (before === 'session') await request('/api/auth/logout', 'session', { method: 'POST' })
    },
    hasAccess: () => access !== undefined,
    withdraw: (place: RunAddress, id: string) => send(answerAddress(place, id), { method: 'DELETE' }),
    judge: (place: RunAddress, id: string, useful: boolean, signal?: AbortSignal) =>
      send(answerAddress(place, id), { method: 'PATCH', body: JSON.stringify({ useful }), signal }),
    repositories: (signal?: AbortSignal) => read<{ repositories: string[]; models?: string[] }>('/api/runs', signal),
    runs: (repository: string, cursor?: string, signal?: AbortSignal) =>
      read<RunPage>(address('/api/runs', { repository, cursor }), signal),
    newestRun: (place: { repository: string; ref?: string; pull?: string }, signal?: AbortSignal) =>
      read<RunPage>(address('/api/runs', place), signal),
    run: (place: RunAddress, signal?: AbortSignal) =>
      read<WholeRun>(address(runPath(place), { repository: place.repository }), signal),
    answers: (place: RunAddress, { cursor, limit }: { cursor?: string; limit?: number }, signal?: AbortSignal) =>
      read<AnswerPage>(address(`${runPath(place)}/answers`, { repository: place.repository, cursor, limit }), signal),
    answer: (place: RunAddress, id: string, signal?: AbortSignal) =>
      read<StoredAnswer>(answerAddress(place, id), signal),
    lines: (place: RunAddress, { path, from, to }: Citation, answer: string, signal?: AbortSignal) =>
      read<Lines>(address(`${runPath(place)}/files`, { repository: place.repository, path, from, to, answer }), signal),
    async *ask(question: Question, signal: AbortSignal) {
      const options = { body: JSON.stringify(question), accept: eventsOrJson, signal }
      yield* eventsOf(await send('/api/ask', options), signal)
    },
    /** The events of an answer that is being made, after the event with the id `since`. */
    async *follow(place: RunAddress, id: string, since: string | undefined, signal: AbortSignal) {
      const options = { accept: eventsOrJson, since, signal, startMs: quickStartMs }
      yield* eventsOf(await send(answerAddress(place, id), options), signal)
    },
  }
}

/** A browser only says that it cannot send a header with other characters. */
function checkToken(text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new Problem({
    title: 'That is not a token',
    detail: 'It has spaces or characters that no token has.',
    next: 'Copy the whole token again, and nothing else.',
  })
}

const runPath = ({ run }: RunAddress) => `/api/runs/${encodeURIComponent(run)}`

const answerAddress = (place: RunAddress, id: string) =>
  address(`${runPath(place)}/answers/${encodeURIComponent(id)}`, { repository: place.repository })

function address(path: string, query: Record<string, string | number | undefined>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  return `${path}?${given}`
}

interface RequestOptions {
  signal?: AbortSignal | undefined
  method?: string
  body?: string
  accept?: string
  /** The id of the last event that was seen. */
  since?: string | undefined
  /** A response that begins later counts as lost. */
  startMs?: number
}

const eventsOrJson = 'text/event-stream, application/json;q=0.9'

/** A request on a dead connection gets no reply; a new request may use another connection. */
export const quickStartMs = 10_000

type Send = (path: string, options: RequestOptions) => Promise<Response>

async function request(
  path: string,
  access: { token: string } | 'session' | undefined,
  options: RequestOptions,
): Promise<Response> {
  const { signal, body, since, accept = 'application/json', method = body ? 'POST' : 'GET', startMs } = options
  const authorization = typeof access === 'object' ? { authorization: `Bearer ${access.token}` } : {}
  const headers = {
    ...authorization,
    accept,
    ...(body ? { 'content-type': 'application/json' } : {}),
    ...(since === undefined ? {} : { 'last-event-id': since }),
  }
  const response = await fetchWithTimeout(
    path,
    {
      method,
      headers,
      ...(body ? { body } : {}),
      cache: 'no-store',
      credentials: access === 'session' ? 'same-origin' : 'omit',
      redirect: 'error',
    },
    signal,
    startMs,
  )
  if (!response.ok) throw await readProblem(response)
  return response
}

/** Resolves when the response begins. A dead connection reports no error, so a long silence counts as a loss. */
async function fetchWithTimeout(
  path: string,
  options: RequestInit,
  signal: AbortSignal | undefined,
  startMs = longestSilence,
): Promise<Response> {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), startMs)
  try {
    return await fetch(path, { ...options, signal: AbortSignal.any([silence.signal, ...(signal ? [signal] : [])]) })
  } catch (error) {
    throw signal?.aborted ? error : noConnection()
  } finally {
    clearTimeout(timer)
  }
}

/** Yields the events of an answer. A response that is no stream yields the same events. */
async function* eventsOf(response: Response, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  if (response.body && response.headers.get('content-type')?.startsWith('text/event-stream')) {
    yield* readUntilLoss(response.body, signal)
    return
  }
  const answer = (await readJson(response)) as (Answer | PendingAnswer) & { run: string; self?: string }
  if (answer.status === 'done') return yield ['answer', answer]
  yield ['status', { state: 'accepted', id: answer.id, run: answer.run }]
  yield ['error', { ...notYet, ...requestIdOf(response), self: answer.self ?? '' }]
}

async function* readUntilLoss(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  try {
    yield* readEvents(stream, signal)
  } catch (error) {
    throw signal.aborted ? error : lostConnection()
  }
}

async function readJson(response: Response): Promise<object> {
  const value: unknown = await response.json().catch(withoutJson)
  if (value !== null && typeof value === 'object') return value
  throw new Problem({
    title: 'The answer cannot be read',
    detail: 'A program between this page and the service answered instead of the service.',
    next: 'Try again. If this repeats, tell the operator of this service.',
    ...requestIdOf(response),
  })
}

/** A body that is no JSON has no value. One that broke off is a lost connection. */
function withoutJson(error: unknown): undefined {
  if (error instanceof SyntaxError) return undefined
  throw error instanceof TypeError ? lostConnection() : error
}

/** A problem document; for a platform's own page, such as that of a timeout, what its status says. */
async function readProblem(response: Response): Promise<Problem> {
  const { status } = response
  const value: unknown = await response.json().catch(withoutJson)
  if (value !== null && typeof value === 'object' && 'title' in value && typeof value.title === 'string')
    return new Problem({ ...requestIdOf(response), ...(value as ProblemDocument), status })
  const [title, detail] = plainStatuses[status] ?? [`The service answered ${status}`, 'It gave no reason.']
  return new Problem({ status, title, detail, next: 'Try again in a moment.', ...requestIdOf(response) })
}

const plainStatuses: Record<number, [title: string, detail: string]> = {
  401: ['Not signed in', 'The deployment is protected and refused the request.'],
  413: ['Too large', 'The question is larger than the platform accepts.'],
  429: ['Too many requests', 'The platform asks to slow down.'],
  502: ['No answer', 'The platform could not reach the service.'],
  504: ['Out of time', 'The platform stopped the work because it took too long.'],
}

function requestIdOf(response: Response): { requestId?: string } {
  const id = response.headers.get('x-request-id') ?? response.headers.get('x-vercel-id')
  return id ? { requestId: id } : {}
}

const notYet: ProblemDocument = {
  title: 'Not answered yet',
  detail: 'The service is still working on it.',
  next: 'Look at the earlier answers in a while.',
}

/** Whether the same request may succeed later. */
export function isTemporary({ status }: ProblemDocument): boolean {
  return status === undefined || [408, 409, 429].includes(status) || status >= 500
}

const checkConnection = 'Check whether you are online, then try again.'

const noConnection = () =>
  new Problem({
    title: 'No connection',
    detail: 'The service could not be reached.',
    next: checkConnection,
    code: 'connection',
  })

export const lostConnection = () =>
  new Problem({
    title: 'The connection was lost',
    detail: 'It ended before the answer arrived.',
    next: checkConnection,
    code: 'connection',
  })
