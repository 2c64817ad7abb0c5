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

/** A word of Latin letters, in which only the first letters are capitals; digits; blanks; signs; one code unit of another script. */
const pieces = /([A-Z]*[a-zÀ-ÖØ-öø-ɏḀ-ỿ]+|[A-Z]+)|(\d+)|([\t-\r \xa0]+)|([\0-\x08\x0e-\x1f!-/:-@[-`{-\x7f]+)|[\s\S]/g
const letter = /[^\0-@[-`{-\x7f\xa0]/
const lastSign = /[\0-\x08\x0e-\x1f!-/:-@[-`{-\x7f]/
const lineBreaks = /^[\r\n]+/

/** About as many tokens as o200k makes of the text: see the table above. */
export function estimateTokens(text: string): number {
  let tokens = 0
  for (const { 0: piece, 1: word, 2: digits, 3: blanks, 4: signs, index } of text.matchAll(pieces)) {
    const next = text[index + piece.length] ?? ''
    const before = text[index - 1] ?? ''
    if (word !== undefined) tokens += costOfWord(word)
    else if (digits !== undefined) tokens += Math.ceil(digits.length / 3)
    else if (blanks !== undefined) tokens += costOfBlanks(blanks, before, next)
    // A single sign before a word is part of the word, unless a space stands before it.
    else if (signs?.length === 1 && before !== ' ' && letter.test(next))
      tokens += letter.test(text[index + 2] ?? '') ? cost.leadingSign : 0
    else tokens += signs === undefined ? costOfForeign(piece, before) : costOfSigns(signs)
  }
  return Math.min(Math.ceil(tokens * margin), Buffer.byteLength(text))
}

function costOfWord(word: string): number {
  let rarePairs = 0
  let capitals = 0
  let accents = 0
  let before = -1
  for (let index = 0; index < word.length; index += 1) {
    const code = word.charCodeAt(index)
    const place = code < 128 ? (code | 32) - 97 : -1
    if (place < 0) accents += 1
    else if (code < 97) capitals += 1
    if (before >= 0 && place >= 0 && ((commonPairs[before]! >> place) & 1) === 0) rarePairs += 1
    before = place
  }
  return (
    1 +
    cost.rarePair * rarePairs +
    cost.laterLetter * Math.max(0, word.length - 6) +
    cost.laterCapital * Math.max(0, capitals - 2) +
    (capitals > 1 && capitals < word.length ? cost.mixedCase : 0) +
    cost.accent * accents
  )
}

function costOfSigns(signs: string): number {
  let tokens = 1
  for (let index = 2; index < signs.length; index += 1) {
    if (signs[index] !== signs[index - 1]) tokens += cost.otherSign
    else tokens += '#*-./=_~%+!'.includes(signs[index]!) ? cost.sameRulerSign : cost.sameSign
  }
  return tokens
}

/** Line breaks are one token and indentation another; the last space belongs to the word or sign that follows. */
function costOfBlanks(blanks: string, before: string, next: string): number {
  // Line breaks right after a sign belong to it.
  const rest = lastSign.test(before) ? blanks.replace(lineBreaks, '') : blanks
  const indent = Math.max(rest.lastIndexOf('\n'), rest.lastIndexOf('\r')) + 1
  let changes = 0
  for (let index = 1; index < indent; index += 1) if (rest[index] !== rest[index - 1]) changes += 1
  const breaks = indent === 0 ? 0 : 1 + Math.max(0, changes - 1) / 4 + Math.floor((indent - changes) / 8) / 2
  const length = rest.length - indent
  if (length === 0) return breaks
  const run = length > 1 ? 1 + Math.floor(length / (rest[indent] === ' ' ? 64 : 16)) : 0
  if (rest.endsWith(' ')) return breaks + run + (next === '' || /\d/.test(next) ? 1 : 0)
  return breaks + run + (letter.test(next) ? cost.leadingSign : 1)
}

function costOfForeign(character: string, before: string): number {
  const code = character.charCodeAt(0)
  const script = scripts.find(([first, last]) => code >= first && code <= last)
  if (script === undefined) return code < 0x800 ? perTwoBytes : perThreeBytes
  const [first, last, perRun, perLetter] = script
  const codeBefore = before === '' ? 0 : before.charCodeAt(0)
  const isRule = before === character && first === 0x2070
  return (codeBefore >= first && codeBefore <= last ? 0 : perRun) + (isRule ? perLetter / 4 : perLetter)
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
