// Comments in a pull request's conversation and in review threads: the same calls under two addresses.

import { HandoffError } from '../../domain/errors.js'
import type { Author, Call, Comment, CommentKey, GitHub, Thread } from '../../domain/github.js'
import * as read from '../../util/decode.js'
import type { Reply, Request } from './request.js'
import * as shapes from './responses.js'

/** One request in a repository, with the token for it. */
export type Ask = (repository: string, request: Omit<Request, 'token'>, call: Call) => Promise<Reply>
/** Those of the REST API. */
export type RestThread = Exclude<Thread, { kind: 'discussion' }>
export type Identity = (repository: string, call: Call) => Promise<Author>

/** What a deleted thing is answered with. */
export const gone = [404, 410] as const

interface CommentCalls extends Pick<GitHub, 'getComment' | 'updateComment' | 'deleteComment'> {
  ownComments(thread: RestThread, ...rest: Rest<GitHub['ownComments']>): Promise<Comment[]>
  /** May throw LostReply. */
  createComment(thread: RestThread, ...rest: Rest<GitHub['createComment']>): Promise<Comment>
}

export type Rest<F extends (...all: never[]) => unknown> = Parameters<F> extends [unknown, ...infer R] ? R : never

export function commentCalls(ask: Ask, identity: Identity): CommentCalls {
  return {
    async ownComments(thread, wanted, call) {
      const me = await identity(thread.repository, call)
      const all = await commentsOf(ask, thread, wanted.since, call)
      return all
        .filter((comment) => thread.kind === 'issue' || wanted.everyThread || comment.root === thread.root)
        .filter((comment) => comment.author.id === me.id && comment.body.startsWith(wanted.marker))
        .sort((left, right) => left.id - right.id)
    },

    async createComment(thread, body, call) {
      const doing = `writing a comment in ${placeOf(thread)}`
      const path = threadPath(thread)
      const request = { method: 'POST', path, body: { body }, doing, repeatable: false } as const
      const reply = await ask(thread.repository, request, call)
      return shapes.decodeReply(reply, shapes.comment(thread.kind, thread.repository), doing)
    },

    async getComment(key, call) {
      const doing = `reading a comment in ${key.repository}`
      const path = commentPath(key)
      return commentOrNull(
        await ask(key.repository, { method: 'GET', path, doing, repeatable: true, accept: gone }, call),
        key,
        doing,
      )
    },

    async updateComment(key, body, call) {
      const doing = `editing a comment in ${key.repository}`
      const path = commentPath(key)
      return commentOrNull(
        await ask(
          key.repository,
          { method: 'PATCH', path, body: { body }, doing, repeatable: true, accept: gone },
          call,
        ),
        key,
        doing,
      )
    },

    async deleteComment(key, call) {
      const doing = `deleting a comment in ${key.repository}`
      const path = commentPath(key)
      const reply = await ask(key.repository, { method: 'DELETE', path, doing, repeatable: true, accept: gone }, call)
      return reply.status === 204
    },
  }
}

/** All comments of the issue or of the whole pull request's reviews. */
async function commentsOf(ask: Ask, thread: RestThread, since: string | undefined, call: Call): Promise<Comment[]> {
  const doing = `reading the comments of ${placeOf(thread)}`
  const decoder = read.array(shapes.comment(thread.kind, thread.repository))
  const replies = await pages(ask, thread.repository, listing(thread, since), doing, call)
  return replies.flatMap((reply) => shapes.decodeReply(reply, decoder, doing))
}

const pagesAtMost = 100

/** All pages of a list; of something that is gone there are none. `path` has a query already. */
export async function pages(ask: Ask, repository: string, path: string, doing: string, call: Call): Promise<Reply[]> {
  const replies: Reply[] = []
  for (let page = 1; page <= pagesAtMost; page += 1) {
    const request = { method: 'GET', path: `${path}&page=${page}`, doing, repeatable: true, accept: gone } as const
    const reply = await ask(repository, request, call)
    if (reply.status >= 400) return replies
    replies.push(reply)
    if (!/;\s*rel="next"/.test(reply.headers.get('link') ?? '')) return replies
  }
  throw new HandoffError('git', `There were more than ${pagesAtMost * 100} entries while ${doing}.`)
}

function commentOrNull(reply: Reply, key: CommentKey, doing: string): Comment | null {
  if (reply.status >= 400) return null
  return shapes.decodeReply(reply, shapes.comment(key.kind, key.repository), doing)
}

function listing(thread: RestThread, since: string | undefined): string {
  const kind = thread.kind === 'issue' ? 'issues' : 'pulls'
  const after = since === undefined ? '' : `&since=${encodeURIComponent(since)}`
  return `${shapes.repositoryPath(thread.repository)}/${kind}/${whole(thread.number)}/comments?per_page=100${after}`
}

function threadPath(thread: RestThread): string {
  const repository = shapes.repositoryPath(thread.repository)
  if (thread.kind === 'issue') return `${repository}/issues/${whole(thread.number)}/comments`
  return `${repository}/pulls/${whole(thread.number)}/comments/${whole(thread.root)}/replies`
}

export function commentPath(key: CommentKey): string {
  const kind = key.kind === 'issue' ? 'issues' : 'pulls'
  return `${shapes.repositoryPath(key.repository)}/${kind}/comments/${whole(key.id)}`
}

export function whole(number: number): number {
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new HandoffError(
    'invalid-input',
    'The number of an issue, a pull request or a comment is a whole number above zero.',
  )
}

const placeOf = (thread: RestThread) => `${thread.repository}#${thread.number}`
