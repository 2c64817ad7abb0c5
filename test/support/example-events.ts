// The payloads of GitHub's events that `@octokit/webhooks-examples` collects.
import { createRequire } from 'node:module'

export interface ExampleEvent {
  name: string
  payload: object
}

const events = createRequire(import.meta.url)('@octokit/webhooks-examples') as { name: string; examples: object[] }[]

export const exampleEvents: ExampleEvent[] = events.flatMap(({ name, examples }) =>
  examples.map((payload) => ({ name, payload })),
)

interface CommentPayload {
  action: string
  comment: { id: number; body: string; user: { id: number; login: string; type: string } }
  issue?: { number: number; html_url: string; pull_request?: object }
  pull_request?: { number: number }
  repository: { id: number; full_name: string }
}

/** The examples of comments, each with this text. The collection's are on issues and in reviews; those on issues come on a pull request too. */
export function askingEvents(body: string): { name: string; payload: CommentPayload }[] {
  return exampleEvents
    .filter(({ name }) => name === 'issue_comment' || name === 'pull_request_review_comment')
    .flatMap(({ name, payload }) => {
      const { comment, issue, ...rest } = payload as CommentPayload
      const fresh = { ...rest, action: 'created', comment: { ...comment, body } }
      if (!issue) return [{ name, payload: fresh }]
      const onPull = { ...issue, pull_request: { url: issue.html_url, html_url: issue.html_url } }
      return [issue, onPull].map((one) => ({ name, payload: { ...fresh, issue: one } }))
    })
}
