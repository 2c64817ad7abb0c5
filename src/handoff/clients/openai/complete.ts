// A call to a model's service: the limit of the reply, attempts, waits between them, and the reply.
import type OpenAI from 'openai'
import type { Usage } from '../../domain/answer.js'
import { abortError, HandoffError, isHandoffError } from '../../domain/errors.js'
import { effortFor, mayThink, replyLimit } from '../../domain/model-limits.js'
import type { ModelReply, ModelRequest } from '../../domain/ports.js'
import { tokenEstimatorFor } from '../../domain/token-estimator.js'
import { lazy } from '../../util/lazy.js'
import { systemClock } from '../system-clock.js'
import type { ModelConfig, ThinkingByEffort } from './config.js'
import { explainFailure, type Failure, type ServiceErrors } from './errors.js'
import { createParameterMemory } from './parameters.js'
import { cutRequestError, describeProblem, isEarly } from './problems.js'
import { createSlots, type Slot } from './slots.js'
import { readReply, type StreamResult } from './stream.js'
import { createWatchdogs } from './watch.js'

const defaultRetries = 2

/** Tokens that the service adds around each message. */
const tokensPerMessage = 4

export interface ModelCalls {
  complete(request: ModelRequest): Promise<ModelReply>
  warm(): Promise<void>
}

export function makeCalls(config: ModelConfig, host: string, thinking: ThinkingByEffort): ModelCalls {
  const clock = config.clock ?? systemClock
  const estimateTokens = tokenEstimatorFor(config.name)
  const watch = createWatchdogs({
    firstMs: config.firstTextMs ?? 120_000,
    betweenMs: config.betweenTextMs ?? 30_000,
    totalMs: config.totalMs,
  })
  const slots = createSlots(config.concurrency)
  const parameterMemory = createParameterMemory(config.name)
  const loaded = lazy(() => load(config))

  async function complete(request: ModelRequest): Promise<ModelReply> {
    if (request.signal.aborted) throw abortError(request.signal, 'asking the model')
    const limit = replyLimitFor(request)
    const { client, errors } = await loaded()
    const wanted = { limit, effort: effortFor(config, request) }
    for (let attempt = 0; ; ) {
      let textSent = false
      const onText = (piece: string) => {
        textSent = true
        request.onText?.(piece)
      }
      const slot = await slots.enter(request.signal)
      try {
        const result = await parameterMemory.ask(request, wanted, (parameters) =>
          readReply(client, parameters, watch(), { ...request, onText: request.onText && onText }),
        )
        slot.leave('done')
        return toReply(result, request, limit)
      } catch (error) {
        if (request.signal.aborted) throw abortError(request.signal, 'the model was answering')
        const failure = orBusy(explainFailure(error, { host, model: config.name, key: config.apiKey, errors }), slot)
        // When our own concurrent requests make the service busy, concurrency drops and the attempt does not count.
        if (!failure.busy || slot.alone()) attempt += 1
        slot.leave(failure.busy ? 'busy' : 'failed')
        if (textSent || !failure.retry || attempt > (config.retries ?? defaultRetries)) throw failure.error
        await waitBeforeRetry(failure, Math.max(0, attempt - 1), request.signal)
      } finally {
        slot.leave('failed')
      }
    }
  }

  /** A timeout beside concurrent requests means that the service was busy with those. */
  function orBusy(failure: Failure, slot: Slot): Failure {
    if (!isHandoffError(failure.error, 'timeout') || slot.alone()) return failure
    return { ...failure, retry: true, busy: true, waitMs: 0 }
  }

  /** Tokens for the reply: never more than the context has left after the request. */
  function replyLimitFor(request: ModelRequest): number {
    const limit = replyLimit(config, request, thinking.get(request.effort))
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

  function toReply(result: StreamResult, request: ModelRequest, limit: number): ModelReply {
    const thought = result.thinkingTokens ?? 0
    thinking.set(request.effort, Math.max(thought, thinking.get(request.effort) ?? 0))
    const cutShort = cutRequestError(result, request, host)
    if (cutShort) throw cutShort
    const { text, finish, endless } = result
    const usage = result.usage ?? estimateUsage(text, request)
    const truncated = endless || finish === undefined || finish === 'length' || finish === 'content_filter'
    const problem = describeProblem(result, request, { host, limit, config })
    const lacksRoom = text.trim() === '' ? finish !== 'content_filter' : !endless && !isEarly(result, { limit })
    const mayWiden = problem !== undefined && lacksRoom && canWiden(request, limit)
    return { text, truncated, usage, ...(problem ? { problem } : {}), ...(mayWiden ? { mayWiden } : {}) }
  }

  function canWiden(request: ModelRequest, limit: number): boolean {
    if (request.wide || !mayThink(config)) return false
    return replyLimitFor({ ...request, wide: true }) > limit
  }

  function estimateUsage(text: string, request: ModelRequest): Usage {
    return { inputTokens: inputTokens(request), outputTokens: estimateTokens(text), estimated: true }
  }

  /** Waits as long as the service asks, or with exponential backoff. Throws at once when that is longer than the configured limit. */
  async function waitBeforeRetry(failure: Failure, attempt: number, signal: AbortSignal): Promise<void> {
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
    // Keeps the package from reading these from the environment: they may belong to another service.
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
