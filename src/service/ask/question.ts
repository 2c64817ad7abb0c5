// A question of one caller: its fields are checked, its run and its stored answer are looked up. Every entry point of the service asks through here.

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
} from '../../handoff/index-for-stored-answers.js'
import type { App } from '../app.js'
import { allow, type Caller } from '../auth/caller.js'
import type { RequestContext } from '../http/http-function.js'
import { wrong } from '../http/parse-request.js'
import { HttpError } from '../http/problem-details.js'
import { beforePosting, divideTime } from '../http/request-deadline.js'
import type { AskBody } from './ask-body.js'

/** What a question needs of the request that it belongs to. */
export type RequestWork = Pick<
  RequestContext,
  'requestId' | 'trace' | 'deadline' | 'limit' | 'signal' | 'background' | 'note' | 'logLater' | 'time'
>

/** What one request asks. */
export interface Asked {
  exchange: RequestWork
  app: App
  caller: Caller
  /** The model of the service when absent. */
  model?: string | undefined
  request: Product.AnswerRequest
  /** Where the answer is posted too. */
  pull?: number
}

export async function readQuestion(
  exchange: RequestWork,
  app: App,
  caller: Caller,
  body: AskBody,
  { key, after }: { key?: string | undefined; after?: string[] } = {},
): Promise<Asked> {
  const { settings } = app
  const where = await locate(app, caller, body.repository, exchange.signal)
  if (body.model !== undefined && !settings.models.includes(body.model)) {
    throw wrong('This model is not offered here.', `There are ${settings.models.join(', ')}.`)
  }
  for (const name of [body.name, ...(body.compareWith ? [body.compareWith] : [])]) checkName(name, where.repository)
  const text = parseQuestion(body.question)
  if (body.comment) await commentsWanted(app, caller)
  return {
    exchange,
    app,
    caller,
    model: body.model,
    request: {
      ...where,
      name: body.name,
      compareWith: body.compareWith,
      after,
      ...(app.hasGitHub ? { github: app.github } : {}),
      caller: caller.name,
      labels: { request: exchange.requestId.slice(0, 60) },
      question: {
        text,
        asker: caller.name,
        // Only a `fresh` question needs a key: any other repeated question has the same id.
        ...(body.fresh ? { fresh: true, ...(key === undefined ? {} : { nonce: hash(`${caller.name}\n${key}`) }) } : {}),
        depth: body.depth,
        // An answer's id names a chain of answers, which each reader of the run may continue.
        thread: body.thread === undefined ? body.after : `${caller.name}/${body.thread}`,
      },
    },
    ...(body.comment && body.pull !== undefined ? { pull: body.pull } : {}),
  }
}

/** What the App writes appears under its own name, so this is a right of its own. */
async function commentsWanted(app: App, { way, mayComment }: Caller): Promise<void> {
  if (!mayComment) {
    throw new HttpError(403, 'forbidden', 'This caller may not have its answers posted as comments.', {
      next:
        way === 'job'
          ? 'Post the answer with the token of the job.'
          : way === 'person'
            ? 'Ask in a comment: `/ask` and the question.'
            : 'Have `+comment` added to its entry in HANDOFF_BEARERS.',
    })
  }
  await app.github()
}

/** Where the runs of a repository are. Rejects a repository that the caller may not see. */
export async function locate(app: App, caller: Caller, name: string, signal: AbortSignal) {
  const pattern = await allow(caller, name, signal)
  const { serverUrl } = app.settings.github
  const repository = parseRepository(name, new URL(serverUrl).host)
  return {
    repository: { ...repository, id: pattern.id },
    cloneUrl: `${serverUrl}/${name}.git`,
    strict: true as const,
  }
}

function checkName(name: Product.RunName, repository: Product.Repository): void {
  if ('run' in name) parseRunId(name.run)
  if ('commit' in name) parseSha(name.commit)
  if ('ref' in name && name.ref !== 'HEAD') layout('', repository).ref(name.ref)
}

/** A question with its run and answer id. */
export interface Found extends Asked {
  question: Product.FoundQuestion
  context: Product.LookupContext
  /** The context of the work, for a question that is not answered yet. */
  work(): Promise<Product.AppContext>
}

export async function findQuestion(
  asked: Asked,
  signal: AbortSignal,
  emit: (event: Product.RunEvent) => void = () => {},
): Promise<Found> {
  const { exchange, app, model, request, pull } = asked
  const base = await app.lookup(model)
  const heard = heardBy(exchange, emit)
  const context = { ...base, ports: { ...base.ports, emit: heard } }
  const work = async () => {
    const { contextForRequest } = await import('../context-for-request.js')
    const { workBy } = divideTime(exchange.deadline, Date.now())
    const { trace, background } = exchange
    return contextForRequest(await app.context(model), {
      workBy: pull === undefined ? workBy : beforePosting(workBy, Date.now()),
      background,
      trace,
      emit: heard,
    })
  }
  const found = { ...asked, context, work, question: await findAnswer(request, context, signal) }
  await refuseOtherQuestion(found)
  return found
}

/** Collects `Server-Timing` from steps and from the time to the model's first token. */
function heardBy({ time }: RequestWork, emit: (event: Product.RunEvent) => void): (event: Product.RunEvent) => void {
  const started = Date.now()
  let hasWords = false
  return (event) => {
    if (event.type === 'step-end') time(event.step, event.milliseconds)
    if (event.type === 'model-text' && !hasWords) time('first-token', Date.now() - started)
    hasWords ||= event.type === 'model-text'
    emit(event)
  }
}

/** An Idempotency-Key belongs to one question, regardless of the spacing of its JSON. */
async function refuseOtherQuestion({ question: { question, record, base }, work }: Found): Promise<void> {
  if (question.nonce === undefined || record === undefined) return
  const context = await work()
  const same =
    normaliseQuestion(record.question) === normaliseQuestion(context.redact(question.text)) &&
    record.thread === question.thread &&
    record.model === context.ports.model.name &&
    (record.depth ?? 'normal') === question.depth &&
    record.compareWith?.run === base?.handoff.run
  if (same) return
  throw new HttpError(422, 'idempotency-key-reused', 'The Idempotency-Key stands for another question.', {
    next: 'Take a new key for a new question.',
  })
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32)

const daySeconds = 86_400
const cents = (dollars: number) => Math.floor(dollars * 100)

/** What a caller may ask, in the header fields RateLimit-Policy and RateLimit of the IETF's draft. Only the budgets of a day have a rest to tell. */
export function tellLimits(exchange: RequestContext, { app, caller }: Asked): void {
  const { perCaller, tokensPerDay, costPerDay } = app.settings.limits
  const policies = [
    `"questions";q=${perCaller};qu="concurrent-requests"`,
    ...(tokensPerDay === undefined ? [] : [`"tokens";q=${Math.floor(tokensPerDay)};qu="tokens";w=${daySeconds}`]),
    ...(costPerDay === undefined ? [] : [`"cost";q=${cents(costPerDay)};qu="us-cents";w=${daySeconds}`]),
  ]
  exchange.replyWith(() => {
    const left = app.budgetLeft(caller.name)
    const rests = left && [
      ...(left.tokens === undefined ? [] : [`"tokens";r=${Math.floor(left.tokens)};t=${left.seconds}`]),
      ...(left.cost === undefined ? [] : [`"cost";r=${cents(left.cost)};t=${left.seconds}`]),
    ]
    return { 'ratelimit-policy': policies.join(', '), ...(rests ? { ratelimit: rests.join(', ') } : {}) }
  })
}
