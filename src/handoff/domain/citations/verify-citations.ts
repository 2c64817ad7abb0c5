// Verifies the citations of an answer. A citation counts if its file is part of the commit, its lines were shown to the model, and they contain
// its quote. A range that is off is moved to its quote. Failed citations are removed, and a sentence without any is marked as unsupported.
import type { Citation } from '../answer.js'
import { cutText } from '../markdown/clean-text.js'
import { citationLabel } from './citation-label.js'
import { type CitationHit, citationEnd, findCitations, type WrittenCitation } from './parse-citations.js'
import { type LineRange, type ShownFile, type ShownLines, shownFiles } from './shown-files.js'

export interface CheckedAnswer {
  /** Markdown with `[path:10-20]` where a citation holds. */
  text: string
  /** Every place once; those that were dropped say why. */
  citations: Citation[]
  /** Sentences that cited something and have nothing left. */
  unsupported: number
}

/** How far a range may be off. */
const near = 5
/** A shorter quote occurs in too many places to correct a range. */
const tellingQuote = 6
/** What a record may hold. */
const mostCitations = 1_000

export function verifyCitations(
  markdown: string,
  shown: readonly ShownLines[],
  knownPath: (path: string) => boolean,
): CheckedAnswer {
  const { text, groups, citations } = checkCitations(markdown, shown, knownPath)
  const checked = groups.map((group) => group.citations)
  const lost = lostSentences(sentencesOf(text, groups), checked)
  const written = groups.map((_, index) => labels(checked[index]!) || (lost.has(index) ? '(unsupported)' : ''))
  return { text: replaceGroups(text, groups, written), citations, unsupported: lost.size }
}

/** Citations that stand together, each checked, and where they stand in the text. */
interface CheckedGroup {
  from: number
  to: number
  citations: Citation[]
}

/** Finds every citation of a text and checks it. The text is the given one without a citation that was cut at its end. */
export function checkCitations(
  markdown: string,
  shown: readonly ShownLines[],
  knownPath: (path: string) => boolean,
): { text: string; groups: CheckedGroup[]; citations: Citation[] } {
  const files = shownFiles(shown)
  const known = (path: string) => files.has(path) || knownPath(path)
  const text = withoutOpenEnd(markdown)
  const list = new Map<string, Citation>()
  const groups = groupsOf(text, findCitations(text, known)).map((group) => ({
    ...group,
    citations: group.citations.map((one) => remember(list, check(one, files, known))),
  }))
  return { text, groups, citations: [...list.values()] }
}

