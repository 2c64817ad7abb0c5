// Estimates how many tokens a text has, from its characters alone: no vocabulary, no data file, linear time.
//
// A tokenizer cuts a text into words, numbers, runs of signs and blanks before it looks anything up. The estimate cuts in the same places and
// charges each piece what such pieces cost on average in OpenAI's o200k vocabulary. Limits have margins; prices come from a reply's `usage`.
//
// Estimate divided by the true count, on parts of 4,000 characters of public repositories and manuals:
//
//                                            all    least   most
//   TypeScript, JavaScript, minified         1.15   1.01    1.25
//   Python, Go, Rust, C++, C#                1.15   0.99    1.26
//   JSON, YAML, CSS                          1.11   1.00    1.24
//   Markdown                                 1.11   0.99    1.27
//   English prose                            1.17   1.06    1.41
//   German, French, Spanish, Polish          1.13   1.00    1.21
//   Latvian, Esperanto, Italian              0.95   0.91    1.02
//   Chinese, Japanese, Korean                1.11   1.01    1.19
//   Arabic, Hebrew, Russian, Greek, Hindi    1.10   1.01    1.24
//   base64, hexadecimal, numbers             1.14   1.06    1.23
//   blanks, emoji                            1.20   1.06    1.31
//   random characters                        0.70   0.50    1.35
//
// test/handoff/domain/estimate-tokens.test.ts holds the bounds against a real tokenizer. Parts of 300 characters vary more: 0.85 to 1.6.

/** All costs are raised by this, so that an estimate is seldom below the true count. */
const margin = 1.06

/** Tokens for what a piece has beyond a common short word. */
const cost = {
  /** Two letters that seldom follow each other: the vocabulary has no word that contains them. */
  rarePair: 0.82,
  /** A letter after the sixth of a word. */
  laterLetter: 0.13,
  /** A capital after the second, as in HANDOFF. */
  laterCapital: 0.1,
  /** Capitals before small letters, as in XMLFile. */
  mixedCase: 1,
  /** A letter with an accent. */
  accent: 0.9,
  /** A sign or a tab that a word begins with, as in `.name`. */
  leadingSign: 0.28,
  /** A sign that differs from the sign before it, after the second of a run. */
  otherSign: 0.66,
  /** A sign that repeats the one before it; rulers such as ------ have long tokens of their own. */
  sameSign: 0.5,
  sameRulerSign: 1 / 12,
} as const

/** Which small letters commonly follow each letter from a to z, in English, German, French, Spanish, Polish and source code. */
const commonPairs =
  'bcdgilmnprstuvy aeijloruy aehiklortu adeiorsu abcdefgilmnpqrstvwxy aefilnortu eghilmnoprsu aeiort abcdefglmnorstvz aeosu aeinosu adefilmostuy abdeilmopsu acdefginostuv bcdfgiklmnoprstuvw aegiloprstuy su acdegiklmnorstuvy aceghikopstuy acehioprstuy abcefilmnprst aeio aehinorsw aceipty aeglnopst aceiouz'
    .split(' ')
    .map((letters) => [...letters].reduce((mask, letter) => mask | (1 << (letter.charCodeAt(0) - 97)), 0))

/** Scripts whose letters are charged one by one: first and last code unit, tokens for each run of letters, tokens for each letter. */
const scripts: readonly (readonly [first: number, last: number, perRun: number, perLetter: number])[] = [
  [0x0370, 0x03ff, 0.5, 0.36], // Greek
  [0x0400, 0x052f, 0.9, 0.22], // Cyrillic
  [0x0530, 0x058f, 0.5, 0.6], // Armenian
  [0x0590, 0x05ff, 0.5, 0.4], // Hebrew
  [0x0600, 0x077f, 0.5, 0.29], // Arabic
  [0x0900, 0x0e7f, 0.5, 0.36], // Devanagari to Thai
  [0x0e80, 0x109f, 0.5, 0.9], // Lao, Tibetan, Burmese
  [0x10a0, 0x10ff, 0.5, 0.42], // Georgian
  [0x1780, 0x17ff, 0.5, 0.9], // Khmer
  [0x1100, 0x1cff, 0.5, 1.5], // Ethiopic, Mongolian and others
  [0x2000, 0x206f, 0, 1.1], // punctuation
  [0x2070, 0x2bff, 0, 1.4], // arrows, mathematics, boxes, symbols
  [0x3000, 0x303f, 0, 0.95], // CJK punctuation
  [0x3040, 0x30ff, 0.4, 0.65], // Hiragana, Katakana
  [0x3400, 0x4dbf, 0, 2.5], // rare Han characters
  [0x4e00, 0x9fff, 0.4, 0.9], // Han characters
  [0xac00, 0xd7af, 0.5, 0.58], // Hangul
  [0xd83c, 0xd83e, 0, 1.2], // first half of an emoji
  [0xdc00, 0xdfff, 0, 1.2], // second half of a pair
  [0xfe00, 0xfe0f, 0, 0.9], // variation selectors
  [0xff00, 0xffef, 0, 0.95], // full-width forms
]
/** A character of two bytes in UTF-8, and one of three, outside these scripts. */
const perTwoBytes = 1.1
const perThreeBytes = 2.8

