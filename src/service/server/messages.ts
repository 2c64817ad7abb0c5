// Converts Node's HTTP messages to web requests, and web responses back.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

export interface ReceivedRequest {
  incoming: IncomingMessage
  response: ServerResponse
  /** As it was asked for. */
  url: URL
  rewritten: URL
  body: Buffer
}

/** Headers that belong to the connection, or that only the platform may set. */
const dropped = /^(?:connection|transfer-encoding|keep-alive|upgrade|expect|x-vercel-.*)$/i

/** The function sees the address as it was asked for, with what the rewrite added to its query. Throws for a method that no `Request` can have. */
export function toRequest({ incoming, url, rewritten, body }: ReceivedRequest, signal: AbortSignal): Request {
  const scheme = incoming.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  const address =
    clientAddress(`${scheme}://${incoming.headers.host ?? 'localhost'}${url.pathname}${url.search}`) ?? url
  for (const [key, value] of rewritten.searchParams)
    if (!address.searchParams.has(key)) address.searchParams.append(key, value)
  const headers = new Headers()
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    const [name, value] = [incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!]
    if (!dropped.test(name)) headers.append(name, value)
  }
  const method = incoming.method ?? 'GET'
  const withBody = method !== 'GET' && method !== 'HEAD'
  return new Request(address, { method, headers, signal, ...(withBody ? { body: new Uint8Array(body) } : {}) })
}

const clientAddress = (text: string) => (URL.canParse(text) ? new URL(text) : undefined)

/** Undefined when the body is larger. The rest is read and dropped, so that the client receives the error. */
export async function readBody(incoming: IncomingMessage, mostBytes: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of incoming) {
    size += (piece as Buffer).length
    if (size <= mostBytes) pieces.push(piece as Buffer)
    else pieces.length = 0
  }
  return size > mostBytes ? undefined : Buffer.concat(pieces)
}

/** Resolves when the response is sent or the client has disconnected. Cuts the response at the deadline. */
export async function send(out: Response, { response, incoming }: ReceivedRequest, deadline: number): Promise<void> {
  // A connection that is closed already says so no more.
  if (response.destroyed) return void (await out.body?.cancel())
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of out.headers) headers[name] = name === 'set-cookie' ? out.headers.getSetCookie() : value
  response.writeHead(out.status, headers)
  if (!out.body || incoming.method === 'HEAD') {
    response.end()
    return closed
  }
  response.flushHeaders()
  const body = Readable.fromWeb(out.body as Parameters<typeof Readable.fromWeb>[0])
  const timer = setTimeout(() => body.destroy(), Math.max(0, deadline - Date.now()))
  body.on('error', () => response.destroy())
  body.pipe(response)
  await closed
  clearTimeout(timer)
  body.destroy()
}
