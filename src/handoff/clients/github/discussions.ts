// Comments of discussions, by GraphQL only. The answer replies to the comment with the question. Discussions have one level of replies: when the
// question is a reply itself, the answer is the next reply of the same comment.

import { HandoffError } from '../../domain/errors.js'
import type { Comment, CommentKey, GitHub, Thread } from '../../domain/github.js'
import * as read from '../../util/decode.js'
import type { Rest } from './comments.js'
import type { Graphql } from './graphql.js'

type DiscussionThread = Extract<Thread, { kind: 'discussion' }>
type Calls = Pick<GitHub, 'getComment' | 'updateComment' | 'deleteComment' | 'addReaction' | 'removeReactions'>

interface DiscussionCalls extends Calls {
  ownComments(thread: DiscussionThread, ...rest: Rest<GitHub['ownComments']>): Promise<Comment[]>
  /** May throw LostReply. */
  createComment(thread: DiscussionThread, ...rest: Rest<GitHub['createComment']>): Promise<Comment>
}

const fields = 'id databaseId body url createdAt updatedAt viewerDidAuthor author { login }'

const comment = read.object({
  id: read.string(300),
  databaseId: read.nullable(read.count),
  body: read.string(10_000_000),
  url: read.string(10_000),
  createdAt: read.string(40),
  updatedAt: read.string(40),
  viewerDidAuthor: read.boolean,
  author: read.nullable(read.object({ login: read.string(200) })),
})

const replies = read.object({
  nodes: read.array(comment, 100),
  pageInfo: read.object({ hasNextPage: read.boolean, endCursor: read.nullable(read.string(1_000)) }),
})

const asked = read.object({
  node: read.object({
    id: read.string(300),
    replyTo: read.nullable(read.object({ id: read.string(300) })),
    replies,
  }),
})

const documents = {
  replies: `query($id: ID!, $after: String) { node(id: $id) { ... on DiscussionComment { id replyTo { id } replies(first: 100, after: $after) { nodes { ${fields} } pageInfo { hasNextPage endCursor } } } } }`,
  one: `query($id: ID!) { node(id: $id) { ... on DiscussionComment { ${fields} } } }`,
  create: `mutation($discussion: ID!, $top: ID!, $body: String!) { addDiscussionComment(input: { discussionId: $discussion, replyToId: $top, body: $body }) { comment { ${fields} } } }`,
  update: `mutation($id: ID!, $body: String!) { updateDiscussionComment(input: { commentId: $id, body: $body }) { comment { ${fields} } } }`,
  remove: 'mutation($id: ID!) { deleteDiscussionComment(input: { id: $id }) { comment { id } } }',
  react:
    'mutation($id: ID!, $content: ReactionContent!) { addReaction(input: { subjectId: $id, content: $content }) { subject { id } } }',
  unreact:
    'mutation($id: ID!, $content: ReactionContent!) { removeReaction(input: { subjectId: $id, content: $content }) { subject { id } } }',
  reactions:
    'query($id: ID!) { node(id: $id) { ... on DiscussionComment { reactionGroups { content viewerHasReacted } } } }',
}

const anything: read.Decoder<true> = () => true
const permission = 'discussions: write'
const maximumPages = 100

