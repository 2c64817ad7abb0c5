// Renders a completed answer as a file, a comment, a job summary, plain text or data. Untrusted text goes through sanitize.ts; addresses are
// built from the commit.
import type { CompletedAnswer } from '../answer.js'
import { citationLabel, citationRatio, shortCommit } from '../citations/citation-label.js'
import type { ShownCorrection } from '../corrections/correction.js'
import {
  correctionsBlock,
  correctionsMarkdown,
  markedAside,
  placeCorrections,
  showCorrections,
} from '../corrections/render-corrections.js'
import { cleanText } from '../markdown/clean-text.js'
import { codeSpan } from '../markdown/escape.js'
import { type MarkdownBlock, parseDocument } from '../markdown/parse-document.js'
import { safeInline, safeMarkdown, safeTable, safeText } from '../markdown/sanitize.js'
import { type AnswerPlace, linkHost, linkRepository, permalink } from './permalinks.js'

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

/** An answer as data, for the HTTP API. */
export interface AnswerData {
  id: string
  run: string
  commit: string
  question: string
  /** The words, with `[path:10-20]` where a citation holds; to be shown as text, never as Markdown or HTML. */
  text: string
  /** The same as safe Markdown, with links. */
  markdown: string
  /** The verified ones; `label` is what stands between the brackets in the text. */
  citations: {
    path: string
    from: number
    to: number
    label: string
    url: string | null
    /** In comparisons: the commit it is of. */
    commit?: string
    quote?: string
    moved?: boolean
  }[]
  verified: string
  unsupported: number
  unanswered: boolean
  truncated: boolean
  model: string
  /** Normal when absent. */
  depth?: CompletedAnswer['depth']
  usage: CompletedAnswer['usage']
  cost?: CompletedAnswer['cost']
  reusedFrom?: string
  compareWith?: CompletedAnswer['compareWith']
  /** The id of the answer that the question followed. */
  after?: string
  acceptedAt: string
  completedAt: string
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

export function answerData(record: CompletedAnswer, place: AnswerPlace): AnswerData {
  const {
    id,
    run,
    commit,
    unsupported,
    unanswered,
    truncated,
    model,
    depth,
    usage,
    cost,
    reusedFrom,
    compareWith,
    acceptedAt,
    completedAt,
  } = record
  const citations = verified(record).map(({ path, from, to, quote, ...rest }) => ({
    path,
    from,
    to,
    label: citationLabel({ path, from, to, ...rest }),
    url: permalink(place, rest.commit ?? record.commit, { path, from, to }),
    ...(rest.commit === undefined ? {} : { commit: rest.commit }),
    ...(quote === undefined ? {} : { quote: cleanText(quote) }),
    ...(rest.moved ? { moved: true } : {}),
  }))
  return {
    id,
    run,
    commit,
    question: cleanText(record.question),
    text: plainAnswer(record),
    markdown: answerParts(record, place).join('\n\n'),
    citations,
    verified: citationRatio(record.citations),
    unsupported,
    unanswered,
    truncated,
    model,
    ...(depth === undefined ? {} : { depth }),
    usage,
    ...(cost === undefined ? {} : { cost }),
    ...(reusedFrom === undefined ? {} : { reusedFrom }),
    ...(compareWith === undefined ? {} : { compareWith }),
    ...(record.thread !== undefined && /^[0-9a-f]{32}$/.test(record.thread) ? { after: record.thread } : {}),
    acceptedAt,
    completedAt,
  }
}

/** The words as nodes, with the corrections. A citation node has the label of one of the citations in `answerData`. */
export function answerBlocks(
  record: CompletedAnswer,
  place: AnswerPlace,
  corrections: readonly ShownCorrection[] = [],
): MarkdownBlock[] {
  const citations = verified(record).map(citationLabel)
  const words = showCorrections(record.text, corrections, place)
  return [
    ...(record.unanswered ? parseDocument(unansweredWords(record)) : []),
    ...parseDocument(words, { citations, ...linkRepository(place) }),
  ]
}

const unansweredWords = (record: CompletedAnswer) => `**The code does not say.**${searchedWords(record, codeSpan)}`

function plainAnswer(record: CompletedAnswer): string {
  const searched = record.unanswered ? `The code does not say.${searchedWords(record, (word) => word)}\n\n` : ''
  return `${searched}${cleanText(record.text).trim()}`.trim()
}

function quoted(question: string): string {
  return safeText(question)
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')
}

function answerParts(record: CompletedAnswer, place: AnswerPlace): string[] {
  const host = linkHost(place)
  const labels = new Map(
    verified(record).map((citation) => [
      citationLabel(citation),
      permalink(place, citation.commit ?? record.commit, citation),
    ]),
  )
  return [
    record.unanswered ? unansweredWords(record) : '',
    safeMarkdown(record.text, { labels, ...(host === undefined ? {} : { host }) }),
    record.truncated ? '*The answer ends here because the model reached its own limit.*' : '',
  ].filter((part) => part !== '')
}

function searchedWords({ searched, looked }: CompletedAnswer, show: (word: string) => string): string {
  const words = searched.slice(0, 15).map((word) => show(cleanText(word).replaceAll('\n', ' ')))
  const where = looked === undefined ? '' : ` in ${looked.files === 1 ? 'one file' : `${looked.files} files`}`
  const found = words.length === 0 ? '' : ` Searched${where} for ${words.join(', ')}.`
  const left = (looked?.unsearched ?? []).map((text) => show(cleanText(text).replaceAll('\n', ' ')))
  return left.length === 0 ? found : `${found} Not searched: ${left.join('; ')}.`
}

const verified = (record: CompletedAnswer) => record.citations.filter((citation) => citation.verified)

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
