// What tokens cost, in US dollars for a million. The operator's own prices go before this table; for a model in neither there is no price,
// and none is made up. The table is a convenience that ages: each row says when it was last looked up.
import type { Cost } from './answer.js'

/** As the settings give them. Input that the service had in its cache costs like other input when no price of its own is given. */
export interface Prices {
  input: number
  output: number
  cachedInput?: number
}

interface Row extends Prices {
  model: string
  /** When the price was looked up. */
  date: string
  /** Input tokens in one request up to which the price holds; above it the service asks for more, and we say nothing. */
  upTo?: number
}

export interface PricedUsage {
  inputTokens: number
  outputTokens: number
  /** The part of the input that came from the service's cache. */
  cachedInputTokens?: number
}

const row = (model: string, input: number, cachedInput: number, output: number, upTo?: number): Row => ({
  model,
  input,
  cachedInput,
  output,
  date: '2026-08-08',
  ...(upTo === undefined ? {} : { upTo }),
})

const table: Row[] = [
  row('gpt-4o', 2.5, 1.25, 10),
  row('gpt-4o-mini', 0.15, 0.075, 0.6),
  row('gpt-4.1', 2, 0.5, 8),
  row('gpt-4.1-mini', 0.4, 0.1, 1.6),
  row('gpt-4.1-nano', 0.1, 0.025, 0.4),
  row('gpt-5', 1.25, 0.125, 10),
  row('gpt-5-mini', 0.25, 0.025, 2),
  row('gpt-5-nano', 0.05, 0.005, 0.4),
  row('gpt-5.1', 1.25, 0.125, 10),
  row('gpt-5.2', 1.75, 0.175, 14),
  row('gpt-5.4', 2.5, 0.25, 15, 272_000),
  row('gpt-5.4-mini', 0.75, 0.075, 4.5),
  row('gpt-5.4-nano', 0.2, 0.02, 1.25),
  row('gpt-5.5', 5, 0.5, 30, 272_000),
  row('o3', 2, 0.5, 8),
  row('o3-mini', 1.1, 0.55, 4.4),
  row('o4-mini', 1.1, 0.275, 4.4),
  row('claude-haiku-4-5', 1, 0.1, 5),
  row('claude-sonnet-4-5', 3, 0.3, 15, 200_000),
  row('claude-sonnet-4-6', 3, 0.3, 15),
  row('claude-sonnet-5', 2, 0.2, 10),
  row('claude-opus-4-8', 5, 0.5, 25),
  row('claude-opus-5', 5, 0.5, 25),
  row('gemini-2.5-pro', 1.25, 0.125, 10, 200_000),
  row('gemini-2.5-flash', 0.3, 0.03, 2.5),
  row('gemini-2.5-flash-lite', 0.1, 0.01, 0.4),
  row('deepseek-chat', 0.28, 0.028, 0.42),
]

/** What one request cost. Undefined when the price is not known: of the model, or of a request this long. */
export function costOf(usage: PricedUsage, model: string, settings?: Prices): Cost | undefined {
  if (settings !== undefined) return cost(usage, settings, 'settings')
  const found = rowOf(model)
  if (found === undefined || usage.inputTokens > (found.upTo ?? Number.POSITIVE_INFINITY)) return undefined
  return cost(usage, found, found.date)
}

/** The sum of several costs; undefined as soon as one of them is unknown, because a part is not the sum. */
export function sumOfCosts(costs: (Cost | undefined)[]): Cost | undefined {
  const [first] = costs
  if (first === undefined || costs.includes(undefined)) return undefined
  return { ...first, amount: rounded(costs.reduce((sum, one) => sum + (one?.amount ?? 0), 0)) }
}

function cost(usage: PricedUsage, prices: Prices, source: string): Cost {
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens)
  const millionths =
    (usage.inputTokens - cached) * prices.input +
    cached * (prices.cachedInput ?? prices.input) +
    usage.outputTokens * prices.output
  return { amount: rounded(millionths / 1_000_000), currency: 'USD', source }
}

/** `openai/gpt-4o` and `gpt-4o-2024-08-06` are `gpt-4o`; a tuned model (`ft:gpt-4o…`) has other prices and is nobody here. */
function rowOf(model: string): Row | undefined {
  const plain = model
    .toLowerCase()
    .replace(/^[a-z0-9-]+\//, '')
    .replace(/-(\d{4}-\d{2}-\d{2}|20\d{6})$/, '')
  return table.find((candidate) => candidate.model === plain)
}

/** To a millionth of a dollar: below it is only the noise of binary fractions. */
const rounded = (dollars: number) => Math.round(dollars * 1_000_000) / 1_000_000
