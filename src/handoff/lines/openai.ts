// The line to a model: any service that speaks OpenAI's `/chat/completions`, through the unmodified `openai` package.
//
// The package, and what surrounds a call, are loaded at the first one, so that a process that asks no model pays nothing for it. The package's
// retries and its timeout are switched off or out of reach, because it retries what we would not and does not notice a stream that stands still:
//   openai-calls.ts     one call of ours: attempts, waiting, the reply
//   openai-stream.ts    one attempt: its deadlines, the pieces, how it ended
//   openai-habits.ts    which parameters this service takes
//   openai-failures.ts  what a failure means, and whether to try again
//   tokens.ts           how many tokens a text is
import type { Clock } from '../library/clock.js'
import { HandoffError } from '../library/errors.js'
import type { Model } from '../library/tools.js'
import type { ModelCalls } from './openai-calls.js'
import type { Counting } from './tokens.js'

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
  /** How long one reply may take in all; as long as the caller has when absent. */
  totalMs?: number
  /** The longest wait that a service may ask for before we give up instead; a minute when absent. The signal may end it sooner. */
  longestWaitMs?: number
  /** How often a call that failed is made again at most, where that is safe; twice when absent. */
  retries?: number
  /** The first wait between two attempts when the service names none; it doubles. Half a second when absent. */
  firstWaitMs?: number
  clock?: Clock
  /** How tokens are counted; by the model's name when absent. */
  counting?: Counting
}

export function makeModel(config: ModelConfig): Model {
  checkKey(config.apiKey)
  const host = hostOf(config.baseUrl)
  let loading: Promise<ModelCalls> | undefined
  let counting: Promise<Counting> | undefined
  const countTokens: Counting = async (text) => {
    counting ??= config.counting
      ? Promise.resolve(config.counting)
      : import('./tokens.js').then(({ makeCounting }) => makeCounting(config.name))
    return (await counting)(text)
  }
  const calls = () =>
    (loading ??= import('./openai-calls.js').then((line) => line.makeCalls(config, host, countTokens)))
  return {
    name: config.name,
    host,
    contextTokens: config.contextTokens,
    complete: async (request) => (await calls()).complete(request),
    countTokens,
    warm: async () => (await calls()).warm(),
  }
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
