// Models and what their tokens cost, in US dollars for a million. The operator's own prices go before this table; for a model in neither there
// is no price, and none is made up. The table ages: each row says where and when it was looked up.
import type { Cost, Usage } from './usage.js'

/** As the settings give them. Input that the service had in its cache costs like other input when no price of its own is given. */
export interface Prices {
  input: number
  output: number
  cachedInput?: number
}

export interface ModelRow extends Prices {
  model: string
  cachedInput: number
  /** Input that the service writes to its cache, where that costs more than other input. */
  cacheWrites?: number
  /** Input tokens in one request up to which the price holds; a longer request costs more, and has no price here. */
  upTo?: number
  contextTokens: number
  /** The day on which the service shuts the model down, where it has said so. */
  ends?: string
  source: string
  /** When the source was read. */
  date: string
}

/** The model that documents and examples name. They are generated from this line; a test fails before the model ends. */
export const exampleModel = 'gpt-6-luna'

type Extra = Pick<ModelRow, 'ends' | 'upTo' | 'cacheWrites'>
type Source = Pick<ModelRow, 'source' | 'date'>

const openAiPages: Source = { source: 'model pages of developers.openai.com', date: '2026-11-19' }
const priceCut: Source = {
  source: 'OpenAI’s prices as listed by docs.laozhang.ai and vercel.com/ai-gateway',
  date: '2026-11-19',
}
const promptFuel: Source = {
  source: 'release notes of TheKrush/PromptFuel, read from the services’ price pages',
  date: '2026-10-16',
}
const liteLlm: Source = { source: 'price table of BerriAI/litellm', date: '2026-08-08' }

const row = (
  from: Source,
  model: string,
  contextTokens: number,
  [input, cachedInput, output]: readonly [number, number, number],
  extra: Extra = {},
): ModelRow => ({ model, contextTokens, input, cachedInput, output, ...extra, ...from })

const million = 1_000_000
const long = 1_050_000
/** OpenAI's long models charge more for requests above this. */
const upTo = 272_000

/** Shutdown dates: OpenAI’s deprecations page as copied by dev.to/max_bob (2026-10-28), Google’s as copied by aideprecations.com (2026-11-10). */
const autumn = { ends: '2026-12-11' }
const winter = { ends: '2027-01-14' }
const spring = { ends: '2027-04-01' }

/**
 * Left out: gpt-5.6-sol, whose price is promised to 2026-11-21 only; DeepSeek's models, whose price depends on the hour; Claude Haiku 5.5 above
 * 100,000 tokens; and every name that its service has shut down.
 */
