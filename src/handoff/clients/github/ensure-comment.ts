// One visible comment for a marker, whatever the network and other processes do.
//
// GitHub has no conditional create. So: look, create, look again. Everybody who sees several of ours keeps the oldest and deletes the rest;
// the oldest is the only choice that all of them make alike, whenever they look. A comment whose creation was not answered is looked for
// before another is made.
import { HandoffError } from '../../domain/errors.js'
import type { Call, Comment, GitHub, Thread, WantedComment } from '../../domain/github.js'
import { LostReply } from './request.js'

export interface Means {
  ownComments: GitHub['ownComments']
  /** May throw LostReply. */
  createComment: GitHub['createComment']
  deleteComment: GitHub['deleteComment']
  pause: (milliseconds: number, signal: AbortSignal) => Promise<void>
  onNotice: (text: string) => void
}

const creations = 3

export async function ensureComment(means: Means, thread: Thread, wanted: WantedComment, call: Call) {
  if (!wanted.body.startsWith(wanted.marker)) {
    throw new HandoffError('invalid-input', 'A comment that is to be found again must start with its marker.')
  }
  const found = await means.ownComments(thread, wanted, call)
  if (found.length > 0) return { comment: await keepOldest(means, found, call), created: false }
  const { made, standing } = await createOrFind(means, thread, wanted, call)
  const comment = await keepOldest(means, standing, call)
  return { comment, created: made === undefined || made.id === comment.id }
}

/** What stands there after a creation, and which of it is surely of this call; a lost reply leaves that open. */
async function createOrFind(
  means: Means,
  thread: Thread,
  wanted: WantedComment,
  call: Call,
): Promise<{ made?: Comment; standing: Comment[] }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const made = await means.createComment(thread, wanted.body, call)
      const standing = await means.ownComments(thread, wanted, call)
      // A list may not yet show what was just made.
      return { made, standing: standing.some((comment) => comment.id === made.id) ? standing : [...standing, made] }
    } catch (error) {
      if (!(error instanceof LostReply)) throw error
      if (attempt >= creations) throw error.error
      means.onNotice(`${error.error.message} Looking whether the comment is there.`)
      await means.pause(1_000 * 2 ** (attempt - 1), call.signal)
      const standing = await means.ownComments(thread, wanted, call)
      if (standing.length > 0) return { standing }
    }
  }
}

async function keepOldest(means: Means, standing: Comment[], call: Call): Promise<Comment> {
  const [oldest, ...others] = [...standing].sort((left, right) => left.id - right.id)
  for (const other of others) await means.deleteComment(other, call)
  return oldest!
}
