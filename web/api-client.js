// Talks to the ask service. The token lives in this closure and nowhere else: not in storage, not in an address, not in the document.
import { longestSilence, readEvents } from './event-source.js'

/** What went wrong, as the service or the network told it: a problem document's fields. */
export class Problem extends Error {
  constructor(document) {
    super(document.detail ?? document.title)
    this.document = document
  }
}

export function makeService() {
  let token = ''
  const send = (path, options) => request(path, token, options)
  const read = async (path, signal) => jsonOf(await send(path, { signal }))
  return {
    setToken: (text) => {
      token = readToken(text)
    },
    forgetToken: () => {
      token = ''
    },
    hasToken: () => token !== '',
    repositories: (signal) => read('/api/runs', signal),
    runs: (repository, cursor, signal) => read(address('/api/runs', { repository, cursor }), signal),
    runOf: (place, signal) => read(address('/api/runs', place), signal),
    run: (place, signal) => read(address(runPath(place), { repository: place.repository }), signal),
    answers: (place, cursor, signal) =>
      read(address(`${runPath(place)}/answers`, { repository: place.repository, cursor }), signal),
    answer: (place, id, signal) =>
      read(address(`${runPath(place)}/answers/${encodeURIComponent(id)}`, { repository: place.repository }), signal),
    lines: (place, citation, answer, signal) => {
      const { path, from, to } = citation
      return read(address(`${runPath(place)}/files`, { repository: place.repository, path, from, to, answer }), signal)
    },
    ask: (question, signal) => ask(send, question, signal),
  }
}

/** What a header cannot carry is no token; the browser would only say that nothing could be sent. */
function readToken(text) {
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new Problem({
    title: 'That is not a token',
    detail: 'It holds spaces or characters that no token has.',
    next: 'Copy it again, whole and alone.',
  })
}

const runPath = ({ run }) => `/api/runs/${encodeURIComponent(run)}`

function address(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  return `${path}?${new URLSearchParams(given)}`
}

async function request(path, token, { signal, body, accept = 'application/json' } = {}) {
  const headers = { authorization: `Bearer ${token}`, accept, ...(body ? { 'content-type': 'application/json' } : {}) }
  const options = {
    method: body ? 'POST' : 'GET',
    headers,
    body,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  }
  const response = await begun(path, options, signal)
  if (!response.ok) throw await problemOf(response)
  return response
}

/** Resolves when the answer begins. A dead connection says nothing by itself, so a silence counts as a loss. */
async function begun(path, options, signal) {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), longestSilence)
  try {
    return await fetch(path, { ...options, signal: AbortSignal.any([silence.signal, ...(signal ? [signal] : [])]) })
  } catch (error) {
    throw signal?.aborted ? error : lostConnection()
  } finally {
    clearTimeout(timer)
  }
}

/** Yields the events of an answer: `[name, data]`. A service that answers at once, or later, is told of by the same events. */
async function* ask(send, question, signal) {
  const body = JSON.stringify(question)
  const response = await send('/api/ask', { body, accept: 'text/event-stream, application/json;q=0.9', signal })
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    yield* eventsOf(response.body, signal)
    return
  }
  const answer = await jsonOf(response)
  if (answer.status === 'done') return yield ['answer', answer]
  yield ['status', { state: 'accepted', id: answer.id, run: answer.run }]
  yield ['error', { ...notYet, ...idOf(response), self: answer.self ?? '' }]
}

async function* eventsOf(stream, signal) {
  try {
    yield* readEvents(stream, signal)
  } catch (error) {
    throw signal?.aborted ? error : brokenConnection()
  }
}

async function jsonOf(response) {
  const value = await response.json().catch(() => undefined)
  if (value !== null && typeof value === 'object') return value
  throw new Problem({
    title: 'The answer cannot be read',
    detail: 'Something between this page and the service answered instead of it.',
    next: 'Try again; if it stays, tell whoever runs this service.',
    ...idOf(response),
  })
}

/** A problem document, or what can be said of an answer that is none: a platform's own page for a timeout, say. */
async function problemOf(response) {
  const value = await response.json().catch(() => undefined)
  if (value !== null && typeof value === 'object' && typeof value.title === 'string')
    return new Problem({ ...idOf(response), ...value, status: response.status })
  const known = plainStatuses[response.status]
  return new Problem({
    status: response.status,
    title: known?.[0] ?? `The service answered ${response.status}`,
    detail: known?.[1] ?? 'It did not say more.',
    next: 'Try again in a moment.',
    ...idOf(response),
  })
}

const plainStatuses = {
  401: ['Not signed in', 'The deployment is protected and did not let the request through.'],
  413: ['Too large', 'The question is larger than the platform takes.'],
  429: ['Too many requests', 'The platform asks to slow down.'],
  502: ['No answer', 'The platform could not reach the service.'],
  504: ['Out of time', 'The platform stopped the work because it took too long.'],
}

function idOf(response) {
  const id = response.headers.get('x-request-id') ?? response.headers.get('x-vercel-id')
  return id ? { requestId: id } : {}
}

const notYet = {
  title: 'Not answered yet',
  detail: 'The service is still at it.',
  next: 'Look among the earlier answers in a while.',
}

/** Whether the same may go well another time. What was refused for its own sake is refused again. */
export function mayPass({ status }) {
  return status === undefined || [408, 409, 429].includes(status) || status >= 500
}

export const lostConnection = () =>
  new Problem({
    title: 'No connection',
    detail: 'The service could not be reached.',
    next: 'Look whether you are online, then try again.',
    code: 'connection',
  })

export const brokenConnection = () =>
  new Problem({
    title: 'The connection was lost',
    detail: 'It broke off before there was an answer.',
    next: 'Look whether you are online, then try again.',
    code: 'connection',
  })
