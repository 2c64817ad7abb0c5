// How citations that were checked are spoken of.
import type { Citation } from '../answer.js'
import { cleanLine } from '../markdown/clean-text.js'

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
