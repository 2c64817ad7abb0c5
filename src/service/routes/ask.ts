// POST /api/ask: from a request to an answer in one of three ways.
//
// The order is the promise: who asks, then what is asked, then the name of the request, and only then the house. Whatever happens later, the
// work goes on inside `waitUntil` until its machine is gone.
import { createHash } from 'node:crypto'
import {
  type Begun,
  beginRequest,
  layout,
  parseQuestion,
  parseRepository,
  parseRunId,
  parseSha,
} from '../../handoff/stored-answer.js'
import { type Door, door } from '../app.js'
import { allow, authenticate, type Caller } from '../auth/authenticate.js'
import type { EventStream } from '../http/event-stream.js'
import { type Exchange, notesOf } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import {
  type AskBody,
  idempotencyKey,
  type Mode,
  negotiate,
  parseJson,
  readAsk,
  readBody,
  wantJsonBody,
  wrong,
} from '../http/parse-request.js'
import { problemDocument, problemOf, Refusal } from '../http/problem-details.js'
import { jobListener, timings } from '../http/progress-events.js'
import { beforePosting, divideTime, pause, stopper, type Times } from '../http/request-deadline.js'
import { addressOf, answerView, pendingResponse } from '../http/responses.js'
import { type Job, notesOfOutcome, type Order, type Outcome, type Placed, startJob } from '../question-job.js'

/** A question has 4,000 characters; nobody needs more than this around it. */
const mostBytes = 100_000

export async function postAsk(exchange: Exchange): Promise<Response> {
  const here = door()
  const { request } = exchange
  const caller = await authenticate(request, here.settings, here.verifier)
  exchange.note({ caller: caller.name })
  const mode = negotiate(request)
  exchange.note({ mode })
  wantJsonBody(request)
  const bytes = await readBody(request, mostBytes)
  const body = readAsk(parseJson(bytes))
  const key = idempotencyKey(request)
  const order = await orderFor(exchange, here, caller, body, key)
  const ready = key === undefined ? Promise.resolve({ order }) : underName(exchange, order, { key, caller, bytes })
  return answerIn(mode, exchange, ready)
}

async function orderFor(
  exchange: Exchange,
  here: Door,
  caller: Caller,
  body: AskBody,
  key: string | undefined,
): Promise<Order> {
  const { settings } = here
  const pattern = allow(caller, body.repository)
  if (body.model !== undefined && !settings.models.includes(body.model)) {
    throw wrong('This model is not offered here.', `There are ${settings.models.join(', ')}.`)
  }
  const { serverUrl } = settings.github
  const repository = parseRepository(body.repository, new URL(serverUrl).host)
  for (const name of [body.name, ...(body.compareWith ? [body.compareWith] : [])]) {
    if ('run' in name) parseRunId(name.run)
    if ('commit' in name) parseSha(name.commit)
    if ('ref' in name) layout('/', repository).ref(name.ref)
  }
  const text = parseQuestion(body.question)
  if (body.comment) await here.github()
  const service = await here.service(body.model)
  const { workBy } = divideTime(exchange.deadline, Date.now())
  const nonce = body.fresh && key !== undefined ? { nonce: hash(`${caller.name}\n${key}`).slice(0, 32) } : {}
  return {
    door: here,
    service,
    visit: {
      caller: caller.name,
      workBy: body.comment ? beforePosting(workBy, Date.now()) : workBy,
      emit: () => {},
      labels: { request: exchange.requestId.slice(0, 60) },
      ...(exchange.trace === undefined ? {} : { trace: exchange.trace }),
      background: exchange.background,
    },
    request: {
      repository: { ...repository, ...(pattern.id === undefined ? {} : { id: pattern.id }) },
      strict: true,
      cloneUrl: `${serverUrl}/${body.repository}.git`,
      name: body.name,
      ...(body.compareWith === undefined ? {} : { compareWith: body.compareWith }),
      ...(here.hasGitHub ? { github: here.github } : {}),
      question: {
        text,
        asker: caller.name,
        ...(body.fresh ? { fresh: true, ...nonce } : {}),
        ...(body.thread === undefined ? {} : { thread: body.thread }),
      },
    },
    ...(body.comment && body.pull !== undefined ? { post: { pull: body.pull } } : {}),
  }
}

// ── a request with a name ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Named = Extract<Begun, { kind: 'begun' }>

/** What is to be answered, and the name that it is answered under. */
interface Ready {
  order: Order
  named?: Named
}

async function underName(
  exchange: Exchange,
  order: Order,
  named: { key: string; caller: Caller; bytes: Buffer },
): Promise<Ready> {
  const { service } = order
  const path = service.place.key(hash(`${named.caller.name}\n${named.key}`))
  const { drive } = service.context.ports
  // Whoever may ask about a repository that nobody ever summarised leaves nothing behind by asking.
  const { repository } = layout(service.context.root, order.request.repository)
  if ((await drive.stat(repository, exchange.signal)) === null) return { order }
  const asked = { body: hash(named.bytes), now: Date.now(), until: exchange.deadline }
  const begun = await beginRequest(drive, path, asked, exchange.signal, exchange.background)
  switch (begun.kind) {
    case 'other-body':
      throw new Refusal(422, 'idempotency-key-reused', 'The Idempotency-Key stands for another request.', {
        next: 'Take a new key for a new request.',
      })
    case 'in-progress':
      throw new Refusal(409, 'in-progress', 'A request with this Idempotency-Key is being answered.', {
        next: 'Repeat it in a moment.',
        retryAfterSeconds: begun.retryAfterSeconds,
      })
    case 'known': {
      exchange.note({ repeated: true })
      // The answer's id follows from the request; only the runs could be others by now.
      const { run, base } = begun.pointer
      const compareWith = base === undefined ? {} : { compareWith: { run: base } }
      return { order: { ...order, request: { ...order.request, name: { run }, ...compareWith } } }
    }
    case 'begun':
      return { order, named: begun }
  }
}