/** An answer that was cut in the middle of a citation ends before it. */
function withoutOpenEnd(text: string): string {
  // Without brackets the last character is looked at, which is no citation.
  const at = text.lastIndexOf('[[')
  if (!/^\[\[["`]?[\w.@~/-]/.test(text.slice(at)) || citationEnd(text, at) !== undefined) return text
  return /[./]/.test(text.slice(at)) ? text.slice(0, at).trimEnd() : text
}

function check(written: WrittenCitation, files: Map<string, ShownFile>, known: (path: string) => boolean): Citation {
  const quote = written.quotes[0]?.trim()
  const path = known(written.path) || !quote ? written.path : wholePath(written.path, files)
  const file = files.get(path)
  const head = { path: cutText(path, 4_000), ...(quote ? { quote: cutText(quote, 500) } : {}) }
  const asked: LineRange = { from: written.from, to: written.to }
  if (!file) return { ...head, ...asked, verified: false, problem: known(path) ? 'not-shown' : 'no-such-path' }
  const found = quote ? locate(written, file) : clamp(asked, file)
  if (!found)
    return { ...head, ...asked, verified: false, problem: file.covers(asked) ? 'quote-not-found' : 'no-such-lines' }
  const moved = found.from !== asked.from || found.to !== asked.to
  const evidence = { blob: file.blob, digest: file.digest(found) }
  return { ...head, from: found.from, to: found.to, ...evidence, verified: true, ...(moved ? { moved: true } : {}) }
}

/** Models shorten paths. The end of one path that was shown means that path, if the quote agrees. */
function wholePath(path: string, files: Map<string, ShownFile>): string {
  const candidates = [...files.keys()].filter((known) => known.endsWith(`/${path}`))
  return candidates.length === 1 ? candidates[0]! : path
}

/** The range where it is, else where its quote stands nearby, else where its quote stands at all, if that is one place. */
function locate(written: WrittenCitation, file: ShownFile): LineRange | null {
  const range: LineRange = { from: written.from, to: written.to }
  for (const quote of written.quotes.flatMap(withoutDots)) {
    const inside = file.find(quote, range, range.from)
    if (inside) return clamp(range, file, inside) ?? inside
    if (quote.replace(/\s/g, '').length < tellingQuote) continue
    const beside = range.from > 0 && file.find(quote, { from: range.from - near, to: range.to + near }, range.from)
    if (beside) return shifted(range, beside, file)
    const only = file.findOnly(quote)
    if (only) return only
  }
  return null
}

/** Models leave out the ends of long lines. */
function withoutDots(quote: string): string[] {
  const bare = quote
    .trim()
    .replace(/^(?:…|\.\.\.)|(?:…|\.\.\.)$/g, '')
    .trim()
  return [quote, bare]
}

/** The range moved by as little as puts the quote inside, when all of it was shown. */
function shifted(range: LineRange, quote: LineRange, file: ShownFile): LineRange {
  const by = quote.from < range.from ? quote.from - range.from : Math.max(0, quote.to - range.to)
  const moved = { from: range.from + by, to: range.to + by }
  const holds = moved.from <= quote.from && quote.to <= moved.to
  return holds && file.covers(moved) ? moved : quote
}

/** The part of the range that was shown, when little or nothing of it was not; with a quote, whatever was shown around it. */
function clamp(range: LineRange, file: ShownFile, quote?: LineRange): LineRange | null {
  const segment = file.around(quote ?? range)
  if (!segment || range.from < 1) return null
  const inside = { from: Math.max(range.from, segment.from), to: Math.min(range.to, segment.to) }
  const beyond = inside.from - range.from + (range.to - inside.to)
  return quote || beyond <= near ? inside : null
}

/** The same place is in the list once. What the list cannot hold does not count. */
function remember(list: Map<string, Citation>, citation: Citation): Citation {
  const key = JSON.stringify([citation.path, citation.from, citation.to, citation.problem ?? ''])
  const known = list.get(key)
  if (known) return known
  if (list.size >= mostCitations) return { ...citation, verified: false }
  list.set(key, citation)
  return citation
}

/** Citations with nothing but spaces and commas between them support one thing. */
function groupsOf(text: string, hits: CitationHit[]): CitationHit[] {
  const groups: CitationHit[] = []
  for (const hit of hits) {
    const last = groups.at(-1)
    if (last && /^[ \t]{0,9}(?:[,;]|and)?[ \t]{0,9}\n?[ \t]{0,9}$/.test(text.slice(last.to, hit.from))) {
      groups[groups.length - 1] = { from: last.from, to: hit.to, citations: [...last.citations, ...hit.citations] }
    } else groups.push(hit)
  }
  return groups
}

/** Which sentence each group belongs to, by number. Groups share one when no sentence ends between them. */
function sentencesOf(text: string, groups: CheckedGroup[]): number[] {
  let sentence = 0
  return groups.map((group, index) => {
    const last = groups[index - 1]
    if (!last) return sentence
    const endedBefore = /[.!?:。！？]["'”’)*_`]*\s*$/.test(text.slice(Math.max(0, last.from - 40), last.from))
    const between = text.slice(last.to, group.from)
    const ends = /^\s*[.!?。！？](?:\s|$)|[.!?。！？]["'”’)*_`]*\s+\S|\n\s*(?:\n|[-*+>|#]|\d+[.)])/.test(between)
    if (endedBefore || ends) sentence++
    return sentence
  })
}

/** The last group of every sentence that has no verified citation: there the mark goes. */
function lostSentences(sentences: number[], checked: Citation[][]): Set<number> {
  const last = new Map<number, { group: number; holds: boolean }>()
  sentences.forEach((sentence, group) => {
    const holds = checked[group]!.some((citation) => citation.verified) || (last.get(sentence)?.holds ?? false)
    last.set(sentence, { group, holds })
  })
  return new Set([...last.values()].filter((entry) => !entry.holds).map((entry) => entry.group))
}

function labels(citations: Citation[]): string {
  const verified = citations.filter((citation) => citation.verified).map((citation) => `[${citationLabel(citation)}]`)
  return [...new Set(verified)].join(' ')
}

export function replaceGroups(text: string, groups: CheckedGroup[], written: string[]): string {
  let result = ''
  let from = 0
  groups.forEach((group, index) => {
    const before = text.slice(from, group.from)
    const label = written[index]!
    const glued = /[^\s([]$/.test(before)
    result += label === '' ? withoutSpaces(before) : `${before}${glued ? ' ' : ''}${label}`
    from = group.to
  })
  return result + text.slice(from)
}

function withoutSpaces(text: string): string {
  let end = text.length
  while (text[end - 1] === ' ' || text[end - 1] === '\t') end--
  return text.slice(0, end)
}
