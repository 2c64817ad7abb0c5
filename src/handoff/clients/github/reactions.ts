// Reactions of ours to comments, by the REST API.
import type { Call, CommentKey, GitHub, Reaction } from '../../domain/github.js'
import { type AuthorizedSend, commentPath, type FetchIdentity, fetchPages, goneStatuses } from './comments.js'
import * as shapes from './responses.js'

export function reactionCalls(
  send: AuthorizedSend,
  identity: FetchIdentity,
): Pick<GitHub, 'addReaction' | 'removeReactions'> {
  return {
    async addReaction(key, reaction, call) {
      const doing = `reacting to a comment in ${key.repository}`
      const path = `${commentPath(key)}/reactions`
      const body = { content: reaction }
      // Idempotent: GitHub answers 200 when the reaction exists already.
      const reply = await send(
        key.repository,
        { method: 'POST', path, body, doing, idempotent: true, accept: goneStatuses },
        call,
      )
      return reply.status < 300
    },

    async removeReactions(key, unwanted, call) {
      for (const id of await ownReactions(send, identity, key, unwanted, call)) {
        const doing = `removing a reaction in ${key.repository}`
        const path = `${commentPath(key)}/reactions/${id}`
        await send(key.repository, { method: 'DELETE', path, doing, idempotent: true, accept: goneStatuses }, call)
      }
    },
  }
}

async function ownReactions(
  send: AuthorizedSend,
  identity: FetchIdentity,
  key: CommentKey,
  wanted: Reaction[],
  call: Call,
) {
  const author = await identity(key.repository, call)
  const doing = `reading reactions in ${key.repository}`
  const replies = await fetchPages(send, key.repository, `${commentPath(key)}/reactions?per_page=100`, doing, call)
  return replies
    .flatMap((reply) => shapes.decodeReply(reply, shapes.reactions, doing))
    .filter((found) => found.user.id === author.id && wanted.some((content) => content === found.content))
    .map((found) => found.id)
}
