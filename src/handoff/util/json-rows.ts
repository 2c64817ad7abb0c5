// Parses a JSON object with one long list row by row: the whole text and all parsed rows are never in memory together.
import { parseJson } from './decode.js'

const codes = { quote: 0x22, backslash: 0x5c, comma: 0x2c, open: new Set([0x5b, 0x7b]), close: new Set([0x5d, 0x7d]) }

/**
 * Calls `take` with each parsed entry of the list at the top-level field `name`. Returns the object with that list empty. Both are undefined where
 * the text is not JSON.
 */
export function parseRows(bytes: Uint8Array, name: string, take: (row: unknown, index: number) => void): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const list = findList(text, name)
  if (!list) return parseJson(text.toString('utf8'))
  let count = 0
  for (const { from, to } of entriesOf(text, list.from)) {
    list.to = to
    const row = text.toString('utf8', from, to)
    if (count > 0 || text[to] === codes.comma || row.trim() !== '') take(parseJson(row), count++)
  }
  return parseJson(`${text.toString('utf8', 0, list.from)}${text.toString('utf8', list.to)}`)
}

/** Where the list begins, behind its bracket. */
function findList(text: Buffer, name: string): { from: number; to: number } | undefined {
  const wanted = Buffer.from(`${JSON.stringify(name)}:[`)
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text[at]!
    if (depth === 1 && code === codes.quote && wanted.equals(text.subarray(at, at + wanted.length))) {
      return { from: at + wanted.length, to: at + wanted.length }
    }
    if (code === codes.quote) at = endOfString(text, at)
    else if (codes.open.has(code)) depth++
    else if (codes.close.has(code)) depth--
  }
  return undefined
}

/** The ranges between the commas of a list, up to the bracket that closes it. */
function* entriesOf(text: Buffer, start: number): Generator<{ from: number; to: number }> {
  let from = start
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text[at]!
    if (code === codes.quote) at = endOfString(text, at)
    else if (codes.open.has(code)) depth++
    else if (depth === 0 && (code === codes.comma || codes.close.has(code))) {
      yield { from, to: at }
      if (code !== codes.comma) return
      from = at + 1
    } else if (codes.close.has(code)) depth--
  }
}

/** The place of the quote that ends a string. */
function endOfString(text: Buffer, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === codes.backslash) at++
    else if (text[at] === codes.quote) return at
  }
  return text.length
}
