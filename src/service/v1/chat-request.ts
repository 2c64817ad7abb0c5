// A chat request in OpenAI's form, read as a question: the model names the repository, the last message of the user is the question, and the
// earlier ones are its thread. Instructions and replies that the client sends along are not passed on: an answer rests on the code alone.
import { parseRunName } from '../../handoff/index-for-stored-answers.js'
import type { AskBody } from '../ask/ask-body.js'
import { wrong } from '../http/parse-request.js'

export interface ChatRequest {
  /** As the client wrote it. */
  model: string
  body: AskBody
  /** Earlier questions, the oldest first. */
  after: string[]
  stream: boolean
  includeUsage: boolean
}

const mostMessages = 2_000

export function readChat(value: unknown): ChatRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong('The body is not an object.')
  const { model, messages, stream = false, stream_options: streamOptions, n, response_format: format } = value as Fields
  if (typeof model !== 'string' || model.length > 1_500) throw wrong('`model` is not a text such as owner/name@main.')
  if (typeof stream !== 'boolean' && stream !== null) throw wrong('`stream` is not true or false.')
  if (n !== undefined && n !== null && n !== 1) throw wrong('There is one answer to a question: `n` is 1.')
  if (typeOf(format) !== 'text') throw wrong('Answers are text: `response_format` is not offered here.')
  const questions = questionsOf(messages)
  const question = questions.pop()
  if (question === undefined) throw wrong('`messages` has no message of the role `user`.')
  const { repository, name } = readModel(model)
  return {
    model,
    body: { repository, name, question, fresh: false, comment: false },
    after: questions,
    stream: stream === true,
    includeUsage: (streamOptions as Fields | undefined | null)?.['include_usage'] === true,
  }
}

type Fields = Record<string, unknown>

const typeOf = (format: unknown) => (format === undefined || format === null ? 'text' : (format as Fields)['type'])

/** `owner/name@ref`: a branch, `#12`, a commit or a run; the default branch when absent. */
export function readModel(model: string): Pick<AskBody, 'repository' | 'name'> {
  const at = model.indexOf('@')
  const repository = at < 0 ? model : model.slice(0, at)
  const ref = at < 0 ? 'HEAD' : model.slice(at + 1)
  if (!/^[^/\s]+(?:\/[^/\s]+)+$/.test(repository) || repository.length > 400 || ref === '') {
    throw wrong(
      '`model` does not name a repository.',
      'Write owner/name, or owner/name@branch; GET /v1/models lists them.',
    )
  }
  return { repository, name: parseRunName(ref) }
}

function questionsOf(messages: unknown): string[] {
  if (!Array.isArray(messages) || messages.length === 0) throw wrong('`messages` is not a list of messages.')
  if (messages.length > mostMessages) throw wrong(`\`messages\` may have ${mostMessages} messages.`)
  return messages.flatMap((message: unknown) => {
    if (typeof message !== 'object' || message === null) throw wrong('A message is not an object.')
    const { role, content } = message as Fields
    if (typeof role !== 'string') throw wrong('A message has no role.')
    return role === 'user' ? [textOf(content)] : []
  })
}

function textOf(content: unknown): string {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  if (!Array.isArray(parts)) throw wrong('A message of the user has no text.')
  const texts = parts.map((part: unknown) => {
    const { type, text } = (part ?? {}) as Fields
    if (type === 'text' && typeof text === 'string' && text.isWellFormed() && !text.includes('\0')) return text
    throw wrong('Messages are text here, and nothing else.')
  })
  return texts.join('\n')
}
