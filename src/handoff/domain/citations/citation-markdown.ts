// A verified citation as Markdown: its place as code, linked to its lines where the git host is known.
import type { Citation } from '../answer.js'
import { type AnswerPlace, permalink } from '../answers/permalinks.js'
import { codeSpan } from '../markdown/escape.js'
import { citationLabel } from './citation-label.js'

/** Where links lead: the git host, and the commit that the lines are of. */
export interface LinkTarget {
  place: AnswerPlace
  commit: string
}

export function citationMarkdown(
  citation: Pick<Citation, 'path' | 'from' | 'to' | 'commit'>,
  { place, commit }: LinkTarget,
): string {
  const label = codeSpan(citationLabel(citation))
  const url = permalink(place, citation.commit ?? commit, citation)
  return url === null ? label : `[${label}](${url})`
}
