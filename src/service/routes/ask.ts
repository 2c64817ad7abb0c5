// POST /api/ask: answers a question as JSON, as an event stream, or later (202).
//
// The caller is authenticated first, then the question is checked, then stored answers are looked up. `waitUntil` keeps the invocation alive until
// the sandbox is gone. A question that outlives its request is queued before the caller gets 202.
import { createHash } from 'node:crypto'
import type * as Product from '../../handoff/index.js'
import {
  findAnswer,
  layout,
  normaliseQuestion,
  parseQuestion,
  parseRepository,
  parseRunId,
  parseSha,
  storedAnswer,
} from '../../handoff/stored-answer.js'
import { type App, getApp } from '../app.js'
import { allow, authenticate, type Caller } from '../auth/authenticate.js'
import { contextForRequest } from '../context-for-request.js'
import type { EventStream } from '../http/event-stream.js'
import { logFieldsFor, type RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import {
  type AskBody,
  idempotencyKey,
  negotiate,
  parseJson,
  readAsk,
  readBody,
  wantJsonBody,
  wrong,
} from '../http/parse-request.js'
import { HttpError, problemDocument, toProblem } from '../http/problem-details.js'
import { progressEvents, serverTimings } from '../http/progress-events.js'
import { beforePosting, divideTime, pause, stopper, type Times } from '../http/request-deadline.js'
import { addressOf, answerView, pendingResponse } from '../http/responses.js'
import type { Job } from '../jobs/job.js'

/** A question has at most 4,000 characters, and the other fields are short. */
const maximumBytes = 100_000

export async function postAsk(exchange: RequestContext): Promise<Response> {
  const app = getApp()
  const { request } = exchange
  const caller = await authenticate(request, app.settings, app.verifier)
  exchange.note({ caller: caller.name })
  const mode = negotiate(request)
  exchange.note({ mode })
  wantJsonBody(request)
  const body = readAsk(parseJson(await readBody(request, maximumBytes)))
  const asked = await readQuestion(exchange, app, caller, body, idempotencyKey(request))
  const times = divideTime(exchange.deadline, Date.now())
  if (mode === 'events') return respondWithEvents(asked, times)
  const found = await find(asked, exchange.signal, () => {})
  return mode === 'async' ? respondLater(found, exchange.signal) : respondWithJson(found, times)
}

/** What one request asks. */
interface Asked {
  exchange: RequestContext
  app: App
  caller: Caller
  base: Product.AppContext
  request: Product.AnswerRequest
  /** Where the answer is posted too. */
  pull?: number
}

async function readQuestion(
  exchange: RequestContext,
  app: App,
  caller: Caller,
  body: AskBody,
  key: string | undefined,
): Promise<Asked> {
  const { settings } = app
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
  if (body.comment) await app.github()
  return {
    exchange,
    app,
    caller,
    base: await app.context(body.model),
    request: {
      repository: { ...repository, ...(pattern.id === undefined ? {} : { id: pattern.id }) },
      strict: true,
      cloneUrl: `${serverUrl}/${body.repository}.git`,
      name: body.name,
      ...(body.compareWith === undefined ? {} : { compareWith: body.compareWith }),
      ...(app.hasGitHub ? { github: app.github } : {}),
      caller: caller.name,
      labels: { request: exchange.requestId.slice(0, 60) },
      question: {
        text,
        asker: caller.name,
        // Only a `fresh` question needs a key: any other repeated question has the same id.
        ...(body.fresh ? { fresh: true, ...(key === undefined ? {} : { nonce: hash(`${caller.name}\n${key}`) }) } : {}),
        ...(body.thread === undefined ? {} : { thread: body.thread }),
      },
    },
    ...(body.comment && body.pull !== undefined ? { pull: body.pull } : {}),
  }
}

/** A question with its run and answer id. */
interface Found extends Asked {
  question: Product.FoundQuestion
  context: Product.AppContext
}

async function find(asked: Asked, signal: AbortSignal, emit: (event: Product.RunEvent) => void): Promise<Found> {
  const { exchange, base, request, pull } = asked
  const { workBy } = divideTime(exchange.deadline, Date.now())
  const timings = serverTimings(exchange)
  const context = contextForRequest(base, {
    workBy: pull === undefined ? workBy : beforePosting(workBy, Date.now()),
    background: exchange.background,
    ...(exchange.trace === undefined ? {} : { trace: exchange.trace }),
    emit(event) {
      timings(event)
      emit(event)
    },
  })
  const question = await findAnswer(request, context, signal)
  refuseOtherQuestion(question, context)
  return { ...asked, context, question }
}

/** An Idempotency-Key belongs to one question, regardless of the spacing of its JSON. */
function refuseOtherQuestion({ question, record, base }: Product.FoundQuestion, context: Product.AppContext): void {
  if (question.nonce === undefined || record === undefined) return
  const same =
    normaliseQuestion(record.question) === normaliseQuestion(context.redact(question.text)) &&
    record.thread === question.thread &&
    record.model === context.ports.model.name &&
    record.compareWith?.run === base?.handoff.run
  if (same) return
  throw new HttpError(422, 'idempotency-key-reused', 'The Idempotency-Key stands for another question.', {
    next: 'Take a new key for a new question.',
  })
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32)

// ── JSON ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function respondWithJson(found: Found, times: Times): Promise<Response> {
  const { exchange } = found
  const stop = stopper(exchange.limit, exchange.limit.client, times)
  const answering = answer(found, stop.signal)
  exchange.background(answering.then(stop.done, stop.done))
  const first = await Promise.race([answering, stop.late(times.answerBy)])
  if (first !== 'late') return answered(found, first)
  const job = sendJobFor(found, (times.workBy - Date.now()) / 1_000)
  // If queueing fails, the question may still be answered in time.
  const acceptedAt = await job.catch(() => undefined)
  if (acceptedAt === undefined) return answered(found, await answering)
  stop.keepGoing()
  exchange.note({ answer: found.question.id, pending: true })
  exchange.logLater(answering.then(answerNotes))
  return pending(found, acceptedAt, 'running', false)
}

