// Lines as they are shown: redacted, cut to a maximum length, and with their cost.
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

/** Limits are in bytes of average text: 44,000 bytes are 12,000 tokens. Text with more tokens per byte costs more. */
const bytesPerToken = 44_000 / 12_000

/** The cost of a line with its number. */
export function lineCost(line: string, number: number): number {
  const shown = `${number}| ${line}\n`
  return Math.max(Buffer.byteLength(shown), Math.ceil(estimateTokens(shown) * bytesPerToken))
}

/** The cost of the path, the range and the end of an excerpt. */
export function frameCost(path: string): number {
  return Buffer.byteLength(path) + 50
}

export function excerptCost({ path, from, lines }: Excerpt): number {
  return lines.reduce((sum, line, index) => sum + lineCost(line, from + index), frameCost(path))
}

/** The excerpts that fit, in their order. An excerpt that does not fit whole is cut. */
export function fitExcerpts(excerpts: readonly Excerpt[], bytes: number): Excerpt[] {
  const fitting: Excerpt[] = []
  let room = bytes
  for (const excerpt of excerpts) {
    const fit = fitExcerpt(excerpt, room)
    if (!fit) continue
    fitting.push(fit)
    room -= excerptCost(fit)
  }
  return fitting
}

function fitExcerpt(excerpt: Excerpt, room: number): Excerpt | undefined {
  let left = room - frameCost(excerpt.path)
  let count = 0
  for (const [index, line] of excerpt.lines.entries()) {
    left -= lineCost(line, excerpt.from + index)
    if (left < 0) break
    count++
  }
  return count === 0 ? undefined : { ...excerpt, lines: excerpt.lines.slice(0, count) }
}
