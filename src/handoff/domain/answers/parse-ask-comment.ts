// Reads a comment event of a workflow or a webhook: whether it has a command, who wrote it, and on what thread.
//
// The question is the text in the event. The comment itself may have been edited since.
import * as read from '../../util/decode.js'
import { HandoffError } from '../errors.js'
import type { Author, Thread } from '../github.js'

/** The comment with the question, and the thread for the answer. */
export interface Target {
  thread: Thread
  /** The id of the comment with the question; it is of the thread's kind. */
  question: number
  /** When it was written. Older comments need not be read. */
  askedAt?: string
  /** The branch whose newest run answers, for a question outside a pull request: the default branch. */
  branch?: string
}

export interface AskEvent {
  command: 'ask' | 'correct'
  target: Target
  /** GitHub's id of the repository. */
  repositoryId: number
  asker: Author
  /** The text after the command; may be empty. */
  question: string
  /** The whole comment. */
  body: string
}

const user = read.object({ login: read.string(200), id: read.count, type: read.string(100) })

const comment = read.object({
  id: read.count,
  body: read.nullable(read.string(300_000)),
  user: read.nullable(user),
  created_at: read.string(40),
  in_reply_to_id: read.optional(read.nullable(read.count)),
  node_id: read.optional(read.string(300)),
})

const payloadShape = read.object({
  action: read.string(100),
  repository: read.object({
    id: read.count,
    full_name: read.string(300),
    default_branch: read.optional(read.string(300)),
  }),
  comment,
  issue: read.optional(read.object({ number: read.count, pull_request: read.nullable(read.object({})) })),
  pull_request: read.optional(read.object({ number: read.count })),
  discussion: read.optional(read.object({ number: read.count, node_id: read.string(300) })),
})

const command = /^\/(ask|correct)(?=\s|$)/i

/** GitHub's names of comment events. */
export const commentEvents: ReadonlySet<string> = new Set([
  'issue_comment',
  'pull_request_review_comment',
  'discussion_comment',
])

/** `ignored` says in a sentence why the event has no command. Throws `invalid-input` for a payload that is no GitHub event. */
export function readAskEvent(event: string, payload: unknown): AskEvent | { ignored: string } {
  if (!commentEvents.has(event)) {
    return { ignored: `The event ${event} is not a comment.` }
  }
  const found = decode(payload)
  const { body, user: asker } = found.comment
  if (found.action !== 'created') return { ignored: 'The comment is not new.' }
  const [written, name] = command.exec(body ?? '') ?? []
  if (written === undefined) return { ignored: 'The comment does not start with /ask or /correct.' }
  if (asker === null) return { ignored: 'GitHub does not say who wrote the comment.' }
  const place = placeOf(event, found)
  if (place === null) return { ignored: 'The event does not say what the comment is on.' }
  return {
    command: name?.toLowerCase() === 'ask' ? 'ask' : 'correct',
    target: { ...place, question: found.comment.id, askedAt: found.comment.created_at },
    repositoryId: found.repository.id,
    asker,
    question: (body ?? '').slice(written.length).trim(),
    body: body ?? '',
  }
}

/** The thread of the answer, and the branch it is about. */
function placeOf(name: string, found: ReturnType<typeof payloadShape>): Pick<Target, 'thread' | 'branch'> | null {
  const { full_name: repository, default_branch: branch } = found.repository
  if (name === 'issue_comment') {
    const { issue } = found
    if (issue === undefined) return null
    const thread = { kind: 'issue', repository, number: issue.number } as const
    if (issue.pull_request) return { thread }
    return branch === undefined ? null : { thread, branch }
  }
  if (name === 'discussion_comment') {
    const { discussion: on, comment } = found
    if (on === undefined || comment.node_id === undefined || branch === undefined) return null
    const { number, node_id: discussion } = on
    return { thread: { kind: 'discussion', repository, number, discussion, comment: comment.node_id }, branch }
  }
  if (found.pull_request === undefined) return null
  const root = found.comment.in_reply_to_id ?? found.comment.id
  return { thread: { kind: 'review', repository, number: found.pull_request.number, root } }
}

function decode(payload: unknown): ReturnType<typeof payloadShape> {
  try {
    return payloadShape(payload, '')
  } catch (error) {
    throw new HandoffError(
      'invalid-input',
      `This is not the event of a comment on GitHub: ${(error as Error).message}.`,
    )
  }
}