const blank = 0
const digit = 1
const small = 2
const capital = 3
const sign = 4
const accented = 5
const foreign = 6
type Class =
  | typeof blank
  | typeof digit
  | typeof small
  | typeof capital
  | typeof sign
  | typeof accented
  | typeof foreign

const asciiClasses = Array.from({ length: 128 }, (_, code): Class => {
  const character = String.fromCharCode(code)
  if (/\s/.test(character)) return blank
  if (/\d/.test(character)) return digit
  if (/[a-z]/.test(character)) return small
  return /[A-Z]/.test(character) ? capital : sign
})

function classOf(code: number): Class {
  if (code < 128) return asciiClasses[code]!
  if ((code >= 0xc0 && code <= 0x24f && code !== 0xd7 && code !== 0xf7) || (code >= 0x1e00 && code <= 0x1eff))
    return accented
  return code === 0xa0 ? blank : foreign
}

const isLetter = (kind: Class) => kind === small || kind === capital || kind === accented || kind === foreign

/** About as many tokens as o200k makes of the text: see the table above. */
export function estimateTokens(text: string): number {
  let tokens = 0
  for (let at = 0; at < text.length; ) {
    const kind = classOf(text.charCodeAt(at))
    const end = kind === foreign ? at + 1 : endOfPiece(text, at, kind)
    tokens += costOf(text, at, end, kind)
    at = end
  }
  return Math.min(Math.ceil(tokens * margin), Buffer.byteLength(text))
}

function endOfPiece(text: string, at: number, kind: Class): number {
  if (kind === small || kind === capital || kind === accented) return endOfWord(text, at)
  let end = at + 1
  while (end < text.length && classOf(text.charCodeAt(end)) === kind) end += 1
  return end
}

/** Capitals, then small letters: a capital after a small letter begins the next word. */
function endOfWord(text: string, at: number): number {
  let end = at
  while (end < text.length && classOf(text.charCodeAt(end)) === capital) end += 1
  for (; end < text.length; end += 1) {
    const kind = classOf(text.charCodeAt(end))
    if (kind !== small && kind !== accented) break
  }
  return end
}

function costOf(text: string, at: number, end: number, kind: Class): number {
  if (kind === blank) return costOfBlanks(text, at, end)
  if (kind === digit) return Math.ceil((end - at) / 3)
  if (kind === sign) return costOfSigns(text, at, end)
  return kind === foreign ? costOfForeign(text, at) : costOfWord(text, at, end)
}

function costOfWord(text: string, at: number, end: number): number {
  let rarePairs = 0
  let capitals = 0
  let accents = 0
  let before = -1
  for (let index = at; index < end; index += 1) {
    const code = text.charCodeAt(index)
    const letter = code < 128 ? (code | 32) - 97 : -1
    if (letter < 0) accents += 1
    else if (code < 97) capitals += 1
    if (before >= 0 && letter >= 0 && ((commonPairs[before]! >> letter) & 1) === 0) rarePairs += 1
    before = letter
  }
  const length = end - at
  return (
    1 +
    cost.rarePair * rarePairs +
    cost.laterLetter * Math.max(0, length - 6) +
    cost.laterCapital * Math.max(0, capitals - 2) +
    (capitals > 1 && capitals < length ? cost.mixedCase : 0) +
    cost.accent * accents
  )
}

