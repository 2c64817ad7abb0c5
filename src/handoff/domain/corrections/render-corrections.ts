// Shows corrections: each behind the statement whose lines it is about, the others above the text; and as data. Their text is foreign.
import { correctionEnd, correctionStart, stalePattern } from '../answers/comment-marker.js'
import { type AnswerPlace, permalink } from '../answers/permalinks.js'
import { citationLabel, citationMarkdown, shortCommit } from '../citations/citation-label.js'
import { cleanText, cutText } from '../markdown/clean-text.js'
import { codeSpansOf } from '../markdown/code-ranges.js'
import { codeSpan } from '../markdown/escape.js'
import { safeInline } from '../markdown/sanitize.js'
import { findMentions, isUnusualPath } from '../summary/path-mentions.js'
import { isAbout, type ShownCorrection } from './correction.js'

interface PlacedCorrections {
  markdown: string
  /** Those whose lines no statement cites, and those that name no lines. */
  rest: ShownCorrection[]
}

/** The Markdown with each correction behind the first statement that cites a line of it; in comments between markers. */
export function placeCorrections(
  markdown: string,
  corrections: readonly ShownCorrection[],
  aside: (text: string) => string = (text) => text,
): PlacedCorrections {
  const waiting = new Set(corrections.filter(namesItsLines))
  if (waiting.size === 0) return { markdown, rest: [...corrections] }
  const odd = unusualPaths(corrections)
  const lines = markdown.split('\n')
  for (const index of statementLines(lines)) lines[index] = placeInLine(lines[index]!, waiting, odd, aside)
  const isPlaced = (one: ShownCorrection) => namesItsLines(one) && !waiting.has(one)
  return { markdown: lines.join('\n'), rest: corrections.filter((one) => !isPlaced(one)) }
}

/** The same, with the rest above it. */
export function showCorrections(markdown: string, corrections: readonly ShownCorrection[], place: AnswerPlace): string {
  const { markdown: text, rest } = placeCorrections(markdown, corrections)
  return rest.length === 0 ? text : `${correctionsMarkdown(rest, place)}\n\n${text}`
}

/** Lines may have moved since it was written, so the path decides. */
function namesItsLines({ text, places }: ShownCorrection): boolean {
  const paths = new Set(places.map(({ path }) => path))
  return findMentions(text, [...paths].filter(isUnusualPath)).some(
    ({ path, line }) => line !== undefined && paths.has(path),
  )
}

const unusualPaths = (corrections: readonly ShownCorrection[]) =>
  [...new Set(corrections.flatMap(({ places }) => places.map(({ path }) => path)))]
    .filter(isUnusualPath)
    .sort((a, b) => b.length - a.length)

/** The lines with sentences: no code, quotation, heading, table or folded part. */
function* statementLines(lines: readonly string[]): Generator<number> {
  let folded = false
  for (const [index, line] of linesOutsideCode(lines)) {
    if (line.startsWith('<details>')) folded = true
    if (!folded && !/^\s*[>#|<]/.test(line)) yield index
    if (line.startsWith('</details>')) folded = false
  }
}

function* linesOutsideCode(lines: readonly string[]): Generator<[number, string]> {
  let fence: string | undefined
  for (const [index, line] of lines.entries()) {
    const mark = /^[\s>]*(?:[-+*]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === undefined && mark === undefined) yield [index, line]
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence)) fence = undefined
  }
}

/** Takes those that it places out of `waiting`. */
function placeInLine(
  line: string,
  waiting: Set<ShownCorrection>,
  odd: readonly string[],
  aside: (text: string) => string,
): string {
  if (waiting.size === 0 || !/:\d/.test(line)) return line
  const behind = new Map<number, string[]>()
  for (const { end, path, line: from, to } of findMentions(line, odd)) {
    if (from === undefined) continue
    for (const one of waiting) {
      // In a comparison the commit stands before the path.
      const prefix = `${shortCommit(one.commit)}:`
      const file = path.startsWith(prefix) ? path.slice(prefix.length) : path
      if (!isAbout(one, { path: file, from, to: to ?? from })) continue
      waiting.delete(one)
      const at = endOfStatement(line, end)
      behind.set(at, [...(behind.get(at) ?? []), ` ${aside(`(${says(one)})`)}`])
    }
  }
  return [...behind].reduceRight(
    (text, [at, asides]) => `${text.slice(0, at)}${asides.join('')}${text.slice(at)}`,
    line,
  )
}

