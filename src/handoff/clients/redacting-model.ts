// Between us and any model: none of our keys goes to it, though somebody may have committed one, and none comes back from it, though it may have
// learned one elsewhere. What it says is kept for ever and shown to many.

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
    const reply = await model.complete({ ...request, messages, onText: (piece) => hand(stream.push(piece)) })
    hand(stream.end())
    return redactedReply(reply)
  }

  const redactedReply = (reply: ModelReply): ModelReply => ({ ...reply, text: redact(reply.text) })
  return { ...model, complete }
}
