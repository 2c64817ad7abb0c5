// One exchange with drive9: a request, the timeouts of its reply, and its body. It ends with a reply, with an error, or with `Lost` when it is not
// known whether the service did the work.
import { abortError, HandoffError } from '../../domain/errors.js'
import { brokenConnection, type CallName, lateness, nameOf, notDrive9, refusal, silence, tooLarge } from './errors.js'
import type { Reply, Send } from './http.js'

export interface Call extends CallName {
  /** Absolute address. */
  url: string
  /** False for presigned addresses, which must not receive the key. */
  withKey: boolean
  headers?: Record<string, string>
  body?: Uint8Array
  /** May be made again after a lost reply. */
  idempotent: boolean
  /** Made once: its caller looks before each attempt, also where the service asks it to wait. */
  once?: boolean
  /**
   * Sent again if the server closed the kept connection just before. For calls that are not idempotent; a write is looked up instead, because a
   * second one would meet a conflict.
   */
  againWhenClosed?: boolean
  /** Timeout of the first attempt of a call that the service answers at once. */
  smallAnswerMs?: number
  /** Statuses besides 2xx that the caller handles. */
  expected?: number[]
  /** Text of a body that the caller handles, whatever the status. The call is not made again. */
  expectedWords?: RegExp
}

export interface Received {
  status: number
  header: Reply['header']
  body: Uint8Array
}

export interface BytesConsumer {
  /** A stream that broke off starts again from the first byte. */
  restart(): void
  bytes(piece: Uint8Array): void
  /** Refuse what is larger; unlimited when absent. */
  most?: number
}

/** No answer of the service but a file is longer. */
export const answerLimit = 32 * 1024 * 1024

interface Exchange {
  /** The whole body, at most `limit` bytes of it. */
  ask(call: Call, signal: AbortSignal, limit: number): Promise<Received>
  /** Feeds the bytes of a file to the consumer. The body of the result is empty then. */
  download(call: Call, signal: AbortSignal, consumer: BytesConsumer): Promise<Received>
}

interface Opened {
  reply: Reply
  watch: Watch
}

export function makeExchange(key: string, times: DriveTimes, send: Send): Exchange {
  /** Sends the request and waits for the head. One timeout limits the head; each later silence has a timeout of its own. */
  async function open(call: Call, signal: AbortSignal): Promise<Opened> {
    if (signal.aborted) throw abortError(signal, `asking drive9 for ${nameOf(call)}`)
    const watch = watchTime(call, signal)
    const wait =
      Math.min(call.smallAnswerMs ?? times.answerMs, times.answerMs) +
      ((call.body?.length ?? 0) / times.bytesPerSecond) * 1000
    watch.until(wait, () => lateness(call, wait / 1000))
    try {
      const reply = await send(call.url, {
        method: call.method,
        headers: {
          'accept-encoding': 'identity',
          'user-agent': 'handoff',
          ...call.headers,
          ...(call.withKey ? { authorization: `Bearer ${key}` } : {}),
        },
        signal: watch.signal,
        connectMs: times.connectMs,
        againWhenClosed: call.againWhenClosed ?? false,
        ...(call.body === undefined ? {} : { body: call.body }),
      })
      return { reply, watch }
    } catch (error) {
      watch.end()
      throw watch.reason() ?? new Lost(brokenConnection(call, error))
    }
  }

  async function read(call: Call, { reply, watch }: Opened, consume: (piece: Uint8Array) => void): Promise<void> {
    let received = 0
    const silenceMs = Math.min(call.smallAnswerMs ?? times.silenceMs, times.silenceMs)
    const listen = () => watch.until(silenceMs, () => silence(call, silenceMs / 1000, received))
    try {
      const packed = isCompressed(call, reply)
      if (packed && reply.status < 300) throw new Lost(notDrive9(call, 'packed data'))
      listen()
      for await (const piece of reply.body) {
        received += piece.length
        // A body that a proxy compressed is not the service's message.
        if (!packed) consume(piece)
        listen()
      }
      const cut = watch.reason()
      if (cut) throw cut
      checkLength(call, reply, received)
    } catch (error) {
      reply.drop()
      if (error instanceof HandoffError || error instanceof Lost) throw error
      throw watch.reason() ?? new Lost(brokenConnection(call, error, received))
    } finally {
      watch.end()
    }
  }

  async function readWhole(call: Call, opened: Opened, limit: number): Promise<Received> {
    const pieces: Uint8Array[] = []
    let size = 0
    await read(call, opened, (piece) => {
      size += piece.length
      if (size > limit) throw tooLarge(call, limit)
      pieces.push(piece)
    })
    return { status: opened.reply.status, header: opened.reply.header, body: Buffer.concat(pieces) }
  }

  /** Reads a file once. A large one is a redirect to an object storage, which must not receive the key. */
  async function download(call: Call, signal: AbortSignal, consumer: BytesConsumer): Promise<Received> {
    const opened = await open(call, signal)
    const { status, header } = opened.reply
    if (![302, 303, 307].includes(status)) return readFile(call, opened, consumer)
    await read(call, opened, () => undefined)
    // A large file takes longer than a small answer.
    const { smallAnswerMs: _small, ...large } = call
    const stored = { ...large, url: objectAddress(call, call.url, header('location')), withKey: false }
    const object = await open(stored, signal)
    if (object.reply.status !== 403 && object.reply.status !== 404) return readFile(stored, object, consumer)
    // The address expired, or the object was replaced: the next attempt asks for a new address.
    drop(object)
    throw new Lost(refusal(stored, object.reply.status, 'the object storage'))
  }

  async function readFile(call: Call, opened: Opened, consumer: BytesConsumer): Promise<Received> {
    const { status, header } = opened.reply
    if (status !== 200) return readWhole(call, opened, answerLimit)
    refuseBeforeReading(call, opened, consumer)
    let size = 0
    await read(call, opened, (piece) => {
      size += piece.length
      if (consumer.most !== undefined && size > consumer.most) throw tooLarge(call, consumer.most)
      consumer.bytes(piece)
    })
    return { status, header, body: new Uint8Array() }
  }

  return {
    ask: async (call, signal, limit) => readWhole(call, await open(call, signal), limit),
    download,
  }
}

