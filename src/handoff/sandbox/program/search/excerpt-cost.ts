// What shown lines cost in tokens, and which of them fit.
import type { Excerpt } from '../../../domain/answer.js'
import { estimateTokens } from '../../../domain/estimate-tokens.js'

/** The cost of lines with their numbers. */
export function linesCost(lines: readonly string[], numbers: readonly number[]): number {
  return estimateTokens(numbers.map((number) => `${number}| ${lines[number - 1] ?? ''}\n`).join(''))
}

/** The cost of the path, the range and the end of an excerpt. */
export function frameCost(path: string): number {
  return estimateTokens(`=== file ${JSON.stringify(path)} lines 10000-20000 (code)\n=== end\n`)
}

export function excerptCost({ path, from, lines }: Excerpt): number {
  return frameCost(path) + estimateTokens(lines.map((line, index) => `${from + index}| ${line}\n`).join(''))
}

/** The excerpts that fit, in their order. An excerpt that does not fit whole is cut. */
export function fitExcerpts(excerpts: readonly Excerpt[], tokens: number): Excerpt[] {
  const fitting: Excerpt[] = []
  let room = tokens
  for (const excerpt of excerpts) {
    const cost = excerptCost(excerpt)
    const fit = cost <= room ? excerpt : beginningThatFits(excerpt, room)
    if (!fit) continue
    fitting.push(fit)
    room -= fit === excerpt ? cost : excerptCost(fit)
  }
  return fitting
}

function beginningThatFits(excerpt: Excerpt, room: number): Excerpt | undefined {
  const numbers = excerpt.lines.map((_, index) => index + 1)
  const count = linesThatFit(excerpt.lines, numbers, room - frameCost(excerpt.path), excerpt.from - 1)
  return count === 0 ? undefined : { ...excerpt, lines: excerpt.lines.slice(0, count) }
}

/** How many of the lines fit, from the first on. Line numbers are shown with `shift` added. */
export function linesThatFit(lines: readonly string[], numbers: readonly number[], room: number, shift = 0): number {
  let left = room
  let count = 0
  for (const number of numbers) {
    left -= estimateTokens(`${number + shift}| ${lines[number - 1] ?? ''}\n`)
    if (left < 0) break
    count++
  }
  return count
}
