// POST /api/ask: answers a question as JSON, as an event stream, or later (202).
//
// The caller is authenticated first, then the question is checked, then stored answers are looked up. `waitUntil` keeps the invocation alive until
// the sandbox is gone. A question that outlives its request is queued before the caller gets 202.
import type * as Product from '../../handoff/index.js'
import { getApp } from '../app.js'
import {
  answerInTime,
  answerNotes,
  answerQuestion,
  type InTime,
  queueLateQuestion,
  queueQuestion,
} from '../ask/answer.js'
import { type Asked, type Found, findQuestion, readQuestion, tellLimits } from '../ask/question.js'
import { authenticate } from '../auth/authenticate.js'
import type { EventStream } from '../http/event-stream.js'
import { logFieldsFor, type RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { idempotencyKey, negotiate, parseJson, readAsk, readBody, wantJsonBody } from '../http/parse-request.js'
import { problemDocument, toProblem } from '../http/problem-details.js'
import { lastEventId, progressEvents } from '../http/progress-events.js'
import { divideTime, pause, stopper, type Times } from '../http/request-deadline.js'
import { addressOf, answerView, pendingResponse } from '../http/responses.js'

/** A question has at most 4,000 characters, and the other fields are short. */
const maximumBytes = 100_000

export async function postAsk(exchange: RequestContext): Promise<Response> {
  const app = getApp()
  const { request } = exchange
  const caller = await authenticate(request, app)
  exchange.note({ caller: caller.name })
  const mode = negotiate(request)
  exchange.note({ mode })
  wantJsonBody(request)
  const body = readAsk(parseJson(await readBody(request, maximumBytes)))
  const asked = await readQuestion(exchange, app, caller, body, { key: idempotencyKey(request) })
  tellLimits(exchange, asked)
  const times = divideTime(exchange.deadline, Date.now())
  if (mode === 'events') return respondWithEvents(asked, exchange, times)
  const found = await findQuestion(asked, exchange.signal)
  if (mode === 'async') return respondLater(found)
  return respond(found, await answerInTime(found, times), 'running', false)
}

function respond(found: Found, inTime: InTime, state: 'queued' | 'running', preferred: boolean): Response {
  if ('answer' in inTime) return jsonResponse(200, answerView(found.app.settings.github, inTime.answer))
  const { id, run, request } = found.question
  return pendingResponse(run, { id, acceptedAt: inTime.acceptedAt, question: request.question.text }, state, preferred)
}

/** Only queues the question, as `Prefer: respond-async` asks. */
async function respondLater(found: Found): Promise<Response> {
  const { question, exchange } = found
  const acceptedAt = question.record?.status === 'done' ? undefined : await queueQuestion(found, 0)
  if (acceptedAt === undefined) {
    const answer = await answerQuestion(found, exchange.signal)
    exchange.note(answerNotes(answer))
    return respond(found, { answer }, 'queued', true)
  }
  exchange.note({ answer: question.id, pending: true })
  return respond(found, { acceptedAt }, 'queued', true)
}

// ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The delay before a stream starts. An error within it is still reported by the status. */
const streamStartMs = 500

async function respondWithEvents(asked: Asked, exchange: RequestContext, times: Times): Promise<Response> {
  const { eventStream } = await import('../http/event-stream.js')
  const stream = eventStream()
  stream.send('status', { state: 'looking', requestId: exchange.requestId })
  const stop = stopper(exchange.limit, AbortSignal.any([exchange.limit.client, stream.gone]), times)
  const since = lastEventId(exchange.request)
  const events = progressEvents(stream.send, since)
  const emit = (event: Product.RunEvent) => {
    // From the first word on the answer is made to its end: a client whose connection was lost comes back for the rest.
    if (event.type === 'model-text') stop.keepGoing()
    events.emit(event)
  }
  const finding = findQuestion(asked, AbortSignal.any([exchange.signal, stream.gone]), emit)
  const telling = finding.then((found) => {
    events.place(found.question)
    const { record } = found.question
    if (since && record?.status === 'done' && record.written) emit({ type: 'answer-written', ...record.written })
    return sendAnswer(stream, exchange, found, stop, times)
  })
  const ending = telling.catch((error: unknown) => endWithError(stream, exchange, error)).finally(stop.done)
  exchange.background(ending)
  exchange.logAfter(ending)
  await Promise.race([finding, pause(streamStartMs)])
  return stream.response
}

async function sendAnswer(
  stream: EventStream,
  exchange: RequestContext,
  found: Found,
  stop: ReturnType<typeof stopper>,
  times: Times,
): Promise<void> {
  const { app, question } = found
  // If the time runs out, a job continues with the question.
  let queued = false
  void stop.late(times.answerBy).then(async () => {
    queued = (await queueLateQuestion(found, times)) !== undefined
    if (queued) stop.keepGoing()
  })
  try {
    const result = await answerQuestion(found, stop.signal)
    exchange.note(answerNotes(result))
    stream.end('answer', answerView(app.settings.github, result))
  } catch (error) {
    endWithError(stream, exchange, error, queued ? { self: addressOf(question.run.handoff, question.id) } : {})
  }
}

function endWithError(
  stream: EventStream,
  exchange: RequestContext,
  error: unknown,
  more: { self?: string } = {},
): void {
  exchange.note(logFieldsFor(error))
  const place = { requestId: exchange.requestId, instance: exchange.url.pathname }
  stream.end('error', problemDocument(toProblem(error), place, more))
}
