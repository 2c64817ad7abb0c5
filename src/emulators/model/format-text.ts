// Small things done to sentences.

/** As code in Markdown; text that holds a backtick stands between quotation marks instead. */
export const code = (text: string) => (text.includes('`') || text === '' ? `“${text}”` : `\`${text}\``)

export function firstSentence(text: string): string {
  const plain = text.replace(/\s+/g, ' ').trim()
  return /^.*?[.!?](?=\s|$)/.exec(plain)?.[0] ?? plain
}

export function shorten(text: string): string {
  return text.length <= 160 ? text : `${text.slice(0, 159).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Quotes a text inside a sentence: shortened, and without its final full stop. */
export const quoted = (text: string) => `“${shorten(text).replace(/\.$/, '')}”`

/** Those of the parts, in order, that fit into so many bytes together; `otherwise` when not one does. */
export function joinWithin(parts: string[], maxBytes: number, between: string, otherwise = parts[0] ?? ''): string {
  const taken: string[] = []
  let left = maxBytes
  for (const part of parts) {
    const bytes = Buffer.byteLength(part) + (taken.length > 0 ? between.length : 0)
    if (bytes > left) continue
    taken.push(part)
    left -= bytes
  }
  return taken.length > 0 ? taken.join(between) : otherwise
}

/** The first of each list, then the second of each, and so on: so that a cut at the end leaves no list out. */
export function interleave<T>(lists: T[][]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1))).flat()
}
