// The four sections of a summary: parsed from a model's reply, rendered as `code-summary.md`, and parsed from that file.
import { longestLine, pathText } from '../prompt-blocks.js'
import type { SkipReason, SurveyCounts } from '../survey.js'
import { cleanModelText, tidy } from './clean-model-text.js'
import { findMentions, isUnusualPath } from './path-mentions.js'

export { type Verification, type VerifiedText, verifyPaths } from './verify-paths.js'

export const headings = [
  'What it is and for whom',
  'How it is built',
  'Where to start reading',
  'How to build, test and run it, and its risks',
] as const

/** The text under each of the four headings, in their order. */
export type Sections = [purpose: string, structure: string, reading: string, running: string]

export function mapSections(sections: Sections, change: (text: string, index: number) => string): Sections {
  return sections.map(change) as Sections
}

export interface ParsedSections {
  sections: Sections
  /** Indexes of the sections that the reply lacks. */
  missing: number[]
  /** Headings that were corrected. */
  renamed: number
}

/** Parses a reply. Renamed headings are recognised; unknown ones become part of their section. */
export function parseSections(reply: string): ParsedSections {
  const lines = cleanModelText(reply).split('\n')
  const parts: string[][] = [[], [], [], []]
  const seen = new Set<number>()
  let renamed = 0
  let current: number | undefined
  for (const line of withoutWrapping(lines)) {
    const title = headingOf(line)
    const section = title === undefined ? undefined : sectionOf(title.text, title.level)
    if (section !== undefined) {
      if (line !== `## ${headings[section]}`) renamed++
      if (seen.has(section)) parts[section]!.push('')
      seen.add(section)
      current = section
    } else if (current !== undefined) {
      parts[current]!.push(title ? `### ${title.text}` : withoutUnderline(line))
    }
  }
  // A reply without headings is used as the first section rather than discarded.
  if (current === undefined) parts[0] = lines.map(withoutUnderline)
  // Cleaned again, because splitting at headings may have cut a fence in two.
  const sections = parts.map((part) => cleanModelText(part.join('\n'))) as Sections
  return { sections, missing: [0, 1, 2, 3].filter((index) => sections[index] === ''), renamed }
}

/** A model may wrap its whole reply in one fence. */
function withoutWrapping(lines: string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== '')
  const wraps = /^(```|~~~)(markdown|md)?$/.test(lines[first] ?? '') && headingOf(lines[first + 1] ?? '') !== undefined
  return wraps
    ? lines.filter((line, index) => index !== first && !(index === lines.length - 1 && /^(```|~~~)$/.test(line)))
    : lines
}

function headingOf(line: string): { text: string; level: number } | undefined {
  const hashes = /^ {0,3}(#{1,6})\s+(.+?)\s*#*$/.exec(line)
  if (hashes) return { text: plainTitle(hashes[2]!), level: hashes[1]!.length }
  const bold = /^\s*(?:\d\.\s*)?\*\*([^*]+?):?\*\*:?\s*$/.exec(line)
  return bold && sectionOf(plainTitle(bold[1]!), 9) !== undefined ? { text: plainTitle(bold[1]!), level: 2 } : undefined
}

const plainTitle = (text: string) =>
  text
    .replace(/^\d+[.)]\s*/, '')
    .replace(/[*_]{2}/g, '')
    .replace(/:$/, '')
    .trim()

const signs: RegExp[] = [
  /^(what (it|this|the \w+) is\b.*|overview|purpose|about|introduction|summary|what and for whom)$/i,
  /^(how (it|this) (is|was) (built|made|structured|organi[sz]ed)\b.*|architecture|structure|design|components|how it works|data flow)$/i,
  /^(where to (start|begin)\b.*|reading guide|start(ing)? (here|points?)|entry points?|key files|what to read first)$/i,
  /^(how to (build|run|test)\b.*|build(ing)?,? (test|and|run).*|development|running( it)?|testing|risks?|known risks|its risks)$/i,
]

