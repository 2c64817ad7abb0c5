// Reads the words of one paragraph: code, emphasis, links, and plain text. HTML, comments and images are gone afterwards, entities and escapes
// have become the characters they stand for. The result is flat; openings and closings are paired.

import { cleanLine } from './clean-text.js'
import { bracketsOf, codeSpansOf } from './code-ranges.js'
import { delimiterRun, type Inline, mergeText, type Piece, pairDelimiters } from './parse-emphasis.js'

export interface InlineRules {
  /** The address to write when a link may stay, else null: then its address is shown as words. */
  link: (url: string) => string | null
  /** Places that were checked, by what stands between the brackets; with the address to write, or null for none. */
  labels: ReadonlyMap<string, string | null>
}

interface Scanner {
  text: string
  at: number
  rules: InlineRules
  depth: number
  /** Inside a link no other link is written. */
  linked: boolean
  spans: Map<number, number>
  brackets: Map<number, number>
  noCommentEnds: boolean
  pieces: Piece[]
}

/** Links and images inside one another; deeper ones are read as words. */
const deepest = 3
const special = /[\\`<![*_&]|(?<![a-z0-9])https?:\/\//gi

export function parseInlines(text: string, rules: InlineRules): Inline[] {
  return parse(text, rules, 0, false)
}

function parse(text: string, rules: InlineRules, depth: number, linked: boolean): Inline[] {
  const spans = codeSpansOf(text)
  const brackets = bracketsOf(text, spans)
  const scanner: Scanner = { text, at: 0, rules, depth, linked, spans, brackets, noCommentEnds: false, pieces: [] }
  const next = new RegExp(special)
  while (scanner.at < text.length) {
    next.lastIndex = scanner.at
    const found = next.exec(text)?.index ?? text.length
    push(scanner, text.slice(scanner.at, found))
    scanner.at = found
    if (found < text.length) readers[text[found]!.toLowerCase()]!(scanner)
  }
  return mergeText(pairDelimiters(scanner.pieces))
}

const readers: Record<string, (scanner: Scanner) => void> = {
  '\\': readEscape,
  '`': readCode,
  '<': readAngle,
  '!': readImage,
  '[': readBracket,
  '*': readDelimiters,
  _: readDelimiters,
  '&': readEntity,
  h: readAddress,
}

function push(scanner: Scanner, text: string): void {
  if (text !== '') scanner.pieces.push({ kind: 'text', text })
}

/** One by one: a long text has more pieces than a call can have arguments. */
function pushAll(scanner: Scanner, pieces: Piece[]): void {
  for (const piece of pieces) scanner.pieces.push(piece)
}

function pushLink(scanner: Scanner, url: string, shown: Inline[]): void {
  pushAll(scanner, [{ kind: 'link', url }, ...shown, { kind: 'link-end' }])
}

function take(scanner: Scanner, length: number): void {
  push(scanner, scanner.text.slice(scanner.at, scanner.at + length))
  scanner.at += length
}

function match(scanner: Scanner, sticky: RegExp): RegExpExecArray | null {
  sticky.lastIndex = scanner.at
  return sticky.exec(scanner.text)
}

