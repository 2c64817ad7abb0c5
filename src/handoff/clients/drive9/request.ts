// Calls of drive9, with retries where they are safe.
//
// A call ends with an answer, with an error, or with `Lost` when it is not known whether the service did the work. Calls that may be repeated are
// made again after a loss. Writes are settled by their caller.
import { abortError, HandoffError } from '../../domain/errors.js'
import type { Clock } from '../../domain/ports.js'
import { parseJson } from '../../util/decode.js'
import { doubled, type Pause, retry, retryAfterMs } from '../../util/retry.js'
import { withoutTrailingSlashes } from '../../util/text.js'
import { systemClock } from '../system-clock.js'
import {
  brokenConnection,
  type CallName,
  lateness,
  nameOf,
  notDrive9,
  objectAddress,
  refusal,
  saidIn,
  silence,
  tooLarge,
} from './errors.js'
import { type Reply, type Send, send } from './http.js'

export interface DriveSettings {
  /** `https://api.drive9.ai`, or wherever the service is. */
  server: string
  /** The owner's key, or a token that opens a part. */
  key: string
  /** Hosts of the object storage that large files come from and go to; a sandbox must be let through to them. */
  hosts?: string[]
  times?: Partial<DriveTimes>
  clock?: Clock
  /** How a request is sent; by Node's own HTTP client if absent. */
  send?: Send
}

interface DriveTimes {
  /** Until there is a connection. */
  connectMs: number
  /** For an answer without much data, and for the first byte of one with much. */
  answerMs: number
  /**
   * For an answer that normally comes at once. It is short, so that a lost answer is noticed and settled within the ten seconds of a cleanup. It
   * doubles with each attempt, up to `answerMs`.
   */
  smallAnswerMs: number
  /** For a body under way: the longest silence. */
  silenceMs: number
  /** The slowest upload that is waited for. */
  bytesPerSecond: number
  /** Before the second try; doubled for each further one. */
  pauseMs: number
  /** How often a call is repeated at most when connections fail or the server has a fault. */
  tries: number
  /** How long a service that asks to be asked later is waited for, within the caller's own time. */
  settingUpMs: number
}

const defaultTimes: DriveTimes = {
  connectMs: 10_000,
  answerMs: 20_000,
  smallAnswerMs: 4_000,
  silenceMs: 20_000,
  bytesPerSecond: 200_000,
  pauseMs: 250,
  tries: 4,
  settingUpMs: 120_000,
}

export interface Connection {
  server: string
  key: string
  times: DriveTimes
  clock: Clock
  send: Send
}

export const connectionOf = (settings: DriveSettings): Connection => ({
  server: withoutTrailingSlashes(settings.server),
  key: settings.key,
  times: { ...defaultTimes, ...settings.times },
  clock: settings.clock ?? systemClock,
  send: settings.send ?? send,
})

export interface Call extends CallName {
  /** Where it goes, if not to `path`: encoded, or the absolute address of an object storage, which must not receive the key. */
  to?: string
  headers?: Record<string, string>
  body?: Uint8Array
  /** The body, as JSON. */
  json?: unknown
  /** After a loss it is made again (when absent), or the loss is thrown. `never`: nor where the service asks it to wait. */
  repeat?: 'after-a-wait' | 'never'
  /**
   * Sent again if the server closed the kept connection just before. For calls that must not be repeated; a write is looked up instead, because a
   * second one would meet a conflict.
   */
  againWhenClosed?: boolean
  /** The service answers at once, however large the file or the directory is. */
  quick?: boolean
  /** For callers that repeat it themselves: the patience of a quick call grows with it. */
  attempt?: number
  /** Statuses besides 2xx that the caller handles. */
  expected?: number[]
  /** Text of a body that the caller handles, whatever the status. The call is not made again. */
  expectedWords?: RegExp
  /** A file is wanted, from the service or from where it redirects. */
  file?: WantedFile
}

