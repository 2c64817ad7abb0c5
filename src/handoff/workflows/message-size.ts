// Estimates how many tokens messages take, with what a service adds to them.
import type { Model, ModelRequest } from '../domain/ports.js'

/** What a service adds to each message for its role, generously. */
const tokensPerMessage = 16

export function estimateMessages(messages: ModelRequest['messages'], model: Pick<Model, 'estimateTokens'>): number {
  return messages.reduce((sum, { content }) => sum + model.estimateTokens(content) + tokensPerMessage, tokensPerMessage)
}
