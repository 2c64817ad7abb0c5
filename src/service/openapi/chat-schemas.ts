// JSON Schemas of what OpenAI's clients send and read.
import { count, flag, list, object, type Schema, text } from './schema-parts.js'

const chatMessage = object({ role: text(), content: text() })
const usage = object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: object({ cached_tokens: count }),
})
const annotation = object({
  type: { const: 'url_citation' },
  url_citation: object({ start_index: count, end_index: count, title: text(), url: text() }),
})
const chatModel = object({ id: text(), object: { const: 'model' }, created: count, owned_by: text() })

export const chatSchemas: Record<string, Schema> = {
  ChatModel: chatModel,
  ChatModels: object({ object: { const: 'list' }, data: list(chatModel) }),
  ChatRequest: {
    type: 'object',
    properties: {
      model: text('owner/name, or owner/name@ref'),
      messages: list({ ...chatMessage, additionalProperties: true }),
      stream: flag,
    },
    required: ['model', 'messages'],
    additionalProperties: true,
  },
  ChatCompletion: object({
    id: text(),
    object: { const: 'chat.completion' },
    created: count,
    model: text(),
    choices: list(
      object({
        index: count,
        message: object({
          role: { const: 'assistant' },
          content: text(),
          refusal: { type: 'null' },
          annotations: list(annotation),
        }),
        logprobs: { type: 'null' },
        finish_reason: { enum: ['stop', 'length'] },
      }),
    ),
    usage,
  }),
  ChatError: object({
    error: object({ message: text(), type: text(), param: { type: 'null' }, code: text(), request_id: text() }),
  }),
}
