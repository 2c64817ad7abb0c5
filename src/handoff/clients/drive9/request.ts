// One conversation with drive9: a call with a deadline, tried again where that cannot do harm.
//
// A call ends in one of three ways: an answer, an error that tells what the server or the caller wants, or `Lost`: we do not know whether the
// work was done. Reads and other idempotent calls are simply made again after a loss; writes are settled by their caller.

import { abortError, HandoffError } from '../../domain/errors.js'
import type { Clock } from '../../domain/ports.js'
import { retryAfterMs } from '../../util/retry-after.js'
import { type DriveTimes, Lost, type Watch, watchTime } from './deadlines.js'
import {
  brokenConnection,
  type CallName,
  lateness,
  nameOf,
  notDrive9,
  refusal,
  saidIn,
  silence,
  tooLarge,
} from './errors.js'
import { type Reply, send } from './http.js'

export interface Call extends CallName {
  /** Absolute address. */
  url: string
  /** False for addresses that carry their own proof: the key must not go there. */
  withKey: boolean
  headers?: Record<string, string>
  body?: Uint8Array
  /** May be made again when it is not known whether it was done. */
  idempotent: boolean
  /**
   * Sent again where a kept connection had just been closed: for what may not be made again otherwise. A write is looked up instead, because one that was
   * done after all would be told of a conflict.
   */
  againWhenClosed?: boolean
  /** For a call that is answered at once: how long it is waited for at its first try, where that is shorter than is waited for any call. */
  smallAnswerMs?: number
  /** Statuses besides 2xx that the caller deals with itself. */
  expected?: number[]
  /** Words of a body that the caller deals with itself, whatever the status: it is not asked again. */
  expectedWords?: RegExp
}

type Head = Pick<Reply, 'status' | 'header'>

export interface Answer {
  status: number
  header: Reply['header']
  body: Uint8Array
  /** An earlier try of this call was lost: it may have been done already. */
  afterLoss: boolean
}

export interface Caller {
  /** The whole answer, at most `limit` bytes of it. */
  ask(call: Call, signal: AbortSignal, limit?: number): Promise<Answer>
  /** Feeds a file's bytes to `onBytes` as they come, from here or from where a redirect leads. False when there is no such file. */
  stream(call: Call, signal: AbortSignal, onBytes: BytesConsumer): Promise<boolean>
}

export interface BytesConsumer {
  /** A stream that broke off starts again from the first byte. */
  restart(): void
  bytes(piece: Uint8Array): void
  /** Refuse what is larger; unlimited when absent. */
  most?: number
}

/** Faults of the service or of something before it that may be over in a moment. Having no room (507) is not one of them. */
const mayPass = new Set([500, 502, 503, 504])

const answerLimit = 32 * 1024 * 1024

