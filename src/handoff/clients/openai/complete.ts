// A call to a model's service: the limit of the reply, attempts, waits between them, and the reply.
import type OpenAI from 'openai'
import { abortError, HandoffError, isHandoffError } from '../../domain/errors.js'
import { tokenEstimatorFor } from '../../domain/estimate-tokens.js'
import { effortFor, mayThink, replyLimit } from '../../domain/model-limits.js'
import type { ModelReply, ModelRequest } from '../../domain/ports.js'
import type { Usage } from '../../domain/usage.js'
import { lazy } from '../../util/lazy.js'
import { doubled, type Pause, retry } from '../../util/retry.js'
import { systemClock } from '../system-clock.js'
import type { ModelConfig, ThinkingByEffort } from './config.js'
import { explainFailure, type Failure, type ServiceErrors } from './errors.js'
import { createParameterMemory } from './parameters.js'
import { cutRequestError, describeProblem, isEarly } from './problems.js'
import { readReply, type StreamResult } from './stream.js'
import { createWatchdogs } from './watch.js'

const defaultRetries = 2

/** Tokens that the service adds around each message. */
const tokensPerMessage = 4

interface ModelCalls {
  complete(request: ModelRequest): Promise<ModelReply>
  warm(): Promise<void>
}

class FailedAttempt extends Error {
  readonly failure: Failure
  /** The caller has received a part of the reply, so the attempt cannot be repeated. */
  readonly textSent: boolean
  readonly counts: boolean

  constructor(failure: Failure, textSent: boolean, counts: boolean) {
    super('The attempt failed.')
    this.failure = failure
    this.textSent = textSent
    this.counts = counts
  }
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
    const { signal } = request
    if (signal.aborted) throw abortError(signal, 'asking the model')
    const limit = replyLimitFor(request)
    const connected = await loaded()
    let failures = 0
    const pauseAfter = (error: unknown): Pause => {
      if (!(error instanceof FailedAttempt)) throw error
      const { failure, textSent, counts } = error
      // When our own concurrent requests make the service busy, concurrency drops and the attempt does not count.
      if (counts) failures += 1
      if (textSent || !failure.retry || failures > (config.retries ?? defaultRetries)) throw failure.error
      const ownPause = doubled(config.firstWaitMs ?? 500, Math.max(1, failures)) * (1 - Math.random() / 4)
      const milliseconds = failure.waitMs ?? ownPause
      if (milliseconds > (config.longestWaitMs ?? 60_000)) throw failure.error
      return { milliseconds, late: () => failure.error }
    }
    const result = await retry(() => attempt(request, limit, connected), pauseAfter, {
      clock,
      signal,
      doing: 'asking the model',
    })
    return toReply(result, request, limit)
  }

  /** Rejects with FailedAttempt, or with an abort. */
  async function attempt(request: ModelRequest, limit: number, { client, errors }: Connected): Promise<StreamResult> {
    let textSent = false
    const onText = (piece: string) => {
      textSent = true
      request.onText?.(piece)
    }
    const slot = await slots.enter(request.signal)
    try {
      const wanted = { limit, effort: effortFor(config, request) }
      const result = await parameterMemory.ask(request, wanted, (parameters) =>
        readReply(client, parameters, watch(), { ...request, onText: request.onText && onText }),
      )
      slot.leave('done')
      return result
    } catch (error) {
      if (request.signal.aborted) throw abortError(request.signal, 'the model was answering')
      const failure = orBusy(explainFailure(error, { host, model: config.name, key: config.apiKey, errors }), slot)
      const counts = !failure.busy || slot.alone()
      slot.leave(failure.busy ? 'busy' : 'failed')
      throw new FailedAttempt(failure, textSent, counts)
    } finally {
      slot.leave('failed')
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

  return {
    complete,
    async warm() {
      await loaded()
    },
  }
}

interface Connected {
  client: OpenAI
  errors: ServiceErrors
}

async function load(config: ModelConfig): Promise<Connected> {
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

// Limits concurrent requests to a model's service. A busy service halves the limit; each round of successful replies raises it by one.

type Outcome = 'done' | 'busy' | 'failed'

interface Slot {
  /** No other request of this client ran at any time during this one. */
  alone(): boolean
  /** Frees the slot. Idempotent. */
  leave(outcome: Outcome): void
}

interface Slots {
  /** Waits for a free slot; rejects when the signal is aborted. */
  enter(signal: AbortSignal): Promise<Slot>
}

function createSlots(most = Number.POSITIVE_INFINITY): Slots {
  let allowed = most
  let running = 0
  let entered = 0
  /** The limit was halved already for requests up to this one. */
  let slowedAt = 0
  let repliesSince = 0
  const waiting: (() => void)[] = []
  const inside = new Set<{ shared: boolean }>()

  const next = () => {
    while (running < allowed && waiting.length > 0) {
      running += 1
      waiting.shift()!()
    }
  }

  function adjustLimit(outcome: Outcome, number: number): void {
    if (outcome === 'busy' && number > slowedAt) {
      allowed = Math.max(1, Math.floor(Math.min(allowed, running) / 2))
      slowedAt = entered
      repliesSince = 0
    }
    if (outcome !== 'done' || allowed >= most) return
    repliesSince += 1
    if (repliesSince < allowed) return
    allowed += 1
    repliesSince = 0
  }

  async function wait(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>()
    const stop = () => {
      const index = waiting.indexOf(turn.resolve)
      if (index < 0) return
      waiting.splice(index, 1)
      turn.reject(abortError(signal, 'waiting for the model'))
    }
    waiting.push(turn.resolve)
    signal.addEventListener('abort', stop, { once: true })
    next()
    await turn.promise.finally(() => signal.removeEventListener('abort', stop))
  }

  return {
    async enter(signal) {
      if (signal.aborted) throw abortError(signal, 'waiting for the model')
      await wait(signal)
      entered += 1
      const number = entered
      const self = { shared: inside.size > 0 }
      for (const other of inside) other.shared = true
      inside.add(self)
      return {
        alone: () => !self.shared,
        leave(outcome) {
          if (!inside.delete(self)) return
          adjustLimit(outcome, number)
          running -= 1
          next()
        },
      }
    },
  }
}
