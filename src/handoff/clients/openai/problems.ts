// Finds what is wrong with a reply: no text, less text than allowed, or no end. Each problem names the setting that helps.
import { HandoffError } from '../../domain/errors.js'
import { estimateTokens } from '../../domain/estimate-tokens.js'
import type { ModelRequest } from '../../domain/ports.js'
import type { ModelConfig } from './config.js'
import { maxTextBytes, type StreamResult } from './stream.js'

interface SentRequest {
  host: string
  /** Tokens that the reply was allowed. */
  limit: number
  config: ModelConfig
}

export function describeProblem(
  result: StreamResult,
  request: ModelRequest,
  sent: SentRequest,
): HandoffError | undefined {
  const fail = (what: string, next: string) =>
    new HandoffError('model', `The model’s service at ${sent.host} ${what}.`, { next })
  const empty = result.text.trim() === ''
  if (result.endless) {
    return fail(
      `sent a reply without an end; it was stopped after ${maxTextBytes / 1_024} kB`,
      'Choose another model in LLM_MODEL.',
    )
  }
  if (result.finish === 'length' && empty) {
    return fail(`gave no text: thinking used all ${sent.limit} tokens of its reply`, moreRoom(sent))
  }
  if (result.finish === 'length' && isStarved(result, request)) {
    if (!isEarly(result, sent))
      return fail(`cut its reply: thinking used most of its ${sent.limit} tokens`, moreRoom(sent))
    const what = `ended its reply at ${result.usage?.outputTokens} of ${sent.limit} tokens`
    return fail(what, 'Set LLM_CONTEXT_TOKENS and LLM_MAX_OUTPUT_TOKENS to what the server takes and writes.')
  }
  if (!empty) return undefined
  if (result.finish === 'content_filter') {
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

/** The service stopped below the requested limit, so it has a lower limit of its own. */
export const isEarly = ({ usage }: StreamResult, { limit }: Pick<SentRequest, 'limit'>): boolean =>
  usage !== undefined && usage.outputTokens < 0.9 * limit

/** The text was cut well before the requested length. */
function isStarved({ text, usage, thinkingTokens }: StreamResult, { answerTokens }: ModelRequest): boolean {
  const visible = usage && thinkingTokens ? usage.outputTokens - thinkingTokens : estimateTokens(text)
  return visible < 0.8 * answerTokens
}

function moreRoom({ limit, config }: SentRequest): string {
  if (limit === config.maxOutputTokens) return 'Raise LLM_MAX_OUTPUT_TOKENS, or lower LLM_REASONING_EFFORT.'
  return 'Lower LLM_REASONING_EFFORT, or choose a model in LLM_MODEL that thinks less or takes more than LLM_CONTEXT_TOKENS.'
}

/** No request of this size has more bytes in a token. */
const mostBytesPerToken = 10
const smallRequest = 8_000

/** Some servers cut a request that exceeds their context and answer the rest. */
export function cutRequestError(
  { usage }: StreamResult,
  { messages }: ModelRequest,
  host: string,
): HandoffError | undefined {
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
