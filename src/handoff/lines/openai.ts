// The line to a model: any service that speaks OpenAI's `/chat/completions`, through the unmodified `openai` package.
//
// The package is loaded at the first call, so that a process that asks no model pays nothing for it. Its retries and its timeout are
// switched off or out of reach, because it retries what we would not and does not notice a stream that stands still:
//   openai.ts           one call of ours: attempts, waiting, the reply
//   openai-stream.ts    one attempt: its deadlines, the pieces, how it ended
//   openai-habits.ts    which parameters this service takes
//   openai-failures.ts  what a failure means, and whether to try again
//   tokens.ts           how many tokens a text is
import type OpenAI from 'openai'
import type { Clock } from '../library/clock.js'
import { abortError, HandoffError } from '../library/errors.js'
import type { Model, ModelReply, ModelRequest } from '../library/tools.js'
import { systemClock } from './clock.js'
import { explain, type Failure, type ServiceErrors } from './openai-failures.js'
import { makeHabits } from './openai-habits.js'
import { type Heard, listen, type Patience } from './openai-stream.js'
import { type Counting, makeCounting } from './tokens.js'

export interface ModelConfig {
  /** LLM_BASE_URL, with `/v1` where the service wants it. */
  baseUrl: string
  /** LLM_API_KEY. */
  apiKey: string
  /** LLM_MODEL. */
  name: string
  contextTokens: number
  /** How long the first piece of text may take; a minute when absent. */
  firstTextMs?: number
  /** How long the stream may stand still between two pieces; half a minute when absent. */
  betweenTextMs?: number
  /** The longest wait that a service may ask for before we give up instead; a minute when absent. The signal may end it sooner. */
  longestWaitMs?: number
  /** The first wait between two attempts when the service names none; it doubles. Half a second when absent. */
  firstWaitMs?: number
  clock?: Clock
  /** How tokens are counted; by the model's name when absent. */
  counting?: Counting
}

/** Attempts after the first. */
const retries = 2

/** What a request costs beyond the text of its messages: the marks around each of them. */
const tokensPerMessage = 4

export function makeModel(config: ModelConfig): Model {
  checkKey(config.apiKey)
  const host = hostOf(config.baseUrl)
  const clock = config.clock ?? systemClock
  const countTokens = config.counting ?? makeCounting(config.name)
  const patience: Patience = { firstMs: config.firstTextMs ?? 60_000, betweenMs: config.betweenTextMs ?? 30_000 }
  const habits = makeHabits(config.name)
  let loading: Promise<{ client: OpenAI; errors: ServiceErrors }> | undefined

  async function complete(request: ModelRequest): Promise<ModelReply> {
    if (request.signal.aborted) throw abortError(request.signal, 'asking the model')
    loading ??= load(config)
    const { client, errors } = await loading
    for (let attempt = 0; ; attempt += 1) {
      let handedOut = false
      const onText = (piece: string) => {
        handedOut = true
        request.onText?.(piece)
      }
      try {
        const heard = await habits.ask(request, (parameters) =>
          listen(client, parameters, patience, request.signal, request.onText ? onText : undefined),
        )
        return await replyFrom(heard, request, countTokens)
      } catch (error) {
        if (request.signal.aborted) throw abortError(request.signal, 'the model was answering')
        const failure = explain(error, { host, model: config.name, key: config.apiKey, errors })
        if (handedOut || !failure.again || attempt >= retries) throw failure.error
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

  return { name: config.name, host, contextTokens: config.contextTokens, complete, countTokens }
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

/** A header takes visible ASCII only, and the error it throws for anything else would show the key. */
function checkKey(key: string): void {
  if (/^[\x21-\x7e]+$/.test(key)) return
  throw new HandoffError('missing-setting', 'LLM_API_KEY is empty or has characters that a key cannot have.', {
    next: 'Set it to the key of the model’s service, without spaces or line ends; a service on your own machine takes any word.',
  })
}

function hostOf(baseUrl: string): string {
  if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) return new URL(baseUrl).host
  throw new HandoffError('missing-setting', 'LLM_BASE_URL is not an http(s) address.', {
    next: 'Write it like https://api.openai.com/v1.',
  })
}
