// A completed answer as data, and its words. Untrusted text goes through sanitize.ts; addresses are built from the commit.
import type { CompletedAnswer } from '../answer.js'
import { citationLabel, citationRatio } from '../citations/citation-label.js'
import { cleanText } from '../markdown/clean-text.js'
import { codeSpan } from '../markdown/escape.js'
import { type MarkdownBlock, parseDocument } from '../markdown/parse-document.js'
import { safeMarkdown } from '../markdown/sanitize.js'
import { type AnswerPlace, linkHost, linkRepository, permalink } from './permalinks.js'

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

/** The words as nodes; `words` are those with corrections. A citation node has the label of one of the citations in `answerData`. */
export function answerBlocks(record: CompletedAnswer, place: AnswerPlace, words = record.text): MarkdownBlock[] {
  const citations = verified(record).map(citationLabel)
  return [
    ...(record.unanswered ? parseDocument(unansweredWords(record)) : []),
    ...parseDocument(words, { citations, ...linkRepository(place) }),
  ]
}

const unansweredWords = (record: CompletedAnswer) => `**The code does not say.**${searchedWords(record, codeSpan)}`

export function plainAnswer(record: CompletedAnswer): string {
  const searched = record.unanswered ? `The code does not say.${searchedWords(record, (word) => word)}\n\n` : ''
  return `${searched}${cleanText(record.text).trim()}`.trim()
}

export function answerParts(record: CompletedAnswer, place: AnswerPlace): string[] {
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
