// Turns a model's Markdown into statements: sentences with the citations that hold. A sentence without one is left out, unless it is the first of
// its section. So is a sentence that names a path that does not exist.
import { trimEndOf } from '../../util/text.js'
import type { Citation } from '../answer.js'
import type { ShownLines } from '../citations/shown-files.js'
import { checkCitations, replaceGroups } from '../citations/verify-citations.js'
import { cleanText, cutText } from '../markdown/clean-text.js'
import { settlePaths } from './correct-paths.js'
import type { PathIndex } from './path-index.js'
import { cleanSentence, type Evidence, type Statement, summaryRecordLimits } from './summary-record.js'

export interface StatementCounts {
  /** Citations, and paths in sentences, that were checked. */
  checked: number
  /** Of these, the ones with a corrected place. */
  repaired: number
  /** Of these, the ones that do not hold. */
  removed: number
  /** Sentences that were left out, because they cite nothing that holds. */
  uncited: number
}

export const noCounts = (): StatementCounts => ({ checked: 0, repaired: 0, removed: 0, uncited: 0 })

interface ParsingOptions {
  /** The lines that the model was shown. */
  shown: readonly ShownLines[]
  pathIndex: PathIndex
  counts: StatementCounts
  /** True if the first sentence needs no citation. */
  mayIntroduce: boolean
}

export function parseStatements(markdown: string, options: ParsingOptions): Statement[] {
  const { shown, pathIndex, counts } = options
  const plain = cleanText(markdown).replace(/[\ue000\ue001]/g, '')
  const { text, groups, citations } = checkCitations(plain, shown, (path) => pathIndex.exists(path))
  counts.checked += citations.length
  counts.repaired += citations.filter((citation) => citation.moved).length
  counts.removed += citations.filter((citation) => !citation.verified).length
  const marked = replaceGroups(
    text,
    groups,
    groups.map((_, index) => marker(index)),
  )
  const evidence = groups.map((group) => group.citations.flatMap(toEvidence))
  const statements: Statement[] = []
  for (const sentence of sentencesIn(marked)) addStatement(statements, sentence, evidence, options)
  return statements.slice(0, summaryRecordLimits.statements)
}

/** Stands for citations while the text is split into sentences. These characters are private, and removed from the model's text. */
const marker = (index: number) => `\ue000${index}\ue001`
const markers = /\ue000(\d+)\ue001/g
/** Citations after a full stop support the sentence before them. */
const markersAfterStop = /([.!?。！？][)"'*_”’]*)(\s*(?:\ue000\d+\ue001[ \t,;]*)+)/g

function toEvidence({ path, from, to, blob, digest, verified }: Citation): Evidence[] {
  const fits = to - from < summaryRecordLimits.lines && path.length < summaryRecordLimits.path
  return verified && blob && digest && fits ? [{ path, from, to, blob, digest }] : []
}

type Sentence = Pick<Statement, 'opens'> & { text: string; code?: string[] }

function addStatement(
  statements: Statement[],
  sentence: Sentence,
  evidence: Evidence[][],
  { shown, pathIndex, counts, mayIntroduce }: ParsingOptions,
): void {
  const citations = distinct([...sentence.text.matchAll(markers)].flatMap((match) => evidence[Number(match[1])] ?? []))
  const words = withCode(tidySentence(sentence.text), sentence.code ?? [])
  const last = statements.at(-1)
  if (!/[\p{L}\p{N}]/u.test(words)) {
    if (last && last.citations.length > 0) last.citations = distinct([...last.citations, ...citations])
    return
  }
  const { text, names, checked, repaired } = settlePaths(
    cleanSentence(cutText(words, summaryRecordLimits.written)),
    pathIndex,
    (path) => citations.some((cited) => linesAt(cited, shown).some((line) => line.includes(path))),
  )
  counts.checked += checked
  counts.repaired += repaired
  if (text === undefined || text.length > summaryRecordLimits.text) {
    counts.removed++
    return
  }
  if (citations.length === 0 && !(mayIntroduce && statements.length === 0)) {
    counts.uncited++
    return
  }
  statements.push({
    text,
    citations,
    ...(names.length === 0 ? {} : { names: names.slice(0, summaryRecordLimits.names) }),
    ...(sentence.opens === undefined ? {} : { opens: sentence.opens }),
  })
}

const linesAt = ({ path, from, to }: Evidence, shown: readonly ShownLines[]) =>
  shown
    .filter((one) => one.path === path)
    .flatMap((one) => one.lines.slice(Math.max(0, from - one.from), Math.max(0, to - one.from + 1)))

function distinct(citations: Evidence[]): Evidence[] {
  const byPlace = new Map(citations.map((one) => [JSON.stringify([one.path, one.from, one.to]), one]))
  return [...byPlace.values()].slice(0, summaryRecordLimits.citations)
}

/** The sentence without its citations, and without the brackets and spaces around them. */
function tidySentence(text: string): string {
  const [first = '', ...rest] = text.split(/\ue000\d+\ue001/)
  return rest.reduce(joinAround, first).trim()
}

function joinAround(before: string, after: string): string {
  const left = before.trimEnd()
  const right = after.trimStart()
  if (/^[,;]*$/.test(right)) return left
  if (left.endsWith('(') && right.startsWith(')')) return joinAround(left.slice(0, -1), right.slice(1))
  return /^[.,;:!?。！？)]/.test(right) ? left + right : `${left} ${right}`
}