interface WantedFile {
  /** Refuse what is larger; unlimited when absent. */
  most?: number
  /** Takes the bytes, which are not kept then. A stream that broke off starts again from the first byte. */
  consumer?: { restart(): void; bytes(piece: Uint8Array): void }
}

interface Answer {
  status: number
  header: Reply['header']
  /** Empty when a file's consumer took the bytes. */
  body: Uint8Array
  /** An earlier attempt of this call was lost: it may have been executed. */
  afterLoss: boolean
}
type Received = Omit<Answer, 'afterLoss'>

/** It is unknown whether the server did the work; with `waitMs` it did not, and asks us to come back. `error` is thrown in the end. */
export class Lost extends Error {
  readonly error: HandoffError
  readonly waitMs: number | undefined

  constructor(error: HandoffError, waitMs?: number) {
    super(error.message)
    this.error = error
    this.waitMs = waitMs
  }
}

/** No answer of the service but a file is longer. */
const answerLimit = 32 * 1024 * 1024
/** Faults that may be over in a moment. Having no room (507) is not one of them. */
const transientStatuses = new Set([500, 502, 503, 504])
/** A server that asks for no pause is not asked again at once. */
const longestOwnPauseMs = 5_000

export function request(connection: Connection, call: Call, signal: AbortSignal): Promise<Answer> {
  const { times, clock } = connection
  const start = clock.now()
  let losses = 0
  let waits = 0
  const attempt = async () => {
    const received = await receive(connection, { ...call, attempt: call.attempt ?? losses + 1 }, signal)
    const problem = problemOf(connection, call, received)
    if (problem) throw problem
    return { ...received, afterLoss: losses > 0 }
  }
  const pauseAfter = (error: unknown): Pause => {
    if (!(error instanceof Lost) || call.repeat === 'never') throw error
    if (error.waitMs !== undefined) {
      waits += 1
      const milliseconds = Math.max(error.waitMs, Math.min(doubled(times.pauseMs, waits), longestOwnPauseMs))
      if (clock.now() - start + milliseconds > times.settingUpMs) throw error.error
      return { milliseconds }
    }
    if (call.repeat === 'after-a-wait') throw error
    losses += 1
    if (losses >= times.tries) throw error.error
    return { milliseconds: doubled(times.pauseMs, losses) }
  }
  return retry(attempt, pauseAfter, { clock, signal, doing: `asking drive9 for ${nameOf(call)}` })
}

function problemOf({ key, clock }: Connection, call: Call, { status, header, body }: Received): Error | undefined {
  if ((status >= 200 && status < 300) || call.expected?.includes(status)) return undefined
  const said = saidIn(body, key)
  if (call.expectedWords?.test(said)) return undefined
  const requestedMs = retryAfterMs(header('retry-after'), clock.now())
  const seconds = requestedMs === undefined ? undefined : Math.min(requestedMs / 1_000, 60)
  const error = refusal(call, status, said, seconds)
  if ((status === 503 || status === 429) && header('retry-after') !== null)
    return new Lost(error, (seconds ?? 1) * 1_000)
  return transientStatuses.has(status) ? new Lost(error) : error
}

/** One attempt. A large file is a redirect to an object storage. */
async function receive(connection: Connection, call: Call, signal: AbortSignal): Promise<Received> {
  call.file?.consumer?.restart()
  const received = await exchange(connection, call, signal)
  if (!call.file || ![302, 303, 307].includes(received.status)) return received
  const to = objectAddress(call, `${connection.server}${call.to ?? call.path}`, received.header('location'))
  // A large file takes longer than a small answer.
  const stored = { ...call, to, quick: false }
  const object = await exchange(connection, stored, signal)
  if (object.status !== 403 && object.status !== 404) return object
  // The address expired, or the object was replaced: the next attempt asks for a new address.
  throw new Lost(refusal(stored, object.status, 'the object storage'))
}

