// Renders the statements of a summary as Markdown, with links to their lines, and the whole of it as `code-summary.md`.
import { citationMarkdown, type LinkTarget } from '../citations/citation-label.js'
import { codeSpan } from '../markdown/escape.js'
import { pathText } from '../prompt-blocks.js'
import type { SkipReason, SurveyCounts } from '../survey.js'
import { cleanSentence, type Section, type Statement, type SummaryRecord } from './summary-record.js'

interface SummaryDocument {
  record: SummaryRecord
  target: LinkTarget
  /** `owner/name` */
  repository: string
  counts: SurveyCounts
  /** The number of places that look like credentials. */
  secrets: number
  /** Why some chosen files are not described. */
  partial?: string
}

/** `code-summary.md`. The same input gives the same bytes. */
export function renderSummary(document: SummaryDocument): string {
  const { record, target, partial } = document
  const title = `# ${cleanSentence(document.repository)} at ${record.commit}\n\n`
  const incomplete = partial === undefined ? '' : `> Not complete: ${cleanSentence(partial)}\n\n`
  const note = `Written by the model ${cleanSentence(record.model)} from what is counted here; the lines behind each link were checked. A later commit that changes nothing of it keeps this text as it is.\n`
  return `${title}${incomplete}${sectionsMarkdown(record, target)}\n---\n\n${coverageTable(document)}\n${note}`
}

/** The sections with their headings. */
export function sectionsMarkdown(
  { sections, directories }: Pick<SummaryRecord, 'sections' | 'directories'>,
  target: LinkTarget,
): string {
  return sections
    .map((section, index) => {
      const text = sectionMarkdown(section, target)
      const also = index === 1 ? alsoAtTheTop(directories) : ''
      return `## ${section.heading}\n\n${[text, also].filter((part) => part !== '').join('\n\n')}\n`
    })
    .join('\n')
}

function alsoAtTheTop(directories: readonly string[]): string {
  if (directories.length === 0) return ''
  return `Also at the top level: ${directories.map((name) => codeSpan(`${shownName(name)}/`)).join(', ')}.`
}

const shownName = (name: string) => (/[\p{Cc}\u2028\u2029]/u.test(name) ? pathText(name) : name)

function sectionMarkdown({ statements }: Section, target: LinkTarget): string {
  let text = ''
  let before: Statement | undefined
  for (const statement of statements) {
    text += gap(before, statement) + statementMarkdown(statement, target)
    before = statement
  }
  return text
}

function gap(before: Statement | undefined, { opens }: Statement): string {
  const marker = opens === 'item' ? '- ' : ''
  if (!before) return marker
  if (opens === undefined) return ' '
  return `${opens === 'item' && before.opens === 'item' ? '\n' : '\n\n'}${marker}`
}

export function statementMarkdown({ text, citations }: Statement, target: LinkTarget): string {
  return [text, ...citations.map((citation) => citationMarkdown(citation, target))].join(' ')
}

function coverageTable({ counts, secrets }: SummaryDocument): string {
  const reasons = (Object.entries(counts.reasons) as [SkipReason, number][])
    .filter(([, count]) => count > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, count]) => `${count} ${reason}`)
  const rows: [string, number, string][] = [
    ['read whole', counts.read, ''],
    ['read in part', counts.cut, ''],
    ['skipped', counts.skipped, ''],
    ['in the commit', counts.files, `${counts.bytes} bytes`],
  ]
  const table = rows.map(([what, count, remark]) => `| ${what} | ${count} | ${remark} |\n`).join('')
  const why = reasons.length === 0 ? '' : `\nNot read whole, and why: ${reasons.join(', ')}.\n`
  const hidden = secrets === 0 ? '' : `\nPlaces that look like credentials, hidden from the model: ${secrets}.\n`
  return `| files | count | |\n| --- | ---: | --- |\n${table}${why}${hidden}`
}
