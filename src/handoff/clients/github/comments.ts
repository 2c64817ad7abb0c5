// Comments of issues, pull requests and review threads, by the REST API.

import { HandoffError } from '../../domain/errors.js'
import type { Author, Call, Comment, CommentKey, GitHub, Thread, WantedComment } from '../../domain/github.js'
import type { Clock } from '../../domain/ports.js'
import * as read from '../../util/decode.js'
import { doubled, retry } from '../../util/retry.js'
import { LostReply, type Reply, type Request } from './request.js'
import * as shapes from './responses.js'

/** Sends a request with the token for the repository. */
export type AuthorizedSend = (repository: string, request: Omit<Request, 'token'>, call: Call) => Promise<Reply>
/** Threads that the REST API knows. */
type RestThread = Exclude<Thread, { kind: 'discussion' }>
export type FetchIdentity = (repository: string, call: Call) => Promise<Author>

/** Statuses of a deleted comment. */
const goneStatuses = [404, 410] as const

interface RestCalls
  extends Pick<GitHub, 'getComment' | 'updateComment' | 'deleteComment' | 'addReaction' | 'removeReactions'> {
  ownComments(thread: RestThread, ...rest: Rest<GitHub['ownComments']>): Promise<Comment[]>
  /** May throw LostReply. */
  createComment(thread: RestThread, ...rest: Rest<GitHub['createComment']>): Promise<Comment>
}

export type Rest<F extends (...all: never[]) => unknown> = Parameters<F> extends [unknown, ...infer R] ? R : never

/** Comments, and our reactions to them. */
export function restCalls(send: AuthorizedSend, identity: FetchIdentity): RestCalls {
  /** About one comment, which may be deleted. Each may be repeated: GitHub answers 200 when a reaction exists already. */
  const ask = (
    key: CommentKey,
    request: Pick<Request, 'method' | 'body'> & { below?: string; doing: string },
    call: Call,
  ) => {
    const { below = '', ...more } = request
    const path = `${commentPath(key)}${below}`
    return send(key.repository, { ...more, path, idempotent: true, accept: goneStatuses }, call)
  }
  return {
    async ownComments(thread, wanted, call) {
      const author = await identity(thread.repository, call)
      const all = await commentsOf(send, thread, wanted.since, call)
      return all
        .filter((comment) => thread.kind === 'issue' || wanted.everyThread || comment.root === thread.root)
        .filter((comment) => comment.author.id === author.id && comment.body.startsWith(wanted.marker))
        .sort((left, right) => left.id - right.id)
    },

    async createComment(thread, body, call) {
      const doing = `writing a comment in ${threadName(thread)}`
      const path = threadPath(thread)
      const request = { method: 'POST', path, body: { body }, doing, idempotent: false } as const
      const reply = await send(thread.repository, request, call)
      return shapes.decodeReply(reply, shapes.comment(thread.kind, thread.repository), doing)
    },

    async getComment(key, call) {
      const doing = `reading a comment in ${key.repository}`
      return commentOrNull(await ask(key, { method: 'GET', doing }, call), key, doing)
    },

    async updateComment(key, body, call) {
      const doing = `editing a comment in ${key.repository}`
      return commentOrNull(await ask(key, { method: 'PATCH', body: { body }, doing }, call), key, doing)
    },

    async deleteComment(key, call) {
      const doing = `deleting a comment in ${key.repository}`
      return (await ask(key, { method: 'DELETE', doing }, call)).status === 204
    },

    async addReaction(key, reaction, call) {
      const doing = `reacting to a comment in ${key.repository}`
      const body = { content: reaction }
      return (await ask(key, { method: 'POST', below: '/reactions', body, doing }, call)).status < 300
    },

    async removeReactions(key, unwanted, call) {
      const author = await identity(key.repository, call)
      const reading = `reading reactions in ${key.repository}`
      const path = `${commentPath(key)}/reactions?per_page=100`
      const found = (await fetchPages(send, key.repository, path, reading, call))
        .flatMap((reply) => shapes.decodeReply(reply, shapes.reactions, reading))
        .filter(({ user, content }) => user.id === author.id && unwanted.some((one) => one === content))
      const doing = `removing a reaction in ${key.repository}`
      for (const { id } of found) await ask(key, { method: 'DELETE', below: `/reactions/${id}`, doing }, call)
    },
  }
}