export function makeCaller(key: string, times: DriveTimes, clock: Clock): Caller {
  /** Sends, and stands by until the body is read: a deadline for the head, then one for each silence. */
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

  async function once(call: Call, signal: AbortSignal, limit: number): Promise<Omit<Answer, 'afterLoss'>> {
    const opened = await open(call, signal)
    const pieces: Uint8Array[] = []
    let size = 0
    await read(call, opened, (piece) => {
      size += piece.length
      if (size > limit) throw tooLarge(call, limit)
      pieces.push(piece)
    })
    return { status: opened.reply.status, header: opened.reply.header, body: Buffer.concat(pieces) }
  }

  /** Makes a try again as long as that is safe and there is time; `judge` says what an answer is. */
  async function again<T extends Head>(
    call: Call,
    signal: AbortSignal,
    attempt: (call: Call) => Promise<T>,
    judge: (result: T) => HandoffError | undefined,
  ): Promise<T & { afterLoss: boolean }> {
    const start = clock.now()
    let afterLoss = false
    let waits = 0
    for (let number = 1; ; ) {
      let problem: HandoffError
      try {
        const result = await attempt(forAttempt(call, number))
        const error = judge(result)
        if (!error) return { ...result, afterLoss }
        if (requestsWait(result)) {
          // Never sooner than we would by ourselves: a server that says 0 is not to be asked without end.
          const ownWait = Math.min(times.pauseMs * 2 ** waits++, 5_000)
          const wait = Math.max((retryAfter(result, clock) ?? 1) * 1_000, ownWait)
          if (clock.now() - start + wait > times.settingUpMs) throw error
          await clock.sleep(wait, signal)
          continue
        }
        if (!mayPass.has(result.status)) throw error
        if (!call.idempotent) throw new Lost(error)
        problem = error
      } catch (error) {
        if (!(error instanceof Lost) || !call.idempotent) throw error
        problem = error.error
      }
      afterLoss = true
      number += 1
      if (number > times.tries) throw problem
      await clock.sleep(times.pauseMs * 2 ** (number - 2), signal)
    }
  }

  const judge = (call: Call) => (answer: Head & { body?: Uint8Array }) => {
    const fine = (answer.status >= 200 && answer.status < 300) || call.expected?.includes(answer.status)
    if (fine) return undefined
    const said = saidIn(answer.body, key)
    if (call.expectedWords?.test(said)) return undefined
    return refusal(call, answer.status, said, retryAfter(answer, clock))
  }

  return {
    ask: (call, signal, limit = answerLimit) =>
      again(call, signal, (attempt) => once(attempt, signal, limit), judge(call)),
    async stream(call, signal, consumer) {
      const attempt = async (call: Call) => {
        consumer.restart()
        return download(call, signal, consumer, { open, read })
      }
      const found = await again({ ...call, idempotent: true }, signal, attempt, judge({ ...call, expected: [404] }))
      return found.status !== 404
    },
  }
}

/** The same call at its second, third, … try: it is waited for longer. */
export function forAttempt(call: Call, number: number): Call {
  const { smallAnswerMs } = call
  return smallAnswerMs === undefined ? call : { ...call, smallAnswerMs: smallAnswerMs * 2 ** (number - 1) }
}

interface Opened {
  reply: Reply
  watch: Watch
}

interface Talk {
  open(call: Call, signal: AbortSignal): Promise<Opened>
  read(call: Call, opened: Opened, consume: (piece: Uint8Array) => void): Promise<void>
}

/** One try to read a file. Large ones are a redirect to an object storage, which must not be shown the key. */
async function download(first: Call, signal: AbortSignal, consumer: BytesConsumer, talk: Talk) {
  let call = first
  let opened = await talk.open(call, signal)
  let { status, header } = opened.reply
  if (status === 302 || status === 303 || status === 307) {
    await talk.read(call, opened, () => undefined)
    // Where it leads is large, and takes its time.
    const { smallAnswerMs: _small, ...large } = call
    call = { ...large, url: objectAddress(call, call.url, header('location')), withKey: false }
    opened = await talk.open(call, signal)
    // An address that ran out, or an object that was replaced meanwhile: ask for a new one.
    if (opened.reply.status === 403 || opened.reply.status === 404) {
      drop(opened)
      throw new Lost(refusal(call, opened.reply.status, 'the object storage'))
    }
    ;({ status, header } = opened.reply)
  }
  const pieces: Uint8Array[] = []
  if (status !== 200) {
    await talk.read(call, opened, (piece) => pieces.push(piece))
    return { status, header, body: Buffer.concat(pieces) as Uint8Array }
  }
  refuseBeforeReading(call, opened, consumer)
  let size = 0
  await talk.read(call, opened, (piece) => {
    size += piece.length
    if (consumer.most !== undefined && size > consumer.most) throw tooLarge(call, consumer.most)
    consumer.bytes(piece)
  })
  return { status, header, body: new Uint8Array() as Uint8Array }
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

const requestsWait = ({ status, header }: Head) => (status === 503 || status === 429) && header('retry-after') !== null

function retryAfter({ header }: Head, clock: Clock): number | undefined {
  const wait = retryAfterMs(header('retry-after'), clock.now())
  return wait === undefined ? undefined : Math.min(wait / 1_000, 60)
}

/** Every answer of the service is a JSON object. */
export function readJson(call: CallName, body: Uint8Array): Record<string, unknown> {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw notDrive9(call, text.trimStart().startsWith('<') ? 'an HTML page' : 'something that is not a JSON object')
}
