// Splits code into tokens for colours. One scanner reads all languages by their tables. It looks at each character a bounded number of times, so
// hostile code costs no more than other code. A wrong colour is possible, a lost or changed character is not.
import { type Language, languages } from './highlight-languages.js'

type TokenKind = 'comment' | 'string' | 'number' | 'keyword' | 'name' | 'type'

interface Token {
  kind: TokenKind | undefined
  text: string
}

export function findLanguage(source: { path: string } | { language: string | undefined }): Language | undefined {
  if ('language' in source) {
    const wanted = source.language?.toLowerCase()
    return languages.find(({ name, endings }) => name.toLowerCase() === wanted || endings.includes(wanted ?? ''))
  }
  const file = source.path.slice(source.path.lastIndexOf('/') + 1).toLowerCase()
  const ending = file.slice(file.lastIndexOf('.') + 1)
  return languages.find(({ endings }) => endings.includes(ending))
}

/** The tokens of each line. Their texts together are the line. */
export function tokenise(lines: readonly string[], language: Language): Token[][] {
  const result: Token[][] = []
  let line: Token[] = []
  for (const { kind, text } of scan(lines.join('\n'), language)) {
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) {
        result.push(line)
        line = []
      }
      if (part !== '') line.push({ kind, text: part })
    }
  }
  result.push(line)
  return result
}

const word = /[\p{L}_][\p{L}\p{N}_]*/uy
const wordWithDashes = /[\p{L}_-][\p{L}\p{N}_-]*/uy
/** Also what follows the digits: the `x1F` of `0x1F`, the `px` of `12px`. */
const number = /\d\w*(?:\.\d\w*)?(?:(?<=[eE])[+-]\d+)?%?/y

/** What begins at one place: a token, or characters without a colour. */
interface Next {
  kind?: TokenKind | undefined
  end: number
}

function scan(text: string, language: Language): Token[] {
  const tokens: Token[] = []
  const next = language.tags ? markupReader(text, language) : (at: number) => nextInCode(text, at, language)
  let at = endOfOpenComment(text, language)
  let plain = at
  if (at > 0) tokens.push({ kind: 'comment', text: text.slice(0, at) })
  while (at < text.length) {
    const { kind, end } = next(at)
    if (kind) {
      if (plain < at) tokens.push({ kind: undefined, text: text.slice(plain, at) })
      tokens.push({ kind, text: text.slice(at, end) })
      plain = end
    }
    at = end
  }
  if (plain < at) tokens.push({ kind: undefined, text: text.slice(plain) })
  return tokens
}

function nextInCode(text: string, at: number, language: Language): Next {
  const comment = endOfComment(text, at, language)
  if (comment > at) return { kind: 'comment', end: comment }
  const string = endOfString(text, at, language)
  if (string > at) return { kind: isKey(text, string, language) ? 'name' : 'string', end: string }
  return nextWord(text, at, language)
}

/** Words between tags have no colour. */
function markupReader(text: string, language: Language): (at: number) => Next {
  let inTag = false
  return (at) => {
    const comment = endOfComment(text, at, language)
    if (comment > at) return { kind: 'comment', end: comment }
    if (text[at] === '<' || text[at] === '>') {
      inTag = text[at] === '<'
      const begin = at + (text[at + 1] === '/' ? 2 : 1)
      return inTag ? { kind: 'keyword', end: begin + match(wordWithDashes, text, begin) } : { end: at + 1 }
    }
    return inTag ? nextInCode(text, at, language) : { end: at + 1 }
  }
}

/** A word, a number, or one other character. */
function nextWord(text: string, at: number, language: Language): Next {
  const sign = language.signs?.includes(text[at]!) ? 1 : 0
  const length = match(language.dashes ? wordWithDashes : word, text, at + sign)
  if (length > 0) {
    const end = at + sign + length
    return { kind: sign === 1 ? 'type' : kindOf(text.slice(at, end), text, end, language), end }
  }
  const digits = match(number, text, at)
  return digits > 0 ? { kind: 'number', end: at + digits } : { end: at + 1 }
}

function kindOf(name: string, text: string, end: number, language: Language): TokenKind | undefined {
  if (language.keywords.has(language.caseless ? name.toLowerCase() : name)) return 'keyword'
  if (language.tags || isKey(text, end, language)) return 'name'
  if (language.keys) return undefined
  if (text[end] === '(' || (text[end] === '!' && language.name === 'Rust')) return 'name'
  return /^\p{Lu}/u.test(name) && !language.caseless ? 'type' : undefined
}

/** In a file of settings the words before the sign are keys. */
function isKey(text: string, end: number, { keys }: Language): boolean {
  if (!keys) return false
  let at = end
  while (text[at] === ' ' && at - end < 20) at += 1
  return text[at] === keys
}

function match(form: RegExp, text: string, at: number): number {
  form.lastIndex = at
  return form.exec(text)?.[0].length ?? 0
}

/** Excerpts may begin inside a comment: then its end comes before any beginning. */
function endOfOpenComment(text: string, { blocks = [] }: Language): number {
  for (const [begin, end] of blocks) {
    if (begin === end) continue
    const closes = text.indexOf(end)
    const opens = text.indexOf(begin)
    if (closes >= 0 && (opens < 0 || closes < opens)) return closes + end.length
  }
  return 0
}

function endOfComment(text: string, at: number, { blocks = [], line = [] }: Language): number {
  for (const [begin, end] of blocks) if (text.startsWith(begin, at)) return after(text, end, at + begin.length)
  for (const begin of line) {
    // `#` begins a comment after a space only: `$#` and `a#b` do not.
    if (text.startsWith(begin, at) && (begin !== '#' || at === 0 || /\s/.test(text[at - 1]!))) return lineEnd(text, at)
  }
  return at
}

function endOfString(text: string, at: number, { strings = [], name }: Language): number {
  const quote = strings.find((one) => text.startsWith(one, at))
  if (quote === undefined) return at
  const begin = at + quote.length
  // A lifetime has no second quote.
  if (quote === "'" && name === 'Rust' && text[begin] !== '\\' && text[begin + 1] !== "'") return at
  const isLong = quote.length === 3 || quote === '`'
  for (let end = begin; end < text.length; end += 1) {
    if (text[end] === '\n' && !isLong) return end
    if (text[end] === '\\' && text[end + 1] !== '\n') end += 1
    else if (text.startsWith(quote, end)) return end + quote.length
  }
  return text.length
}

function after(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from)
  return found < 0 ? text.length : found + end.length
}

function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at)
  return found < 0 ? text.length : found
}
