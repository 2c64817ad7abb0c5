// What a question may cost is reserved before the work and settled after it, with what its models did cost.
import type { AppContext } from '../../context.js'
import type { Depth } from '../../domain/answers/depth.js'
import { maxQuestionCost, type QuestionModel } from '../../domain/answers/question-cost.js'
import { HandoffError, ignoreFailure } from '../../domain/errors.js'
import { costOf, type Prices } from '../../domain/model-prices.js'
import type { RunEvent } from '../../domain/run-events.js'
import type { Usage } from '../../domain/usage.js'
import type { BudgetLimits } from '../../store/caller-budgets.js'
import type { FoundQuestion } from './find-answer.js'

/** A reservation outlives the work that it is for, and expires by itself when the process dies. */
export const settlingMs = 60_000

interface Reservation extends AsyncDisposable {
  /** Counts what is spent through it. */
  context: AppContext
}

/** The budgets and the order of waiting questions have a name for every caller. */
export const payerOf = ({ request, id, question }: FoundQuestion) => ({
  caller: request.caller ?? 'local',
  id,
  depth: question.depth,
})

/** Rejects with `budget` when the caller cannot pay for another question. */
export async function reserveBudget(
  { caller, id, depth }: { caller: string; id: string; depth: Depth },
  context: AppContext,
  signal: AbortSignal,
): Promise<Reservation> {
  const { budgets, limits, ports, prices } = context
  const spent = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }
  const amount = (usage: Usage) => ({
    tokens: usage.inputTokens + usage.outputTokens,
    cost: costOf(usage, ports.model.name, prices)?.amount ?? 0,
  })
  const until = ports.clock.now() + limits.deadlineMs + settlingMs
  const settle = await budgets.reserve(caller, id, amount(maxQuestionCost(ports.model, depth)), until, signal)
  return {
    context: {
      ...context,
      ports: {
        ...ports,
        emit(event) {
          if (event.type === 'model-call') {
            spent.inputTokens += event.inputTokens
            spent.outputTokens += event.outputTokens
            spent.cachedInputTokens += event.cachedInputTokens ?? 0
            spent.cacheWriteTokens += event.cacheWriteTokens ?? 0
          }
          ports.emit(event)
        },
      },
    },
    // A reservation that cannot be settled expires by itself, at its full amount until then.
    [Symbol.asyncDispose]: () => settle(amount(spent)).catch(ignoreFailure),
  }
}

/** What a question costs at most, for those who wait for its answer. */
export function costBefore(depth: Depth, { ports: { model }, prices }: AppContext): RunEvent {
  const { calls, ...most } = maxQuestionCost(model, depth)
  const cost = costOf(most, model.name, prices)
  const tokens = most.inputTokens + most.outputTokens
  const money = cost === undefined ? '' : `, $${cost.amount.toFixed(2)}`
  const text = `A ${depth} answer takes at most ${calls} calls of the model and ${tokens.toLocaleString('en-US')} tokens${money}.`
  return { type: 'answer-limit', depth, calls, tokens, ...(cost ? { cost: cost.amount } : {}), text }
}

/** A budget that no normal question fits into, or that cannot be calculated, would refuse every caller every day. */
export function budgetProblem(limits: BudgetLimits, model: QuestionModel, prices?: Prices): HandoffError | undefined {
  const refuse = (message: string, next: string) => new HandoffError('missing-setting', message, { next })
  const most = maxQuestionCost(model, 'normal')
  const tokens = most.inputTokens + most.outputTokens
  if ((limits.tokensPerDay ?? tokens) < tokens) {
    const enough = `Set it to ${tokens.toLocaleString('en-US')} or more, or remove it.`
    return refuse('HANDOFF_CALLER_TOKENS is less than one question may take.', enough)
  }
  if (limits.costPerDay === undefined) return undefined
  const cost = costOf(most, model.name, prices)?.amount
  if (cost === undefined) {
    return refuse(
      'Callers have a budget in money (HANDOFF_CALLER_COST), and the price of the model is not known.',
      'Set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT, or set HANDOFF_CALLER_TOKENS instead.',
    )
  }
  if (cost <= limits.costPerDay) return undefined
  // Rounded up: what the message says to set is accepted.
  const enough = (Math.ceil(cost * 100) / 100).toFixed(2)
  return refuse('HANDOFF_CALLER_COST is less than one question may cost.', `Set it to ${enough} or more, or remove it.`)
}
