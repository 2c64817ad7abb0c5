// /api/runs and the addresses below it. GET only reads.
import type * as Product from '../../handoff/index.js'
import { type App, getApp } from '../app.js'
import { fullRef, pullRef, readFeedback } from '../ask/ask-body.js'
import { locate } from '../ask/question.js'
import { authenticate } from '../auth/authenticate.js'
import type { Caller } from '../auth/caller.js'
import { logFieldsFor, type RequestContext } from '../http/http-function.js'
import { jsonResponse, taggedResponse } from '../http/json.js'
import { negotiate, parseJson, readBody, wantJson, wantJsonBody, wrong } from '../http/parse-request.js'
import { HttpError, problemDocument, toProblem } from '../http/problem-details.js'
import { lastEventId, progressEvents } from '../http/progress-events.js'
import {
  addressOf,
  answerView,
  failedView,
  listedAnswerView,
  pendingView,
  placeOf,
  pollSeconds,
  runView,
  type Seen,
} from '../http/responses.js'
import { visibleRepositories } from '../repositories.js'

/** DELETE of a question that is being answered takes it back. */
export async function deleteAnswer(exchange: RequestContext): Promise<Response> {
  const { run: name, id } = answerAddress(exchange)
  const look = await openLook(exchange)
  const { product, context, caller } = look
  const run = await findRun(look, { run: product.parseRunId(name) })
  await product.withdrawQuestion({ run, id, caller: caller.name }, context, exchange.signal)
  return new Response(null, { status: 204 })
}

const feedbackBytes = 1_000

/** PATCH of an answer says whether it was useful. */
export async function patchAnswer(exchange: RequestContext): Promise<Response> {
  const { run: name, id } = answerAddress(exchange)
  const look = await openLook(exchange)
  const { app, product, caller } = look
  wantJsonBody(exchange.request)
  const useful = readFeedback(parseJson(await readBody(exchange.request, feedbackBytes)))
  const run = await findRun(look, { run: product.parseRunId(name) })
  const feedback = { run, id, caller: caller.name, useful }
  return jsonResponse(200, await product.giveFeedback(feedback, await app.context(), exchange.signal))
}

/** Only an answer can be changed. */
function answerAddress({ url }: RequestContext): { run: string; id: string } {
  const { run, answer } = readAddress(url)
  if (run !== undefined && answer !== undefined) return { run, id: answer }
  const allow = 'GET, HEAD, OPTIONS'
  throw new HttpError(405, 'method-not-allowed', `This address takes ${allow}.`, { headers: { allow } })
}

export async function getRuns(exchange: RequestContext): Promise<Response> {
  const look = await openLook(exchange)
  const { asked, product } = look
  if (asked.run === undefined) return asked.query.get('repository') === null ? repositories(look) : runs(look)
  const run = await findRun(look, { run: product.parseRunId(asked.run) })
  switch (asked.part) {
    case undefined:
      return wholeRun(look, run)
    case 'answers':
      return asked.answer === undefined ? answers(look, run) : answer(look, run, asked.answer)
    default:
      return file(look, run)
  }
}

async function openLook(exchange: RequestContext): Promise<RunsRequest> {
  const app = getApp()
  const { request } = exchange
  const asked = readAddress(exchange.url)
  const caller = await authenticate(request, app)
  exchange.note({ caller: caller.name })
  if (asked.answer === undefined || request.method === 'DELETE') wantJson(request)
  exchange.note({ part: asked.part ?? 'runs' })
  const [product, context] = [await app.product(), await app.lookup()]
  return { exchange, app, product, caller, context, asked, query: asked.query }
}

interface RunsRequest {
  exchange: RequestContext
  app: App
  caller: Caller
  product: typeof Product
  context: Product.LookupContext
  asked: Address
  query: URLSearchParams
}

interface Address {
  run?: string
  part?: 'answers' | 'files'
  answer?: string
  query: URLSearchParams
}

