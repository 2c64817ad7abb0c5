// Hints: places that the summary, or whoever asks, points to. They lift a place that stands well anyway; none of them finds anything by itself.

import type { Query } from './query.js'
import { nameMeaning, type Survey } from './rank-files.js'

export interface Hint {
  path: string
  line: number
  /** From 0 to 1: how much of what is asked the sentence around the hint says. */
  share: number
}

const hintLimit = 200

/** What is given as a hint counts in full; what a line of the summary points to, as far as that line has the question's words. */
export function hintsOf(
  given: readonly { path: string; line: number }[],
  summary: string,
  query: Query,
  { rarity }: Survey,
): Hint[] {
  const hints = given.slice(0, hintLimit).map(({ path, line }): Hint => ({ path, line, share: 1 }))
  const whole = rarity.reduce((sum, value) => sum + value, 0)
  for (const text of summary.split('\n')) {
    const places = [...text.matchAll(/(?<![\w/.-])([\w.@+/-]{1,300}\.\w{1,12}):(\d{1,7})/g)]
    if (places.length === 0 || whole === 0) continue
    let said = 0
    for (const [concept, weight] of nameMeaning(query, text)) said += rarity[concept]! * weight
    // Three of ten words are already a lot for one sentence.
    const share = Math.min(1, (3 * said) / whole)
    for (const [, path = '', line] of places) {
      if (share > 0.1 && hints.length < hintLimit) hints.push({ path, line: Number(line), share })
    }
  }
  return hints
}
