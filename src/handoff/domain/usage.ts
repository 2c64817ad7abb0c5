// What calls of a model took, in tokens and in money.
import * as read from '../util/decode.js'

export const usageShape = read.object({
  inputTokens: read.count,
  /** Thinking included. */
  outputTokens: read.count,
  /** The part of the input that came from the service's cache. */
  cachedInputTokens: read.optional(read.count),
  /** The part of the input that the service wrote to its cache. */
  cacheWriteTokens: read.optional(read.count),
  /** True if the service reported no usage and handoff estimated it. */
  estimated: read.optional(read.boolean),
})

export type Usage = read.Decoded<typeof usageShape>

export const costShape = read.object({
  amount: read.number,
  currency: read.oneOf('USD'),
  /** `settings`, or the date of the table's row. */
  source: read.string(100),
})

/** Money, only where a price is known: from the settings or from the dated table. */
export type Cost = read.Decoded<typeof costShape>
