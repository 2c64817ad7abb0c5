// Discussions, which GitHub shows to GraphQL alone: the viewer, comments with one level of replies, and reactions to them.
import { json, type Reply } from '../faulty-server.js'
import { type Given, GraphqlError, type Node, runGraphql, type Value } from './graphql.js'
import { maySee, mayUse } from './permissions.js'
import { type Exchange, timeText } from './request-context.js'
import { editComment, fullNameOf, type Repository, removeComment, type StoredComment, writeComment } from './world.js'

export const discussionNode = (repository: Repository, number: number) => `D_${repository.id}_${number}`
export const commentNode = ({ id }: StoredComment) => `DC_${id}`

const longest = 65_536
const contents: Record<string, string> = {
  THUMBS_UP: '+1',
  THUMBS_DOWN: '-1',
  LAUGH: 'laugh',
  HOORAY: 'hooray',
  CONFUSED: 'confused',
  HEART: 'heart',
  ROCKET: 'rocket',
  EYES: 'eyes',
}

export function graphqlReply(exchange: Exchange): Reply {
  const { query, variables } = exchange.body
  const given = typeof variables === 'object' && variables !== null ? (variables as Given) : {}
  return json(200, runGraphql(String(query ?? ''), given, rootsFor(exchange)))
}

function rootsFor(exchange: Exchange): { query: Node; mutation: Node } {
  const { login, id } = exchange.token.user
  const withInput = (change: (input: Given) => Node) => (given: Given) => {
    if (typeof given['input'] !== 'object' || given['input'] === null) throw new GraphqlError('input is missing')
    return change(given['input'] as Given)
  }
  return {
    query: {
      __typename: 'Query',
      viewer: { __typename: 'User', login, databaseId: id },
      node: ({ id: node }) => nodeOf(exchange, String(node)),
    },
    mutation: {
      __typename: 'Mutation',
      addDiscussionComment: withInput((input) => addComment(exchange, input)),
      updateDiscussionComment: withInput(({ commentId, body }) => {
        const comment = changeable(exchange, commentId)
        editComment(comment, exchange.token.user, bodyOf(body))
        return { __typename: 'UpdateDiscussionCommentPayload', comment: commentFields(exchange, comment) }
      }),
      deleteDiscussionComment: withInput(({ id: node }) => {
        const comment = changeable(exchange, node)
        removeComment(comment, exchange.token.user)
        return { __typename: 'DeleteDiscussionCommentPayload', comment: commentFields(exchange, comment) }
      }),
      addReaction: withInput((input) => react(exchange, input, true)),
      removeReaction: withInput((input) => react(exchange, input, false)),
    },
  }
}

function nodeOf(exchange: Exchange, id: string): Node {
  return commentFields(exchange, liveComment(exchange, id))
}

function liveComment(exchange: Exchange, id: unknown): StoredComment {
  const { world, token } = exchange
  const found = world.comments.find((one) => one.kind === 'discussion' && commentNode(one) === id && !one.deleted)
  if (found && maySee(token, found.repository)) return found
  throw new GraphqlError(`Could not resolve to a node with the global id of '${id}'`, 'NOT_FOUND')
}

function changeable(exchange: Exchange, id: unknown): StoredComment {
  const comment = liveComment(exchange, id)
  wantWriting(exchange, comment.repository)
  return comment
}

function wantWriting({ token }: Exchange, repository: Repository): void {
  if (!mayUse(token, repository, { permission: 'discussions', grant: 'write' })) {
    throw new GraphqlError('Resource not accessible by integration', 'FORBIDDEN')
  }
}