/** The platform may pass the original address or the rewritten one. */
export function readAddress(url: URL): Address {
  const query = url.searchParams
  const [, , place, ...rest] = url.pathname.split('/')
  // Unknown addresses below /api are rewritten to this function, which responds 404.
  if (place !== 'runs') throw nothing()
  const path = rest.map(decodeSegment)
  const [run, part, answer] =
    path.length > 0 && path[0] !== '' ? path : [query.get('run'), query.get('part'), query.get('answer')]
  if (path.length > 3 || (part !== 'answers' && part !== 'files' && (part ?? null) !== null)) throw nothing()
  if (run === null || run === undefined) return { query }
  if (answer !== null && answer !== undefined && part === 'answers' && !/^[0-9a-f]{32}$/.test(answer)) throw nothing()
  return {
    run,
    query,
    ...(part === 'answers' || part === 'files' ? { part } : {}),
    ...(answer !== null && answer !== undefined && part === 'answers' ? { answer } : {}),
  }
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw nothing()
  }
}

const nothing = () => new HttpError(404, 'not-found', 'There is nothing at this address.')

async function repositories({ caller, app, exchange, query }: RunsRequest): Promise<Response> {
  if (query.has('ref') || query.has('pull')) throw wrong('`ref` and `pull` are of a repository; say which.')
  return jsonResponse(200, {
    repositories: await visibleRepositories(app, caller, exchange.signal),
    models: app.settings.models,
  })
}

async function runs(look: RunsRequest): Promise<Response> {
  const { product, context, query, exchange, asked } = look
  const [ref, pull] = [query.get('ref'), query.get('pull')]
  if (ref !== null && pull !== null) throw wrong('Either `ref` or `pull`, not both.')
  if (ref !== null || pull !== null) {
    const name = ref === null ? pullRef(Number(pull)) : fullRef(ref)
    const { handoff, behind } = await findRun(look, { ref: name })
    return jsonResponse(200, { runs: [runView(handoff)], behind })
  }
  const { repository } = await repositoryOf(look)
  const page = await product.listRuns(context, repository, parsePage(query), exchange.signal)
  const items = page.items.filter((handoff) => repository.id === undefined || handoff.repositoryId === repository.id)
  return pageResponse(asked, { runs: items.map(runView) }, page.next)
}

async function wholeRun({ app, product, context, exchange }: RunsRequest, run: Product.ChosenRun): Promise<Response> {
  const { handoff } = run
  const { signal } = exchange
  const [summary, corrections, diagram] = await Promise.all([
    product.readSummary(context, run, signal),
    product.correctionsOf(context, run, signal),
    product.readDiagram(context, run, signal),
  ])
  const place = placeOf(app.settings.github, handoff)
  const ofSummary = corrections.filter(({ answer }) => answer === undefined)
  const summaryBlocks = product.summaryBlocks(summary, handoff.commit, place, ofSummary)
  return taggedResponse(exchange.request, {
    ...runView(handoff),
    summary,
    summaryBlocks,
    corrections: corrections.map((one) => product.correctionData(one, place)),
    ...(diagram ? { diagram: product.diagramData(diagram, place) } : {}),
    handoff,
  })
}

async function answers(look: RunsRequest, run: Product.ChosenRun): Promise<Response> {
  const { app, product, context, query, exchange, asked } = look
  const page = await product.listAnswerPage(context, run, parsePage(query), exchange.signal)
  const items = page.items.map(async (record) => {
    if (record.status === 'failed') return failedView(run, record)
    if (record.status === 'running') return pendingView(run, record, answerState(record))
    return listedAnswerView(app.settings.github, { run, record, reused: true })
  })
  return pageResponse(asked, { answers: await Promise.all(items) }, page.next)
}

async function answer(look: RunsRequest, run: Product.ChosenRun, id: string): Promise<Response> {
  if (negotiate(look.exchange.request) === 'events') return followedAnswer(look, run, id)
  const { product, context, exchange } = look
  const record = await product.getAnswer(context, run, id, exchange.signal)
  if (record.status === 'done') return taggedResponse(exchange.request, await doneView(look, run, record))
  if (record.status === 'failed') return jsonResponse(200, failedView(run, record))
  return jsonResponse(200, pendingView(run, record, answerState(record)), { 'retry-after': String(pollSeconds) })
}

