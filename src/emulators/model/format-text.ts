// Small things done to sentences.

/** As code in Markdown; text that holds a backtick stands between quotation marks instead. */
export const code = (text: string) => (text.includes('`') || text === '' ? `“${text}”` : `\`${text}\``)

export function firstSentence(text: string): string {
  const plain = text.replace(/\s+/g, ' ').trim()
  for (const { 0: end, index } of plain.matchAll(/[.!?]["'”’)]*(?=\s|$)/g)) {
    if (!abbreviated.test(plain.slice(Math.max(0, index - 12), index))) return plain.slice(0, index + end.length)
  }
  return plain
}

const abbreviated = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|ex|incl|approx|resp)$/i

const tags =
  'a b big blockquote br center code dd details div dl dt em font h1 h2 h3 h4 h5 h6 hr i img kbd li ol p picture pre small source span strong sub summary sup table tbody td th thead tr tt ul'
const tag = new RegExp(`</?(?:${tags.replaceAll(' ', '|')})(?:\\s[^<>]*)?/?>`, 'gi')

/** Words of Markdown, of documentation comments and of HTML without their signs: the words of links, no pictures, no emphasis, no tags. */
export function plainText(text: string): string {
  const escaped: string[] = []
  return text
    .replace(/\\([!-/:-@[-`{-~])/g, (_, sign: string) => `\ue000${escaped.push(sign) - 1}\ue001`)
    .replace(/!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, '')
    .replace(/\[([^\]]*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\])/g, '$1')
    .replace(/(?<![\w#!])\[(\w[\w .:/-]*)\](?![\w(])/g, '$1')
    .replace(/\{@(?:link|linkplain|code|literal)\s([^{}]*)\}/g, '$1')
    .replace(/:[\w:]{1,30}:`~?([^`]*)`/g, '`$1`')
    .replace(tag, '')
    .replace(/&(?:ensp|emsp|nbsp|thinsp);/g, ' ')
    .replace(/\*\*|(?<!\w)__(?=\S)|(?<=\S)__(?!\w)/g, '')
    .replace(/(?<![\w*])([*_])(?=[^\s*_])([^*_]*[^\s*_])\1(?![\w*])/g, '$2')
    .replace(/\ue000(\d+)\ue001/g, (_, index: string) => escaped[Number(index)] ?? '')
    .replace(/\s+/g, ' ')
    .trim()
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
