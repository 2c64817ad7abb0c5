// Hints: the lines of code that the repository's summary points to. A hint raises a region that already ranks well; it adds no file.

import { nameMeaning } from './path-meaning.js'
import type { Query } from './query.js'
import type { SearchStats } from './rank-files.js'

export interface Hint {
  path: string
  line: number
  /** From 0 to 1: the share of the question's words in the sentence around the hint. */
  share: number
}

/** A file with several hints counts once. */
export function strongestHints(hints: readonly Hint[]): Map<string, number> {
  const best = new Map<string, number>()
  for (const { path, share } of hints) best.set(path, Math.max(share, best.get(path) ?? 0))
  return best
}

const hintLimit = 200

/** Each `path:line` of the summary, weighted by how many of the question's words stand on the same line of the summary. */
export function findSummaryHints(summary: string, query: Query, { rarity }: SearchStats): Hint[] {
  const hints: Hint[] = []
  const whole = rarity.reduce((sum, value) => sum + value, 0)
  for (const text of summary.split('\n')) {
    const references = [...text.matchAll(/(?<![\w/.-])([\w.@+/-]{1,300}\.\w{1,12}):(\d{1,7})/g)]
    if (references.length === 0 || whole === 0) continue
    let matched = 0
    for (const [concept, weight] of nameMeaning(query, text)) matched += rarity[concept]! * weight
    // Three of ten words are a high share for one sentence.
    const share = Math.min(1, (3 * matched) / whole)
    for (const [, path = '', line] of references) {
      if (share > 0.1 && hints.length < hintLimit) hints.push({ path, line: Number(line), share })
    }
  }
  return hints
}
