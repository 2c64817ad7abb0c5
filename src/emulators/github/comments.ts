// Comments in conversations and review threads, and reactions to them.
import { json, type Reply } from '../faulty-server.js'
import type { RequiredPermissions } from './permissions.js'
import {
  errorReply,
  formatTime,
  noContent,
  notFound,
  page,
  type RequestContext,
  validationError,
} from './request-context.js'
import {
  editComment,
  findComment,
  fullNameOf,
  type GitHubState,
  removeComment,
  type StoredComment,
  type StoredReaction,
  writeComment,
} from './state.js'

const maxCharacters = 65_536

/** A comment on a pull request belongs to the pull request, whatever the address says. */
export function conversationPermissions(context: RequestContext, grant: 'read' | 'write'): RequiredPermissions {
  const number = Number(context.parameters['number'] ?? issueComment(context)?.number)
  // A missing comment gives 404 to every caller.
  if (Number.isNaN(number)) return []
  return [{ permission: context.repository.pulls.has(number) ? 'pull_requests' : 'issues', grant }]
}

export function listConversation(context: RequestContext): Reply {
  const number = Number(context.parameters['number'])
  if (!isIssueOrPull(context, number)) return notFound()
  return page(context, commentsOf(context, 'issue', number))
}

export function createInConversation(context: RequestContext): Reply {
  const number = Number(context.parameters['number'])
  if (!isIssueOrPull(context, number)) return notFound()
  if (context.repository.pulls.get(number)?.locked) {
    return errorReply(403, 'Unable to create comment because issue is locked.')
  }
  return createComment(context, { kind: 'issue', number })
}

export function listReviews(context: RequestContext): Reply {
  const number = Number(context.parameters['number'])
  if (!context.repository.pulls.has(number)) return notFound()
  return page(context, commentsOf(context, 'review', number))
}

/** GitHub takes replies to the first comment of a thread only. */
export function replyInReview(context: RequestContext): Reply {
  const number = Number(context.parameters['number'])
  const root = findComment(context.state, 'review', context.repository, Number(context.parameters['id']))
  if (!root || root.number !== number || root.root !== undefined) return notFound()
  return createComment(context, { kind: 'review', number, root: root.id })
}

function createComment(
  context: RequestContext,
  place: { kind: StoredComment['kind']; number: number; root?: number },
): Reply {
  const body = validateBody(context)
  if (typeof body !== 'string') return body
  const { state, repository, token } = context
  const comment = writeComment(state, { ...place, repository, author: token.user, body })
  return json(201, commentJson(state, comment))
}

export const getComment = (kind: StoredComment['kind']) => (context: RequestContext) =>
  withComment(context, kind, (comment) => json(200, commentJson(context.state, comment)))

export const updateComment = (kind: StoredComment['kind']) => (context: RequestContext) =>
  withComment(context, kind, (comment) => {
    const body = validateBody(context)
    if (typeof body !== 'string') return body
    editComment(comment, context.token.user, body)
    return json(200, commentJson(context.state, comment))
  })

export const deleteComment = (kind: StoredComment['kind']) => (context: RequestContext) =>
  withComment(context, kind, (comment) => {
    removeComment(comment, context.token.user)
    return noContent()
  })

const contents = ['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes']

export const listReactions = (kind: StoredComment['kind']) => (context: RequestContext) =>
  withComment(context, kind, (comment) => {
    const content = context.query.get('content')
    const shown = comment.reactions.filter((one) => !one.removed && (content === null || one.content === content))
    return page(context, shown.map(reactionJson))
  })

export const addReaction = (kind: StoredComment['kind']) => (context: RequestContext) =>
  withComment(context, kind, (comment) => {
    const content = String(context.body['content'])
    if (!contents.includes(content)) return validationError('Reaction', 'content', 'content is not a reaction')
    const { user } = context.token
    const known = comment.reactions.find((one) => !one.removed && one.user === user && one.content === content)
    if (known) return json(200, reactionJson(known))
    const reaction: StoredReaction = { id: context.state.nextId(), user, content, at: Date.now() }
    comment.reactions.push(reaction)
    return json(201, reactionJson(reaction))
  })

export const removeReaction = (kind: StoredComment['kind']) => (context: RequestContext) =>
  withComment(context, kind, (comment) => {
    const id = Number(context.parameters['reaction'])
    const reaction = comment.reactions.find((one) => one.id === id && !one.removed)
    if (!reaction) return notFound()
    if (reaction.user !== context.token.user) return errorReply(403, 'Forbidden')
    reaction.removed = true
    return noContent()
  })

function withComment(
  context: RequestContext,
  kind: StoredComment['kind'],
  then: (comment: StoredComment) => Reply,
): Reply {
  const comment = findComment(context.state, kind, context.repository, Number(context.parameters['id']))
  return comment ? then(comment) : notFound()
}

function issueComment(context: RequestContext): StoredComment | undefined {
  return findComment(context.state, 'issue', context.repository, Number(context.parameters['id']))
}

function isIssueOrPull({ repository }: RequestContext, number: number): boolean {
  return repository.pulls.has(number) || repository.issues.has(number)
}

function commentsOf(context: RequestContext, kind: StoredComment['kind'], number: number) {
  const since = Date.parse(context.query.get('since') ?? '')
  return context.state.comments
    .filter((one) => one.kind === kind && one.repository === context.repository && one.number === number)
    .filter((one) => !one.deleted)
    .filter((one) => Number.isNaN(since) || Date.parse(formatTime(one.updatedAt)) >= since)
    .map((one) => commentJson(context.state, one))
}

/** The text of a new body, or the refusal. GitHub counts characters, not bytes. */
function validateBody(context: RequestContext): string | Reply {
  const { body } = context.body
  if (typeof body !== 'string' || body.trim() === '') return validationError('IssueComment', 'body', 'body is missing')
  if ([...body].length > maxCharacters) {
    return validationError('IssueComment', 'data', `Body is too long (maximum is ${maxCharacters} characters)`)
  }
  return body
}

export function commentJson(state: GitHubState, comment: StoredComment) {
  const page = `${state.serverUrl}/${fullNameOf(comment.repository)}/pull/${comment.number}`
  const anchor = comment.kind === 'issue' ? `issuecomment-${comment.id}` : `discussion_r${comment.id}`
  return {
    id: comment.id,
    body: comment.body,
    user: comment.author,
    html_url: `${page}#${anchor}`,
    created_at: formatTime(comment.createdAt),
    updated_at: formatTime(comment.updatedAt),
    author_association: 'NONE',
    ...(comment.root === undefined ? {} : { in_reply_to_id: comment.root }),
  }
}

function reactionJson(reaction: StoredReaction) {
  return { id: reaction.id, user: reaction.user, content: reaction.content, created_at: formatTime(reaction.at) }
}