function answered({ exchange, app }: Found, answer: Answer): Response {
  exchange.note(answerNotes(answer))
  return jsonResponse(200, viewAnswer(app, answer))
}

/** Only queues the question, as `Prefer: respond-async` asks. */
async function respondLater(found: Found, signal: AbortSignal): Promise<Response> {
  const { question, exchange } = found
  if (question.record?.status === 'done') return answered(found, await answer(found, signal))
  const acceptedAt = await sendJobFor(found, 0)
  // Another process answered it since the lookup.
  if (acceptedAt === undefined) return answered(found, await answer(found, signal))
  exchange.note({ answer: question.id, pending: true })
  return pending(found, acceptedAt, 'queued', true)
}

/** Queues the question. Returns when it was accepted, or undefined when it is already answered. */
async function sendJobFor(
  { app, question, context, pull, caller, exchange }: Found,
  delaySeconds: number,
): Promise<string | undefined> {
  const [{ queueAnswer }, { sendJob }] = await Promise.all([app.product(), import('../jobs/send-job.js')])
  const signal = AbortSignal.any([exchange.limit.client, AbortSignal.timeout(10_000)])
  const queued = await queueAnswer(question, context, signal)
  if (queued === undefined && pull === undefined) return undefined
  const acceptedAt = queued?.acceptedAt ?? new Date(context.ports.clock.now()).toISOString()
  const job: Job = {
    kind: 'answer',
    repository: question.request.repository,
    run: question.run.handoff.run,
    id: question.id,
    acceptedAt,
    model: context.ports.model.name,
    caller: caller.name,
    ...(pull === undefined ? {} : { post: { pull } }),
  }
  await sendJob(job, delaySeconds)
  return acceptedAt
}

function pending(
  { question: { id, run, request } }: Found,
  acceptedAt: string,
  state: 'queued' | 'running',
  preferred: boolean,
): Response {
  return pendingResponse(run, { id, acceptedAt, question: request.question.text }, state, preferred)
}

// ── the answer ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Answer extends Product.AnswerResult {
  comment?: { url: string }
}

async function answer({ app, question, context, pull }: Found, signal: AbortSignal): Promise<Answer> {
  const stored = question.record?.status === 'done' ? question.record : undefined
  const result = stored
    ? await storedAnswer(question, stored, context, signal)
    : await (await app.product()).answerOrJoin(question, context, signal)
  if (pull === undefined) return result
  const { postOnPull } = await import('../post-answer.js')
  return { ...result, comment: await postOnPull(app, context, result, pull, signal) }
}

/** For the log. */
function answerNotes({ record, reused }: Answer): Record<string, unknown> {
  const { inputTokens, outputTokens } = record.usage
  return { answer: record.id, reused, ...(reused ? {} : { inputTokens, outputTokens }) }
}

const viewAnswer = ({ settings }: App, { run, record, ...more }: Answer) =>
  answerView(settings.github, run, record, more)

// ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The delay before a stream starts. An error within it is still reported by the status. */
const streamStartMs = 500

async function respondWithEvents(asked: Asked, times: Times): Promise<Response> {
  const { exchange } = asked
  const { eventStream } = await import('../http/event-stream.js')
  const stream = eventStream()
  stream.send('status', { state: 'looking', requestId: exchange.requestId })
  const stop = stopper(exchange.limit, AbortSignal.any([exchange.limit.client, stream.gone]), times)
  const events = progressEvents(stream.send)
  const finding = find(asked, AbortSignal.any([exchange.signal, stream.gone]), events.emit)
  const telling = finding.then((found) => {
    events.place(found.question)
    return sendAnswer(stream, found, stop, times)
  })
  const ending = telling.catch((error: unknown) => endWithError(stream, exchange, error)).finally(stop.done)
  exchange.background(ending)
  exchange.logAfter(ending)
  await Promise.race([finding, pause(streamStartMs)])
  return stream.response
}

async function sendAnswer(
  stream: EventStream,
  found: Found,
  stop: ReturnType<typeof stopper>,
  times: Times,
): Promise<void> {
  const { exchange, app, question } = found
  // If the time runs out, a job continues with the question.
  const queueing = stop.late(times.answerBy).then(async () => {
    if (await sendJobFor(found, (times.workBy - Date.now()) / 1_000)) stop.keepGoing()
  })
  queueing.catch(() => undefined)
  try {
    const result = await answer(found, stop.signal)
    exchange.note(answerNotes(result))
    stream.end('answer', viewAnswer(app, result))
  } catch (error) {
    endWithError(stream, exchange, error, stop.kept() ? { self: addressOf(question.run.handoff, question.id) } : {})
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