function refuseBeforeReading(call: Call, opened: Opened, { most }: BytesConsumer): void {
  const { header } = opened.reply
  const page = header('content-type')?.startsWith('text/html') ?? false
  const size = Number(header('content-length') ?? '0')
  const problem = page ? notDrive9(call, 'an HTML page') : size > (most ?? size) ? tooLarge(call, most ?? 0) : undefined
  if (!problem) return
  drop(opened)
  throw problem
}

function drop({ reply, watch }: Opened): void {
  watch.end()
  reply.drop()
}

/** Where the service sends us for an object's bytes; never from a secure connection to one that is not. */
export function objectAddress(call: CallName, from: string, to: string | null): string {
  if (to === null || !URL.canParse(to, from)) throw notDrive9(call, 'an address that leads nowhere')
  const { href, protocol } = new URL(to, from)
  const weaker = from.startsWith('https:') && protocol !== 'https:'
  if (weaker || !/^https?:$/.test(protocol)) throw notDrive9(call, 'an address that leaves the secure connection')
  return href
}

/** The request did not accept compression, so a proxy compressed the reply. */
function isCompressed(call: Call, reply: Reply): boolean {
  const encoding = reply.header('content-encoding')?.toLowerCase() || 'identity'
  return encoding !== 'identity' && call.method !== 'HEAD'
}

/** Fewer or more bytes than were announced is a loss, whatever the connection says. */
function checkLength(call: Call, reply: Reply, received: number): void {
  const announced = reply.header('content-length')
  if (call.method === 'HEAD' || announced === null || Number(announced) === received) return
  throw new Lost(brokenConnection(call, undefined, received))
}

// How long drive9 is waited for, and what ends the waiting: our deadline is a loss, the caller's wish is the caller's wish.

export interface DriveTimes {
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
  /** How often an idempotent call is made at most when connections fail or the server has a fault. */
  tries: number
  /** How long a service that asks to be asked later is waited for, within the caller's own time. */
  settingUpMs: number
}

export const defaultTimes: DriveTimes = {
  connectMs: 10_000,
  answerMs: 20_000,
  smallAnswerMs: 4_000,
  silenceMs: 20_000,
  bytesPerSecond: 200_000,
  pauseMs: 250,
  tries: 4,
  settingUpMs: 120_000,
}

/** It is unknown whether the server did the work. `error` is thrown when that cannot be found out. */
export class Lost extends Error {
  readonly error: HandoffError

  constructor(error: HandoffError) {
    super(error.message)
    this.error = error
  }
}

interface Watch {
  signal: AbortSignal
  /** Replaces the deadline before it. */
  until(milliseconds: number, late: () => HandoffError): void
  end(): void
  /** Why it was cut off: the caller's own wish as it is, our deadline as a loss. */
  reason(): HandoffError | Lost | undefined
}

function watchTime(call: CallName, caller: AbortSignal): Watch {
  const controller = new AbortController()
  const stop = () => controller.abort()
  let timer: NodeJS.Timeout | undefined
  let late: HandoffError | undefined
  caller.addEventListener('abort', stop, { once: true })
  return {
    signal: controller.signal,
    until(milliseconds, makeError) {
      clearTimeout(timer)
      timer = setTimeout(() => {
        late = makeError()
        controller.abort()
      }, milliseconds)
    },
    end() {
      clearTimeout(timer)
      caller.removeEventListener('abort', stop)
    },
    reason() {
      if (caller.aborted) return abortError(caller, `asking drive9 for ${nameOf(call)}`)
      return late && new Lost(late)
    },
  }
}
