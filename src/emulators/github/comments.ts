// Comments in conversations and review threads, and reactions to them.
import { json, type Reply } from '../faulty-server.js'
import type { Need } from './permissions.js'
import { type Exchange, invalid, noContent, notFound, page, problem, timeText } from './request-context.js'
import {
  editComment,
  fullNameOf,
  liveComment,
  removeComment,
  type StoredComment,
  type StoredReaction,
  type World,
  writeComment,
} from './world.js'

const longest = 65_536

/** A comment on a pull request belongs to the pull request, whatever the address says. */
export function conversationNeed(exchange: Exchange, grant: 'read' | 'write'): Need {
  const number = Number(exchange.parameters['number'] ?? issueComment(exchange)?.number)
  // A comment that is not there is not found, whoever asks.
  if (Number.isNaN(number)) return []
  return [{ permission: exchange.repository.pulls.has(number) ? 'pull_requests' : 'issues', grant }]
}

export function listConversation(exchange: Exchange): Reply {
  const number = Number(exchange.parameters['number'])
  if (!hasIssue(exchange, number)) return notFound()
  return page(exchange, commentsOf(exchange, 'issue', number))
}

export function createInConversation(exchange: Exchange): Reply {
  const number = Number(exchange.parameters['number'])
  if (!hasIssue(exchange, number)) return notFound()
  if (exchange.repository.pulls.get(number)?.locked) {
    return problem(403, 'Unable to create comment because issue is locked.')
  }
  return create(exchange, { kind: 'issue', number })
}

export function listReviews(exchange: Exchange): Reply {
  const number = Number(exchange.parameters['number'])
  if (!exchange.repository.pulls.has(number)) return notFound()
  return page(exchange, commentsOf(exchange, 'review', number))
}

/** GitHub takes replies to the first comment of a thread only. */
export function replyInReview(exchange: Exchange): Reply {
  const number = Number(exchange.parameters['number'])
  const root = liveComment(exchange.world, 'review', exchange.repository, Number(exchange.parameters['id']))
  if (!root || root.number !== number || root.root !== undefined) return notFound()
  return create(exchange, { kind: 'review', number, root: root.id })
}

function create(exchange: Exchange, place: { kind: StoredComment['kind']; number: number; root?: number }): Reply {
  const body = bodyOf(exchange)
  if (typeof body !== 'string') return body
  const { world, repository, token } = exchange
  const comment = writeComment(world, { ...place, repository, author: token.user, body })
  return json(201, commentJson(world, comment))
}

export const oneComment = (kind: StoredComment['kind']) => (exchange: Exchange) =>
  withComment(exchange, kind, (comment) => json(200, commentJson(exchange.world, comment)))

export const changeComment = (kind: StoredComment['kind']) => (exchange: Exchange) =>
  withComment(exchange, kind, (comment) => {
    const body = bodyOf(exchange)
    if (typeof body !== 'string') return body
    editComment(comment, exchange.token.user, body)
    return json(200, commentJson(exchange.world, comment))
  })

export const dropComment = (kind: StoredComment['kind']) => (exchange: Exchange) =>
  withComment(exchange, kind, (comment) => {
    removeComment(comment, exchange.token.user)
    return noContent()
  })

const contents = ['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes']

export const listReactions = (kind: StoredComment['kind']) => (exchange: Exchange) =>
  withComment(exchange, kind, (comment) => {
    const content = exchange.query.get('content')
    const shown = comment.reactions.filter((one) => !one.removed && (content === null || one.content === content))
    return page(exchange, shown.map(reactionJson))
  })

export const react = (kind: StoredComment['kind']) => (exchange: Exchange) =>
  withComment(exchange, kind, (comment) => {
    const content = String(exchange.body['content'])
    if (!contents.includes(content)) return invalid('Reaction', 'content', 'content is not a reaction')
    const { user } = exchange.token
    const known = comment.reactions.find((one) => !one.removed && one.user === user && one.content === content)
    if (known) return json(200, reactionJson(known))
    const reaction: StoredReaction = { id: exchange.world.nextId(), user, content, at: Date.now() }
    comment.reactions.push(reaction)
    return json(201, reactionJson(reaction))
  })

export const unreact = (kind: StoredComment['kind']) => (exchange: Exchange) =>
  withComment(exchange, kind, (comment) => {
    const id = Number(exchange.parameters['reaction'])
    const reaction = comment.reactions.find((one) => one.id === id && !one.removed)
    if (!reaction) return notFound()
    if (reaction.user !== exchange.token.user) return problem(403, 'Forbidden')
    reaction.removed = true
    return noContent()
  })

function withComment(exchange: Exchange, kind: StoredComment['kind'], then: (comment: StoredComment) => Reply): Reply {
  const comment = liveComment(exchange.world, kind, exchange.repository, Number(exchange.parameters['id']))
  return comment ? then(comment) : notFound()
}

function issueComment(exchange: Exchange): StoredComment | undefined {
  return liveComment(exchange.world, 'issue', exchange.repository, Number(exchange.parameters['id']))
}

function hasIssue({ repository }: Exchange, number: number): boolean {
  return repository.pulls.has(number) || repository.issues.has(number)
}

function commentsOf(exchange: Exchange, kind: StoredComment['kind'], number: number) {
  const since = Date.parse(exchange.query.get('since') ?? '')
  return exchange.world.comments
    .filter((one) => one.kind === kind && one.repository === exchange.repository && one.number === number)
    .filter((one) => !one.deleted)
    .filter((one) => Number.isNaN(since) || Date.parse(timeText(one.updatedAt)) >= since)
    .map((one) => commentJson(exchange.world, one))
}

/** The text of a new body, or the refusal. GitHub counts characters, not bytes. */
function bodyOf(exchange: Exchange): string | Reply {
  const { body } = exchange.body
  if (typeof body !== 'string' || body.trim() === '') return invalid('IssueComment', 'body', 'body is missing')
  if ([...body].length > longest) {
    return invalid('IssueComment', 'data', `Body is too long (maximum is ${longest} characters)`)
  }
  return body
}

export function commentJson(world: World, comment: StoredComment) {
  const page = `${world.serverUrl}/${fullNameOf(comment.repository)}/pull/${comment.number}`
  const anchor = comment.kind === 'issue' ? `issuecomment-${comment.id}` : `discussion_r${comment.id}`
  return {
    id: comment.id,
    body: comment.body,
    user: comment.author,
    html_url: `${page}#${anchor}`,
    created_at: timeText(comment.createdAt),
    updated_at: timeText(comment.updatedAt),
    author_association: 'NONE',
    ...(comment.root === undefined ? {} : { in_reply_to_id: comment.root }),
  }
}

function reactionJson(reaction: StoredReaction) {
  return { id: reaction.id, user: reaction.user, content: reaction.content, created_at: timeText(reaction.at) }
}
