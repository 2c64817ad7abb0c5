// Sends requests to the model within the token budget, with bounded concurrency and rate.

import { abortError, HandoffError } from '../../domain/errors.js'
import type { Clock, Model, ModelReply } from '../../domain/ports.js'
import type { RunEvent } from '../../domain/run-events.js'
import type { Messages } from '../../domain/summary/summary-prompt.js'
import type { Amount, Reservation, TokenBudget } from '../../domain/summary/token-budget.js'
import { estimateMessages } from '../call-model.js'

export interface QueueLimits {
  concurrency: number
  /** Requests that may start within any minute. */
  pace?: { callsPerMinute: number; clock: Clock }
}

export interface ModelQueue {
  /** Upper bound of the tokens of the messages. */
  size(messages: Messages): number
  /**
   * Undefined if the budget has no room for the request; then nothing was sent. A reply that was cut because of thinking is requested once
   * more with a larger limit. A problem of the reply is emitted as a notice.
   */
  ask(request: QueuedRequest): Promise<ModelReply | undefined>
  /** Runs `doOne` for each item with bounded concurrency. After a failure it starts nothing new, waits for what runs, and throws. */
  all<T>(work: readonly T[], doOne: (item: T) => Promise<void>): Promise<void>
  /** The problem of the last reply, if requests were sent and no reply had text. */
  emptyReplyError(): HandoffError | undefined
}

export interface QueuedRequest {
  purpose: 'part' | 'combine' | 'summary'
  messages: Messages
  /** Tokens of text. */
  answerTokens: number
}

export function createModelQueue(
  model: Model,
  budget: TokenBudget,
  limits: QueueLimits,
  emit: (event: RunEvent) => void,
  signal: AbortSignal,
): ModelQueue {
  const wait = paceCalls(limits, signal)
  const noticed = new Set<string>()
  let gotText = false
  let lastProblem: HandoffError | undefined
  const reserve = waitingForRoom(budget)

  const size = (messages: Messages) => estimateMessages(messages, model)

  async function once(request: QueuedRequest, wide: boolean): Promise<ModelReply | undefined> {
    const input = size(request.messages)
    const output = Math.min(
      model.replyTokens({ answerTokens: request.answerTokens, wide }),
      wide ? model.contextTokens - input : Number.POSITIVE_INFINITY,
    )
    if (input + output > model.contextTokens) return undefined
    const reservation = await reserve({ input, output })
    if (!reservation) return undefined
    try {
      await wait()
      // Not streamed, so that a reply that breaks off can be requested again.
      const reply = await model.complete({ ...request, wide, signal })
      reservation.settle(reply.usage)
      const { inputTokens, outputTokens } = reply.usage
      emit({ type: 'model-call', purpose: request.purpose, inputTokens, outputTokens })
      return reply
    } finally {
      reservation.settle()
    }
  }

  function reportProblem({ problem, text }: ModelReply): void {
    if (text.trim() !== '') gotText = true
    lastProblem = problem ?? lastProblem
    if (problem === undefined || noticed.has(problem.message)) return
    noticed.add(problem.message)
    emit({ type: 'notice', text: [problem.message, problem.next].filter(Boolean).join(' ') })
  }

  return {
    size,
    async ask(request) {
      const first = await once(request, false)
      const again = first?.mayWiden ? await once(request, true) : undefined
      const reply = again && again.text.trim() !== '' ? again : first
      if (reply) reportProblem(reply)
      return reply
    },
    all: (work, doOne) => runConcurrently(work, Math.max(1, limits.concurrency), doOne, signal),
    emptyReplyError: () => (gotText ? undefined : lastProblem),
  }
}

/** Reserves room in the budget. If there is none, waits for open requests: they usually cost less than was reserved for them. */
function waitingForRoom(budget: TokenBudget): (amount: Amount) => Promise<Reservation | undefined> {
  let open = 0
  let settled = Promise.withResolvers<void>()
  return async (amount) => {
    for (;;) {
      const reservation = budget.reserve(amount)
      if (!reservation && open === 0) return undefined
      if (!reservation) {
        await settled.promise
        continue
      }
      open += 1
      let isOpen = true
      return {
        settle(used) {
          reservation.settle(used)
          if (!isOpen) return
          isOpen = false
          open -= 1
          settled.resolve()
          settled = Promise.withResolvers()
        },
      }
    }
  }
}

async function runConcurrently<T>(
  work: readonly T[],
  most: number,
  doOne: (item: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const waiting = [...work]
  const failures: unknown[] = []
  const worker = async () => {
    while (waiting.length > 0 && failures.length === 0) {
      if (signal.aborted) throw abortError(signal, 'writing the summary')
      await doOne(waiting.shift()!)
    }
  }
  const workers = Array.from({ length: Math.min(most, work.length) }, () =>
    worker().catch((error: unknown) => {
      failures.push(error)
    }),
  )
  await Promise.all(workers)
  // A HandoffError tells the user what to do; the other failures usually follow from it.
  if (failures.length > 0) throw failures.find((failure) => failure instanceof HandoffError) ?? failures[0]
}

const minute = 60_000

function paceCalls(limits: QueueLimits, signal: AbortSignal): () => Promise<void> {
  const { pace } = limits
  if (!pace) return async () => {}
  const startTimes: number[] = []
  let queue = Promise.resolve()
  const next = async () => {
    const { callsPerMinute, clock } = pace
    if (startTimes.length >= callsPerMinute) {
      const free = startTimes.shift()! + minute
      if (free > clock.now()) await clock.sleep(free - clock.now(), signal)
    }
    startTimes.push(clock.now())
  }
  return () => {
    const started = queue.then(next)
    // The failure goes to the request that waited here, and not to the next one.
    queue = started.catch(() => {})
    return started
  }
}
