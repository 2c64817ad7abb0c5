// What every summary has, whatever the model wrote: each section says something, and each top-level directory is named.

import { digestLines } from '../../domain/citations/digest-lines.js'
import type { CommitFacts } from '../../domain/summary/commit-facts.js'
import { shownFile, shownLines } from '../../domain/summary/source-files.js'
import type { Section, Statement } from '../../domain/summary/summary-record.js'

const nothing: Statement = { text: 'The model wrote nothing here that could be verified.', citations: [] }

/** Sections without a statement say so. The one on where to start names the most central files. */
export function withFallback(sections: readonly Section[], facts: CommitFacts): Section[] {
  return sections.map((section, index) => {
    const said = section.statements.filter(({ text }) => text !== nothing.text)
    if (said.length > 0) return { ...section, statements: said }
    const central = index === 2 ? centralFiles(facts) : []
    return { ...section, statements: central.length > 0 ? central : [nothing] }
  })
}

const mostCentral = 5

function centralFiles(facts: CommitFacts): Statement[] {
  const ranked = [...facts.files].sort((a, b) => a.rank - b.rank).slice(0, mostCentral)
  return ranked.flatMap((file, index): Statement[] => {
    const [shown] = shownLines([shownFile(file)])
    if (!shown) return []
    const { path, blob, from, lines } = shown
    const citation = { path, blob, from, to: from, digest: digestLines(lines.slice(0, 1)) }
    const text = index === 0 ? 'The most central file begins here.' : 'Another central file begins here.'
    return [{ text, citations: [citation], opens: 'item' }]
  })
}

/** Top-level directories that no statement names or cites. */
export function uncoveredDirectories(sections: readonly Section[], topLevel: readonly string[]): string[] {
  const covered = new Set<string>()
  for (const { citations, names = [] } of sections.flatMap(({ statements }) => statements)) {
    // `docs/` or `docs/a.md`, not the word docs.
    for (const path of [...citations.map((citation) => citation.path), ...names])
      if (path.includes('/')) covered.add(path.slice(0, path.indexOf('/')))
  }
  return topLevel.filter((name) => !covered.has(name))
}
