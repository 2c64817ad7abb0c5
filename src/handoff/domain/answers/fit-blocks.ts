// What of a request goes when the model takes less than all of it: the oldest of the conversation first, then the summary, lists of directories, and at
// last lines of files, the ones that bear least on the question first.
import type { Excerpt } from '../answer.js'

export interface Block {
  text: string
  /** The lower, the sooner it goes; absent for what stays. */
  goes?: readonly number[]
  /** The lines of a file in it. */
  excerpt?: Excerpt
  /** In a comparison, the commit that the lines are of. */
  commit?: string
  /** About this share of it; undefined when so little is not worth showing. */
  shorten?: (share: number) => Block | undefined
}

/** In what order kinds of blocks go. */
export const dropOrder = { thread: 0, summary: 1, listing: 2, lines: 3 } as const

/** Lines that the model asked for have no score, and go last. */
export const linesDropOrder = ({ score }: Excerpt): readonly number[] => [
  dropOrder.lines,
  score === 0 ? Number.POSITIVE_INFINITY : score,
]

export function fitBlocks(blocks: readonly Block[], room: number, estimateTokens: (text: string) => number): Block[] {
  const kept = blocks.map((block) => ({ block, tokens: estimateTokens(block.text) }))
  let total = kept.reduce((sum, { tokens }) => sum + tokens, 0)
  for (const entry of kept.filter(({ block }) => block.goes).sort(byGoing)) {
    if (total <= room) break
    const share = Math.max(0, 1 - (total - room) / entry.tokens) * 0.9
    const shorter = entry.block.shorten?.(share)
    const tokens = shorter === undefined ? 0 : estimateTokens(shorter.text)
    const fits = total - entry.tokens + tokens <= room
    total -= entry.tokens
    if (shorter && fits) {
      total += tokens
      kept[kept.indexOf(entry)] = { block: shorter, tokens }
    } else kept.splice(kept.indexOf(entry), 1)
  }
  return kept.map(({ block }) => block)
}

function byGoing({ block: a }: { block: Block }, { block: b }: { block: Block }): number {
  for (const [index, first] of (a.goes ?? []).entries()) {
    const second = b.goes?.[index] ?? 0
    if (first !== second) return first < second ? -1 : 1
  }
  return 0
}
