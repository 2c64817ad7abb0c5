// Calls to a model's service: attempts, the waiting between them, and the reply. The package is loaded by the first of them.
import type OpenAI from 'openai'
import { abortError, HandoffError } from '../library/errors.js'
import type { ModelReply, ModelRequest } from '../library/tools.js'
import { systemClock } from './clock.js'
import type { ModelConfig } from './openai.js'
import { explain, type Failure, type ServiceErrors } from './openai-failures.js'
import { makeHabits } from './openai-habits.js'
import { type Heard, listen, type Patience } from './openai-stream.js'
import type { Counting } from './tokens.js'

const usualRetries = 2

/** What a request costs beyond the text of its messages: the marks around each of them. */
const tokensPerMessage = 4

export interface ModelCalls {
  complete(request: ModelRequest): Promise<ModelReply>
  warm(): Promise<void>
}

export function makeCalls(config: ModelConfig, host: string, countTokens: Counting): ModelCalls {
  const clock = config.clock ?? systemClock
  const patience: Patience = {
    firstMs: config.firstTextMs ?? 60_000,
    betweenMs: config.betweenTextMs ?? 30_000,
    totalMs: config.totalMs,
  }
  const habits = makeHabits(config.name)
  let loading: Promise<{ client: OpenAI; errors: ServiceErrors }> | undefined
  const loaded = () => (loading ??= load(config))

  async function complete(request: ModelRequest): Promise<ModelReply> {
    if (request.signal.aborted) throw abortError(request.signal, 'asking the model')
    const { client, errors } = await loaded()
    for (let attempt = 0; ; attempt += 1) {
      let handedOut = false
      const onText = (piece: string) => {
        handedOut = true
        request.onText?.(piece)
      }
      try {
        const heard = await habits.ask(request, (parameters) =>
          listen(client, parameters, patience, { ...request, onText: request.onText && onText }),
        )
        return await replyFrom(heard, request, countTokens)
      } catch (error) {
        if (request.signal.aborted) throw abortError(request.signal, 'the model was answering')
        const failure = explain(error, { host, model: config.name, key: config.apiKey, errors })
        if (handedOut || !failure.again || attempt >= (config.retries ?? usualRetries)) throw failure.error
        await waitAfter(failure, attempt, request.signal)
      }
    }
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

async function replyFrom(heard: Heard, request: ModelRequest, countTokens: Counting): Promise<ModelReply> {
  const truncated = heard.finish === undefined || heard.finish === 'length' || heard.finish === 'content_filter'
  const usage = heard.usage ?? (await estimate(heard.text, request, countTokens))
  return { text: heard.text, truncated, usage }
}

async function estimate(text: string, request: ModelRequest, countTokens: Counting): Promise<ModelReply['usage']> {
  const inputs = await Promise.all(request.messages.map((message) => countTokens(message.content)))
  const inputTokens = inputs.reduce((sum, tokens) => sum + tokens + tokensPerMessage, 0)
  return { inputTokens, outputTokens: await countTokens(text), estimated: true }
}
