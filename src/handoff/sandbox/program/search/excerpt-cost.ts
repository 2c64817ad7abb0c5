// Lines as they are shown: redacted, cut to a maximum length, and with their cost in tokens.
import type { Excerpt } from '../../../domain/answer.js'
import { estimateTokens } from '../../../domain/estimate-tokens.js'
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import { sizes } from './ranking-weights.js'

/** The lines of a file; long lines are cut. Line 1 is at index 0. */
export function splitLines(text: string): string[] {
  const lines = text.split('\n').map(cutLine)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function cutLine(line: string): string {
  const plain = line.endsWith('\r') ? line.slice(0, -1) : line
  if (plain.length <= sizes.longestLine) return plain
  return `${plain.slice(0, sizes.longestLine - 1).toWellFormed()}…`
}

/** The lines without secrets. It needs the whole file, because the middle of a private key is only recognized by its beginning. */
export function redactedLines(bytes: Buffer): string[] {
  return splitLines(redactSecrets(bytes.toString('utf8')).text)
}

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
    const fit = fitExcerpt(excerpt, room)
    if (!fit) continue
    fitting.push(fit)
    room -= excerptCost(fit)
  }
  return fitting
}

function fitExcerpt(excerpt: Excerpt, room: number): Excerpt | undefined {
  if (excerptCost(excerpt) <= room) return excerpt
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
