// The response to a question as an event stream.
import type * as Product from '../../handoff/index.js'
import { type EventStream, eventStream } from '../http/event-stream.js'
import { logFieldsFor, type RequestContext } from '../http/http-function.js'
import { problemDocument, toProblem } from '../http/problem-details.js'
import { lastEventId, progressEvents } from '../http/progress-events.js'
import { pause, stopper, type Times } from '../http/request-deadline.js'
import { addressOf, answerView } from '../http/responses.js'
import { answerNotes, answerQuestion, queueLateQuestion } from './answer.js'
import { type Asked, type Found, findQuestion } from './question.js'

/** The delay before a stream starts. An error within it is still reported by the status. */
const streamStartMs = 500

export async function respondWithEvents(asked: Asked, exchange: RequestContext, times: Times): Promise<Response> {
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
    stream.end('answer', await answerView(app.settings.github, result))
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
