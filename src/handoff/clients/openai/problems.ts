// What is wrong with a reply that came: no text in it, less than was allowed, or no end to it. Each problem names the setting that helps.
import { HandoffError } from '../../domain/errors.js'
import { estimateTokens } from '../../domain/estimate-tokens.js'
import type { ModelRequest } from '../../domain/ports.js'
import type { ModelConfig } from './client.js'
import { type Heard, longestText } from './stream.js'

interface Sent {
  host: string
  /** Tokens that the reply was allowed. */
  limit: number
  config: ModelConfig
}

export function problemOf(heard: Heard, request: ModelRequest, sent: Sent): HandoffError | undefined {
  const fail = (what: string, next: string) =>
    new HandoffError('model', `The model’s service at ${sent.host} ${what}.`, { next })
  const empty = heard.text.trim() === ''
  if (heard.endless) {
    return fail(
      `sent a reply without an end; it was stopped after ${longestText / 1_024} kB`,
      'Choose another model in LLM_MODEL.',
    )
  }
  if (heard.finish === 'length' && empty) {
    return fail(`gave no text: thinking used all ${sent.limit} tokens of its reply`, moreRoom(sent))
  }
  if (heard.finish === 'length' && isStarved(heard, request)) {
    if (!isEarly(heard, sent))
      return fail(`cut its reply: thinking used most of its ${sent.limit} tokens`, moreRoom(sent))
    const what = `ended its reply at ${heard.usage?.outputTokens} of ${sent.limit} tokens`
    return fail(what, 'Set LLM_CONTEXT_TOKENS and LLM_MAX_OUTPUT_TOKENS to what the server takes and writes.')
  }
  if (!empty) return undefined
  if (heard.finish === 'content_filter') {
    return fail(
      'gave no text: its content filter kept the whole reply back',
      'Ask for something else, or choose another model in LLM_MODEL.',
    )
  }
  return fail(
    'gave no text: its reply is empty',
    'Look at LLM_MODEL: the service may not have it, or not be ready for it.',
  )
}

/** The service ended it below the limit that it was given: it has another of its own. */
export const isEarly = ({ usage }: Heard, { limit }: Pick<Sent, 'limit'>): boolean =>
  usage !== undefined && usage.outputTokens < 0.9 * limit

/** The text was cut before it was as long as it may be. */
function isStarved({ text, usage, thinkingTokens }: Heard, { answerTokens }: ModelRequest): boolean {
  const visible = usage && thinkingTokens ? usage.outputTokens - thinkingTokens : estimateTokens(text)
  return visible < 0.8 * answerTokens
}

function moreRoom({ limit, config }: Sent): string {
  if (limit === config.maxOutputTokens) return 'Raise LLM_MAX_OUTPUT_TOKENS, or lower LLM_REASONING_EFFORT.'
  return 'Lower LLM_REASONING_EFFORT, or choose a model in LLM_MODEL that thinks less or takes more than LLM_CONTEXT_TOKENS.'
}

/** No text has so many bytes in a token, taken over a request of this size. */
const mostBytesPerToken = 10
const smallRequest = 8_000

/** Some servers cut what is longer than their context and answer the rest. */
export function readsOnlyPart({ usage }: Heard, { messages }: ModelRequest, host: string): HandoffError | undefined {
  const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
  if (
    usage === undefined ||
    bytes < smallRequest ||
    (usage.inputTokens + (usage.cachedInputTokens ?? 0)) * mostBytesPerToken >= bytes
  )
    return undefined
  const sent = messages.reduce((sum, { content }) => sum + estimateTokens(content), 0)
  return new HandoffError(
    'model',
    `The model’s service at ${host} read ${usage.inputTokens} tokens of a request of about ${sent}: it cuts long requests.`,
    { next: `Set LLM_CONTEXT_TOKENS to what the server takes in one request, or raise the server’s own limit.` },
  )
}
