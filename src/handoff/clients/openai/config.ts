// The settings of the model client.
import type { Clock, ModelRequest } from '../../domain/ports.js'
import type { ModelSettings } from '../../domain/settings.js'

export interface ModelConfig extends ModelSettings {
  /** Timeout between two pieces of the stream; half a minute when absent. */
  betweenTextMs?: number
  /** The wait before the first retry when the service names none; it doubles. Half a second when absent. */
  firstWaitMs?: number
  clock?: Clock
}

/** The most thinking tokens that the service reported, by requested effort. */
export type ThinkingByEffort = Map<ModelRequest['effort'], number>
