// The comment about a pull request: what it changes, in a few cited sentences; what depends on it and is not touched; and the rest folded, so that it
// fills one screen at most.

import { type AnswerPlace, permalink } from '../answers/permalinks.js'
import type { Diagram } from '../graph/diagram.js'
import { diagramMarkdown } from '../graph/diagram-markdown.js'
import { codeSpan } from '../markdown/escape.js'
import { safeInline, safeTable } from '../markdown/sanitize.js'
import { statementMarkdown } from '../summary/render-summary.js'
import type { Cost } from '../usage.js'
import type { ChangedFile, Ripple } from './change.js'
import type { ChangePart } from './change-parts.js'
import type { ChangeReport } from './change-report.js'

interface ChangeComment {
  head: string
  /** Absent for a run that was made without the base; `why` tells it then. */
  report: ChangeReport | undefined
  why?: string
  diagram: Diagram | undefined
  place: AnswerPlace
  parts: ReadonlySet<ChangePart>
  /** The page with the whole summary. */
  summaryUrl: string
  /** Of the whole run. */
  cost: Cost | undefined
  model: string
  /** The run was cut short. */
  partial?: string | undefined
}

/** Ripples that are not folded, where the sentences leave room for them. */
const mostShown = 5
/** Lines of a screen that sentences, and sentences with ripples and questions, may fill. */
const sentenceRoom = 16
const screenRoom = 24
const charactersPerLine = 90
/** Rows of the folded table. */
const mostRows = 200

export function changeComment(comment: ChangeComment): string {
  const { head, report, why, diagram, place, parts, partial } = comment
  const sections = [
    `### What this pull request changes, at ${codeSpan(head.slice(0, 7))}`,
    partial === undefined ? '' : `**Not complete.** ${safeInline(partial)}`,
    why === undefined ? '' : safeInline(why),
    report ? changeSections(report, place, parts) : '',
    diagram && parts.has('diagram') ? folded('Who imports whom', diagramMarkdown(diagram, place)) : '',
    report && parts.has('questions') ? questions(report.questions) : '',
    footer(comment),
  ]
  return sections.filter((section) => section !== '').join('\n\n')
}

/** The sentences, what depends on the change, and the folded table of files. */
export function changeSections(report: ChangeReport, place: AnswerPlace, parts: ReadonlySet<ChangePart>): string {
  const { change, head, questions: asked } = report
  const said = parts.has('sentences') ? sentences(report, place) : ''
  const used = linesOf(said.split('<details>')[0]!.split('\n')) + (parts.has('questions') ? asked.length : 0)
  const sections = [
    said,
    change && parts.has('ripples')
      ? ripples(change.ripples, change.ripplesLeftOut, head, place, screenRoom - used)
      : '',
    change && parts.has('files') ? fileTable(change.files, change.filesLeftOut, report, place) : '',
  ]
  return sections.filter((section) => section !== '').join('\n\n')
}

/** `3 files, +12 −4 lines` */
export function changeSize({ files, filesLeftOut }: { files: readonly ChangedFile[]; filesLeftOut: number }): string {
  const sum = (key: 'added' | 'removed') => files.reduce((total, file) => total + file[key], 0)
  const all = files.length + filesLeftOut
  return `${count(all)} ${all === 1 ? 'file' : 'files'}, +${count(sum('added'))} −${count(sum('removed'))} lines`
}