const withCode = (text: string, code: readonly string[]) =>
  code.length === 0 ? text : `${text.replace(/[.:]$/, '')}: ${code.join(', ')}`

// ── blocks ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The sentences of paragraphs, list items and rows of tables. Headings are left out; code in a fence is added to the sentence before it. */
function sentencesIn(markdown: string): Sentence[] {
  const sentences: Sentence[] = []
  for (const { text, opens, code } of blocksOf(markdown)) {
    const parts = sentencesOf(text.replace(markersAfterStop, (_, stop: string, cited: string) => `${cited}${stop} `))
    for (const [index, part] of parts.entries()) {
      sentences.push({
        text: part,
        ...(index === 0 && opens !== undefined ? { opens } : {}),
        ...(index === parts.length - 1 ? { code } : {}),
      })
    }
  }
  return sentences
}

interface Block {
  text: string
  /** Lines of code that follow it. */
  code: string[]
  opens?: 'paragraph' | 'item'
}

function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let fence: string | undefined
  let open = false
  for (const line of markdown.split('\n')) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1]
    if (fence === undefined && mark === undefined) open = addLine(blocks, line, open)
    else if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence)) fence = undefined
    else if (line.trim() !== '') addCode(blocks, line.trim())
  }
  return blocks
}

/** The cells of a table's row, as one text. */
function withoutBars(row: string): string {
  const cells = row.trimEnd().split(/\s\|/)
  return trimEndOf(cells.map((cell) => cell.trim()).join(': '), (sign) => sign === '|' || sign === ':' || sign === ' ')
}

/** Adds a line outside code. True while the next line may continue its block. */
function addLine(blocks: Block[], line: string, open: boolean): boolean {
  if (line.trim() === '' || /^\s*#{1,6}\s/.test(line) || /^[-=|:\s]*$/.test(line)) return false
  const item = /^\s*(?:[-*+]|\d{1,9}[.)]|\|)\s+(\S.*)$/.exec(line)
  if (item) blocks.push({ text: withoutBars(item[1]!), code: [], opens: 'item' })
  else if (open) blocks.at(-1)!.text += ` ${line.trim()}`
  else
    blocks.push({
      text: line.replace(/^[\s>]+/, ''),
      code: [],
      ...(blocks.length > 0 ? { opens: 'paragraph' as const } : {}),
    })
  return true
}

function addCode(blocks: Block[], line: string): void {
  const last = blocks.at(-1)
  const code = line.replace(markers, '').trim()
  if (!last || code === '' || code.includes('`')) return
  last.code.push(`\`${code}\``)
  last.text += (line.match(markers) ?? []).join('')
}

const shortForms = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|No|Nr|p|pp|[A-Z])\.$/

/** The sentences of a paragraph, each with the space after it. A full stop in a code span or after an abbreviation ends none. */
export function sentencesOf(text: string): string[] {
  const masked = text.replace(/`[^`]*`/g, (span) => 'X'.repeat(span.length))
  const sentences: string[] = []
  let start = 0
  for (const match of masked.matchAll(
    /(?:[.!?][)"'\]*_”’]*(?:\s+)(?=[^\s\p{Ll}]|\p{Ll}[^\s]*[/.][^\s]))|[。！？]\s*/gu,
  )) {
    if (shortForms.test(masked.slice(start, match.index + 1))) continue
    const end = match.index + match[0].length
    sentences.push(text.slice(start, end))
    start = end
  }
  if (start < text.length) sentences.push(text.slice(start))
  return sentences
}
