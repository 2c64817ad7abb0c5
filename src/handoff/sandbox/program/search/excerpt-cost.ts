// Lines as they are shown: without secrets, not longer than anybody reads, and with what they cost.
import type { Excerpt } from '../../../domain/answer.js'
import { estimateTokens } from '../../../domain/estimate-tokens.js'
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import { sizes } from './ranking-weights.js'

/** A file's lines as they are, cut where they are too long. The first line is at 0. */
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

/** The same without secrets. It takes the whole file: the middle of a private key is only known by how the key begins. */
export function redactedLines(bytes: Buffer): string[] {
  return splitLines(redactSecrets(bytes.toString('utf8')).text)
}

/** Room is counted in bytes of text of the usual kind: 44,000 of them are 12,000 tokens. Text with more tokens to a byte pays for them. */
const bytesPerToken = 44_000 / 12_000

/** What a line costs when it is sent with its number. */
export function lineCost(line: string, number: number): number {
  const shown = `${number}| ${line}\n`
  return Math.max(Buffer.byteLength(shown), Math.ceil(estimateTokens(shown) * bytesPerToken))
}

/** What stands around the lines of an excerpt when it is sent: its path, its range, its end. */
export function frameCost(path: string): number {
  return Buffer.byteLength(path) + 50
}

export function excerptCost({ path, from, lines }: Excerpt): number {
  return lines.reduce((sum, line, index) => sum + lineCost(line, from + index), frameCost(path))
}

/** As many of the excerpts as there is room for, in their order; the one that does not fit whole is cut. */
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
