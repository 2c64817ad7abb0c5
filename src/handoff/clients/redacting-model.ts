// Redacts what a model is sent and what it replies. A repository may contain one of our keys, and a model may know one from elsewhere.
// Replies are stored and shown. Later steps remove invisible characters, so they are removed before the search: they could split a key.

import { withoutInvisible } from '../domain/markdown/clean-text.js'
import type { Model, ModelReply, ModelRequest } from '../domain/ports.js'
import { makeRedactor, makeStreamRedactor } from '../domain/secrets/redactor.js'

export function guardModel(model: Model, secrets: readonly string[]): Model {
  const redact = makeRedactor(secrets)

  async function complete(request: ModelRequest): Promise<ModelReply> {
    const messages = request.messages.map((message) => ({ ...message, content: redact(message.content) }))
    const { onText } = request
    if (!onText) return redactedReply(await model.complete({ ...request, messages }))
    const stream = makeStreamRedactor(secrets)
    const hand = (text: string) => {
      if (text !== '') onText(text)
    }
    const reply = await model.complete({
      ...request,
      messages,
      onText: (piece) => hand(stream.push(withoutInvisible(piece))),
    })
    hand(stream.end())
    return redactedReply(reply)
  }

  const redactedReply = (reply: ModelReply): ModelReply => ({ ...reply, text: redact(withoutInvisible(reply.text)) })
  return { ...model, complete }
}
