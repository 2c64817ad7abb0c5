// The limits of a run in tokens and money. The worst-case cost of a request is reserved before it is sent, and the unused part is released
// with the reply, so that concurrent requests cannot exceed a limit together.

import { HandoffError } from '../errors.js'
import { costOf, type Prices } from '../model-prices.js'
import type { Cost, Usage } from '../usage.js'

export interface TokenLimits {
  inputTokens: number
  /** US dollars. Requires a known price. */
  maxCost?: number
  prices?: Prices
}

export interface Amount {
  input: number
  output: number
}

export interface Reservation {
  /** Ends the reservation with the usage, or without one if no request was sent. */
  settle(used?: Usage): void
}

export interface TokenBudget {
  /** Undefined if there is no room. */
  reserve(amount: Amount): Reservation | undefined
  /** True if the amount fits into an unused budget. */
  fits(amount: Amount): boolean
  cost(amount: Amount): Cost | undefined
  used(): { usage: Usage; cost: Cost | undefined; calls: number }
}

export function createTokenBudget(limits: TokenLimits, model: string): TokenBudget {
  const price = (amount: Amount) =>
    costOf({ inputTokens: amount.input, outputTokens: amount.output }, model, limits.prices)
  if (limits.maxCost !== undefined && price({ input: 1, output: 1 }) === undefined) {
    throw new HandoffError(
      'missing-setting',
      `A limit of ${limits.maxCost} US dollars is set, and the price of the model is not known.`,
      {
        next: 'Set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT, or remove the limit in money and rely on the limit in tokens.',
      },
    )
  }
  const taken = { input: 0, cost: 0 }
  const used = { input: 0, output: 0, cost: 0, calls: 0, estimated: false, source: '' }

  const room = (amount: Amount, before: { input: number; cost: number }) =>
    before.input + amount.input <= limits.inputTokens &&
    (limits.maxCost === undefined || before.cost + dollars(amount) <= limits.maxCost + 1e-9)
  const dollars = (amount: Amount) =>
    price(amount)?.amount ?? (limits.maxCost === undefined ? 0 : Number.POSITIVE_INFINITY)
  const add = (amount: Amount, sign: 1 | -1) => {
    taken.input += sign * amount.input
    taken.cost += sign * dollars(amount)
  }

  return {
    reserve(amount) {
      if (!room(amount, { input: taken.input + used.input, cost: taken.cost + used.cost })) return undefined
      add(amount, 1)
      let open = true
      return {
        settle(spent) {
          if (!open) return
          open = false
          add(amount, -1)
          if (!spent) return
          used.calls++
          used.input += spent.inputTokens
          used.output += spent.outputTokens
          used.estimated ||= spent.estimated === true
          const cost = costOf(spent, model, limits.prices)
          used.cost += cost?.amount ?? dollars({ input: spent.inputTokens, output: spent.outputTokens })
          used.source = cost?.source ?? used.source
        },
      }
    },
    fits: (amount) => room(amount, { input: 0, cost: 0 }),
    cost: price,
    used() {
      const usage: Usage = {
        inputTokens: used.input,
        outputTokens: used.output,
        ...(used.estimated ? { estimated: true } : {}),
      }
      const known = price({ input: 0, output: 0 })
      const cost = known && { ...known, source: used.source || known.source, amount: Math.round(used.cost * 1e6) / 1e6 }
      return { usage, cost, calls: used.calls }
    },
  }
}
