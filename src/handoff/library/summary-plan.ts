// What a summary from nothing would take, and what of the chosen text there is room for.
import type { SizedFile } from './draft.js'
import { leavesOf } from './partition.js'
import type { Amount } from './spending.js'
import { expectedProse, overhead, type Sizes } from './summary-sizes.js'

export interface Estimate extends Amount {
  calls: number
}

/** What one request has beside its data. */
const perRequest = 350

/** `items` are in the order of paths. */
export function estimateFresh(items: readonly SizedFile[], sizes: Sizes): Estimate {
  const total = items.reduce((sum, item) => sum + item.tokens, 0)
  const last = { input: overhead, output: sizes.summary.output }
  if (total <= sizes.oneCall) return { calls: 1, input: total + last.input, output: last.output }
  const bound = sizes.part.input - sizes.part.output
  const requests = leavesOf(items, bound).reduce(
    (sum, leaf) => sum + Math.max(1, Math.ceil(tokensIn(leaf.items) / bound)),
    0,
  )
  let input = total + requests * perRequest
  let calls = requests
  let tops = requests
  while (tops > sizes.top) {
    const groups = Math.ceil(tops / sizes.joined)
    input += tops * expectedProse + groups * perRequest
    calls += groups
    tops = groups
  }
  return {
    calls: calls + 1,
    input: input + tops * expectedProse + last.input,
    output: calls * expectedProse + last.output,
  }
}

const tokensIn = (items: readonly { tokens: number }[]) => items.reduce((sum, item) => sum + item.tokens, 0)

/** The most central files that a budget has room for, in the order of paths. A file that is too large for the rest is passed over. */
export function chooseWithin(
  items: readonly SizedFile[],
  sizes: Sizes,
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

function takeUpTo(ranked: readonly SizedFile[], tokens: number): Set<SizedFile> {
  const taken = new Set<SizedFile>()
  let room = tokens
  for (const item of ranked) {
    if (item.tokens > room) continue
    room -= item.tokens
    taken.add(item)
  }
  return taken
}
