// GET /v1/models and POST /v1/chat/completions: what any OpenAI client speaks. A question is the one of /api/ask.
import { withoutTrailingSlashes } from '../../handoff/util/text.js'
import { type App, getApp } from '../app.js'
import { answerInTime, answerNotes, answerQuestion, queueLateQuestion } from '../ask/answer.js'
import { type Found, findQuestion, locate, readQuestion, tellLimits } from '../ask/question.js'
import { authenticate } from '../auth/authenticate.js'
import type { Caller } from '../auth/caller.js'
import { logFieldsFor, type RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { parseJson, readBody, wantJsonBody } from '../http/parse-request.js'
import { HttpError, toProblem } from '../http/problem-details.js'
import { stepText } from '../http/progress-events.js'
import { divideTime, pause, stopper } from '../http/request-deadline.js'
import { visibleRepositories } from '../repositories.js'
import { type ChatRequest, readChat, readModel } from '../v1/chat-request.js'
import { chatAnswer, chunks, completion } from '../v1/chat-response.js'
import { openAiError, openAiErrorResponse } from '../v1/errors.js'

/** A conversation of a thousand messages. */
const maximumBytes = 2_000_000

type Address = { part: 'models'; model?: string } | { part: 'chat' }

/** The platform may pass the original address or the rewritten one. */
function readAddress(url: URL): Address {
  const path = withoutTrailingSlashes(url.pathname)
  const query = url.searchParams
  const part = path === '/v1/models' || path.startsWith('/v1/models/') ? 'models' : query.get('part')
  if (path === '/v1/chat/completions' || part === 'chat') return { part: 'chat' }
  if (part !== 'models') throw new HttpError(404, 'not-found', 'There is nothing at this address.')
  const model = path.startsWith('/v1/models/') ? decode(path.slice('/v1/models/'.length)) : query.get('model')
  return { part, ...(model ? { model } : {}) }
}

/** What the function needs besides its handlers. */
export const v1 = { readAddress, errorResponse: openAiErrorResponse }

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new HttpError(404, 'not-found', 'There is nothing at this address.')
  }
}

async function identify(exchange: RequestContext): Promise<{ app: App; caller: Caller }> {
  const app = getApp()
  const caller = await authenticate(exchange.request, app)
  exchange.note({ caller: caller.name })
  return { app, caller }
}

const otherMethod = (allow: string) =>
  new HttpError(405, 'method-not-allowed', `This address takes ${allow}.`, { headers: { allow } })

// ── models ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function getV1(exchange: RequestContext): Promise<Response> {
  const address = readAddress(exchange.url)
  if (address.part !== 'models') throw otherMethod('POST, OPTIONS')
  const { app, caller } = await identify(exchange)
  if (address.model === undefined) {
    return jsonResponse(200, { object: 'list', data: (await models(app, caller, exchange.signal)).map(modelView) })
  }
  const { repository, name } = readModel(address.model)
  const { resolveRun } = await app.product()
  const [where, context] = [await locate(app, caller, repository, exchange.signal), await app.lookup()]
  await resolveRun(where, name, context, exchange.signal)
  return jsonResponse(200, modelView(address.model))
}

/** Repositories of which the branches and pull requests are listed. */
const mostRepositories = 100

async function models(app: App, caller: Caller, signal: AbortSignal): Promise<string[]> {
  const [{ mapConcurrent, summarisedRefs }, context] = await Promise.all([app.product(), app.lookup()])
  const repositories = (await visibleRepositories(app, caller, signal)).slice(0, mostRepositories)
  const listed = await mapConcurrent(8, repositories, async (repository) => {
    const where = await locate(app, caller, repository, signal)
    const refs = await summarisedRefs(context, where.repository, signal)
    return [repository, ...refs.map((ref) => `${repository}@${shortRef(ref)}`)]
  })
  return listed.flat()
}

const shortRef = (ref: string) => ref.replace(/^refs\/heads\//, '').replace(/^refs\/pull\//, '#')

const modelView = (id: string) => ({ id, object: 'model', created: 0, owned_by: id.slice(0, id.indexOf('/')) })

// ── chat ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function postV1(exchange: RequestContext): Promise<Response> {
  if (readAddress(exchange.url).part !== 'chat') throw otherMethod('GET, HEAD, OPTIONS')
  const { app, caller } = await identify(exchange)
  wantJsonBody(exchange.request)
  const chat = readChat(parseJson(await readBody(exchange.request, maximumBytes)))
  const asked = await readQuestion(exchange, app, caller, chat.body, { after: chat.after })
  tellLimits(exchange, asked)
  exchange.note({ mode: chat.stream ? 'events' : 'json' })
  if (chat.stream) return streamAnswer(exchange, chat, asked)
  const found = await findQuestion(asked, exchange.signal)
  const inTime = await answerInTime(found, divideTime(exchange.deadline, Date.now()))
  if (!('answer' in inTime)) throw notYet()
  return jsonResponse(200, completion(chat.model, await chatAnswer(app, inTime.answer)))
}

/** OpenAI's form knows no answer that comes later. Its clients ask again by themselves, and then find the answer. */
const notYet = () =>
  new HttpError(503, 'in-progress', 'The question is still being answered.', {
    next: 'Ask again: the answer will be there.',
    retryAfterSeconds: 5,
  })

/** The delay before a stream starts. An error within it is still reported by the status. */
const streamStartMs = 500

/**
 * Steps come as they happen. The words come when their citations were checked: clients show them as Markdown, so text of a model must not reach them
 * before.
 */
async function streamAnswer(
  exchange: RequestContext,
  chat: ChatRequest,
  asked: Parameters<typeof findQuestion>[0],
): Promise<Response> {
  const { textStream } = await import('../http/event-stream.js')
  const stream = textStream()
  const send = (data: unknown) => stream.write(`data: ${JSON.stringify(data)}\n\n`)
  const times = divideTime(exchange.deadline, Date.now())
  const stop = stopper(exchange.limit, AbortSignal.any([exchange.limit.client, stream.gone]), times)
  const make = chunks(chat.model, `chatcmpl-${exchange.requestId}`, Math.floor(Date.now() / 1_000))
  send(make.start())
  const finding = findQuestion(asked, AbortSignal.any([exchange.signal, stream.gone]), (event) => {
    const text = stepText(event)
    if (text !== undefined) send(make.progress(text))
  })
  const telling = finding.then(async (found) => {
    const answer = await answerBefore(found, stop, times)
    exchange.note(answerNotes(answer))
    for (const chunk of make.answer(await chatAnswer(found.app, answer), chat.includeUsage)) send(chunk)
    stream.write('data: [DONE]\n\n')
  })
  const ending = telling
    .catch((error: unknown) => {
      exchange.note(logFieldsFor(error))
      send(openAiError(toProblem(error), exchange))
    })
    .finally(() => {
      stop.done()
      stream.close()
    })
  exchange.background(ending)
  exchange.logAfter(ending)
  await Promise.race([finding, pause(streamStartMs)])
  return stream.response
}

/** If the time runs out, a job continues with the question. */
async function answerBefore(found: Found, stop: ReturnType<typeof stopper>, times: ReturnType<typeof divideTime>) {
  const answering = answerQuestion(found, stop.signal)
  const late = stop.late(times.answerBy).then(async () => {
    if ((await queueLateQuestion(found, times)) === undefined) return answering
    stop.keepGoing()
    throw notYet()
  })
  found.exchange.background(answering.then(stop.done, stop.done))
  return Promise.race([answering, late])
}
