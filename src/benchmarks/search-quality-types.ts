// What the evaluation of the search reads and counts.

export interface Gold {
  path: string
  lines: [from: number, to: number][]
}

export interface Question {
  id: string
  repository: string
  commit: string
  question: string
  gold: Gold[]
}

/** Lines of a file that a search shows, in its order, with what they cost. */
export interface Place {
  path: string
  from: number
  to: number
}

/** One question asked of one search. */
export interface Result {
  repository: string
  language: string
  shape: string
  /** Whether any, or all, of the gold files are among the first. */
  hit1: number
  hit5: number
  acc1: number
  acc5: number
  acc10: number
  /** The share of gold files among the first ten. */
  recall10: number
  /** Undefined where the gold has no lines: whether one was shown, how many were, and F1 in the first 200 lines. */
  lines: number | undefined
  lineRecall: number | undefined
  lineF1: number | undefined
  tokens: number
  milliseconds: number
}

const firstLines = 200

/** Scores what a search showed, in its order. */
export function scorePlaces(gold: readonly Gold[], places: readonly Place[]) {
  const order = [...new Set(places.map(({ path }) => path))]
  const paths = gold.map(({ path }) => path)
  const rank = (path: string) => (order.includes(path) ? order.indexOf(path) : Number.POSITIVE_INFINITY)
  const any = (most: number) => Number(paths.some((path) => rank(path) < most))
  const all = (most: number) => Number(paths.every((path) => rank(path) < most))
  return {
    hit1: any(1),
    hit5: any(5),
    acc1: all(1),
    acc5: all(5),
    acc10: all(10),
    recall10: paths.filter((path) => rank(path) < 10).length / paths.length,
    ...scoreLines(gold, places),
  }
}

function scoreLines(gold: readonly Gold[], places: readonly Place[]): Pick<Result, 'lines' | 'lineRecall' | 'lineF1'> {
  const wanted = new Set(gold.flatMap(({ path, lines }) => lines.flatMap(([from, to]) => linesOf({ path, from, to }))))
  if (wanted.size === 0) return { lines: undefined, lineRecall: undefined, lineF1: undefined }
  const shown = [...new Set(places.flatMap(linesOf))]
  const found = shown.filter((line) => wanted.has(line)).length
  const first = shown.slice(0, firstLines)
  const early = first.filter((line) => wanted.has(line)).length
  return {
    lines: Number(found > 0),
    lineRecall: found / wanted.size,
    lineF1: (2 * early) / (wanted.size + first.length),
  }
}

function linesOf({ path, from, to }: Place): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${path}:${from + index}`)
}