function sentences({ statements, problem, head }: ChangeReport, place: AnswerPlace): string {
  const items = statements.map((statement) => `- ${statementMarkdown(statement, { place, commit: head })}`)
  const shown = countThatFits(items, sentenceRoom)
  const hidden = items.length - shown
  return [
    items.slice(0, shown).join('\n'),
    hidden > 0
      ? folded(`${hidden} more ${hidden === 1 ? 'sentence' : 'sentences'}`, items.slice(shown).join('\n'))
      : '',
    problem === undefined ? '' : `*${safeInline(problem)}*`,
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

/** As a reader sees them: without the addresses of links. */
const linesOf = (items: readonly string[]) =>
  items.reduce((sum, item) => sum + Math.ceil(item.replace(/\]\([^()\s]*\)/g, '').length / charactersPerLine), 0)

/** How many of the first fit into so many lines; one at least. */
function countThatFits(items: readonly string[], lines: number): number {
  const beyond = items.findIndex((_, index) => linesOf(items.slice(0, index + 1)) > lines)
  return beyond < 0 ? items.length : Math.max(1, beyond)
}

const kinds: Record<Ripple['kind'], string> = { caller: 'uses', importer: 'imports', test: 'tests' }

function ripples(found: readonly Ripple[], leftOut: number, head: string, place: AnswerPlace, room: number): string {
  if (found.length === 0) return ''
  const line = ({ kind, path, line: number, of, names }: Ripple) => {
    const url = permalink(place, head, { path, from: number, to: number })
    const label = codeSpan(`${path}:${number}`)
    const shown = names.slice(0, 4).map(codeSpan).join(', ')
    const what = names.length === 0 ? codeSpan(of) : `${shown} of ${codeSpan(of)}`
    return `- ${url === null ? label : `[${label}](${url})`} ${kinds[kind]} ${what}`
  }
  const items = found.map(line)
  const count = countThatFits(items.slice(0, mostShown), room)
  const shown = items.slice(0, count).join('\n')
  const rest = items.slice(count).join('\n')
  const more = leftOut > 0 ? `\n- and ${leftOut} more` : ''
  const hidden = found.length - count + leftOut
  return [
    '**Not touched, and depends on what changes**',
    found.length > count ? shown : `${shown}${more}`,
    found.length > count ? folded(`${hidden} more ${hidden === 1 ? 'place' : 'places'}`, `${rest}${more}`) : '',
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

function fileTable(files: readonly ChangedFile[], leftOut: number, report: ChangeReport, place: AnswerPlace): string {
  if (files.length === 0) return ''
  const all = files.length + leftOut
  const shown = files.slice(0, mostRows)
  const rows = shown.map((file) => [
    fileLink(file, report, place),
    file.previousPath === undefined ? file.status : `${file.status}, was ${codeSpan(file.previousPath)}`,
    file.uncompared ?? `+${file.added} −${file.removed}`,
    file.definitions.slice(0, 6).map(codeSpan).join(', '),
  ])
  const notes = [
    all > shown.length ? `${count(all - shown.length)} more files are not listed.` : '',
    report.unseen > 0 ? `The model saw no line of ${count(report.unseen)} of these files.` : '',
  ]
  const table = safeTable([['File', 'Change', 'Lines', 'Definitions'], ...rows], (cell) => cell)
  const title = changeSize({ files, filesLeftOut: leftOut })
  return folded(title, [table, ...notes.filter((note) => note !== '')].join('\n\n'))
}

function fileLink({ path, status }: ChangedFile, { base, head }: ChangeReport, place: AnswerPlace): string {
  const url = permalink(place, status === 'removed' ? base : head, { path, from: 1, to: 1 })
  return url === null ? codeSpan(path) : `[${codeSpan(path)}](${url})`
}

const questions = (asked: readonly string[]) =>
  asked.length === 0 ? '' : `**To ask here**\n\n${asked.map((text) => `- ${codeSpan(`/ask ${text}`)}`).join('\n')}`

function footer({ parts, report, cost, model, summaryUrl }: ChangeComment): string {
  const written =
    report && report.statements.length > 0 ? `Written by ${codeSpan(report.model)}; every link was checked.` : ''
  const price =
    cost === undefined ? `The price of ${codeSpan(model)} is not known.` : `The run cost $${cost.amount.toFixed(4)}.`
  const words = [written, parts.has('cost') ? price : '', `[The whole summary](${summaryUrl})`]
  return `<sub>${words.filter((text) => text !== '').join(' ')}</sub>`
}

const folded = (title: string, text: string) => `<details>\n<summary>${title}</summary>\n\n${text}\n\n</details>`

const count = (value: number) => String(value).replace(/\B(?=(?:\d{3})+$)/g, ',')
