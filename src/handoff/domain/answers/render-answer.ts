// Renders a completed answer as a file, a comment, a job summary or plain text. Untrusted text goes through sanitize.ts.
import type { CompletedAnswer } from '../answer.js'
import { citationRatio, shortCommit } from '../citations/citation-label.js'
import type { ShownCorrection } from '../corrections/correction.js'
import {
  correctionsBlock,
  correctionsMarkdown,
  markedAside,
  placeCorrections,
} from '../corrections/render-corrections.js'
import { codeSpan } from '../markdown/escape.js'
import { safeInline, safeTable, safeText } from '../markdown/sanitize.js'
import { answerParts, plainAnswer } from './answer-data.js'
import type { AnswerPlace } from './permalinks.js'

interface AnswerOptions {
  /** `file` is read without a renderer, so it holds no HTML; `plain` is the answer's words alone. */
  form: 'file' | 'comment' | 'job-summary' | 'plain'
  /** The login of the person who asked. */
  asker?: string | undefined
  /** True if the answer was stored already. */
  reused?: boolean
  /** Sentences shown above the answer: which run was used, and why. */
  notes?: readonly string[] | undefined
  /** The sentence of `staleSentence`, if the answer was compared with a newer commit. */
  stale?: string | undefined
  /** What people said about it. */
  corrections?: readonly ShownCorrection[]
}

export function answerMarkdown(record: CompletedAnswer, place: AnswerPlace, options: AnswerOptions): string {
  if (options.form === 'plain') return `${plainAnswer(record)}\n`
  const isComment = options.form === 'comment'
  const words = answerParts(record, place).join('\n\n')
  const corrected = placeCorrections(words, options.corrections ?? [], isComment ? markedAside : undefined)
  const parts = [
    (isComment ? correctionsBlock : correctionsMarkdown)(corrected.rest, place),
    options.asker === undefined ? '' : `${codeSpan(options.asker)} asks:`,
    quoted(record.question),
    ...(options.notes ?? []).map((note) => `*${safeInline(note)}*`),
    corrected.markdown,
    sources(record),
    details(record, options),
    footer(record, place, options),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

/** `analysis/qa-response.md`. */
export function answerFile(record: CompletedAnswer, place: AnswerPlace): string {
  return answerMarkdown(record, place, { form: 'file' })
}

function quoted(question: string): string {
  return safeText(question)
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')
}

/** Each source stands as a link behind its sentence, so none is listed again. */
function sources(record: CompletedAnswer): string {
  if (record.citations.length === 0) return ''
  const lost = record.unsupported === 0 ? '' : ` ${lostSentences(record.unsupported)}`
  return `**Sources**: ${citationRatio(record.citations)}.${lost}`
}

const lostSentences = (count: number) =>
  count === 1
    ? 'One sentence has no source that could be verified; it is marked (unsupported).'
    : `${count} sentences have no source that could be verified; they are marked (unsupported).`

function details(record: CompletedAnswer, options: AnswerOptions): string {
  const rows = detailRows(record, options)
  if (options.form === 'file')
    return `## How this was answered\n\n${rows.map((row) => `- ${row.join(': ')}`).join('\n')}`
  const table = safeTable([['What', 'Value'], ...rows], (cell) => cell)
  return `<details>\n<summary>How this was answered</summary>\n\n${table}\n\n</details>`
}

/** Cells are ours or code. */
function detailRows(record: CompletedAnswer, options: AnswerOptions): string[][] {
  const { usage, cost, sandbox } = record
  const cached = usage.cachedInputTokens ? ` (${count(usage.cachedInputTokens)} cached)` : ''
  const files = new Set(record.excerpts.map((excerpt) => excerpt.path)).size
  const rows: [string, string | undefined][] = [
    ['Model', codeSpan(record.model)],
    ['Depth', record.depth],
    [
      'Tokens',
      `${count(usage.inputTokens)} in${cached}, ${count(usage.outputTokens)} out${usage.estimated ? ' (counted by us)' : ''}`,
    ],
    [
      'Cost',
      cost && `${cost.amount.toFixed(cost.amount < 0.1 ? 4 : 2)} ${cost.currency} (price: ${safeInline(cost.source)})`,
    ],
    ['Time', duration(record)],
    [
      'Read',
      `${counted(record.excerpts.length, 'piece')} of ${counted(files, 'file')}, in ${counted(record.rounds, 'round')}`,
    ],
    ['Sandbox', sandbox && `${codeSpan(sandbox.id)} (template ${codeSpan(sandbox.template)})`],
    ['Run', codeSpan(record.run)],
    ['Answer', codeSpan(record.id)],
    ['Reused', reusedWords(record, options)],
  ]
  return rows.filter((row): row is [string, string] => row[1] !== undefined && row[1] !== '')
}

/** 12,345: as `toLocaleString` would write it, which takes milliseconds when it is called first. */
function count(number: number): string {
  const digits = String(number)
  const first = digits.length % 3 || 3
  return [digits.slice(0, first), ...(digits.slice(first).match(/\d{3}/g) ?? [])].join(',')
}

const counted = (number: number, word: string) => `${count(number)} ${word}${number === 1 ? '' : 's'}`

function reusedWords(record: CompletedAnswer, options: AnswerOptions): string {
  if (record.reusedFrom !== undefined)
    return `from answer ${codeSpan(record.reusedFrom)}, whose question is nearly the same`
  return options.reused ? `yes: answered before, on ${record.completedAt.slice(0, 10)}` : 'no'
}

function duration(record: CompletedAnswer): string {
  const total = (Date.parse(record.completedAt) - Date.parse(record.acceptedAt)) / 1_000
  const steps = Object.entries(record.seconds).map(([step, seconds]) => `${safeInline(step)} ${seconds.toFixed(1)}`)
  const inAll = total >= 0 ? `${total.toFixed(1)} s` : ''
  return steps.length === 0 ? inAll : `${inAll}${inAll === '' ? '' : ': '}${steps.join(', ')}`
}

function footer(record: CompletedAnswer, place: AnswerPlace, options: AnswerOptions): string {
  const commit = codeSpan(record.commit.slice(0, 7))
  const stale = options.stale === undefined ? '' : ` ${safeInline(options.stale)}`
  const again = options.form === 'job-summary' ? '' : ` Ask again: ${codeSpan('/ask your question')}.`
  const { compareWith } = record
  const done =
    compareWith === undefined
      ? `Answered at ${commit}`
      : `Compared ${codeSpan(shortCommit(compareWith.commit))} with ${commit}`
  const written = `Written by the model ${codeSpan(record.model)}; every link was checked.`
  return `${done} of ${codeSpan(place.repository)}.${stale} ${written}${again}`
}