/** All comments of the issue, or of all review threads of the pull request. */
async function commentsOf(
  send: AuthorizedSend,
  thread: RestThread,
  since: string | undefined,
  call: Call,
): Promise<Comment[]> {
  const doing = `reading the comments of ${threadName(thread)}`
  const decoder = read.array(shapes.comment(thread.kind, thread.repository))
  const replies = await fetchPages(send, thread.repository, listing(thread, since), doing, call)
  return replies.flatMap((reply) => shapes.decodeReply(reply, decoder, doing))
}

const maximumPages = 100

/** Fetches all pages of a list; none when the list was deleted. `path` already has a query. */
async function fetchPages(
  send: AuthorizedSend,
  repository: string,
  path: string,
  doing: string,
  call: Call,
): Promise<Reply[]> {
  const replies: Reply[] = []
  for (let page = 1; page <= maximumPages; page += 1) {
    const request = {
      method: 'GET',
      path: `${path}&page=${page}`,
      doing,
      idempotent: true,
      accept: goneStatuses,
    } as const
    const reply = await send(repository, request, call)
    if (reply.status >= 400) return replies
    replies.push(reply)
    if (!/;\s*rel="next"/.test(reply.headers.get('link') ?? '')) return replies
  }
  throw new HandoffError('git', `GitHub lists more than ${maximumPages * 100} entries while ${doing}.`)
}

function commentOrNull(reply: Reply, key: CommentKey, doing: string): Comment | null {
  if (reply.status >= 400) return null
  return shapes.decodeReply(reply, shapes.comment(key.kind, key.repository), doing)
}

function listing(thread: RestThread, since: string | undefined): string {
  const kind = thread.kind === 'issue' ? 'issues' : 'pulls'
  const after = since === undefined ? '' : `&since=${encodeURIComponent(since)}`
  return `${shapes.repositoryPath(thread.repository)}/${kind}/${positiveInteger(thread.number)}/comments?per_page=100${after}`
}

function threadPath(thread: RestThread): string {
  const repository = shapes.repositoryPath(thread.repository)
  if (thread.kind === 'issue') return `${repository}/issues/${positiveInteger(thread.number)}/comments`
  return `${repository}/pulls/${positiveInteger(thread.number)}/comments/${positiveInteger(thread.root)}/replies`
}

function commentPath(key: CommentKey): string {
  const kind = key.kind === 'issue' ? 'issues' : 'pulls'
  return `${shapes.repositoryPath(key.repository)}/${kind}/comments/${positiveInteger(key.id)}`
}

export function positiveInteger(number: number): number {
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new HandoffError(
    'invalid-input',
    'The number of an issue, a pull request or a comment must be a positive integer.',
  )
}

const threadName = (thread: RestThread) => `${thread.repository}#${thread.number}`

// Creates or finds the one comment with a marker, despite lost replies and concurrent processes.
//
// GitHub has no conditional create. So: list, create, list again. Each process that sees duplicates keeps the oldest and deletes the others: all
// processes choose the same one at any time. After a lost reply to a create the list is read before another create.

interface CreateCalls {
  ownComments: GitHub['ownComments']
  /** May throw LostReply. */
  createComment: GitHub['createComment']
  deleteComment: GitHub['deleteComment']
  clock: Clock
  onNotice: (text: string) => void
}

const maximumCreations = 3

export async function ensureComment(calls: CreateCalls, thread: Thread, wanted: WantedComment, call: Call) {
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
  calls: CreateCalls,
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

async function keepOldest(calls: CreateCalls, standing: Comment[], call: Call): Promise<Comment> {
  const [oldest, ...others] = [...standing].sort((left, right) => left.id - right.id)
  for (const other of others) await calls.deleteComment(other, call)
  return oldest!
}