const pointerTo = ({ handoff, id, base }: Placed) => ({
  run: handoff.run,
  answer: id,
  ...(base === undefined ? {} : { base }),
})

/** Never rejects: an answer that is there is given, and a stream ends, whether or not its name can be settled; it is free again in time. */
async function settleName(named: Named | undefined, job: Job, answered: boolean): Promise<void> {
  const place = job.placed()
  const settled = answered && place ? named?.accept(pointerTo(place)) : named?.release()
  await settled?.catch(() => undefined)
}

// ── three ways ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** How long a stream waits to begin: what is refused by then is refused by its status. */
const beginMs = 500

async function answerIn(mode: Mode, exchange: Exchange, ready: Promise<Ready>): Promise<Response> {
  const times = divideTime(exchange.deadline, Date.now())
  if (mode === 'events') {
    await Promise.race([ready, pause(beginMs)])
    return inEvents(exchange, ready, times)
  }
  const { order, named } = await ready
  return inOnePiece(exchange, order, named, { ...times, ...(mode === 'async' ? { answerBy: 0 } : {}) })
}

async function inOnePiece(exchange: Exchange, order: Order, named: Named | undefined, times: Times): Promise<Response> {
  const accepted = Promise.withResolvers<'accepted'>()
  const stop = stopper(exchange.limit, exchange.limit.client, times)
  const steps = timings(exchange)
  const listener = jobListener(
    steps.listen,
    () => {},
    () => accepted.resolve('accepted'),
  )
  const job = startJob({ ...order, visit: { ...order.visit, emit: listener.emit } }, stop.signal, listener)
  const left = takenOnce(named)
  // The name of the request is free again before the caller hears that it failed.
  const ended = job.outcome.then(
    () => settleName(left(), job, true),
    () => settleName(left(), job, false),
  )
  exchange.background(ended.finally(stop.done))
  const settled = job.outcome.then((outcome) => ({ outcome })).finally(() => ended)
  const first = await Promise.race([settled, times.answerBy === 0 ? accepted.promise : stop.late(times.answerBy)])
  if (typeof first === 'object' || !(await promisedBy(job, times.answerBy === 0))) {
    const { outcome } = await settled
    exchange.note(notesOfOutcome(outcome))
    return jsonResponse(200, viewOf(order.door, outcome))
  }
  const place = job.placed()!
  stop.keepGoing()
  await settleName(left(), job, true)
  exchange.note({ answer: place.id, pending: true })
  exchange.logLater(job.outcome.then(notesOfOutcome))
  return pendingResponse(
    place,
    { ...place, question: order.request.question.text },
    listener.waiting() ? 'queued' : 'running',
    times.answerBy === 0,
  )
}

/** What cannot be promised near the end may still be answered; whoever wished for a promise is told that there is none. */
const promisedBy = (job: Job, wished: boolean) => (wished ? job.promise() : job.promise().catch(() => false))

async function inEvents(exchange: Exchange, ready: Promise<Ready>, times: Times): Promise<Response> {
  const { eventStream } = await import('../http/event-stream.js')
  const stream = eventStream()
  stream.send('status', { state: 'looking', requestId: exchange.requestId })
  const failed = (error: unknown) => endWith(stream, exchange, error)
  const told = ready.then(({ order, named }) => tellEvents(stream, exchange, order, named, times), failed)
  exchange.background(told)
  exchange.logAfter(told)
  return stream.response
}

async function tellEvents(
  stream: EventStream,
  exchange: Exchange,
  order: Order,
  named: Named | undefined,
  times: Times,
): Promise<void> {
  const { limit } = exchange
  const stop = stopper(limit, AbortSignal.any([limit.client, stream.gone]), times)
  const listener = jobListener(
    () => {},
    stream.send,
    () => {},
  )
  const job = startJob({ ...order, visit: { ...order.visit, emit: listener.emit } }, stop.signal, listener)
  // Should the time not be enough, the question outlives us.
  const promising = stop.late(times.answerBy).then(async () => {
    if (await job.promise()) stop.keepGoing()
  })
  promising.catch(() => undefined)
  try {
    const outcome = await job.outcome
    await settleName(named, job, true)
    exchange.note(notesOfOutcome(outcome))
    stream.end('answer', viewOf(order.door, outcome))
  } catch (error) {
    const place = job.placed()
    const promised = stop.kept() && place !== undefined
    await settleName(named, job, promised)
    const self = promised ? { self: addressOf(place.handoff, place.id) } : {}
    endWith(stream, exchange, error, self)
  } finally {
    stop.done()
  }
}

function endWith(stream: EventStream, exchange: Exchange, error: unknown, more: { self?: string } = {}): void {
  exchange.note(notesOf(error))
  const place = { requestId: exchange.requestId, instance: exchange.url.pathname }
  stream.end('error', problemDocument(problemOf(error), place, more))
}

function viewOf(here: Door, { seen, record, ...more }: Outcome) {
  return answerView(here.settings.github, seen, record, more)
}

const hash = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')

/** The name of a request is settled once, by whoever comes first. */
function takenOnce<T>(value: T | undefined): () => T | undefined {
  let left = value
  return () => {
    const taken = left
    left = undefined
    return taken
  }
}
