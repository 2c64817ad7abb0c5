// How large each request of a summary may be, drawn from what the model takes in one.
import { HandoffError } from '../errors.js'
import type { Model } from '../ports.js'

export interface RequestSize {
  /** Tokens of the messages, all of them. */
  input: number
  /** Tokens of text that the reply may have. */
  output: number
  /** Tokens that it may have in all, with thinking. */
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

/** Beyond this a model reads less well than two requests of half the size. */
const comfortable = { part: 16_000, combine: 12_000, summary: 32_000 }
const replies = { part: 700, combine: 900, summary: 3_000 }
/** What a description of a part is expected to have. */
export const expectedPartTokens = 450
/** What the instructions and the names of blocks take at most. */
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
