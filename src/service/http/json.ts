// JSON responses.
import { createHash } from 'node:crypto'

export function jsonResponse(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  return new Response(`${JSON.stringify(value)}\n`, {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  })
}

/** For what does not change: a client that has it sends its tag, and gets 304. */
export function taggedResponse(request: Request, value: unknown): Response {
  const body = `${JSON.stringify(value)}\n`
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  const headers = { etag, 'cache-control': 'private, no-cache' }
  const known = (request.headers.get('if-none-match') ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
  if (known.includes(etag) || known.includes('*')) return new Response(null, { status: 304, headers })
  return new Response(body, { headers: { 'content-type': 'application/json; charset=utf-8', ...headers } })
}