/** The index of the section that a heading means. Similar words count for headings of level one or two only. */
function sectionOf(title: string, level: number): number | undefined {
  const plain = title.toLowerCase()
  const exact = headings.findIndex((heading) => heading.toLowerCase() === plain)
  if (exact >= 0) return exact
  if (level > 2) return undefined
  const near = signs.findIndex((sign) => sign.test(title))
  return near < 0 ? undefined : near
}

/** A line of dashes or equal signs would turn the text above it into a heading. */
const withoutUnderline = (line: string) => (/^ {0,3}(=+|-+)\s*$/.test(line) ? '' : line)

export function sectionsMarkdown(sections: Sections): string {
  return headings.map((heading, index) => `## ${heading}\n\n${sections[index]}\n`).join('\n')
}

// ── top-level directories ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const alsoThere = 'Also at the top level: '

/** Appends to the second section each top-level directory that no section mentions. */
export function addMissingTopLevel(sections: Sections, topLevel: readonly string[]): Sections {
  const bare = removeAddedTopLevel(sections)
  const text = bare.join('\n\n')
  // `docs/` or `docs/a.md`, not the word docs.
  const named = new Set(
    findMentions(text).flatMap(({ path }) => (path.includes('/') ? path.slice(0, path.indexOf('/')) : [])),
  )
  const unnamed = topLevel
    .filter((name) => !named.has(name) && !(isUnusualPath(name) && text.includes(`${name}/`)))
    .sort()
  if (unnamed.length === 0) return bare
  const [purpose, structure, reading, running] = bare
  const line = `${alsoThere}${unnamed.map((directory) => codeSpan(`${directory}/`)).join(', ')}.`
  return [purpose, tidy(`${structure}\n\n${line}`), reading, running]
}

/** Removes what `addMissingTopLevel` appended. */
export function removeAddedTopLevel(sections: Sections): Sections {
  return mapSections(sections, (section) => {
    const lines = section.split('\n')
    return tidy(lines.filter((line) => !line.startsWith(alsoThere)).join('\n'))
  })
}

function codeSpan(path: string): string {
  const text = /[\n\r\p{Cc}\u2028\u2029]/u.test(path) ? pathText(path) : path
  if (!text.includes('`')) return `\`${text}\``
  return `\`\`\` ${text.replace(/`{3,}/g, '``')} \`\`\``
}

// ── the file for people ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface SummaryDocument {
  sections: Sections
  /** `owner/name` */
  repository: string
  commit: string
  model: string
  counts: SurveyCounts
  /** The number of places that look like credentials. */
  secrets: number
  /** Why some chosen files are not described. */
  partial?: string
}

const closing = '\n---\n\n'

/** `code-summary.md`. The same input gives the same bytes. */
export function renderSummary(file: SummaryDocument): string {
  const title = `# ${oneLine(file.repository)} at ${file.commit}\n\n`
  const partial = file.partial === undefined ? '' : `> Not complete: ${oneLine(file.partial)}\n\n`
  const note = `Written by the model ${oneLine(file.model)} from what is counted here. A later commit that changes nothing of it keeps this text as it is.\n`
  return `${title}${partial}${sectionsMarkdown(file.sections)}${closing}${coverageTable(file)}\n${note}`
}

function coverageTable(file: SummaryDocument): string {
  const { counts } = file
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
  const secrets =
    file.secrets === 0 ? '' : `\nPlaces that look like credentials, hidden from the model: ${file.secrets}.\n`
  return `| files | count | |\n| --- | ---: | --- |\n${table}${why}${secrets}`
}

function oneLine(text: string): string {
  return cleanModelText(text.slice(0, longestLine).replace(/\s+/g, ' '))
}

/** The sections of a file that `renderSummary` wrote; undefined for another file. */
export function parseSummary(markdown: string): Sections | undefined {
  const end = markdown.lastIndexOf(closing)
  if (end < 0 || !markdown.startsWith('# ')) return undefined
  let rest = markdown.slice(0, end)
  const sections: string[] = []
  for (const heading of headings.toReversed()) {
    const start = rest.lastIndexOf(`\n## ${heading}\n`)
    if (start < 0) return undefined
    sections.unshift(rest.slice(start + heading.length + 5).trim())
    rest = rest.slice(0, start)
  }
  return sections as Sections
}