function readEscape(scanner: Scanner): void {
  const next = scanner.text[scanner.at + 1]
  if (next !== undefined && /[!-/:-@[-`{-~\n]/.test(next)) scanner.at++
  take(scanner, 1)
}

function readCode(scanner: Scanner): void {
  const ticks = match(scanner, /`+/y)![0].length
  const end = scanner.spans.get(scanner.at)
  if (end === undefined) {
    take(scanner, ticks)
    return
  }
  const content = scanner.text.slice(scanner.at + ticks, end - ticks).replaceAll('\n', ' ')
  if (content.trim() === '') push(scanner, ' ')
  else scanner.pieces.push({ kind: 'code', text: /^ .* $/.test(content) ? content.slice(1, -1) : content })
  scanner.at = end
}

const tagNames = new Set(
  (
    'a abbr address article aside audio b base big blockquote body br button canvas caption center cite code col colgroup dd del details dfn ' +
    'dialog div dl dt em embed fieldset figcaption figure font footer form frame frameset g h1 h2 h3 h4 h5 h6 head header hr html i iframe ' +
    'image img input ins kbd label legend li link main map mark marquee math menu meta nav noscript object ol optgroup option p param path ' +
    'picture pre progress q rp rt ruby s samp script section select slot small source span strike strong style sub summary sup svg table ' +
    'tbody td template textarea tfoot th thead title tr track tt u ul use var video wbr'
  ).split(' '),
)

/** Tags of HTML go and what they enclose stays; anything else in angle brackets may be code such as `Map<string>` and stays as text. */
function readAngle(scanner: Scanner): void {
  const { text, at } = scanner
  const other = match(scanner, /<\?[^<>]*>|<![A-Z[][^<>]*>/iy)
  const address = match(scanner, /<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>/iy)
  const tag = match(scanner, /<\/?([a-z][a-z0-9-]*)(?:[\s/][^<>]*)?>/iy)
  if (text.startsWith('<!--', at)) {
    readComment(scanner)
  } else if (address) {
    pushAddress(scanner, address[1]!)
    scanner.at += address[0].length
  } else if (other) {
    scanner.at += other[0].length
  } else if (tag && tagNames.has(tag[1]!.toLowerCase())) {
    push(scanner, /^(?:br|hr)$/i.test(tag[1]!) ? '\n' : '')
    scanner.at += tag[0].length
  } else {
    take(scanner, 1)
  }
}

function readComment(scanner: Scanner): void {
  const end = scanner.noCommentEnds ? -1 : scanner.text.indexOf('-->', scanner.at + 2)
  scanner.noCommentEnds = end < 0
  if (end < 0) take(scanner, 4)
  else scanner.at = end + 3
}

function readImage(scanner: Scanner): void {
  const link = scanner.text[scanner.at + 1] === '[' ? linkAt(scanner, scanner.at + 1) : undefined
  if (!link) {
    take(scanner, 1)
    return
  }
  const shown = parse(link.text, scanner.rules, scanner.depth + 1, true)
  pushAll(scanner, shown.length > 0 ? shown : [{ kind: 'text', text: 'image' }])
  scanner.at = link.end
}

function readBracket(scanner: Scanner): void {
  if (readLabel(scanner)) return
  const link = linkAt(scanner, scanner.at)
  if (!link) {
    take(scanner, 1)
    return
  }
  const url = scanner.linked ? null : scanner.rules.link(link.url)
  const shown = parse(link.text, scanner.rules, scanner.depth + 1, scanner.linked || url !== null)
  if (url !== null && shown.length > 0) pushLink(scanner, url, shown)
  else pushAll(scanner, [...shown, ...addressWords(link.url, link.text)])
  scanner.at = link.end
}

/** The address of a link that may not stay, for people to judge; what is no address of a page is not even shown. */
function addressWords(url: string, shown: string): Inline[] {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
  const known = scheme === undefined || ['http', 'https', 'ftp', 'mailto'].includes(scheme)
  if (!known || url === '' || url === shown || url.length > 300) return []
  return [
    { kind: 'text', text: ' (' },
    { kind: 'code', text: url },
    { kind: 'text', text: ')' },
  ]
}

const longestLabel = 2_000

function readLabel(scanner: Scanner): boolean {
  const { text, at, rules } = scanner
  if (rules.labels.size === 0) return false
  const rest = text.slice(at + 1, at + 1 + longestLabel)
  let end = -1
  // A path may hold brackets of its own, as in `app/[id]/page.tsx`.
  for (let tries = 0; tries < 8; tries++) {
    end = rest.indexOf(']', end + 1)
    if (end < 0) return false
    const label = rest.slice(0, end)
    const url = rules.labels.get(label)
    if (url === undefined) continue
    scanner.pieces.push(scanner.linked ? { kind: 'code', text: label } : { kind: 'citation', label, url })
    scanner.at = at + end + 2
    return true
  }
  return false
}

const destination =
  /\(\s{0,9}(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:\s{1,9}(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s{0,9}\)/y

function linkAt(scanner: Scanner, at: number): { text: string; url: string; end: number } | undefined {
  const close = scanner.depth < deepest ? scanner.brackets.get(at) : undefined
  if (close === undefined || scanner.text[close + 1] !== '(') return undefined
  destination.lastIndex = close + 1
  const found = destination.exec(scanner.text)
  if (!found) return undefined
  const url = (found[1] ?? found[2] ?? '').replace(/\\([!-/:-@[-`{-~])/g, '$1').replace(entity, decodeEntity)
  return { text: scanner.text.slice(at + 1, close).replaceAll('\n', ' '), url, end: destination.lastIndex }
}

function readAddress(scanner: Scanner): void {
  const [found] = match(scanner, /https?:\/\/[^\s<>"'`[\]|\\^{}]*/iy)!
  const closers = found.includes('(') ? '.,;:!?*_' : '.,;:!?*_)'
  let end = found.length
  while (closers.includes(found[end - 1]!)) end--
  pushAddress(scanner, found.slice(0, end))
  scanner.at += end
}

function pushAddress(scanner: Scanner, address: string): void {
  const url = scanner.linked ? null : scanner.rules.link(address)
  if (url === null) push(scanner, address)
  else pushLink(scanner, url, [{ kind: 'code', text: address }])
}

const named: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  copy: '©',
}
const entity = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,6}));/g

/** Names that are not in the small table stay as they are written: the `&` is written as one, so they decode nowhere later. */
function decodeEntity(whole: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name !== undefined) return named[name] ?? whole
  const code = decimal === undefined ? Number.parseInt(hexadecimal!, 16) : Number(decimal)
  return code > 31 && code < 0x110000 ? cleanLine(String.fromCodePoint(code)) : ' '
}

function readEntity(scanner: Scanner): void {
  const found = match(scanner, new RegExp(entity, 'y'))
  if (found) push(scanner, decodeEntity(found[0], found[1], found[2], found[3]))
  else push(scanner, '&')
  scanner.at += found?.[0].length ?? 1
}

function readDelimiters(scanner: Scanner): void {
  const run = delimiterRun(scanner.text, scanner.at)
  scanner.at += run.mark.length
  scanner.pieces.push(run)
}
