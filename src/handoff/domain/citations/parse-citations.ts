// How a model writes down where it knows something from: `[[src/a.ts:10-12 "const a = 1"]]`, and the ways in which real models write the same
// less neatly: other quotation marks, `#L10-L12`, a path in quotes, several places between one pair of brackets, single brackets.
import { parseJson } from '../../util/decode.js'
import { codeRanges } from '../markdown/code-ranges.js'

export interface WrittenCitation {
  path: string
  /** 0 when no line was given. */
  from: number
  to: number
  /** Every way to read the quote, the likeliest first: models do not agree on how to write a quotation mark inside one. */
  quotes: string[]
}

/** Citations that stand together, with where they stand in the text. */
export interface CitationHit {
  from: number
  to: number
  citations: WrittenCitation[]
}

/** No citation is longer; what is still open after so many characters is something else. */
const longestCitation = 1_200

const quotedPath = /"((?:\\.|[^"\\\n]){1,600})"|`([^`\n]{1,600})`/.source
/** Brackets inside a path are balanced, as in `app/[id]/page.tsx`; spaces are believed only between double brackets. */
const widePath = /((?:[^\s"“”`[\]]|\[[^\s[\]]{0,100}\])(?:[^"“”`\n[\]]|\[[^\n[\]]{0,100}\]){0,600}?)/.source
const narrowPath = /((?:[^\s"“”`[\]]|\[[^\s[\]]{0,100}\]){1,600}?)/.source
const lines = /L?(\d{1,7})(?:\s{0,3}(?:-|–|—|to)\s{0,3}L?(\d{1,7}))?/.source
const quote =
  /(?:[\s,:]{1,5}(?:"((?:\\[\s\S]|[^"\\]){0,800})"(?=\s{0,3}(?:\]\]|[;,]))|"([\s\S]{0,800}?)"(?=\s{0,3}(?:\]\]|;))|“([\s\S]{0,800}?)”|`([^`]{0,800})`|'([\s\S]{0,800}?)'(?=\s{0,3}(?:\]\]|;))))?/
    .source
const rest = `${quote}\\s{0,3}(\\]\\]|[;,])`
const place = `\\s{0,3}(?:${quotedPath}|${widePath})(?:\\s{0,3}[:#]\\s{0,3}${lines})?${rest}`
const first = new RegExp(`\\[\\[${place}`, 'y')
const further = new RegExp(place, 'y')
/** More lines of the same file. */
const moreLines = new RegExp(`\\s{0,3}()()()${lines}${rest}`, 'y')
/** A single bracket is a citation only without a quote; an address that follows is the model's own and goes. */
const single = new RegExp(`\\[(?:${quotedPath}|${narrowPath})[:#]${lines}\\](?:\\([^()\\s]{0,1000}\\))?`, 'y')

/** Reads the double brackets at this place. Null when what stands there is no citation. */
export function readCitation(text: string, at: number, isKnown: IsKnown = () => false): CitationHit | null {
  const citations: WrittenCitation[] = []
  let match = matchAt(first, text, at)
  while (match) {
    const citation = written(match, citations.at(-1)?.path)
    if (citation.from === 0 && !isKnown(citation.path)) return null
    citations.push(citation)
    const end = match.index + match[0].length
    if (match.at(-1) === ']]') return { from: at, to: end, citations }
    match = citations.length < 20 ? (matchAt(moreLines, text, end) ?? matchAt(further, text, end)) : null
  }
  return null
}

type IsKnown = (path: string) => boolean

function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at
  return expression.exec(text)
}

/**
 * Where the double brackets at this place end: outside of a quote, or right behind one. -1 when they end nowhere, undefined while more text
 * may tell. More text never changes what was shown.
 */
export function citationEnd(text: string, at: number): number | undefined {
  if (text.startsWith('[[', at + 2)) return -1
  let inQuote = false
  const limit = Math.min(text.length, at + longestCitation)
  for (let index = at + 2; index < limit; index++) {
    const character = text[index]
    if (character === '\\') index++
    else if (character === '"') inQuote = !inQuote
    else if (character === '\n' && /^[ \t]*\n/.test(text.slice(index + 1, index + 9))) return -1
    else if (character === ']' && text[index + 1] === ']' && (!inQuote || text[index - 1] === '"')) return index + 2
  }
  return text.length - at >= longestCitation ? -1 : undefined
}

function written(match: RegExpExecArray, samePath?: string): WrittenCitation {
  const [, quoted, code, bare, from, to, strict, loose, curly, ticked, plain] = match
  const asWritten = strict ?? loose ?? curly ?? ticked ?? plain
  const path = quoted ? fromJson(quoted) : code || bare || samePath || ''
  const start = Number(from ?? 0)
  const end = to === undefined ? start : Number(to)
  return {
    path: tidyPath(path),
    from: Math.min(start, end),
    to: Math.max(start, end),
    quotes: asWritten ? readings(asWritten) : [],
  }
}

function tidyPath(text: string): string {
  return text.trim().replace(/^(?:\.?\/)+/, '')
}

/** A quote may have been written as in JSON, with only its quotation marks escaped, or as it stands. */
function readings(text: string): string[] {
  const withoutNumbers = text.replace(/^\s*\d{1,7}\| ?/, '')
  return [...new Set([withoutNumbers.replaceAll('\\"', '"'), fromJson(withoutNumbers), withoutNumbers])]
}

function fromJson(text: string): string {
  const value = parseJson(`"${text.replaceAll('\n', '\\n')}"`)
  return typeof value === 'string' ? value : text
}

/** Every citation of an answer, in order. In code only known files count: `a[[x:10]]` may be program text. */
export function findCitations(text: string, isKnown: IsKnown): CitationHit[] {
  const code = codeRanges(text)
  const hits: CitationHit[] = []
  let range = 0
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) {
    while (range < code.length && code[range]!.to <= at) range++
    const inside = range < code.length && code[range]!.from <= at
    const hit = readCitation(text, at, isKnown) ?? (inside ? null : readSingle(text, at, isKnown))
    if (!hit || (inside && !hit.citations.some((citation) => isKnown(citation.path)))) continue
    hits.push(withoutTicks(text, hit))
    at = hit.to - 1
  }
  return hits
}

function readSingle(text: string, at: number, isKnown: IsKnown): CitationHit | null {
  if (/[\w\])]/.test(text[at - 1] ?? '')) return null
  const match = matchAt(single, text, at)
  if (!match) return null
  const citation = written(match)
  const looksLikePath = isKnown(citation.path) || /\/|\.[A-Za-z]\w{0,9}$/.test(citation.path)
  return looksLikePath ? { from: at, to: at + match[0].length, citations: [citation] } : null
}

/** A citation that was put in a code span leaves it: as code it would show no link. */
function withoutTicks(text: string, hit: CitationHit): CitationHit {
  const whole = text[hit.from - 1] === '`' && text[hit.to] === '`'
  const alone = whole && text[hit.from - 2] !== '`' && text[hit.to + 1] !== '`'
  return alone ? { ...hit, from: hit.from - 1, to: hit.to + 1 } : hit
}
