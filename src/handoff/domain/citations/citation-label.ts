// How citations that were checked are spoken of: in a word, and in Markdown.
import type { Citation } from '../answer.js'
import { type AnswerPlace, permalink } from '../answers/permalinks.js'
import { cleanLine } from '../markdown/clean-text.js'
import { codeSpan } from '../markdown/escape.js'

/** What stands between the brackets of a verified citation; in comparisons the commit comes first. */
export function citationLabel(citation: Pick<Citation, 'path' | 'from' | 'to' | 'commit'>): string {
  const { from, to, commit } = citation
  return `${commit === undefined ? '' : `${shortCommit(commit)}:`}${cleanLine(citation.path)}:${from === to ? from : `${from}-${to}`}`
}

/** How a commit is called where two of them are spoken of. */
export const shortCommit = (commit: string) => commit.slice(0, 7)

/** Computed, never claimed: `9 of 9 citations verified`. */
export function citationRatio(citations: readonly Citation[]): string {
  const verified = citations.filter((citation) => citation.verified).length
  if (citations.length === 0) return 'no citations'
  return `${verified} of ${citations.length} ${citations.length === 1 ? 'citation' : 'citations'} verified`
}

/** Where links lead: the git host, and the commit that the lines are of. */
export interface LinkTarget {
  place: AnswerPlace
  commit: string
}

/** A verified citation as Markdown: its place as code, linked to its lines where the git host is known. */
export function citationMarkdown(
  citation: Pick<Citation, 'path' | 'from' | 'to' | 'commit'>,
  { place, commit }: LinkTarget,
): string {
  const label = codeSpan(citationLabel(citation))
  const url = permalink(place, citation.commit ?? commit, citation)
  return url === null ? label : `[${label}](${url})`
}
