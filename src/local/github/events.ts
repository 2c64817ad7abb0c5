// The events of comments, as workflows and webhooks get them.
import { createHmac, randomUUID } from 'node:crypto'
import { commentJson } from './comments.js'
import { pullJson, repositoryJson } from './repositories.js'
import type { StoredComment, World } from './world.js'

export interface Event {
  name: 'issue_comment' | 'pull_request_review_comment'
  payload: Record<string, unknown>
}

export function eventOf(world: World, comment: StoredComment, action: string): Event {
  const { repository, number, author } = comment
  const pull = repository.pulls.get(number)
  const common = {
    action,
    comment: commentJson(world, comment),
    repository: repositoryJson(world, repository),
    sender: author,
    ...(repository.installation === undefined ? {} : { installation: { id: repository.installation } }),
  }
  if (comment.kind === 'review') {
    const shown = pull && pullJson(world, repository, pull)
    return { name: 'pull_request_review_comment', payload: { ...common, pull_request: shown } }
  }
  const page = `${world.serverUrl}/${repository.owner.login}/${repository.name}/pull/${number}`
  const opened = { number, state: pull?.state ?? 'open', user: pull?.author ?? repository.owner }
  const issue = pull ? { ...opened, pull_request: { html_url: page } } : opened
  return { name: 'issue_comment', payload: { ...common, issue } }
}

export async function deliver(
  url: string,
  event: Event,
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
