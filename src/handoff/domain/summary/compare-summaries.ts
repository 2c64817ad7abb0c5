// What a summary says that an earlier one did not, statement by statement.
import type { Statement, SummaryRecord } from './summary-record.js'

export interface SectionDifference {
  heading: string
  kept: number
  added: Statement[]
  removed: Statement[]
}

/** A statement is the same as long as its text is, wherever its lines moved. */
export function compareSummaries(before: SummaryRecord, after: SummaryRecord): SectionDifference[] {
  return after.sections.map(({ heading, statements }) => {
    const earlier = before.sections.find((section) => section.heading === heading)?.statements ?? []
    const added = missingFrom(earlier, statements)
    return { heading, kept: statements.length - added.length, added, removed: missingFrom(statements, earlier) }
  })
}

function missingFrom(known: readonly Statement[], statements: readonly Statement[]): Statement[] {
  const texts = new Set(known.map(({ text }) => text))
  return statements.filter(({ text }) => !texts.has(text))
}