function costOfSigns(text: string, at: number, end: number): number {
  // A single sign before a word is part of the word, unless a space stands before it.
  const single = end - at === 1 && text[at - 1] !== ' '
  if (single && startsWord(text, end)) return startsWord(text, end + 1) ? cost.leadingSign : 0
  let tokens = 1
  for (let index = at + 2; index < end; index += 1) {
    if (text[index] !== text[index - 1]) tokens += cost.otherSign
    else tokens += '#*-./=_~%+!'.includes(text[index]!) ? cost.sameRulerSign : cost.sameSign
  }
  return tokens
}

const startsWord = (text: string, at: number) => at < text.length && isLetter(classOf(text.charCodeAt(at)))

/** Line breaks are one token and indentation another; the last space belongs to the word or sign that follows. */
function costOfBlanks(text: string, from: number, end: number): number {
  let at = from
  // Line breaks right after a sign belong to it.
  if (at > 0 && classOf(text.charCodeAt(at - 1)) === sign) while (at < end && isLineBreak(text[at])) at += 1
  let indent = end
  while (indent > at && !isLineBreak(text[indent - 1])) indent -= 1
  return costOfLineBreaks(text, at, indent) + costOfIndent(text, indent, end)
}

const isLineBreak = (character: string | undefined) => character === '\n' || character === '\r'

function costOfLineBreaks(text: string, at: number, end: number): number {
  if (at === end) return 0
  let changes = 0
  for (let index = at + 1; index < end; index += 1) if (text[index] !== text[index - 1]) changes += 1
  return 1 + Math.max(0, changes - 1) / 4 + Math.floor((end - at - changes) / 8) / 2
}

function costOfIndent(text: string, at: number, end: number): number {
  const length = end - at
  if (length === 0) return 0
  const run = length > 1 ? 1 + Math.floor(length / (text[at] === ' ' ? 64 : 16)) : 0
  const next = end < text.length ? classOf(text.charCodeAt(end)) : digit
  if (text[end - 1] === ' ') return run + (next === digit ? 1 : 0)
  return run + (isLetter(next) ? cost.leadingSign : 1)
}

function costOfForeign(text: string, at: number): number {
  const code = text.charCodeAt(at)
  const before = at > 0 ? text.charCodeAt(at - 1) : 0
  const script = scripts.find(([first, last]) => code >= first && code <= last)
  if (script === undefined) return code < 0x800 ? perTwoBytes : perThreeBytes
  const [first, last, perRun, perLetter] = script
  const isRule = before === code && first === 0x2070
  return (before >= first && before <= last ? 0 : perRun) + (isRule ? perLetter / 4 : perLetter)
}

/** The estimate for a model by its name. A model whose vocabulary is not o200k gets a margin. */
export function tokenEstimatorFor(model: string): (text: string) => number {
  return usesO200k(model) ? estimateTokens : estimateForOtherVocabulary
}

/** Whether the model's vocabulary is o200k. The name may have a reseller's prefix (`openai/`) or a tuned model's (`ft:`). */
export function usesO200k(model: string): boolean {
  return /(^|[/:])(chatgpt-4o|gpt-4o|gpt-4\.[15]|gpt-5|gpt-oss|o[134])($|[-.:@])/.test(model.toLowerCase())
}

/**
 * Other vocabularies make more tokens of digits (often one of each), of scripts other than Latin and of long runs of blanks. With these additions
 * and a third more, no kind of text had more tokens in cl100k, Llama 3, Qwen 3, DeepSeek, Mistral, Kimi and GLM. No text has more tokens than bytes.
 */
function estimateForOtherVocabulary(text: string): number {
  let extra = 0
  for (const [run] of text.matchAll(/\d+|[\t-\r ]{24,}|[^\x00-\x7f]+/g)) {
    const first = run.charCodeAt(0)
    if (first > 0x7f) extra += run.length
    else extra += first > 0x20 ? (run.length * 2) / 3 : run.length / 4
  }
  return Math.min(Buffer.byteLength(text), Math.ceil(1.3 * (estimateTokens(text) + extra)))
}
