// Asks the model within what a run may spend, so many requests at once, so many a minute.
import type { Clock } from '../../domain/clock.js'
import { abortError, HandoffError } from '../../domain/errors.js'
import type { Model, ModelReply } from '../../domain/ports.js'
import type { RunEvent } from '../../domain/run-events.js'
import type { Messages } from '../../domain/summary/summary-prompt.js'
import type { Amount, Reservation, TokenBudget } from '../../domain/summary/token-budget.js'
import { sizeOf } from '../message-size.js'

export interface QueueLimits {
  concurrency: number
  /** Requests that may begin within any minute; needs a clock to wait by. */
  pace?: { callsPerMinute: number; clock: Clock }
}

export interface ModelQueue {
  /** Tokens of the messages, never less than the truth. */
  size(messages: Messages): Promise<number>
  /**
   * Undefined when the budget has no room for it; then nothing was sent. A reply that thinking left too little room for is asked for once more; what
   * is wrong with it then is told.
   */
  ask(request: QueuedRequest): Promise<ModelReply | undefined>
  /** Does all of it, some at once. After a failure nothing new begins, what was begun is waited for, and the failure is told. */
  all<T>(work: readonly T[], doOne: (item: T) => Promise<void>): Promise<void>
  /** Why there is no text, when requests were sent and none brought any. */
  silence(): HandoffError | undefined
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
  const known = new Map<string, number>()
  const wait = paceCalls(limits, signal)
  const told = new Set<string>()
  let spoke = false
  let silence: HandoffError | undefined
  const reserve = waitingForRoom(budget)

  // Instructions come again with every request; data does not.
  const instructions = new Set<string>()
  const count = async (text: string) => {
    const tokens = known.get(text) ?? (await model.countTokens(text))
    if (instructions.has(text)) known.set(text, tokens)
    return tokens
  }
  const size = (messages: Messages) => {
    for (const { role, content } of messages) if (role === 'system') instructions.add(content)
    return sizeOf(messages, count)
  }

  async function once(request: QueuedRequest, wide: boolean): Promise<ModelReply | undefined> {
    const input = await size(request.messages)
    const output = Math.min(
      model.replyTokens({ answerTokens: request.answerTokens, wide }),
      wide ? model.contextTokens - input : Number.POSITIVE_INFINITY,
    )
    if (input + output > model.contextTokens) return undefined
    const reservation = await reserve({ input, output })
    if (!reservation) return undefined
    try {
      await wait()
      // Not as it comes: a reply that broke off in the middle can then be asked for again.
      const reply = await model.complete({ ...request, wide, signal })
      reservation.settle(reply.usage)
      const { inputTokens, outputTokens } = reply.usage
      emit({ type: 'model-call', purpose: request.purpose, inputTokens, outputTokens })
      return reply
    } finally {
      reservation.settle()
    }
  }

  function tell({ problem, text }: ModelReply): void {
    if (text.trim() !== '') spoke = true
    silence = problem ?? silence
    if (problem === undefined || told.has(problem.message)) return
    told.add(problem.message)
    emit({ type: 'notice', text: [problem.message, problem.next].filter(Boolean).join(' ') })
  }

  return {
    size,
    async ask(request) {
      const first = await once(request, false)
      const again = first?.mayWiden ? await once(request, true) : undefined
      const reply = again && again.text.trim() !== '' ? again : first
      if (reply) tell(reply)
      return reply
    },
    all: (work, doOne) => runConcurrently(work, Math.max(1, limits.concurrency), doOne, signal),
    silence: () => (spoke ? undefined : silence),
  }
}

/** What has no room in the budget beside requests that are being answered may have when those are settled: they cost less than was reserved. */
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

function paceCalls(limits: QueueLimits, signal: AbortSignal): () => Promise<void> {
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
