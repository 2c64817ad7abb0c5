// The line to a model: any service that speaks OpenAI's `/chat/completions`, through the unmodified `openai` package.
//
// The package, and what surrounds a call, are loaded at the first one, so that a process that asks no model pays nothing for it. The package's
// retries and its timeout are switched off or out of reach, because it retries what we would not and does not notice a stream that stands still:
//   openai-calls.ts     one call of ours: its limit, attempts, waiting, the reply
//   openai-slots.ts     how many attempts there are at once
//   openai-stream.ts    one attempt: the pieces, how it ended
//   openai-watch.ts     how long the service may be silent
//   openai-habits.ts    which parameters this service takes
//   openai-failures.ts  what a failure means, and whether to try again
//   openai-problems.ts  what is wrong with a reply that came
//   openai-check.ts     whether key and model are right, before anything is asked
//   tokens.ts           how many tokens a text is

import { HandoffError } from '../../domain/errors.js'
import { expectedThinking, type ModelLimits, replyLimit } from '../../domain/model-limits.js'
import type { Clock, Model } from '../../domain/ports.js'
import { tokenEstimatorFor } from '../../domain/token-estimator.js'
import { orAborted } from '../../util/abort.js'
import { parseHttpUrl } from '../../util/http-url.js'
import { lazy } from '../../util/lazy.js'
import type { Learned } from './complete.js'

export interface ModelConfig extends ModelLimits {
  /** LLM_BASE_URL, with `/v1` where the service wants it. */
  baseUrl: string
  /** LLM_API_KEY. */
  apiKey: string
  /** LLM_CONCURRENCY: requests that are sent at once; as many as there are when absent. */
  concurrency?: number | undefined
  /** LLM_FIRST_TOKEN_SECONDS: how long a request may wait for its first text once it can have been begun; two minutes when absent. */
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
}

export function makeModel(config: ModelConfig): Model {
  checkKey(config.apiKey)
  const host = hostOf(config.baseUrl)
  const learned: Learned = new Map()
  const calls = lazy(async () => (await import('./complete.js')).makeCalls(config, host, learned))
  const check = lazy(async () => (await import('./check.js')).checkModel(config, host))
  return {
    name: config.name,
    host,
    contextTokens: config.contextTokens,
    replyTokens: (wanted) => replyLimit(config, wanted, learned.get(wanted.effort)),
    expectedThinking: expectedThinking(config),
    complete: async (request) => (await calls()).complete(request),
    estimateTokens: tokenEstimatorFor(config.name),
    check: (signal) => orAborted(check(), signal, 'checking the model'),
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
  const url = parseHttpUrl(baseUrl)
  if (url) return url.host
  throw new HandoffError('missing-setting', 'LLM_BASE_URL is not an http(s) address.', {
    next: 'Write it like https://api.openai.com/v1.',
  })
}
