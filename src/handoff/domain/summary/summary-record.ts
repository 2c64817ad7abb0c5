// `analysis/summary.json`: the summary as sections of statements. A statement is a sentence with the citations that support it; it is true of a
// newer commit as long as its cited lines are there.
import * as read from '../../util/decode.js'
import { decodeVersioned } from '../handoff-record.js'
import { cleanModelText } from './clean-model-text.js'

export const headings = [
  'What it is and for whom',
  'How it is built',
  'Where to start reading',
  'How to build, test and run it, and its risks',
] as const

export const summaryRecordLimits = {
  bytes: 2_000_000,
  statements: 60,
  /** Of a sentence as the model wrote it, and of the same as safe Markdown. */
  written: 1_000,
  text: 4_000,
  citations: 12,
  names: 40,
  /** Lines of one citation. */
  lines: 1_000,
  path: 4_096,
  directories: 2_000,
  words: 24,
} as const
const limits = summaryRecordLimits

const line: read.Decoder<number> = (value, at) => {
  const number = read.count(value, at)
  if (number < 1) throw new read.DecodeError(`${at} is not the number of a line`)
  return number
}

const place = read.object({
  path: read.string(limits.path),
  from: line,
  to: line,
  blob: read.objectId,
  digest: read.sha256,
})

/** Lines that support a statement, at the summary's commit. `digest` is the sha256 of the lines. */
export type Evidence = read.Decoded<typeof place>

export const evidenceShape: read.Decoder<Evidence> = (value, at) => {
  const found = place(value, at)
  if (found.to < found.from || found.to - found.from >= limits.lines)
    throw new read.DecodeError(`${at} is not a range of lines`)
  return found
}

/** Cleaned again, because the file may have been changed by others. */
const sentence: read.Decoder<string> = (value, at) => cleanSentence(read.string(limits.text)(value, at))

export const statementShape = read.object({
  /** One sentence as Markdown on one line, without its citations. */
  text: sentence,
  /** Empty for the first statement of a section at most. */
  citations: read.array(evidenceShape, limits.citations),
  /** Files and directories that the sentence names; it is lost with any of them. */
  names: read.optional(read.array(read.string(limits.path), limits.names)),
  /** Begins a paragraph or a list item; otherwise it continues the paragraph. */
  opens: read.optional(read.oneOf('paragraph', 'item')),
})

export type Statement = read.Decoded<typeof statementShape>

/** Words that people would use for a directory, for the search. */
const directoryWords = read.object({
  /** `''` is the top. */
  directory: read.string(limits.path),
  words: read.array(read.string(60), limits.words),
})

export type DirectoryWords = read.Decoded<typeof directoryWords>

const section = read.object({ heading: read.string(200), statements: read.array(statementShape, limits.statements) })

export type Section = read.Decoded<typeof section>

const sections: read.Decoder<Section[]> = (value, at) => {
  const found = read.array(section, headings.length)(value, at)
  if (found.length !== headings.length) throw new read.DecodeError(`${at} does not have ${headings.length} sections`)
  return found.map(({ statements }, index) => ({ heading: headings[index]!, statements: statements.filter(isSaid) }))
}

const shape = read.object({
  version: read.oneOf(1),
  /** The commit that the citations are of. A later run whose commit changes nothing of this keeps the file as it is. */
  commit: read.objectId,
  model: read.string(300),
  /** The version of the prompts. */
  prompts: read.count,
  /** The limit in tokens under which files may have been left out. */
  inputTokens: read.count,
  /** The four sections, in the order of `headings`. */
  sections,
  /** Top-level directories that no statement covers. */
  directories: read.array(read.string(limits.path), limits.directories),
  words: read.array(directoryWords, limits.directories),
})

export type SummaryRecord = read.Decoded<typeof shape>

/** Throws `corrupt` or `unknown-version`. */
export function decodeSummaryRecord(bytes: Uint8Array): SummaryRecord {
  return decodeVersioned(bytes, shape, 'summary.json')
}

/** One statement per line, so that people can read the file and diff it. Equal records have equal bytes. */
export function encodeSummaryRecord(record: SummaryRecord): Uint8Array {
  const { sections: list, words, ...head } = shape(record, '')
  const written = ({ heading, statements }: Section) =>
    `{"heading":${JSON.stringify(heading)},"statements":${rows(statements)}}`
  const start = JSON.stringify(head).slice(0, -1)
  const text = `${start},\n"sections":[\n${list.map(written).join(',\n')}\n],\n"words":${rows(words)}}\n`
  return new TextEncoder().encode(text)
}

/** A JSON list with one item per line. */
export const rows = (items: readonly unknown[]) =>
  items.length === 0 ? '[]' : `[\n${items.map((item) => JSON.stringify(item)).join(',\n')}\n]`

/** A sentence of the model as safe Markdown on one line. */
export function cleanSentence(text: string): string {
  return cleanModelText(text.replace(/\s+/g, ' ').trim()).replaceAll('\n', ' ')
}

const isSaid = ({ text }: Statement) => text !== ''

export function statementsOf({ sections: list }: Pick<SummaryRecord, 'sections'>): Statement[] {
  return list.flatMap(({ statements }) => statements)
}

/** The share of the statements that cite lines, from 0 to 1. */
export function citedShare(record: Pick<SummaryRecord, 'sections'>): number {
  const all = statementsOf(record)
  return all.length === 0 ? 0 : all.filter(({ citations }) => citations.length > 0).length / all.length
}