/** Sends the request and reads the reply. One timeout limits the head; each later silence has a timeout of its own. */
async function exchange(connection: Connection, call: Call, signal: AbortSignal): Promise<Received> {
  const { times, server, key } = connection
  const { method, to = call.path, json } = call
  const doing = `asking drive9 for ${nameOf(call)}`
  if (signal.aborted) throw abortError(signal, doing)
  const sent = json === undefined ? call.body : new TextEncoder().encode(JSON.stringify(json))
  const own = to.startsWith('/')
  const patienceMs = call.quick ? doubled(times.smallAnswerMs, call.attempt ?? 1) : Number.POSITIVE_INFINITY
  const waitMs = Math.min(patienceMs, times.answerMs) + ((sent?.length ?? 0) / times.bytesPerSecond) * 1_000
  const silenceMs = Math.min(patienceMs, times.silenceMs)
  const cut = new AbortController()
  const stop = () => cut.abort()
  signal.addEventListener('abort', stop, { once: true })
  let late: HandoffError | undefined
  let timer: NodeJS.Timeout | undefined
  /** Replaces the timeout before it. */
  const wait = (milliseconds: number, makeError: () => HandoffError) => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      late = makeError()
      stop()
    }, milliseconds)
  }
  let reply: Reply | undefined
  let received = 0
  try {
    wait(waitMs, () => lateness(call, waitMs / 1_000))
    reply = await connection.send(own ? `${server}${to}` : to, {
      method,
      headers: {
        'accept-encoding': 'identity',
        'user-agent': 'handoff',
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
        ...(own ? { authorization: `Bearer ${key}` } : {}),
      },
      signal: cut.signal,
      connectMs: times.connectMs,
      againWhenClosed: call.againWhenClosed ?? false,
      ...(sent === undefined ? {} : { body: sent }),
    })
    const body = await readBody(call, reply, (bytes) => {
      received = bytes
      wait(silenceMs, () => silence(call, silenceMs / 1_000, received))
    })
    // After an abort the body just ends.
    if (!cut.signal.aborted) return { status: reply.status, header: reply.header, body }
    throw new Error('The reply was cut.')
  } catch (error) {
    reply?.drop()
    if (error instanceof HandoffError || error instanceof Lost) throw error
    if (signal.aborted) throw abortError(signal, doing)
    throw new Lost(late ?? brokenConnection(call, error, reply && received))
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** Tells `listen` how many bytes have come: at the beginning, and after each piece. */
async function readBody(call: Call, reply: Reply, listen: (received: number) => void): Promise<Uint8Array> {
  const { status, header, body } = reply
  const isHead = call.method === 'HEAD'
  const sink = status === 200 ? call.file : undefined
  const limit = sink ? (sink.most ?? Number.POSITIVE_INFINITY) : answerLimit
  const announced = isHead ? null : header('content-length')
  if (sink && header('content-type')?.startsWith('text/html')) throw notDrive9(call, 'an HTML page')
  if (sink && Number(announced) > limit) throw tooLarge(call, limit)
  // The request did not accept compression, so a proxy compressed the reply: it is not the service's message.
  const packed = !isHead && (header('content-encoding')?.toLowerCase() || 'identity') !== 'identity'
  if (packed && status < 300) throw new Lost(notDrive9(call, 'packed data'))
  const pieces: Uint8Array[] = []
  const take = sink?.consumer?.bytes ?? ((piece: Uint8Array) => pieces.push(piece))
  let received = 0
  listen(received)
  for await (const piece of body) {
    received += piece.length
    if (received > limit) throw tooLarge(call, limit)
    take(piece)
    listen(received)
  }
  // Fewer or more bytes than were announced is a loss, whatever the connection says.
  if (announced === null || Number(announced) === received) return Buffer.concat(packed ? [] : pieces)
  throw new Error('The reply is not whole.')
}

/** Every answer of the service is a JSON object. */
export function readJson(call: CallName, body: Uint8Array): Record<string, unknown> {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const value = parseJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw notDrive9(call, text.trimStart().startsWith('<') ? 'an HTML page' : 'something that is not a JSON object')
}
