// Reads the event of a comment, the same whether a workflow or a webhook brings it: is it a question on a pull request, whose, and where.
//
// The question is what the event says, not what the comment says when somebody looks later: it may have been edited since.
import * as read from '../decode.js'
import { HandoffError } from '../errors.js'
import type { Author, Thread } from '../github.js'

/** Whose question it is, and where its answer goes. */
export interface Target {
  thread: Thread
  /** The comment that asks; it is of the thread's kind. */
  question: number
  /** When it was written, as GitHub says; spares reading older comments. */
  askedAt?: string
}

export interface AskEvent {
  target: Target
  /** The repository's own number. */
  repositoryId: number
  asker: Author
  /** What stands behind `/ask`; may be empty. */
  question: string
  /** The whole comment. */
  body: string
}

const user = read.object({ login: read.string(200), id: read.count, type: read.string(100) })
const orNull =
  <T>(decoder: read.Decoder<T>): read.Decoder<T | null> =>
  (value, at) =>
    value === null || value === undefined ? null : decoder(value, at)

const comment = read.object({
  id: read.count,
  body: orNull(read.string(300_000)),
  user: orNull(user),
  created_at: read.string(40),
  in_reply_to_id: read.optional(orNull(read.count)),
})

const event = read.object({
  action: read.string(100),
  repository: read.object({ id: read.count, full_name: read.string(300) }),
  comment,
  issue: read.optional(read.object({ number: read.count, pull_request: orNull(read.object({})) })),
  pull_request: read.optional(read.object({ number: read.count })),
})

const command = /^\/ask(?=\s|$)/

/** `ignored` says in a sentence why the event is not for us. Throws `invalid-input` for what is no event of GitHub. */
export function readAskEvent(name: string, payload: unknown): AskEvent | { ignored: string } {
  if (name !== 'issue_comment' && name !== 'pull_request_review_comment') {
    return { ignored: `The event ${name} is not a comment.` }
  }
  const found = decode(payload)
  const { body, user: asker } = found.comment
  if (found.action !== 'created') return { ignored: 'The comment is not new.' }
  if (!command.test(body ?? '')) return { ignored: 'The comment does not start with /ask.' }
  if (asker === null) return { ignored: 'Nobody knows who wrote the comment.' }
  const thread = threadOf(name, found)
  if (thread === null) return { ignored: 'The comment is not on a pull request.' }
  return {
    target: { thread, question: found.comment.id, askedAt: found.comment.created_at },
    repositoryId: found.repository.id,
    asker,
    question: (body ?? '').replace(command, '').trim(),
    body: body ?? '',
  }
}

function threadOf(name: string, found: ReturnType<typeof event>): Thread | null {
  const repository = found.repository.full_name
  if (name === 'issue_comment') {
    const { issue } = found
    return issue?.pull_request ? { kind: 'issue', repository, number: issue.number } : null
  }
  if (found.pull_request === undefined) return null
  const root = found.comment.in_reply_to_id ?? found.comment.id
  return { kind: 'review', repository, number: found.pull_request.number, root }
}

function decode(payload: unknown): ReturnType<typeof event> {
  try {
    return event(payload, '')
  } catch (error) {
    const what = error instanceof read.DecodeError ? error.message : 'it cannot be read'
    throw new HandoffError('invalid-input', `This is not the event of a comment on GitHub: ${what}.`)
  }
}