/** The events of an answer that is being made, from the place on that the client has seen. Starts no work. */
async function followedAnswer(look: RunsRequest, run: Product.ChosenRun, id: string): Promise<Response> {
  const { product, context, exchange } = look
  const record = await product.getAnswer(context, run, id, exchange.signal)
  const { eventStream } = await import('../http/event-stream.js')
  const stream = eventStream()
  const since = lastEventId(exchange.request)
  const { emit } = progressEvents(stream.send, since)
  const shown = record.status === 'done' && since === undefined ? () => {} : emit
  const following = { ...context, ports: { ...context.ports, emit: shown } }
  const signal = AbortSignal.any([exchange.signal, stream.gone])
  const ending = product
    .followAnswer({ run, id }, following, signal)
    .then(async (done) => stream.end('answer', await doneView(look, run, done)))
    .catch((error: unknown) => {
      exchange.note(logFieldsFor(error))
      const place = { requestId: exchange.requestId, instance: exchange.url.pathname }
      stream.end('error', problemDocument(toProblem(error), place, { self: addressOf(run.handoff, id) }))
    })
  exchange.background(ending)
  exchange.logAfter(ending)
  return stream.response
}

/** Includes whether the cited lines have changed since, what people said about it, and whether it was useful to them. */
async function doneView(look: RunsRequest, run: Product.ChosenRun, record: Product.CompletedAnswer) {
  const { product, context, app, caller, exchange } = look
  const { signal } = exchange
  const github = app.hasGitHub ? app.github : undefined
  const [stale, all, feedback] = await Promise.all([
    product.staleSince(context, github, run, record, signal),
    product.correctionsOf(context, run, signal),
    product.feedbackOn({ run, id: record.id, caller: caller.name }, context, signal),
  ])
  const corrections = product.correctionsFor(record, all)
  const answer = { run, record, reused: true, stale, corrections }
  return { ...(await answerView(app.settings.github, answer)), feedback }
}

/** A question with an expired lease waits for a job or for the next caller. */
const answerState = ({ leaseUntil }: { leaseUntil: string }) =>
  Date.parse(leaseUntil) > Date.now() ? ('running' as const) : ('queued' as const)

async function file(look: RunsRequest, run: Product.ChosenRun): Promise<Response> {
  const { product, context, query, exchange } = look
  const path = query.get('path') ?? ''
  const [from, to] = [Number(query.get('from')), Number(query.get('to') ?? query.get('from'))]
  const fits = Number.isSafeInteger(from) && Number.isSafeInteger(to) && from > 0 && to >= from
  if (path === '' || path.length > 8_192 || !fits) throw wrong('`path`, `from` and `to` say which lines.')
  const id = query.get('answer')
  if (id !== null && !/^[0-9a-f]{32}$/.test(id)) throw wrong('`answer` is not the id of an answer.')
  const place = { path, from, to, ...(id === null ? {} : { answer: id }) }
  return taggedResponse(exchange.request, await product.citedFile(context, run, place, exchange.signal))
}

function repositoryOf({ caller, app, query, exchange }: RunsRequest) {
  const name = query.get('repository')
  if (name === null || name.length > 400) throw wrong('`repository` is needed, as owner/name.')
  return locate(app, caller, name, exchange.signal)
}

async function findRun(look: RunsRequest, name: Product.RunName): Promise<Product.ChosenRun & Seen> {
  const { product, context, exchange } = look
  const where = await repositoryOf(look)
  return product.resolveRun({ ...where, readOnly: true }, name, context, exchange.signal)
}

function parsePage(query: URLSearchParams): { limit: number; cursor?: string } {
  const limit = Number(query.get('limit') ?? '20')
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) throw wrong('`limit` is a number from 1 to 100.')
  const cursor = query.get('cursor')
  return { limit, ...(cursor === null ? {} : { cursor: cursor.slice(0, 500) }) }
}

/** Links the next page by its public path, even if the platform rewrote the address. */
function pageResponse(
  { run, part, query }: Address,
  items: Record<string, unknown>,
  next: string | undefined,
): Response {
  if (next === undefined) return jsonResponse(200, items)
  const following = new URLSearchParams(query)
  following.set('cursor', next)
  for (const name of ['run', 'part', 'answer']) following.delete(name)
  const path = ['/api/runs', run, part].filter((one) => one !== undefined).join('/')
  return jsonResponse(200, { ...items, next }, { link: `<${path}?${following}>; rel="next"` })
}
