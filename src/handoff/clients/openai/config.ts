// The settings of the model client.
import type { ModelLimits } from '../../domain/model-limits.js'
import type { Clock, ModelRequest } from '../../domain/ports.js'

export interface ModelConfig extends ModelLimits {
  /** LLM_BASE_URL, with `/v1` where the service wants it. */
  baseUrl: string
  /** LLM_API_KEY. */
  apiKey: string
  /** LLM_CONCURRENCY: requests at once; unlimited when absent. */
  concurrency?: number | undefined
  /** LLM_FIRST_TOKEN_SECONDS: timeout before the first text; two minutes when absent. */
  firstTextMs?: number
  /** Timeout between two pieces of the stream; half a minute when absent. */
  betweenTextMs?: number
  /** Timeout of one whole reply; the caller's deadline when absent. */
  totalMs?: number
  /** The longest `Retry-After` that is waited for; a minute when absent. */
  longestWaitMs?: number
  /** Retries of a failed call, where that is safe; two when absent. */
  retries?: number
  /** The wait before the first retry when the service names none; it doubles. Half a second when absent. */
  firstWaitMs?: number
  clock?: Clock
}

/** The most thinking tokens that the service reported, by requested effort. */
export type ThinkingByEffort = Map<ModelRequest['effort'], number>
