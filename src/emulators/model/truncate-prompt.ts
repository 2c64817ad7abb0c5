// Cuts a prompt as Ollama does: without a word, from the front, so that instructions go first.
import { type Message, piecesOf } from './parse-prompt.js'

/** Tokens at the very beginning that stay. */
const keptAtFront = 4

/** Messages that fit are untouched. Of longer ones half a context stays: the first few tokens, and the last ones. */
export function truncatePrompt(
  messages: Message[],
  contextTokens: number,
): { messages: Message[]; inputTokens: number } {
  const pieces = messages.map((message) => piecesOf(message.content))
  const all = pieces.reduce((sum, some) => sum + some.length, 0)
  if (all <= contextTokens) return { messages, inputTokens: all }
  const inputTokens = contextTokens / 2 + 2
  const lastFrom = all - (inputTokens - keptAtFront)
  let before = 0
  const cut = messages.map((message, index) => {
    const start = before
    before += pieces[index]!.length
    const stays = (_: string, at: number) => start + at < keptAtFront || start + at >= lastFrom
    return { ...message, content: pieces[index]!.filter(stays).join('') }
  })
  return { messages: cut, inputTokens }
}