export const modelTable: readonly ModelRow[] = [
  row(openAiPages, 'gpt-6-luna', long, [0.1, 0.01, 0.5], { upTo, cacheWrites: 0.125 }),
  row(openAiPages, 'gpt-6-sol', long, [2, 0.2, 10], { upTo, cacheWrites: 2.5 }),
  row(promptFuel, 'gpt-6.1-sol', long, [2, 0.1, 10], { upTo, cacheWrites: 2.5 }),
  row(openAiPages, 'gpt-6.2-sol', long, [2, 0.1, 10], { upTo, cacheWrites: 2.5 }),
  row(openAiPages, 'gpt-5.6-luna', long, [0.2, 0.02, 1.2], { upTo, cacheWrites: 0.25 }),
  row(priceCut, 'gpt-5.6-terra', long, [2, 0.2, 12], { upTo, cacheWrites: 2.5 }),
  row(liteLlm, 'gpt-5.5', long, [5, 0.5, 30], { upTo }),
  row(liteLlm, 'gpt-5.4', long, [2.5, 0.25, 15], { upTo }),
  row(liteLlm, 'gpt-5.4-mini', 400_000, [0.75, 0.075, 4.5]),
  row(liteLlm, 'gpt-5.4-nano', 400_000, [0.2, 0.02, 1.25], spring),
  row(liteLlm, 'gpt-5.2', 400_000, [1.75, 0.175, 14]),
  row(liteLlm, 'gpt-5.1', 400_000, [1.25, 0.125, 10], spring),
  row(liteLlm, 'gpt-5', 400_000, [1.25, 0.125, 10], autumn),
  row(liteLlm, 'gpt-5-mini', 400_000, [0.25, 0.025, 2], autumn),
  row(liteLlm, 'gpt-5-nano', 400_000, [0.05, 0.005, 0.4], autumn),
  row(liteLlm, 'o3', 200_000, [2, 0.5, 8], autumn),
  row(liteLlm, 'gpt-4.1', 1_047_576, [2, 0.5, 8], winter),
  row(liteLlm, 'gpt-4.1-mini', 1_047_576, [0.4, 0.1, 1.6], winter),
  row(liteLlm, 'gpt-4o', 128_000, [2.5, 1.25, 10], winter),
  row(liteLlm, 'gpt-4o-mini', 128_000, [0.15, 0.075, 0.6], winter),
  row(promptFuel, 'claude-opus-5-5', million, [4, 0.2, 20]),
  row(promptFuel, 'claude-sonnet-5-5', million, [2, 0.1, 10]),
  row(promptFuel, 'claude-haiku-5-5', million, [0.1, 0.01, 0.5], { upTo: 100_000 }),
  row(liteLlm, 'claude-opus-5', million, [5, 0.5, 25]),
  row(liteLlm, 'claude-opus-4-8', million, [5, 0.5, 25]),
  row(promptFuel, 'claude-sonnet-5', million, [2, 0.2, 10]),
  row(liteLlm, 'claude-sonnet-4-6', million, [3, 0.3, 15]),
  row(liteLlm, 'claude-haiku-4-5', 200_000, [1, 0.1, 5]),
  row(liteLlm, 'gemini-3.6-flash', 1_048_576, [1.5, 0.15, 7.5]),
  row(liteLlm, 'gemini-3.5-flash', 1_048_576, [1.5, 0.15, 9]),
  row(liteLlm, 'gemini-3.5-flash-lite', 1_048_576, [0.3, 0.03, 2.5]),
  row(liteLlm, 'gemini-3.1-flash-lite', 1_048_576, [0.25, 0.025, 1.5]),
  row(liteLlm, 'gemini-2.5-pro', 1_048_576, [1.25, 0.125, 10], { upTo: 200_000, ends: '2026-12-01' }),
  row(liteLlm, 'gemini-2.5-flash', 1_048_576, [0.3, 0.03, 2.5], { ends: '2026-12-01' }),
  row(liteLlm, 'gemini-2.5-flash-lite', 1_048_576, [0.1, 0.01, 0.4]),
]

/** What one request cost. Undefined when the price is not known: of the model, or of a request this long. */
export function costOf(usage: Usage, model: string, settings?: Prices): Cost | undefined {
  if (settings !== undefined) return cost(usage, settings, 'settings')
  const found = modelRow(model)
  if (found === undefined || usage.inputTokens > (found.upTo ?? Number.POSITIVE_INFINITY)) return undefined
  return cost(usage, found, found.date)
}

function cost(usage: Usage, prices: Prices & { cacheWrites?: number }, source: string): Cost {
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens)
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cached)
  const millionths =
    (usage.inputTokens - cached - written) * prices.input +
    cached * (prices.cachedInput ?? prices.input) +
    written * (prices.cacheWrites ?? prices.input) +
    usage.outputTokens * prices.output
  return { amount: rounded(millionths / 1_000_000), currency: 'USD', source }
}

/**
 * The row of a model. `openai/gpt-4o` and `gpt-4o-2024-08-06` are `gpt-4o`, `anthropic/claude-opus-5.5` is `claude-opus-5-5`; a tuned model
 * (`ft:gpt-4o…`) has other prices and no row.
 */
export function modelRow(model: string): ModelRow | undefined {
  const plain = model
    .toLowerCase()
    .replace(/^[a-z0-9-]+\//, '')
    .replace(/-(\d{4}-\d{2}-\d{2}|20\d{6})$/, '')
  const name = plain.startsWith('claude-') ? plain.replaceAll('.', '-') : plain
  return modelTable.find((candidate) => candidate.model === name)
}

/** To a millionth of a dollar: below it is only the noise of binary fractions. */
const rounded = (dollars: number) => Math.round(dollars * 1_000_000) / 1_000_000
