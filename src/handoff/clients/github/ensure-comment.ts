// Creates or finds the one comment with a marker, despite lost replies and concurrent processes.
//
// GitHub has no conditional create. So: list, create, list again. Each process that sees duplicates keeps the oldest and deletes the others: all
// processes choose the same one at any time. After a lost reply to a create the list is read before another create.
import { HandoffError } from '../../domain/errors.js'
import type { Call, Comment, GitHub, Thread, WantedComment } from '../../domain/github.js'
import type { Clock } from '../../domain/ports.js'
import { doubled, retry } from '../../util/retry.js'
import { LostReply } from './request.js'

interface CommentCalls {
  ownComments: GitHub['ownComments']
  /** May throw LostReply. */
  createComment: GitHub['createComment']
  deleteComment: GitHub['deleteComment']
  clock: Clock
  onNotice: (text: string) => void
}

const maximumCreations = 3

export async function ensureComment(calls: CommentCalls, thread: Thread, wanted: WantedComment, call: Call) {
  if (!wanted.body.startsWith(wanted.marker)) {
    throw new HandoffError('invalid-input', 'A comment must start with the marker by which it is found.')
  }
  const found = await calls.ownComments(thread, wanted, call)
  if (found.length > 0) return { comment: await keepOldest(calls, found, call), created: false }
  const { made, standing } = await createOrFind(calls, thread, wanted, call)
  const comment = await keepOldest(calls, standing, call)
  return { comment, created: made === undefined || made.id === comment.id }
}

/** The comments after the create, and the one that this call made; undefined when its reply was lost. */
async function createOrFind(
  calls: CommentCalls,
  thread: Thread,
  wanted: WantedComment,
  call: Call,
): Promise<{ made?: Comment; standing: Comment[] }> {
  const attempt = async (number: number) => {
    if (number > 1) {
      const standing = await calls.ownComments(thread, wanted, call)
      if (standing.length > 0) return { standing }
    }
    const made = await calls.createComment(thread, wanted.body, call)
    const standing = await calls.ownComments(thread, wanted, call)
    // A list may not show a new comment yet.
    return { made, standing: standing.some((comment) => comment.id === made.id) ? standing : [...standing, made] }
  }
  const pauseAfter = (error: unknown, attempts: number) => {
    if (!(error instanceof LostReply)) throw error
    if (attempts >= maximumCreations) throw error.error
    calls.onNotice(`${error.error.message} Checking whether the comment exists.`)
    return { milliseconds: doubled(1_000, attempts) }
  }
  return retry(attempt, pauseAfter, { clock: calls.clock, signal: call.signal, doing: 'creating a comment' })
}

async function keepOldest(calls: CommentCalls, standing: Comment[], call: Call): Promise<Comment> {
  const [oldest, ...others] = [...standing].sort((left, right) => left.id - right.id)
  for (const other of others) await calls.deleteComment(other, call)
  return oldest!
}
