// Parses a model's reply: an answer, or a request for more code. Accepts common deviations: code fences around the reply, thinking before it,
// a sentence before the keyword, missing quotation marks. The limits of a request are fixed.
import { parseJson } from '../../util/decode.js'
import { trimEndOf, withoutTrailingSlashes } from '../../util/text.js'
import { cleanText, cutText } from '../markdown/clean-text.js'
import type { MoreRequest } from '../sandbox-protocol.js'

export type ParsedReply =
  | { kind: 'more'; requests: MoreRequest[] }
  | { kind: 'answer'; markdown: string; unanswered: boolean }

const mostRequests = 8
/** Lines of one range; more does not fit beside everything else. */
const longestRange = 400
/** A record holds no longer answers. */
const longestAnswer = 400_000
/** Where MORE may stand: on one of the first lines that are not empty, after short ones only. */
export const lastMoreLine = 2
export const longestPreface = 200

export function parseReply(reply: string): ParsedReply {
  const lines = withoutWrapping(reply).split('\n')
  const requests = requestsIn(lines)
  if (requests) return { kind: 'more', requests }
  const first = lines.findIndex((line) => line.trim() !== '')
  const rest = first < 0 ? undefined : afterNotFound(lines[first]!)
  const words = rest === undefined ? lines : [rest, ...lines.slice(first + 1)]
  return { kind: 'answer', markdown: cutText(words.join('\n').trim(), longestAnswer), unanswered: rest !== undefined }
}

