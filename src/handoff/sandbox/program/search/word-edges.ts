// Most names have no word of the question, and to split each of them takes long. The first and last three letters of its words tell that of most.

/** By three letters: whether a wanted word begins or ends with them. */
export type WordEdges = Uint8Array

const begins = 1
const ends = 2

/** `beginnings`: words and stems, of which names may have other forms. `endings`: words that names may have at the end of another. */
export function createWordEdges(beginnings: Iterable<string>, endings: Iterable<string>): WordEdges {
  const edges = new Uint8Array(1 << 15)
  for (const word of beginnings) {
    edges[edgeOf(word, 0, word.length)]! |= begins
    // A stem is that short only if its ending was: axes, tries.
    if (word.length === 2) for (let third = 0; third < 32; third++) edges[edgeOf(word, 0, 2) | third]! |= begins
    if (word.length === 3) edges[edgeOf(word.replace(/y$/, 'i'), 0, 3)]! |= begins
  }
  for (const word of endings) edges[edgeOf(word, word.length - 3, word.length)]! |= ends
  return edges
}

/** False only where no word of the name, as `splitIdentifier` finds them, begins or ends like a wanted one. */
export function mayHaveWord(edges: WordEdges, name: string): boolean {
  let from = 0
  let before = other
  for (let at = 0; at <= name.length; at++) {
    const code = at < name.length ? name.charCodeAt(at) : 0
    if (code > 127) return true
    const kind = kinds[code]!
    const isNext =
      kind === before
        ? // `HTTPHeader`: of capitals before a small letter the last one begins the next word.
          kind === capital && at + 1 < name.length && kinds[name.charCodeAt(at + 1) & 127] === small
        : !(kind === small && before === capital)
    if (isNext && before !== other) {
      if ((edges[edgeOf(name, from, at)]! & begins) !== 0) return true
      if ((edges[edgeOf(name, Math.max(from, at - 3), at)]! & ends) !== 0) return true
    }
    if (isNext) from = at
    before = kind
  }
  return false
}

/** Three letters from `from` on, five bits for each; 0 for those that are not there. */
const edgeOf = (word: string, from: number, to: number): number =>
  ((from < to ? letters[word.charCodeAt(from) & 127]! : 0) << 10) |
  ((from + 1 < to ? letters[word.charCodeAt(from + 1) & 127]! : 0) << 5) |
  (from + 2 < to ? letters[word.charCodeAt(from + 2) & 127]! : 0)

const other = 0
const digit = 1
const small = 2
const capital = 3

const kinds = new Uint8Array(128)
/** The same for a letter and its capital; digits share what is left of five bits. */
const letters = new Uint8Array(128)
for (let code = 0; code < 128; code++) {
  if (code >= 48 && code <= 57) kinds[code] = digit
  if (code >= 97 && code <= 122) kinds[code] = small
  if (code >= 65 && code <= 90) kinds[code] = capital
  letters[code] = kinds[code] === digit ? 27 + (code % 5) : kinds[code] === other ? 0 : code & 31
}
