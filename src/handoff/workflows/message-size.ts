// How many tokens messages take, never less than the truth.
import type { ModelRequest } from '../domain/ports.js'

/** What a service adds to each message for its role, generously. */
const tokensPerMessage = 16

export async function sizeOf(
  messages: ModelRequest['messages'],
  count: (text: string) => Promise<number>,
): Promise<number> {
  const counts = await Promise.all(messages.map(({ content }) => count(content)))
  return counts.reduce((sum, tokens) => sum + tokens + tokensPerMessage, tokensPerMessage)
}
