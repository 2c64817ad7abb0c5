// Client of a model: any service with OpenAI's `/chat/completions`, through the unmodified `openai` package.
//
// The package is loaded at the first call, so a process that calls no model pays nothing for it. Its own retries and timeout are off: it retries what
// is not safe to retry, and does not notice a stream that stalls.
import { HandoffError } from '../../domain/errors.js'
import { tokenEstimatorFor } from '../../domain/estimate-tokens.js'
import { expectedThinking, replyLimit } from '../../domain/model-limits.js'
import type { Model } from '../../domain/ports.js'
import { orAborted } from '../../util/abort.js'
import { parseHttpUrl } from '../../util/http-url.js'
import { lazy } from '../../util/lazy.js'
import type { ModelConfig, ThinkingByEffort } from './config.js'

export function makeModel(config: ModelConfig): Model {
  checkKey(config.apiKey)
  const host = hostOf(config.baseUrl)
  const thinking: ThinkingByEffort = new Map()
  const calls = lazy(async () => (await import('./complete.js')).makeCalls(config, host, thinking))
  const check = lazy(async () => (await import('./check.js')).checkModel(config, host))
  return {
    name: config.name,
    host,
    contextTokens: config.contextTokens,
    replyTokens: (wanted) => replyLimit(config, wanted, thinking.get(wanted.effort)),
    expectedThinking: expectedThinking(config),
    complete: async (request) => (await calls()).complete(request),
    estimateTokens: tokenEstimatorFor(config.name),
    check: (signal) => orAborted(check(), signal, 'checking the model'),
    warm: async () => (await calls()).warm(),
  }
}

/** A header takes visible ASCII only. The error for other characters would show the key. */
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
