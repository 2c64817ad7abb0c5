// One request on the wire, over Node's own HTTP client: what `fetch` would do here, for a third of the time that a process's first `fetch` takes.
// No redirect is followed, nothing is unpacked, and nothing is tried again but what met a closed connection.
import type { ClientRequest, IncomingMessage } from 'node:http'
import * as plain from 'node:http'

interface Sent {
  method: string
  headers: Record<string, string>
  body?: Uint8Array
  agent?: false
  signal: AbortSignal
  /** How long it may take until there is a connection. */
  connectMs: number
  /** Sends it again, once and on a new connection, where it met a kept one in the moment in which that was closed. */
  againWhenClosed?: boolean
}

export interface Reply {
  status: number
  /** By its name in small letters; null where it is not there. */
  header(name: string): string | null
  /** Throws when the connection breaks. After an abort it just ends: the reader must check the signal. */
  body: AsyncIterable<Uint8Array>
  /** Closes the connection without reading the rest. */
  drop(): void
}

export type Send = typeof send

/** To one host at once, for all questions of a process. Further requests wait for a connection. */
const mostConnections = 64

/** Answers when the head of the reply is here; rejects with what Node says of the connection. */
export async function send(url: string, sent: Sent): Promise<Reply> {
  const { body, signal, connectMs, againWhenClosed = false, ...options } = sent
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const { request: open, globalAgent } = url.startsWith('https:') ? await import('node:https') : plain
  // The global agent, because it is the one that knows the proxy of the environment.
  globalAgent.maxSockets = mostConnections
  const request = open(url, options, resolve)
  let broken: Error | undefined
  // Both stay there when the head has come: a request that was answered early may break afterwards. An answer that changes the protocol only closes.
  request.on('error', (error) => {
    broken = error
    reject(error)
  })
  request.on('close', () => reject(new Error('It was closed without an answer.')))
  limitConnecting(request, connectMs)
  // How much had been received over the connection when the request got it.
  let before: number | undefined
  request.once('socket', (socket) => {
    before = socket.bytesRead
  })
  const stopped = whenAborted(signal, () => request.destroy())
  request.end(body)
  let reply: IncomingMessage
  try {
    reply = await promise.finally(stopped)
  } catch (error) {
    if (!againWhenClosed || signal.aborted || !wasClosed(request, before, error)) throw error
    // With a connection of its own, which cannot have been closed before.
    return send(url, { ...sent, againWhenClosed: false, agent: false })
  }
  // Destroys the reply, not the request: the request's error would have no listener after the last bytes.
  const drop = () => void reply.destroy()
  reply.once('close', whenAborted(signal, drop))
  // Who has answered before all was sent does not read the rest.
  reply.once('end', () => {
    if (!request.writableFinished) request.destroy()
  })
  const isMeasured = reply.headers['content-length'] !== undefined || reply.headers['transfer-encoding'] !== undefined
  return {
    status: reply.statusCode ?? 0,
    header: (name) => reply.headers[name]?.toString() ?? null,
    body: isMeasured ? reply : unlessBroken(reply, () => broken),
    drop,
  }
}

/**
 * A server may close an idle kept-alive connection while a request is on its way. Then the reset comes before the first byte of an answer, and the
 * server did not handle the request.
 */
function wasClosed(request: ClientRequest, before: number | undefined, error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE') && request.socket?.bytesRead === before
}

/** What only the end of the connection ends is taken for whole also where the connection was cut. */
async function* unlessBroken(reply: IncomingMessage, broken: () => Error | undefined): AsyncIterable<Uint8Array> {
  yield* reply
  const error = broken()
  if (error) throw error
}

/** A host that does not answer at all is given up sooner than one that thinks. */
function limitConnecting(request: ClientRequest, milliseconds: number): void {
  const late = () => request.destroy(Object.assign(new Error('There was no connection.'), { code: 'ETIMEDOUT' }))
  // Only then: before, it may wait for a connection of another request.
  request.once('socket', (socket) => {
    if (!socket.connecting) return
    const timer = setTimeout(late, milliseconds)
    socket.once('connect', () => clearTimeout(timer))
    request.once('close', () => clearTimeout(timer))
  })
}

/** Does it at once where it is late; returns how to forget it. */
function whenAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act()
  signal.addEventListener('abort', act, { once: true })
  return () => signal.removeEventListener('abort', act)
}
