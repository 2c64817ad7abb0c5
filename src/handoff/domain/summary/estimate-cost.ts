// Estimates the cost of a full summary, and chooses the files that fit into the budget.

import { splitIntoLeaves } from './partition.js'
import { expectedPartTokens, overhead, type RequestSizes } from './request-sizes.js'
import type { SizedFile } from './source-files.js'
import type { Amount } from './token-budget.js'

export interface Estimate extends Amount {
  calls: number
}

/** Tokens of one request beside its data. */
const perRequest = 350

/** `items` are ordered by path. */
export function estimateFresh(items: readonly SizedFile[], sizes: RequestSizes): Estimate {
  const total = items.reduce((sum, item) => sum + item.tokens, 0)
  const last = { input: overhead, output: sizes.summary.output + sizes.thinking }
  if (total <= sizes.oneCall) return { calls: 1, input: total + last.input, output: last.output }
  const bound = sizes.part.input - sizes.part.output
  const requests = splitIntoLeaves(items, bound).reduce(
    (sum, leaf) => sum + Math.max(1, Math.ceil(tokensIn(leaf.items) / bound)),
    0,
  )
  let input = total + requests * perRequest
  let calls = requests
  let tops = requests
  while (tops > sizes.top) {
    const groups = Math.ceil(tops / sizes.joined)
    input += tops * expectedPartTokens + groups * perRequest
    calls += groups
    tops = groups
  }
  return {
    calls: calls + 1,
    input: input + tops * expectedPartTokens + last.input,
    output: calls * (expectedPartTokens + sizes.thinking) + last.output,
  }
}

const tokensIn = (items: readonly { tokens: number }[]) => items.reduce((sum, item) => sum + item.tokens, 0)

/** The most central files that fit into the budget, ordered by path. A file that is too large is skipped. */
export function chooseFiles(
  items: readonly SizedFile[],
  sizes: RequestSizes,
  fits: (amount: Amount) => boolean,
): { chosen: SizedFile[]; left: SizedFile[] } {
  if (fits(estimateFresh(items, sizes))) return { chosen: [...items], left: [] }
  const ranked = [...items].sort((a, b) => a.file.rank - b.file.rank || (a.path < b.path ? -1 : 1))
  let low = 0
  let high = tokensIn(items)
  let best = new Set<SizedFile>()
  for (let round = 0; round < 16 && low < high; round++) {
    const middle = Math.floor((low + high) / 2)
    const chosen = takeUpTo(ranked, middle)
    if (
      fits(
        estimateFresh(
          items.filter((item) => chosen.has(item)),
          sizes,
        ),
      )
    ) {
      best = chosen
      low = middle + 1
    } else high = middle
  }
  return { chosen: items.filter((item) => best.has(item)), left: items.filter((item) => !best.has(item)) }
}

/** Too few tokens to be worth a gap in the summary. */
const negligibleTokens = 80

function takeUpTo(ranked: readonly SizedFile[], tokens: number): Set<SizedFile> {
  const taken = new Set<SizedFile>()
  let room = tokens
  const take = (item: SizedFile) => {
    if (item.tokens > room || taken.has(item)) return
    room -= item.tokens
    taken.add(item)
  }
  for (const item of ranked) if (item.tokens <= negligibleTokens) take(item)
  for (const item of ranked) take(item)
  return taken
}

/** Typical code, to measure tokens per byte with the model's tokenizer, including the line numbers. */
const sample = [
  'export async function readEntries(directory: string, options: ReadOptions = {}): Promise<Entry[]> {',
  '  const found = await list(directory, { recursive: true, limit: options.limit ?? 100 })',
  '  // Names that begin with a dot stay out of the listing.',
  '  return found.filter((entry) => !entry.name.startsWith(".")).map(toEntry)',
  '}',
  '',
  'def test_reads_everything(self):',
  '    self.assertEqual(len(read_entries("/tmp")), 3)',
  '',
  '	if err := store.Put(ctx, key, value); err != nil {',
  '		return fmt.Errorf("put %q: %w", key, err)',
  '	}',
]
const bytesInSample = sample.reduce((sum, line) => sum + line.length + 1, 0)
const shownSample = sample.map((line, index) => `${index + 120}| ${line}\n`).join('')

/** Bytes of text that a survey should choose for a token limit. An estimate; the host leaves out what exceeds the limit. */
export function surveyTextBytes(estimateTokens: (text: string) => number, inputTokens: number): number {
  const tokens = Math.max(1, estimateTokens(shownSample))
  return Math.max(1_000, Math.floor((inputTokens * 0.8 * bytesInSample) / tokens))
}
