// Calls to a model's service: how much room a reply gets, attempts and the waiting between them, and the reply. The package is loaded by the
// first of them.
import type OpenAI from 'openai'
import type { Usage } from '../../domain/answer.js'
import { abortError, HandoffError, isHandoffError } from '../../domain/errors.js'
import { effortFor, mayThink, replyLimit } from '../../domain/model-limits.js'
import type { ModelReply, ModelRequest } from '../../domain/ports.js'
import { tokenEstimatorFor } from '../../domain/token-estimator.js'
import { lazy } from '../../util/lazy.js'
import { systemClock } from '../system-clock.js'
import type { ModelConfig } from './client.js'
import { explain, type Failure, type ServiceErrors } from './errors.js'
import { makeHabits } from './parameters.js'
import { isEarly, problemOf, readsOnlyPart } from './problems.js'
import { makeSlots, type Slot } from './slots.js'
import { type Heard, listen } from './stream.js'
import { makeWatches } from './watch.js'

const usualRetries = 2

/** What a request costs beyond the text of its messages: the marks around each of them. */
const tokensPerMessage = 4

export interface ModelCalls {
  complete(request: ModelRequest): Promise<ModelReply>
  warm(): Promise<void>
}

/** The most thinking that the service reported, by the effort that was asked for. */
export type Learned = Map<ModelRequest['effort'], number>

export function makeCalls(config: ModelConfig, host: string, learned: Learned): ModelCalls {
  const clock = config.clock ?? systemClock
  const estimateTokens = tokenEstimatorFor(config.name)
  const watch = makeWatches({
    firstMs: config.firstTextMs ?? 120_000,
    betweenMs: config.betweenTextMs ?? 30_000,
    totalMs: config.totalMs,
  })
  const slots = makeSlots(config.concurrency)
  const habits = makeHabits(config.name)
  const loaded = lazy(() => load(config))

  async function complete(request: ModelRequest): Promise<ModelReply> {
    if (request.signal.aborted) throw abortError(request.signal, 'asking the model')
    const limit = limitOf(request)
    const { client, errors } = await loaded()
    const wanted = { limit, effort: effortFor(config, request) }
    for (let attempt = 0; ; ) {
      let handedOut = false
      const onText = (piece: string) => {
        handedOut = true
        request.onText?.(piece)
      }
      const slot = await slots.enter(request.signal)
      try {
        const heard = await habits.ask(request, wanted, (parameters) =>
          listen(client, parameters, watch(), { ...request, onText: request.onText && onText }),
        )
        slot.leave('well')
        return replyFrom(heard, request, limit)
      } catch (error) {
        if (request.signal.aborted) throw abortError(request.signal, 'the model was answering')
        const failure = crowdedOr(explain(error, { host, model: config.name, key: config.apiKey, errors }), slot)
        // A service that is busy with our other requests is asked again, with fewer at once, as often as it takes.
        if (!failure.crowded || slot.alone()) attempt += 1
        slot.leave(failure.crowded ? 'crowded' : 'failed')
        if (handedOut || !failure.again || attempt > (config.retries ?? usualRetries)) throw failure.error
        await waitAfter(failure, Math.max(0, attempt - 1), request.signal)
      } finally {
        slot.leave('failed')
      }
    }
  }

  /** A request that was not begun with in time, beside others of ours, waited for them. */
  function crowdedOr(failure: Failure, slot: Slot): Failure {
    if (!isHandoffError(failure.error, 'timeout') || slot.alone()) return failure
    return { ...failure, again: true, crowded: true, waitMs: 0 }
  }

  /** What the reply may have in all: never more than the context has left beside the request. */
  function limitOf(request: ModelRequest): number {
    const limit = replyLimit(config, request, learned.get(request.effort))
    const input = inputTokens(request)
    const room = config.contextTokens - input
    if (room >= Math.min(limit, request.answerTokens / 2)) return Math.min(limit, room)
    throw new HandoffError(
      'model',
      `A request of about ${input} tokens leaves no room for a reply in the ${config.contextTokens} that the model takes.`,
      { next: 'Choose a model in LLM_MODEL that takes more, or correct LLM_CONTEXT_TOKENS.' },
    )
  }

  function inputTokens({ messages }: ModelRequest): number {
    return messages.reduce((sum, { content }) => sum + estimateTokens(content) + tokensPerMessage, 0)
  }

  function replyFrom(heard: Heard, request: ModelRequest, limit: number): ModelReply {
    const thought = heard.thinkingTokens ?? 0
    learned.set(request.effort, Math.max(thought, learned.get(request.effort) ?? 0))
    const cutShort = readsOnlyPart(heard, request, host)
    if (cutShort) throw cutShort
    const { text, finish, endless } = heard
    const usage = heard.usage ?? estimateUsage(text, request)
    const truncated = endless || finish === undefined || finish === 'length' || finish === 'content_filter'
    const problem = problemOf(heard, request, { host, limit, config })
    const lacksRoom = text.trim() === '' ? finish !== 'content_filter' : !endless && !isEarly(heard, { limit })
    const mayWiden = problem !== undefined && lacksRoom && widens(request, limit)
    return { text, truncated, usage, ...(problem ? { problem } : {}), ...(mayWiden ? { mayWiden } : {}) }
  }

  function widens(request: ModelRequest, limit: number): boolean {
    if (request.wide || !mayThink(config)) return false
    return limitOf({ ...request, wide: true }) > limit
  }

  function estimateUsage(text: string, request: ModelRequest): Usage {
    return { inputTokens: inputTokens(request), outputTokens: estimateTokens(text), estimated: true }
  }

  /** Waits as long as the service asks, or a little longer each time; gives up at once when that is longer than there is patience. */
  async function waitAfter(failure: Failure, attempt: number, signal: AbortSignal): Promise<void> {
    const ownWait = (config.firstWaitMs ?? 500) * 2 ** attempt * (1 - Math.random() / 4)
    const wait = failure.waitMs ?? ownWait
    if (wait > (config.longestWaitMs ?? 60_000)) throw failure.error
    try {
      await clock.sleep(wait, signal)
    } catch (stopped) {
      const late = stopped instanceof HandoffError && stopped.code === 'timeout'
      throw late ? failure.error : stopped
    }
  }

  return {
    complete,
    async warm() {
      await loaded()
    },
  }
}

async function load(config: ModelConfig): Promise<{ client: OpenAI; errors: ServiceErrors }> {
  const { default: OpenAI } = await import('openai')
  const client = new OpenAI({
    baseURL: config.baseUrl,
    apiKey: config.apiKey,
    // What else the package would read from the environment and send along: it belongs to another service, perhaps.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: 24 * 60 * 60 * 1_000,
    logLevel: 'off',
  })
  return { client, errors: OpenAI }
}
