// Words: splits identifiers, splits text in scripts without spaces, and stems English words.

const isAscii = /^[\0-\x7f]*$/
const anyPart = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{Nd}+/gu
/** The same for ASCII, several times faster. */
const asciiPart = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g

/** `parseHTTPHeader_v2` is parse, http, header, v, 2, in lower case. */
export function splitIdentifier(identifier: string): string[] {
  const parts = isAscii.test(identifier) ? asciiPart : anyPart
  return (identifier.match(parts) ?? []).map((part) => part.toLowerCase())
}

/** Scripts without spaces between words, or with inflected words: pairs of characters stand for words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

export function isUnspaced(text: string): boolean {
  return unspaced.test(text)
}

/** The parts of a word of any script: pairs of neighbouring characters where the script has no spaces, else the word itself. */
export function wordParts(word: string): string[] {
  if (!isUnspaced(word)) return [word]
  const parts: string[] = []
  for (const run of word.match(/[\p{L}\p{M}]+/gu) ?? []) {
    const characters = [...run]
    if (characters.length === 1) parts.push(run)
    for (let index = 0; index + 1 < characters.length; index++) parts.push(characters[index]! + characters[index + 1]!)
  }
  return parts
}

/** Suffixes in groups; one of each group is removed. The number is how much of the word must remain. */
type SuffixRule = [pattern: RegExp, least: number, instead?: string]

const pluralSuffixes: SuffixRule[] = [
  [/ies$/, 3, 'y'],
  [/(?<=ss|sh|ch|x|z)es$/, 2],
  [/(?<![su])s$/, 3],
]

const derivedSuffixes: SuffixRule[] = [
  [/i[sz]ations?$/, 3],
  [/ational$/, 3],
  [/ations?$/, 3],
  [/i[sz](?:ing|ed|ers?|e)$/, 4],
  [/at(?:ing|ed|ors?|e)$/, 3],
  [/(?:ition|ions?)$/, 4],
  [/(?:ing|ed)$/, 3],
  [/(?:fulness|ousness|iveness|ments?|ness)$/, 4],
  [/(?:ability|ibility|able|ible)$/, 4],
  [/(?:ers?|ors?)$/, 4],
  [/(?:ically|ally|ical|ably|ly)$/, 4],
  [/(?:ality|ity)$/, 4],
]

const adjectiveSuffixes: SuffixRule[] = [[/(?:al|ive|ic)$/, 4]]

/** The common stem of English word forms: expire, expires, expiration are all `expir`. */
export function stem(word: string): string {
  if (word.length < 4 || /[^a-z]/.test(word)) return word
  let stemmed = stripSuffix(stripSuffix(word, pluralSuffixes), derivedSuffixes)
  // stopped, stopping, stopper: the consonant was doubled for the ending.
  if (/([bdfgmnprt])\1(?:ing|ed|ers?|ors?)$/.test(word) && /(.)\1$/.test(stemmed)) stemmed = stemmed.slice(0, -1)
  if (stemmed.length > 4) stemmed = stripSuffix(stemmed, adjectiveSuffixes)
  if (stemmed.length > 3 && stemmed.endsWith('e')) stemmed = stemmed.slice(0, -1)
  return stemmed.length > 3 && stemmed.endsWith('y') ? `${stemmed.slice(0, -1)}i` : stemmed
}

function stripSuffix(word: string, endings: readonly SuffixRule[]): string {
  for (const [pattern, least, instead = ''] of endings) {
    const at = word.search(pattern)
    if (at >= least) return word.slice(0, at) + instead
  }
  return word
}
