// One request as an endpoint sees it, and the replies that several of them give.
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import type { GitHubState, Repository, Token } from './state.js'

export interface RequestContext {
  state: GitHubState
  request: RecordedRequest
  /** The named parts of the path, decoded. */
  parameters: Record<string, string>
  query: URLSearchParams
  /** Decoded JSON, or an empty object. */
  body: Record<string, unknown>
  /** Set for endpoints that need a token. */
  token: Token
  /** Set for endpoints under /repos/:owner/:name. */
  repository: Repository
}

/** What GitHub says when it refuses; everything is JSON with a message. Its description has the status in all of them but 422. */
export function errorReply(status: number, message: string, extra: { errors?: object[] } = {}): Reply {
  const details = status === 422 ? extra : { status: String(status), ...extra }
  return json(status, { message, documentation_url: 'https://docs.github.com/rest', ...details })
}

export const notFound = () => errorReply(404, 'Not Found')

export function forbidden(accepted: string): Reply {
  const reply = errorReply(403, 'Resource not accessible by integration')
  return { ...reply, headers: { ...reply.headers, 'x-accepted-github-permissions': accepted } }
}

export function validationError(resource: string, field: string, message: string): Reply {
  return errorReply(422, 'Validation Failed', { errors: [{ resource, code: 'unprocessable', field, message }] })
}

export const noContent = (): Reply => ({ status: 204 })

/** Seconds, as GitHub writes times. */
export const formatTime = (milliseconds: number) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`

/** A page of a list, with the Link header that leads through the rest. */
export function page(context: RequestContext, items: unknown[]): Reply {
  const size = Math.min(100, positive(context.query.get('per_page')) ?? 30)
  const number = positive(context.query.get('page')) ?? 1
  const last = Math.max(1, Math.ceil(items.length / size))
  const links = [
    ...(number < last ? [link(context, number + 1, 'next'), link(context, last, 'last')] : []),
    ...(number > 1 ? [link(context, number - 1, 'prev'), link(context, 1, 'first')] : []),
  ]
  const shown = items.slice((number - 1) * size, number * size)
  return json(200, shown, links.length > 0 ? { link: links.join(', ') } : {})
}

function positive(text: string | null): number | null {
  return text !== null && /^[1-9]\d*$/.test(text) ? Number(text) : null
}

function link(context: RequestContext, number: number, relation: string): string {
  const query = new URLSearchParams(context.query)
  query.set('page', String(number))
  const path = context.request.path.split('?')[0]!
  return `<${new URL(context.state.apiUrl).origin}${path}?${query}>; rel="${relation}"`
}
