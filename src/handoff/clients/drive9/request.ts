// Calls of drive9, with retries where they are safe.
//
// A call ends with an answer, with an error, or with `Lost` when it is not known whether the service did the work. Idempotent calls are made again
// after a loss. Writes are settled by their caller.

import type { HandoffError } from '../../domain/errors.js'
import type { Clock } from '../../domain/ports.js'
import { parseJson } from '../../util/decode.js'
import { doubled, type Pause, retry, retryAfterMs } from '../../util/retry.js'
import { type CallName, nameOf, notDrive9, refusal, saidIn } from './errors.js'
import {
  answerLimit,
  type BytesConsumer,
  type Call,
  type DriveTimes,
  Lost,
  makeExchange,
  type Received,
} from './exchange.js'
import type { Send } from './http.js'

export interface Answer extends Received {
  /** An earlier attempt of this call was lost: it may have been executed. */
  afterLoss: boolean
}

export interface Caller {
  /** The whole answer, at most `limit` bytes of it. */
  ask(call: Call, signal: AbortSignal, limit?: number): Promise<Answer>
  /** Feeds a file's bytes to the consumer, from the service or from where it redirects. False when there is no such file. */
  stream(call: Call, signal: AbortSignal, consumer: BytesConsumer): Promise<boolean>
}

/** Faults that may be over in a moment. Having no room (507) is not one of them. */
const transientStatuses = new Set([500, 502, 503, 504])
/** A server that asks for no pause is not asked again at once. */
const longestOwnPauseMs = 5_000

/** The service asks us to come back later, and did not execute the call. */
class NotReady extends Error {
  readonly error: HandoffError
  readonly waitMs: number

  constructor(error: HandoffError, waitMs: number) {
    super(error.message)
    this.error = error
    this.waitMs = waitMs
  }
}

export function makeCaller(key: string, times: DriveTimes, clock: Clock, send: Send): Caller {
  const exchange = makeExchange(key, times, send)

  async function retried(call: Call, signal: AbortSignal, once: (call: Call) => Promise<Received>): Promise<Answer> {
    const start = clock.now()
    let losses = 0
    let waits = 0
    const attempt = async () => {
      const received = await once(forAttempt(call, losses + 1))
      const problem = problemOf(call, received)
      if (problem) throw problem
      return { ...received, afterLoss: losses > 0 }
    }
    const pauseAfter = (error: unknown): Pause => {
      if (error instanceof NotReady) {
        if (call.once) throw new Lost(error.error)
        waits += 1
        const milliseconds = Math.max(error.waitMs, Math.min(doubled(times.pauseMs, waits), longestOwnPauseMs))
        if (clock.now() - start + milliseconds > times.settingUpMs) throw error.error
        return { milliseconds }
      }
      if (!(error instanceof Lost) || !call.idempotent) throw error
      losses += 1
      if (losses >= times.tries) throw error.error
      return { milliseconds: doubled(times.pauseMs, losses) }
    }
    return retry(attempt, pauseAfter, { clock, signal, doing: `asking drive9 for ${nameOf(call)}` })
  }

  function problemOf(call: Call, { status, header, body }: Received): Error | undefined {
    if ((status >= 200 && status < 300) || call.expected?.includes(status)) return undefined
    const said = saidIn(body, key)
    if (call.expectedWords?.test(said)) return undefined
    const requestedMs = retryAfterMs(header('retry-after'), clock.now())
    const seconds = requestedMs === undefined ? undefined : Math.min(requestedMs / 1_000, 60)
    const error = refusal(call, status, said, seconds)
    if ((status === 503 || status === 429) && header('retry-after') !== null) {
      return new NotReady(error, (seconds ?? 1) * 1_000)
    }
    return transientStatuses.has(status) ? new Lost(error) : error
  }

  return {
    ask: (call, signal, limit = answerLimit) => retried(call, signal, (one) => exchange.ask(one, signal, limit)),
    async stream(call, signal, consumer) {
      const once = (one: Call) => {
        consumer.restart()
        return exchange.download(one, signal, consumer)
      }
      const found = await retried({ ...call, idempotent: true, expected: [404] }, signal, once)
      return found.status !== 404
    },
  }
}

/** The call at its second, third, … attempt: each waits longer for the answer. */
export function forAttempt(call: Call, number: number): Call {
  const { smallAnswerMs } = call
  return smallAnswerMs === undefined ? call : { ...call, smallAnswerMs: doubled(smallAnswerMs, number) }
}

/** Every answer of the service is a JSON object. */
export function readJson(call: CallName, body: Uint8Array): Record<string, unknown> {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const value = parseJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw notDrive9(call, text.trimStart().startsWith('<') ? 'an HTML page' : 'something that is not a JSON object')
}
