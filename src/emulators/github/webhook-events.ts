// The events of comments, as workflows and webhooks get them.
import { createHmac, randomUUID } from 'node:crypto'
import { commentJson } from './comments.js'
import { commentNode, commentUrl, discussionNode } from './discussions.js'
import { pullJson, repositoryJson } from './repositories.js'
import { formatTime } from './request-context.js'
import type { GitHubState, StoredComment } from './state.js'

export interface WebhookEvent {
  name: 'issue_comment' | 'pull_request_review_comment' | 'discussion_comment'
  payload: Record<string, unknown>
}

export function makeCommentEvent(state: GitHubState, comment: StoredComment, action: string): WebhookEvent {
  const { repository, number, author } = comment
  if (comment.kind === 'discussion') return makeDiscussionEvent(state, comment, action)
  const pull = repository.pulls.get(number)
  const common = {
    action,
    comment: commentJson(state, comment),
    repository: repositoryJson(state, repository),
    sender: author,
    ...(repository.installation === undefined ? {} : { installation: { id: repository.installation } }),
  }
  if (comment.kind === 'review') {
    const shown = pull && pullJson(state, repository, pull)
    return { name: 'pull_request_review_comment', payload: { ...common, pull_request: shown } }
  }
  const page = `${state.serverUrl}/${repository.owner.login}/${repository.name}/pull/${number}`
  const opened = { number, state: pull?.state ?? 'open', user: pull?.author ?? repository.owner }
  const issue = pull ? { ...opened, pull_request: { html_url: page } } : opened
  return { name: 'issue_comment', payload: { ...common, issue } }
}

function makeDiscussionEvent(state: GitHubState, comment: StoredComment, action: string): WebhookEvent {
  const { repository, number, author } = comment
  const said = {
    id: comment.id,
    node_id: commentNode(comment),
    html_url: commentUrl(state.serverUrl, comment),
    parent_id: comment.root ?? null,
    body: comment.body,
    user: author,
    created_at: formatTime(comment.createdAt),
    updated_at: formatTime(comment.updatedAt),
    author_association: 'NONE',
  }
  const discussion = { number, node_id: discussionNode(repository, number), title: 'A discussion', state: 'open' }
  const payload = { action, comment: said, discussion, repository: repositoryJson(state, repository), sender: author }
  return { name: 'discussion_comment', payload }
}

export async function deliver(
  url: string,
  event: WebhookEvent,
  options: { secret: string; delivery?: string },
): Promise<Response> {
  const body = JSON.stringify(event.payload)
  return fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/local',
      'x-github-event': event.name,
      'x-github-delivery': options.delivery ?? randomUUID(),
      'x-hub-signature-256': `sha256=${createHmac('sha256', options.secret).update(body).digest('hex')}`,
    },
  })
}
