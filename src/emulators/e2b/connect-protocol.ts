// How the cloud says no, and how envd's Connect protocol looks on the wire.
//
// A stream is a row of envelopes: a flag byte, four bytes of length, JSON. The last one has flag 2 and carries the error, if there is one.
import type { ServerResponse } from 'node:http'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'

type ConnectCode = keyof typeof statuses

const statuses = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
} as const

/** A request is refused: with an HTTP status by the REST services, with a code by Connect's. */
export class Refusal extends Error {
  readonly status: number
  readonly code: ConnectCode | undefined

  constructor(reason: number | ConnectCode, message: string) {
    super(message)
    this.status = typeof reason === 'number' ? reason : statuses[reason]
    this.code = typeof reason === 'number' ? undefined : reason
  }
}

/**
 * Three ways to say it: at the end of a stream; with a word, in Connect's other calls; and with a number, which stands in the body too, and
 * the SDK looks at that one.
 */
export function sayNo(error: Refusal, request: RecordedRequest, response: ServerResponse): Reply | undefined {
  if (request.headers['content-type']?.startsWith('application/connect+json')) {
    openStream(response, 90, {}).end(error)
    return undefined
  }
  const word = request.headers['connect-protocol-version'] ? error.code : undefined
  return json(error.status, { code: word ?? error.status, message: error.message })
}

export function readJson(request: RecordedRequest): Record<string, unknown> {
  const text = request.body.toString('utf8')
  return text === '' ? {} : parseObject(text)
}

/** The one message of a request that starts a stream. */
export function readEnvelope(request: RecordedRequest): Record<string, unknown> {
  if (request.body.length < 5) throw new Refusal('invalid_argument', 'protocol error: incomplete envelope')
  return parseObject(request.body.subarray(5, 5 + request.body.readUInt32BE(1)).toString('utf8'))
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw new Refusal('invalid_argument', 'the body is not a JSON object')
}

export interface MessageStream {
  /** False when the other side is slow and `drained` should be awaited. */
  send: (message: unknown) => boolean
  drained: () => Promise<void>
  end: (error?: Refusal) => void
  /** Drops the connection, as when the machine disappears. */
  drop: () => void
  /** Resolves when nothing more can be sent, whichever side closed the stream. */
  closed: Promise<void>
}

export function openStream(response: ServerResponse, keepAliveSeconds: number, keepAlive: unknown): MessageStream {
  response.writeHead(200, { 'content-type': 'application/connect+json' })
  response.flushHeaders()
  const done = Promise.withResolvers<void>()
  const envelope = (flag: number, message: unknown) => {
    const body = Buffer.from(JSON.stringify(message))
    const head = Buffer.alloc(5)
    head.writeUInt8(flag)
    head.writeUInt32BE(body.length, 1)
    return Buffer.concat([head, body])
  }
  const open = () => !response.destroyed && !response.writableEnded
  const send = (message: unknown) => !open() || response.write(envelope(0, message))
  const pulse = setInterval(() => send(keepAlive), keepAliveSeconds * 1000)
  pulse.unref()
  const finish = () => {
    clearInterval(pulse)
    done.resolve()
  }
  response.once('close', finish).on('error', finish)
  return {
    send,
    drained: () => Promise.race([done.promise, new Promise<void>((resolve) => response.once('drain', resolve))]),
    end(error) {
      const trailer = error ? { error: { code: error.code ?? 'unknown', message: error.message } } : {}
      if (open()) response.end(envelope(2, trailer))
      finish()
    },
    drop() {
      response.destroy()
      finish()
    },
    closed: done.promise,
  }
}

export function keepAliveOf(request: RecordedRequest): number {
  const seconds = Number(request.headers['keepalive-ping-interval'])
  return seconds > 0 ? seconds : 90
}
