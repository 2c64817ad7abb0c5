// Discussions, which GitHub shows to GraphQL alone: the viewer, comments with one level of replies, and reactions to them.
import { json, type Reply } from '../faulty-server.js'
import { type Given, GraphqlError, type Node, runGraphql, type Value } from './graphql.js'
import { canRead, hasPermission } from './permissions.js'
import { formatTime, type RequestContext } from './request-context.js'
import { editComment, fullNameOf, type Repository, removeComment, type StoredComment, writeComment } from './state.js'

export const discussionNode = (repository: Repository, number: number) => `D_${repository.id}_${number}`
export const commentNode = ({ id }: StoredComment) => `DC_${id}`

const maxCharacters = 65_536
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

export function graphqlReply(context: RequestContext): Reply {
  const { query, variables } = context.body
  const given = typeof variables === 'object' && variables !== null ? (variables as Given) : {}
  return json(200, runGraphql(String(query ?? ''), given, makeRoots(context)))
}

function makeRoots(context: RequestContext): { query: Node; mutation: Node } {
  const { login, id } = context.token.user
  const withInput = (change: (input: Given) => Node) => (given: Given) => {
    if (typeof given['input'] !== 'object' || given['input'] === null) throw new GraphqlError('input is missing')
    return change(given['input'] as Given)
  }
  return {
    query: {
      __typename: 'Query',
      viewer: { __typename: 'User', login, databaseId: id },
      node: ({ id: node }) => getNode(context, String(node)),
    },
    mutation: {
      __typename: 'Mutation',
      addDiscussionComment: withInput((input) => addComment(context, input)),
      updateDiscussionComment: withInput(({ commentId, body }) => {
        const comment = findWritableComment(context, commentId)
        editComment(comment, context.token.user, validateBody(body))
        return { __typename: 'UpdateDiscussionCommentPayload', comment: commentFields(context, comment) }
      }),
      deleteDiscussionComment: withInput(({ id: node }) => {
        const comment = findWritableComment(context, node)
        removeComment(comment, context.token.user)
        return { __typename: 'DeleteDiscussionCommentPayload', comment: commentFields(context, comment) }
      }),
      addReaction: withInput((input) => setReaction(context, input, true)),
      removeReaction: withInput((input) => setReaction(context, input, false)),
    },
  }
}

function getNode(context: RequestContext, id: string): Node {
  return commentFields(context, findVisibleComment(context, id))
}

function findVisibleComment(context: RequestContext, id: unknown): StoredComment {
  const { state, token } = context
  const found = state.comments.find((one) => one.kind === 'discussion' && commentNode(one) === id && !one.deleted)
  if (found && canRead(token, found.repository)) return found
  throw new GraphqlError(`Could not resolve to a node with the global id of '${id}'`, 'NOT_FOUND')
}

function findWritableComment(context: RequestContext, id: unknown): StoredComment {
  const comment = findVisibleComment(context, id)
  requireWriteAccess(context, comment.repository)
  return comment
}

function requireWriteAccess({ token }: RequestContext, repository: Repository): void {
  if (!hasPermission(token, repository, { permission: 'discussions', grant: 'write' })) {
    throw new GraphqlError('Resource not accessible by integration', 'FORBIDDEN')
  }
}

function addComment(context: RequestContext, { discussionId, replyToId, body }: Given): Node {
  const { state, token } = context
  const repository = [...state.repositories.values()].find((one) => findDiscussion(one, discussionId) !== undefined)
  if (!repository || !canRead(token, repository)) {
    throw new GraphqlError(`Could not resolve to a node with the global id of '${discussionId}'`, 'NOT_FOUND')
  }
  requireWriteAccess(context, repository)
  const number = findDiscussion(repository, discussionId)!
  const above = replyToId === undefined || replyToId === null ? undefined : findVisibleComment(context, replyToId)
  if (above && (above.number !== number || above.repository !== repository || above.root !== undefined)) {
    throw new GraphqlError('Parent comment is already in a thread, cannot reply to it', 'UNPROCESSABLE')
  }
  const place = { kind: 'discussion', repository, number, ...(above ? { root: above.id } : {}) } as const
  const comment = writeComment(state, { ...place, author: token.user, body: validateBody(body) })
  return { __typename: 'AddDiscussionCommentPayload', comment: commentFields(context, comment) }
}

const findDiscussion = (repository: Repository, id: unknown) =>
  [...repository.discussions].find((number) => discussionNode(repository, number) === id)

function validateBody(body: unknown): string {
  if (typeof body !== 'string' || body.trim() === '') throw new GraphqlError("Body can't be blank", 'UNPROCESSABLE')
  if ([...body].length > maxCharacters) {
    throw new GraphqlError(`Body is too long (maximum is ${maxCharacters} characters)`, 'UNPROCESSABLE')
  }
  return body
}

function setReaction(context: RequestContext, { subjectId, content }: Given, wanted: boolean): Node {
  const comment = findWritableComment(context, subjectId)
  const name = Object.hasOwn(contents, String(content)) ? contents[String(content)]! : undefined
  if (name === undefined) throw new GraphqlError(`${content} is not a ReactionContent`)
  const { user } = context.token
  const known = comment.reactions.find((one) => !one.removed && one.user === user && one.content === name)
  if (wanted && !known) {
    comment.reactions.push({ id: context.state.nextId(), user, content: name, at: Date.now() })
  }
  if (!wanted && known) known.removed = true
  const type = wanted ? 'AddReactionPayload' : 'RemoveReactionPayload'
  return { __typename: type, subject: commentFields(context, comment) }
}

function commentFields(context: RequestContext, comment: StoredComment): Node {
  const { state, token } = context
  const above = state.comments.find((one) => one.kind === 'discussion' && one.id === comment.root)
  return {
    __typename: 'DiscussionComment',
    id: commentNode(comment),
    databaseId: comment.id,
    body: comment.body,
    url: commentUrl(state.serverUrl, comment),
    createdAt: formatTime(comment.createdAt),
    updatedAt: formatTime(comment.updatedAt),
    viewerDidAuthor: comment.author === token.user,
    author: { __typename: comment.author.type, login: comment.author.login },
    replyTo: above ? () => commentFields(context, above) : null,
    replies: (given) => listReplies(context, comment, given),
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

export const commentUrl = (serverUrl: string, { repository, number, id }: StoredComment) =>
  `${serverUrl}/${fullNameOf(repository)}/discussions/${number}#discussioncomment-${id}`

function listReplies(context: RequestContext, comment: StoredComment, { first, after }: Given): Node {
  if (typeof first !== 'number' || first < 1 || first > 100) {
    throw new GraphqlError("You must provide a 'first' of 1 to 100", 'MISSING_PAGINATION_BOUNDARIES')
  }
  const all = context.state.comments.filter(
    (one) => one.kind === 'discussion' && one.root === comment.id && !one.deleted,
  )
  const from = typeof after === 'string' ? Number(Buffer.from(after, 'base64').toString()) : 0
  const to = from + first
  return {
    __typename: 'DiscussionCommentConnection',
    nodes: all.slice(from, to).map((one) => commentFields(context, one)),
    pageInfo: {
      __typename: 'PageInfo',
      hasNextPage: to < all.length,
      endCursor: Buffer.from(String(to)).toString('base64'),
    },
  }
}