function addComment(exchange: Exchange, { discussionId, replyToId, body }: Given): Node {
  const { world, token } = exchange
  const repository = [...world.repositories.values()].find((one) => placeIn(one, discussionId) !== undefined)
  if (!repository || !maySee(token, repository)) {
    throw new GraphqlError(`Could not resolve to a node with the global id of '${discussionId}'`, 'NOT_FOUND')
  }
  wantWriting(exchange, repository)
  const number = placeIn(repository, discussionId)!
  const above = replyToId === undefined || replyToId === null ? undefined : liveComment(exchange, replyToId)
  if (above && (above.number !== number || above.repository !== repository || above.root !== undefined)) {
    throw new GraphqlError('Parent comment is already in a thread, cannot reply to it', 'UNPROCESSABLE')
  }
  const place = { kind: 'discussion', repository, number, ...(above ? { root: above.id } : {}) } as const
  const comment = writeComment(world, { ...place, author: token.user, body: bodyOf(body) })
  return { __typename: 'AddDiscussionCommentPayload', comment: commentFields(exchange, comment) }
}

const placeIn = (repository: Repository, id: unknown) =>
  [...repository.discussions].find((number) => discussionNode(repository, number) === id)

function bodyOf(body: unknown): string {
  if (typeof body !== 'string' || body.trim() === '') throw new GraphqlError("Body can't be blank", 'UNPROCESSABLE')
  if ([...body].length > longest) {
    throw new GraphqlError(`Body is too long (maximum is ${longest} characters)`, 'UNPROCESSABLE')
  }
  return body
}

function react(exchange: Exchange, { subjectId, content }: Given, wanted: boolean): Node {
  const comment = changeable(exchange, subjectId)
  const name = Object.hasOwn(contents, String(content)) ? contents[String(content)]! : undefined
  if (name === undefined) throw new GraphqlError(`${content} is not a ReactionContent`)
  const { user } = exchange.token
  const known = comment.reactions.find((one) => !one.removed && one.user === user && one.content === name)
  if (wanted && !known) {
    comment.reactions.push({ id: exchange.world.nextId(), user, content: name, at: Date.now() })
  }
  if (!wanted && known) known.removed = true
  const type = wanted ? 'AddReactionPayload' : 'RemoveReactionPayload'
  return { __typename: type, subject: commentFields(exchange, comment) }
}

function commentFields(exchange: Exchange, comment: StoredComment): Node {
  const { world, token } = exchange
  const above = world.comments.find((one) => one.kind === 'discussion' && one.id === comment.root)
  return {
    __typename: 'DiscussionComment',
    id: commentNode(comment),
    databaseId: comment.id,
    body: comment.body,
    url: urlOf(world.serverUrl, comment),
    createdAt: timeText(comment.createdAt),
    updatedAt: timeText(comment.updatedAt),
    viewerDidAuthor: comment.author === token.user,
    author: { __typename: comment.author.type, login: comment.author.login },
    replyTo: above ? () => commentFields(exchange, above) : null,
    replies: (given) => repliesOf(exchange, comment, given),
    reactionGroups: Object.entries(contents).map(
      ([content, name]): Value => ({
        __typename: 'ReactionGroup',
        content,
        viewerHasReacted: comment.reactions.some(
          (one) => !one.removed && one.user === token.user && one.content === name,
        ),
      }),
    ),
  }
}

export const urlOf = (serverUrl: string, { repository, number, id }: StoredComment) =>
  `${serverUrl}/${fullNameOf(repository)}/discussions/${number}#discussioncomment-${id}`

function repliesOf(exchange: Exchange, comment: StoredComment, { first, after }: Given): Node {
  if (typeof first !== 'number' || first < 1 || first > 100) {
    throw new GraphqlError("You must provide a 'first' of 1 to 100", 'MISSING_PAGINATION_BOUNDARIES')
  }
  const all = exchange.world.comments.filter(
    (one) => one.kind === 'discussion' && one.root === comment.id && !one.deleted,
  )
  const from = typeof after === 'string' ? Number(Buffer.from(after, 'base64').toString()) : 0
  const to = from + first
  return {
    __typename: 'DiscussionCommentConnection',
    nodes: all.slice(from, to).map((one) => commentFields(exchange, one)),
    pageInfo: {
      __typename: 'PageInfo',
      hasNextPage: to < all.length,
      endCursor: Buffer.from(String(to)).toString('base64'),
    },
  }
}