export function discussionCalls(graphql: Graphql): DiscussionCalls {
  /** Top-level comment by question. It never changes. */
  const tops = new Map<string, string>()

  /** All replies of the thread. Null when the comment with the question was deleted. */
  async function repliesOf({ repository, comment: id, number }: DiscussionThread, call: Parameters<Graphql>[2]) {
    const doing = `reading the comments of discussion ${repository}#${number}`
    const found: ReturnType<typeof comment>[] = []
    let top = id
    let after: string | null = null
    for (let page = 0; page < maximumPages; page += 1) {
      const variables: Record<string, string | null> = { id: top, after }
      const operation = { document: documents.replies, variables, shape: asked, doing, idempotent: true }
      const data = await graphql(repository, operation, call)
      if (data === null) return null
      if (data.node.replyTo !== null) {
        top = data.node.replyTo.id
        continue
      }
      found.push(...data.node.replies.nodes)
      const { hasNextPage, endCursor } = data.node.replies.pageInfo
      tops.set(id, top)
      if (!hasNextPage) return found
      after = endCursor
    }
    throw new HandoffError('git', `GitHub lists more than ${maximumPages * 100} entries while ${doing}.`)
  }

  return {
    async ownComments(thread, { marker }, call) {
      const all = (await repliesOf(thread, call)) ?? []
      return all
        .filter(({ viewerDidAuthor, body }) => viewerDidAuthor && body.startsWith(marker))
        .map((one) => commentOf(thread.repository, one))
        .sort((left, right) => left.id - right.id)
    },

    async createComment(thread, body, call) {
      const { repository, number, discussion } = thread
      const doing = `writing a comment in discussion ${repository}#${number}`
      if (!tops.has(thread.comment)) await repliesOf(thread, call)
      const top = tops.get(thread.comment)
      const shape = read.object({ addDiscussionComment: read.object({ comment }) })
      const operation = { document: documents.create, shape, doing, idempotent: false, permission }
      const data =
        top === undefined
          ? null
          : await graphql(repository, { ...operation, variables: { discussion, top, body } }, call)
      if (data !== null) return commentOf(repository, data.addDiscussionComment.comment)
      throw new HandoffError('not-found', 'The comment with the question was deleted from the discussion.')
    },

    async getComment(key, call) {
      const doing = `reading a comment in ${key.repository}`
      const shape = read.object({ node: read.nullable(comment) })
      const operation = { document: documents.one, variables: { id: nodeOf(key) }, shape, doing, idempotent: true }
      const data = await graphql(key.repository, operation, call)
      return data?.node ? commentOf(key.repository, data.node) : null
    },

    async updateComment(key, body, call) {
      const doing = `editing a comment in ${key.repository}`
      const shape = read.object({ updateDiscussionComment: read.object({ comment }) })
      const variables = { id: nodeOf(key), body }
      const operation = { document: documents.update, variables, shape, doing, idempotent: true, permission }
      const data = await graphql(key.repository, operation, call)
      return data && commentOf(key.repository, data.updateDiscussionComment.comment)
    },

    async deleteComment(key, call) {
      const doing = `deleting a comment in ${key.repository}`
      const variables = { id: nodeOf(key) }
      const operation = { document: documents.remove, variables, shape: anything, doing, idempotent: true, permission }
      return (await graphql(key.repository, operation, call)) !== null
    },

    async addReaction(key, reaction, call) {
      const doing = `reacting to a comment in ${key.repository}`
      const variables = { id: nodeOf(key), content: reaction.toUpperCase() }
      const operation = { document: documents.react, variables, shape: anything, doing, idempotent: true, permission }
      return (await graphql(key.repository, operation, call)) !== null
    },

    async removeReactions(key, unwanted, call) {
      const id = nodeOf(key)
      const groups = read.array(read.object({ content: read.string(40), viewerHasReacted: read.boolean }), 100)
      const shape = read.object({ node: read.nullable(read.object({ reactionGroups: read.nullable(groups) })) })
      const query = { document: documents.reactions, variables: { id }, shape, idempotent: true }
      const doing = `reading reactions in ${key.repository}`
      const data = await graphql(key.repository, { ...query, doing }, call)
      const ours = (data?.node?.reactionGroups ?? []).filter(({ viewerHasReacted }) => viewerHasReacted)
      for (const { content } of ours.filter(({ content }) => unwanted.some((one) => one.toUpperCase() === content))) {
        const removing = `removing a reaction in ${key.repository}`
        const variables = { id, content }
        const operation = { document: documents.unreact, variables, shape: anything, idempotent: true, permission }
        await graphql(key.repository, { ...operation, doing: removing }, call)
      }
    },
  }
}

function nodeOf({ node }: CommentKey): string {
  if (node !== undefined) return node
  throw new HandoffError('invalid-input', 'A comment of a discussion needs its GraphQL id.')
}

function commentOf(repository: string, found: ReturnType<typeof comment>): Comment {
  const { id: node, databaseId, body, url, createdAt, updatedAt, author } = found
  const written = { login: author?.login ?? '', id: 0, type: author?.login.endsWith('[bot]') ? 'Bot' : 'User' }
  return { kind: 'discussion', repository, id: databaseId ?? 0, node, body, author: written, url, createdAt, updatedAt }
}
