// Sends requests to the model within the token budget, with bounded concurrency.

import { abortError, type HandoffError } from '../../domain/errors.js'
import type { Model, ModelReply } from '../../domain/ports.js'
import type { RunEvent } from '../../domain/run-events.js'
import type { Messages } from '../../domain/summary/summary-prompt.js'
import type { Amount, Reservation, TokenBudget } from '../../domain/summary/token-budget.js'
import { mapConcurrent } from '../../util/map-concurrent.js'
import { estimateMessages } from '../call-model.js'

export interface QueueLimits {
  concurrency: number
}

export interface ModelQueue {
  /** Upper bound of the tokens of the messages. */
  size(messages: Messages): number
  /**
   * Undefined if the budget has no room for the request; then nothing was sent. A reply that was cut because of thinking is requested once
   * more with a larger limit. A problem of the reply is emitted as a notice.
   */
  ask(request: QueuedRequest): Promise<ModelReply | undefined>
  /** Runs `doOne` for each item with bounded concurrency. */
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
    async all(work, doOne) {
      await mapConcurrent(Math.max(1, limits.concurrency), work, async (item) => {
        if (signal.aborted) throw abortError(signal, 'writing the summary')
        await doOne(item)
      })
    },
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
