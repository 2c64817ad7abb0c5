// Our reactions to comments.
import type { Call, CommentKey, GitHub, Reaction } from '../../domain/github.js'
import { type Ask, commentPath, gone, type Identity, pages } from './comments.js'
import * as shapes from './responses.js'

export function reactionCalls(ask: Ask, identity: Identity): Pick<GitHub, 'addReaction' | 'removeReactions'> {
  return {
    async addReaction(key, reaction, call) {
      const doing = `reacting to a comment in ${key.repository}`
      const path = `${commentPath(key)}/reactions`
      const body = { content: reaction }
      // GitHub answers 200 where we had reacted already, so this may be repeated.
      const reply = await ask(
        key.repository,
        { method: 'POST', path, body, doing, repeatable: true, accept: gone },
        call,
      )
      return reply.status < 300
    },

    async removeReactions(key, unwanted, call) {
      for (const id of await ownReactions(ask, identity, key, unwanted, call)) {
        const doing = `taking back a reaction in ${key.repository}`
        const path = `${commentPath(key)}/reactions/${id}`
        await ask(key.repository, { method: 'DELETE', path, doing, repeatable: true, accept: gone }, call)
      }
    },
  }
}

async function ownReactions(ask: Ask, identity: Identity, key: CommentKey, wanted: Reaction[], call: Call) {
  const me = await identity(key.repository, call)
  const doing = `reading reactions in ${key.repository}`
  const replies = await pages(ask, key.repository, `${commentPath(key)}/reactions?per_page=100`, doing, call)
  return replies
    .flatMap((reply) => shapes.decodeReply(reply, shapes.reactions, doing))
    .filter((found) => found.user.id === me.id && wanted.some((content) => content === found.content))
    .map((found) => found.id)
}
