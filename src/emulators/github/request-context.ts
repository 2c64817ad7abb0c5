// One request as an endpoint sees it, and the replies that several of them give.
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import type { Repository, Token, World } from './world.js'

export interface Exchange {
  world: World
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
export function problem(status: number, message: string, extra: { errors?: object[] } = {}): Reply {
  const told = status === 422 ? extra : { status: String(status), ...extra }
  return json(status, { message, documentation_url: 'https://docs.github.com/rest', ...told })
}

export const notFound = () => problem(404, 'Not Found')

export function notAllowed(accepted: string): Reply {
  const reply = problem(403, 'Resource not accessible by integration')
  return { ...reply, headers: { ...reply.headers, 'x-accepted-github-permissions': accepted } }
}

export function invalid(resource: string, field: string, message: string): Reply {
  return problem(422, 'Validation Failed', { errors: [{ resource, code: 'unprocessable', field, message }] })
}

export const noContent = (): Reply => ({ status: 204 })

/** Seconds, as GitHub writes times. */
export const timeText = (milliseconds: number) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`

/** A page of a list, with the Link header that leads through the rest. */
export function page(exchange: Exchange, items: unknown[]): Reply {
  const size = Math.min(100, positive(exchange.query.get('per_page')) ?? 30)
  const number = positive(exchange.query.get('page')) ?? 1
  const last = Math.max(1, Math.ceil(items.length / size))
  const links = [
    ...(number < last ? [link(exchange, number + 1, 'next'), link(exchange, last, 'last')] : []),
    ...(number > 1 ? [link(exchange, number - 1, 'prev'), link(exchange, 1, 'first')] : []),
  ]
  const shown = items.slice((number - 1) * size, number * size)
  return json(200, shown, links.length > 0 ? { link: links.join(', ') } : {})
}

function positive(text: string | null): number | null {
  return text !== null && /^[1-9]\d*$/.test(text) ? Number(text) : null
}

function link(exchange: Exchange, number: number, relation: string): string {
  const query = new URLSearchParams(exchange.query)
  query.set('page', String(number))
  const path = exchange.request.path.split('?')[0]!
  return `<${new URL(exchange.world.apiUrl).origin}${path}?${query}>; rel="${relation}"`
}
