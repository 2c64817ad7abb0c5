// The response to a question: as JSON, as an event stream, or later (202).
//
// The question is checked, then stored answers are looked up. `waitUntil` keeps the invocation alive until the sandbox is gone. A question that outlives
// its request is queued before the caller gets 202.
import type { App } from '../app.js'
import type { Caller } from '../auth/caller.js'
import type { RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { idempotencyKey, type Mode } from '../http/parse-request.js'
import { divideTime } from '../http/request-deadline.js'
import { answerView, pendingResponse } from '../http/responses.js'
import { answerInTime, answerNotes, answerQuestion, type InTime, queueQuestion } from './answer.js'
import { readAsk } from './ask-body.js'
import { type Found, findQuestion, readQuestion, tellLimits } from './question.js'

export async function respond(
  exchange: RequestContext,
  app: App,
  caller: Caller,
  mode: Mode,
  body: unknown,
): Promise<Response> {
  const key = idempotencyKey(exchange.request)
  const asked = await readQuestion(exchange, app, caller, readAsk(body), { key })
  tellLimits(exchange, asked)
  const times = divideTime(exchange.deadline, Date.now())
  if (mode === 'events') return (await import('./answer-events.js')).respondWithEvents(asked, exchange, times)
  const found = await findQuestion(asked, exchange.signal)
  const inTime = mode === 'async' ? await queueOnly(found) : await answerInTime(found, times)
  if ('answer' in inTime) return jsonResponse(200, await answerView(app.settings.github, inTime.answer))
  const { id, run, request } = found.question
  const pending = { id, acceptedAt: inTime.acceptedAt, question: request.question.text }
  return pendingResponse(run, pending, mode === 'async' ? 'queued' : 'running', mode === 'async')
}

/** Only queues the question, as `Prefer: respond-async` asks. */
async function queueOnly(found: Found): Promise<InTime> {
  const { question, exchange } = found
  const acceptedAt = question.record?.status === 'done' ? undefined : await queueQuestion(found, 0)
  if (acceptedAt !== undefined) {
    exchange.note({ answer: question.id, pending: true })
    return { acceptedAt }
  }
  const answer = await answerQuestion(found, exchange.signal)
  exchange.note(answerNotes(answer))
  return { answer }
}