const restOfLink = /`{0,3}\]?(?:\([^()\s]*\))?/y
const furtherLinks = /(?: \[`[^`\n]*`\]\([^()\s]*\)| \[[^\][`\n]*\](?!\())*[.!?]?/y

/** Behind the link, the further links of the same sentence, and its full stop. */
function endOfStatement(line: string, end: number): number {
  restOfLink.lastIndex = end
  restOfLink.exec(line)
  furtherLinks.lastIndex = restOfLink.lastIndex
  furtherLinks.exec(line)
  return furtherLinks.lastIndex
}

const says = ({ by, at, text }: ShownCorrection) =>
  `**Correction** by ${codeSpan(by)}, ${at.slice(0, 10)}: ${safeInline(text)}`

// ── above the text ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One quoted paragraph each, with the person, the day and the lines. Empty without corrections. */
export function correctionsMarkdown(corrections: readonly ShownCorrection[], place: AnswerPlace): string {
  return corrections.map((correction) => correctionQuote(correction, place)).join('\n>\n')
}

const mostPlaces = 3

function correctionQuote(correction: ShownCorrection, place: AnswerPlace): string {
  const { commit, places } = correction
  const shown = places.slice(0, mostPlaces).map((one) => citationMarkdown(one, { place, commit }))
  const more = places.length > mostPlaces ? [`and ${places.length - mostPlaces} more`] : []
  return `> ${says(correction)} ${[...shown, ...more].join(' ')}`
}

/** Corrections that are not folded. */
const mostShown = 2

/** By these a later edit finds what is between them. */
export const markedAside = (text: string) => `${correctionStart}${text}${correctionEnd}`

/** The same in a comment. The newest stand open, so that the comment stays short. */
export function correctionsBlock(corrections: readonly ShownCorrection[], place: AnswerPlace): string {
  if (corrections.length === 0) return ''
  const folded = corrections.slice(0, -mostShown)
  const title = `${folded.length} earlier ${folded.length === 1 ? 'correction' : 'corrections'}`
  const earlier =
    folded.length === 0
      ? ''
      : `\n\n<details>\n<summary>${title}</summary>\n\n${correctionsMarkdown(folded, place)}\n\n</details>`
  return `${correctionStart}\n${correctionsMarkdown(corrections.slice(-mostShown), place)}${earlier}\n${correctionEnd}`
}

// ── in comments ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The comment of an answer, or of a summary, with these corrections in place of earlier ones. */
export function correctedComment(body: string, corrections: readonly ShownCorrection[], place: AnswerPlace): string {
  const short = corrections.map(shortOfSummary)
  const older = short.filter(({ answer }) => answer === undefined).slice(0, -mostInSummary)
  const newer = short.filter((one) => !older.includes(one))
  const { markdown, rest } = placeCorrections(withoutCorrections(body), newer, markedAside)
  return withBlock(markdown, correctionsBlock([...older, ...rest], place))
}

/** The comment about a pull request fills a screen at most, so it has the newest corrections of the summary, and of each the beginning. */
const mostInSummary = 2
const longestInSummary = 300

const shortOfSummary = (correction: ShownCorrection): ShownCorrection =>
  correction.answer === undefined && correction.text.length > longestInSummary
    ? { ...correction, text: `${cutText(correction.text, longestInSummary)}…` }
    : correction

/** Below the comment's marker, and below a warning that stands there. */
function withBlock(body: string, block: string): string {
  const first = body.slice(0, body.indexOf('\n') + 1)
  const rest = body.slice(first.length)
  const warning = stalePattern.exec(rest)?.[0] ?? ''
  return `${first}${warning}${block === '' ? '' : `${block}\n\n`}${rest.slice(warning.length)}`
}

/** Markers inside code are text of the model. */
function withoutCorrections(body: string): string {
  const lines = body.split('\n')
  const kept: (string | undefined)[] = [...lines]
  let block = -1
  for (const [index, line] of linesOutsideCode(lines)) {
    if (line === correctionStart) block = index
    else if (line === correctionEnd && block >= 0) {
      // The empty line below goes too.
      kept.fill(undefined, block, index + 2)
      block = -1
    } else if (line.includes(correctionStart)) kept[index] = withoutAsides(line)
  }
  return kept.filter((line) => line !== undefined).join('\n')
}

function withoutAsides(line: string): string {
  const code = [...codeSpansOf(line)]
  const find = (marker: string, from: number): number => {
    const at = line.indexOf(marker, from)
    const span = code.find(([start, end]) => start < at && at < end)
    return span ? find(marker, span[1]) : at
  }
  let text = ''
  let from = 0
  for (;;) {
    const start = find(correctionStart, from)
    const end = start < 0 ? -1 : find(correctionEnd, start)
    if (end < 0) return text + line.slice(from)
    text += line.slice(from, start).trimEnd()
    from = end + correctionEnd.length
  }
}

// ── as data ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface CorrectionData {
  id: string
  at: string
  by: string
  text: string
  /** The answer that it is about, if it is not about the summary. */
  answer?: string | undefined
  places: { path: string; from: number; to: number; label: string; url: string | null }[]
}

/** For the HTTP API; `text` is to be shown as text. */
export function correctionData(
  { id, at, by, text, answer, commit, places }: ShownCorrection,
  place: AnswerPlace,
): CorrectionData {
  return {
    id,
    at,
    by,
    text: cleanText(text),
    answer,
    places: places.map(({ path, from, to }) => ({
      path,
      from,
      to,
      label: citationLabel({ path, from, to }),
      url: permalink(place, commit, { path, from, to }),
    })),
  }
}