/** The reply itself: without thoughts before it, and out of the fence that some models put everything in. */
export function withoutWrapping(reply: string): string {
  const text = unfenced(withoutThoughts(reply.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n')))
  return text.replace(/^(?:[ \t]*\n)+/, '')
}

/** Some servers drop the opening tag of the thinking. The model client removes thinking between two tags. */
function withoutThoughts(text: string): string {
  const lone = /^[ \t]*<\/think(?:ing)?>[ \t]*$/im.exec(text)
  return lone ? text.slice(lone.index + lone[0].length) : text
}

function unfenced(text: string): string {
  const lines = text.trim().split('\n')
  const open = /^(`{3,}|~{3,})\s{0,9}(markdown|md|text|plaintext|txt)?$/i.exec(lines[0]!.trimEnd())
  if (!open || lines.length < 2 || lines.at(-1)!.trim() !== open[1]) return text
  const inner = lines.slice(1, -1)
  // Without a language the fence may be the first of several code blocks; then it is not around everything.
  const alone = open[2] !== undefined || !inner.some((line) => line.trimStart().startsWith(open[1]!))
  return alone ? inner.join('\n') : text
}

/** The requests after MORE, if the reply asks for more. An answer that begins with "More than one…" does not. */
function requestsIn(lines: string[]): MoreRequest[] | undefined {
  const at = moreLine(lines)
  if (at === undefined) return undefined
  const first = undecorated(lines[at]!)
  const asked = [first.replace(/^more\b[\s:.!-]*/i, ''), ...lines.slice(at + 1).map(undecorated)].filter(
    (line) => line !== '' && !isFence(line),
  )
  const requests = asked.map(parseRequest).filter((request) => request !== undefined)
  // Behind other words it has to be followed by requests and nothing else; in small letters by one at least, or by nothing.
  const behindWords = lines.slice(0, at).some((line) => undecorated(line) !== '' && !isFence(line))
  if (behindWords && (requests.length === 0 || requests.length < asked.length)) return undefined
  if (requests.length === 0 && asked.length > 0 && !first.startsWith('MORE')) return undefined
  return requests.slice(0, mostRequests)
}

function moreLine(lines: string[]): number | undefined {
  let seen = 0
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    if (isMore(line)) return index
    seen++
    if (seen >= lastMoreLine || line.length > longestPreface) return undefined
  }
  return undefined
}

const isFence = (line: string) => /^(?:`{3,}|~{3,})\w*$/.test(line)

/** MORE alone on its line in any case, or in capitals before the first request. */
function isMore(line: string): boolean {
  const plain = undecorated(line)
  return (
    /^more[\s:.!-]*$/i.test(plain) ||
    /^MORE\b[\s:.-]*(?:[Rr]ead|READ|[Ss]earch|SEARCH|[Ll]ist|LIST|[Dd]efine|DEFINE|[Cc]allers|CALLERS)\b/.test(plain)
  )
}

/** May this beginning of a line still become one of the words that are not shown? */
export function mayBecomeKeyword(line: string): boolean {
  const plain = trimEndOf(undecorated(line).toLowerCase(), (sign) => '*_`'.includes(sign))
  if (line.length > longestPreface) return false
  if (/^[\s#>*+\-_`\d.)]*$/.test(line)) return true
  const open =
    /^more[\s:.!-]*(?:r(?:e(?:ad?)?)?|s(?:e(?:a(?:r(?:ch?)?)?)?)?|l(?:i(?:st?)?)?|d(?:e(?:f(?:i(?:ne?)?)?)?)?|c(?:a(?:l(?:l(?:e(?:rs?)?)?)?)?)?)?$/
  return 'more'.startsWith(plain) || open.test(plain) || 'not found'.startsWith(plain) || plain.startsWith('not found')
}

/** Without what Markdown puts around a line: bullets, numbers, stars, a heading's signs, backticks. */
function undecorated(line: string): string {
  const bare = cutText(cleanText(line), 2_000)
    .trim()
    .replace(/^(?:#{1,6}\s+|>\s*|[-*+]\s+|\d{1,2}[.)]\s+)+/, '')
    .replace(/^(?:\*\*|__|`)+/, '')
  return trimEndOf(bare, (sign) => '*_`'.includes(sign)).trim()
}

function parseRequest(line: string): MoreRequest | undefined {
  const [, verb = '', rest = ''] = /^(read|search|list|define|callers)\b[\s:]{0,40}(.*)/i.exec(line) ?? []
  switch (verb.toLowerCase()) {
    case 'read':
      return parseRead(rest)
    case 'search':
      return parseSearch(rest)
    case 'list':
      return parseList(rest)
    case 'define':
    case 'callers':
      return parseName(verb.toLowerCase() as 'define' | 'callers', rest)
    default:
      return undefined
  }
}

function parseRead(text: string): MoreRequest | undefined {
  const bare = cutText(text.trim(), 2_000)
  const range = /[\s:,#]{1,9}(?:lines?\s{1,9})?L?(\d{1,7})(?:\s{0,9}(?:-|–|—|to|\.\.)\s{0,9}L?(\d{1,7}))?$/i.exec(bare)
  const path = parsePath(range ? bare.slice(0, range.index) : bare)
  if (path === undefined || path === '') return undefined
  const from = Math.max(1, Number(range?.[1] ?? 1))
  const asked = Number(range?.[2] ?? (range ? from : longestRange))
  const [low, high] = asked < from ? [Math.max(1, asked), from] : [from, asked]
  return { kind: 'read', path, from: low, to: Math.min(high, low + longestRange - 1) }
}

function parseSearch(text: string): MoreRequest | undefined {
  const terms = cutText(
    text
      .replace(/["“”`]/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
    200,
  ).trim()
  return terms === '' ? undefined : { kind: 'search', terms }
}

/** One identifier; of `a.b.c()` the last part. */
function parseName(kind: 'define' | 'callers', text: string): MoreRequest | undefined {
  const name = /([\p{L}_$][\p{L}\p{N}_$]{0,119})(?:\(\))?["'`]?$/u.exec(text.slice(0, 300).trim())?.[1]
  return name === undefined ? undefined : { kind, name }
}

function parseList(text: string): MoreRequest | undefined {
  const path = parsePath(text === '' ? '.' : text)
  return path === undefined ? undefined : { kind: 'list', path }
}

/** A path of the repository, from its top. Whatever could lead out of it is no request. */
function parsePath(text: string): string | undefined {
  const bare = trimEndOf(text.trim().replace(/^[`'“]+/, ''), (sign) => "`'”".includes(sign))
  const path = withoutTrailingSlashes((jsonString(bare) ?? bare.replace(/^"|"$/g, '')).replace(/^(?:\.\/)+/, ''))
  if (path === '.' || path === '') return ''
  const leaves = path.startsWith('/') || /^[A-Za-z]:|\\/.test(path) || path.split('/').includes('..')
  return leaves || path.length > 1_000 || cleanText(path) !== path || path.includes('\n') ? undefined : path
}

function jsonString(text: string): string | undefined {
  if (!text.startsWith('"')) return undefined
  const value = parseJson(text)
  return typeof value === 'string' ? value : undefined
}

/** What stands on the first line beside NOT FOUND; undefined when the line does not say that. */
export function afterNotFound(line: string): string | undefined {
  if (/^not found[\s.:!-]*$/i.test(undecorated(line))) return ''
  return /^[\s#>*_`]{0,10}NOT FOUND[*_`]{0,10}\s?[.:!,–—-]{1,10}[*_`]{0,10}\s?(.*)/.exec(line)?.[1]
}

const mostTerms = 12

/** Words to look for, from a reply that should be one line of them. */
export function parseTerms(reply: string): string[] {
  const lines = withoutWrapping(reply)
    .split('\n')
    .filter((line) => line.trim() !== '')
  const words = lines
    .slice(0, mostTerms)
    .flatMap((line) =>
      undecorated(line)
        .replace(/^(?:search )?(?:terms?|words?|keywords?)\s*:/i, '')
        .split(/[\s,;|"'“”`()[\]{}<>*]+/),
    )
    .map((word) => trimEndOf(word.replace(/^[^\p{L}\p{N}_$@.#-]+/u, ''), (sign) => /[^\p{L}\p{N}_$+#]/u.test(sign)))
    .filter((word) => word.length >= 2 && word.length <= 60 && /[\p{L}\p{N}]/u.test(word))
  const unique = new Map(words.map((word) => [word.toLowerCase(), word]))
  return [...unique.values()].slice(0, mostTerms)
}
