// Asks the model within what a run may spend, so many requests at once, so many a minute.
import type { Clock } from '../library/clock.js'
import { abortError, HandoffError } from '../library/errors.js'
import type { RunEvent } from '../library/events.js'
import type { Spending } from '../library/summaries/spending.js'
import type { Messages } from '../library/summaries/summary-prompt.js'
import type { Model, ModelReply } from '../library/tools.js'

export interface CallLimits {
  concurrency: number
  /** Requests that may begin within any minute; needs a clock to wait by. */
  pace?: { callsPerMinute: number; clock: Clock }
}

export interface Calls {
  /** Tokens of the messages, never less than the truth. */
  size(messages: Messages): Promise<number>
  /** Undefined when the budget has no room for it; then nothing was sent. */
  ask(request: Asked): Promise<ModelReply | undefined>
  /** Does all of it, some at once. After a failure nothing new begins, what was begun is waited for, and the failure is told. */
  all<T>(work: readonly T[], doOne: (item: T) => Promise<void>): Promise<void>
}

export interface Asked {
  purpose: 'part' | 'combine' | 'summary'
  messages: Messages
  maxOutputTokens: number
}

/** What a service adds to each message for its role, generously. */
const tokensPerMessage = 16

export function modelCalls(
  model: Model,
  spending: Spending,
  limits: CallLimits,
  emit: (event: RunEvent) => void,
  signal: AbortSignal,
): Calls {
  const known = new Map<string, number>()
  const wait = pacing(limits, signal)

  const size = async (messages: Messages) => {
    let total = tokensPerMessage
    for (const { role, content } of messages) {
      const tokens = known.get(content) ?? (await model.countTokens(content))
      // Instructions come again with every request; data does not.
      if (role === 'system') known.set(content, tokens)
      total += tokens + tokensPerMessage
    }
    return total
  }

  return {
    size,
    async ask(request) {
      const input = await size(request.messages)
      if (input + request.maxOutputTokens > model.contextTokens) return undefined
      const reservation = spending.reserve({ input, output: request.maxOutputTokens })
      if (!reservation) return undefined
      try {
        await wait()
        // Not as it comes: a reply that broke off in the middle can then be asked for again.
        const reply = await model.complete({ ...request, signal })
        reservation.settle(reply.usage)
        const { inputTokens, outputTokens } = reply.usage
        emit({ type: 'model-call', purpose: request.purpose, inputTokens, outputTokens })
        return reply
      } finally {
        reservation.settle()
      }
    },
    all: (work, doOne) => inTurns(work, Math.max(1, limits.concurrency), doOne, signal),
  }
}

async function inTurns<T>(
  work: readonly T[],
  most: number,
  doOne: (item: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const waiting = [...work]
  const failures: unknown[] = []
  const takeTurns = async () => {
    while (waiting.length > 0 && failures.length === 0) {
      if (signal.aborted) throw abortError(signal, 'writing the summary')
      await doOne(waiting.shift()!)
    }
  }
  const turns = Array.from({ length: Math.min(most, work.length) }, () =>
    takeTurns().catch((error: unknown) => {
      failures.push(error)
    }),
  )
  await Promise.all(turns)
  // The first one that somebody can do something about; the others follow from it.
  if (failures.length > 0) throw failures.find((failure) => failure instanceof HandoffError) ?? failures[0]
}

const minute = 60_000

function pacing(limits: CallLimits, signal: AbortSignal): () => Promise<void> {
  const { pace } = limits
  if (!pace) return async () => {}
  const started: number[] = []
  let turn = Promise.resolve()
  const next = async () => {
    const { callsPerMinute, clock } = pace
    if (started.length >= callsPerMinute) {
      const free = started.shift()! + minute
      if (free > clock.now()) await clock.sleep(free - clock.now(), signal)
    }
    started.push(clock.now())
  }
  return () => {
    const mine = turn.then(next)
    turn = mine.catch(() => {})
    return mine
  }
}
