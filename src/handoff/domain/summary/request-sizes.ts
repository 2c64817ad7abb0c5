// The size limits of each kind of request, derived from the context size of the model.
import { HandoffError } from '../errors.js'
import type { Model } from '../ports.js'

interface RequestSize {
  /** Tokens of the messages, all of them. */
  input: number
  /** Tokens of text that the reply may have. */
  output: number
  /** Tokens of the reply in all, with thinking. */
  reply: number
}

export interface RequestSizes {
  part: RequestSize
  combine: RequestSize
  summary: RequestSize
  /** A repository whose texts have no more tokens than this is summarised in one request. */
  oneCall: number
  /** How many descriptions are joined by one request, and how many the last one takes. */
  joined: number
  top: number
  /** Tokens that a reply is expected to think before its text. */
  thinking: number
}

/** Above this size two smaller requests give better results. */
const comfortable = { part: 16_000, combine: 12_000, summary: 32_000 }
const replies = { part: 700, combine: 900, summary: 3_000 }
/** Expected tokens of the description of a part. */
export const expectedPartTokens = 450
/** Upper bound of the tokens of instructions and block headers. */
export const overhead = 700
const smallestContext = 3_000

export function requestSizesFor(
  model: Pick<Model, 'contextTokens' | 'replyTokens' | 'expectedThinking'>,
): RequestSizes {
  const { contextTokens, expectedThinking: thinking } = model
  if (contextTokens < smallestContext) {
    throw new HandoffError(
      'invalid-input',
      `A model that takes ${contextTokens} tokens in one request cannot write a summary.`,
      {
        next: `Choose one that takes at least ${smallestContext}, or correct LLM_CONTEXT_TOKENS.`,
      },
    )
  }
  const size = (wanted: number, reply: number, share: number): RequestSize => {
    const output = Math.min(reply, Math.floor(contextTokens / share))
    const all = model.replyTokens({ answerTokens: output })
    return { input: Math.min(wanted, contextTokens - all - 1), output, reply: all }
  }
  const part = size(comfortable.part, replies.part, 6)
  const combine = size(comfortable.combine, replies.combine, 5)
  const summary = size(comfortable.summary, replies.summary, 3)
  const room = (request: RequestSize) =>
    Math.max(2, Math.floor(((request.input - overhead) * 0.8) / expectedPartTokens))
  return {
    part,
    combine,
    summary,
    oneCall: summary.input - overhead,
    joined: room(combine),
    top: room(summary),
    thinking,
  }
}
