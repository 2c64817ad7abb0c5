// Shows corrections: as a block at the top of a comment, and as data. Their text is foreign.

import { correctionsMarker, correctionsPattern, stalePattern } from '../answers/comment-marker.js'
import { type AnswerPlace, permalink } from '../answers/permalinks.js'
import { citationLabel } from '../citations/citation-label.js'
import { citationMarkdown } from '../citations/citation-markdown.js'
import { cleanText } from '../markdown/clean-text.js'
import { codeSpan } from '../markdown/escape.js'
import { safeInline } from '../markdown/sanitize.js'
import type { ShownCorrection } from './correction.js'

/** One quoted paragraph each, with the person, the day and the lines. Empty without corrections. */
export function correctionsMarkdown(corrections: readonly ShownCorrection[], place: AnswerPlace): string {
  return corrections.map((correction) => correctionLine(correction, place)).join('\n>\n')
}

const mostPlaces = 3

function correctionLine({ by, at, text, commit, places }: ShownCorrection, place: AnswerPlace): string {
  const shown = places.slice(0, mostPlaces).map((one) => citationMarkdown(one, { place, commit }))
  const more = places.length > mostPlaces ? [`and ${places.length - mostPlaces} more`] : []
  return `> **Correction** by ${codeSpan(by)}, ${at.slice(0, 10)}: ${safeInline(text)} ${[...shown, ...more].join(' ')}`
}

/** The same with a marker, by which a later edit finds it. */
export function correctionsBlock(corrections: readonly ShownCorrection[], place: AnswerPlace): string {
  return corrections.length === 0 ? '' : `${correctionsMarker}\n${correctionsMarkdown(corrections, place)}`
}

/** The comment with this block in place of any earlier one: below its marker, and below a warning that stands there. */
export function setCorrections(body: string, block: string): string {
  const bare = body.replace(correctionsPattern, '')
  const first = bare.slice(0, bare.indexOf('\n') + 1)
  const rest = bare.slice(first.length)
  const warning = stalePattern.exec(rest)?.[0] ?? ''
  return `${first}${warning}${block === '' ? '' : `${block}\n\n`}${rest.slice(warning.length)}`
}

export interface CorrectionData {
  id: string
  at: string
  by: string
  text: string
  /** The answer that it is about, if it is not about the summary. */
  answer?: string
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
    ...(answer === undefined ? {} : { answer }),
    places: places.map(({ path, from, to }) => ({
      path,
      from,
      to,
      label: citationLabel({ path, from, to }),
      url: permalink(place, commit, { path, from, to }),
    })),
  }
}
