// Brings an earlier summary to a later commit. Statements whose lines are still there stay word for word. The model is asked once for each section
// that lost a statement whose file still has lines to show, or that new files belong to; it sees what stays, and cannot change it.

import type { TableChanges } from '../../domain/summary/compare-tables.js'
import { type KeptSection, type KeptSummary, keepStatements } from '../../domain/summary/keep-statements.js'
import { parseStatements } from '../../domain/summary/parse-statements.js'
import { linesAround, type SourceFile, shownFile } from '../../domain/summary/source-files.js'
import { type Messages, type ShownFile, updateMessages } from '../../domain/summary/summary-prompt.js'
import { type Section, type Statement, statementsOf } from '../../domain/summary/summary-record.js'
import type { FileKind } from '../../domain/survey.js'
import { fitRequest } from './fit-request.js'
import type { PreviousSummary, SummaryContext } from './types.js'

export interface UpdatePlan {
  previous: PreviousSummary
  kept: KeptSummary
  /** What the model is asked, by section. */
  requests: (SectionUpdate | undefined)[]
}

interface SectionUpdate {
  messages: Messages
  shown: ReturnType<typeof fitRequest> & object
  /** New statements that are taken. */
  most: number
}

/** Statements of a section beyond which new files add no more, and beyond which new directories add none either. */
const longestSection = { files: 16, directories: 24 }
/** Lines shown around lost ones, on each side, and of a new file. */
const aroundLines = 15
const newFileLines = 60
/** Corrections that one request shows. */
const mostCorrections = 10
/** New files that one request shows. */
const mostNewFiles = 6

export function planUpdate(context: SummaryContext, previous: PreviousSummary, changes: TableChanges): UpdatePlan {
  const kept = keepStatements({
    record: previous.record,
    relocations: context.relocations ?? [],
    renamed: changes.renamed,
    pathIndex: context.facts.pathIndex,
  })
  const fresh = newFiles(context, changes)
  const isNewDirectory = newDirectories(previous)
  const requests = kept.sections.map((section, index) =>
    planSection(context, section, roomFor(section, fresh.get(index) ?? [], isNewDirectory)),
  )
  return { previous, kept, requests }
}

/** True if more than half of the statements that cite lines lost them. */
export function isMostlyLost({ previous, kept }: UpdatePlan): boolean {
  const cited = (statements: readonly Statement[]) => statements.filter(({ citations }) => citations.length > 0).length
  return cited(kept.sections.flatMap((section) => section.kept)) * 2 < cited(statementsOf(previous.record))
}

/** Files with new things in them, by the section that describes them. Tests and generated files change no section. */
function newFiles({ facts }: SummaryContext, { added, grown }: TableChanges): Map<number, SourceFile[]> {
  const fresh = facts.files.filter(({ path }) => added.has(path) || grown.has(path))
  const bySection = Map.groupBy(fresh, (file) => sectionOf(file))
  const ranked = [...bySection].map(([section, files]): [number, SourceFile[]] => [
    section,
    files.sort((a, b) => a.rank - b.rank),
  ])
  return new Map(ranked)
}

const sectionByKind: Partial<Record<FileKind, number>> = { source: 1, configuration: 3 }

function sectionOf({ path, kind }: SourceFile): number {
  // Settings of packages and examples deep in the tree say nothing about how the whole is built.
  if (kind === 'configuration' && path.includes('/')) return -1
  return sectionByKind[kind] ?? -1
}

const directoryOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1)

function newDirectories({ table }: PreviousSummary): (path: string) => boolean {
  const known = new Set(table.files.map(({ path }) => directoryOf(path)))
  return (path) => !known.has(directoryOf(path))
}

/** The new files that get a statement: the first one of each new directory, then the others. A full section still has room for new directories. */
function roomFor(
  { kept, lost }: KeptSection,
  fresh: readonly SourceFile[],
  isNewDirectory: (path: string) => boolean,
): SourceFile[] {
  const left = (most: number) => Math.max(0, most - kept.length - lost.length)
  const first = Map.groupBy(
    fresh.filter(({ path }) => isNewDirectory(path)),
    ({ path }) => directoryOf(path),
  )
  const ofDirectories = [...first.values()].map(([file]) => file!).slice(0, left(longestSection.directories))
  const others = fresh.filter((file) => !ofDirectories.includes(file))
  const ofFiles = others.slice(0, Math.max(0, left(longestSection.files) - ofDirectories.length))
  return [...ofDirectories, ...ofFiles].slice(0, mostNewFiles)
}

function planSection(
  context: SummaryContext,
  section: KeptSection,
  added: readonly SourceFile[],
): SectionUpdate | undefined {
  const files = mergeLines([...lostLines(context, section), ...added.map(firstLines)])
  if (files.length === 0) return undefined
  const lost = section.lost.map(({ statement }) => statement)
  const build = (data: { files: ShownFile[] }) =>
    updateMessages({
      heading: section.heading,
      kept: section.kept,
      lost,
      files: data.files,
      corrections: correctionsAbout(context, data.files),
    })
  const shown = fitRequest(context, context.sizes.summary.input, { files }, build)
  return shown && { messages: shown.messages, shown, most: lost.length + added.length }
}

/** Corrections of lines in the files that are shown. */
function correctionsAbout({ corrections = [] }: SummaryContext, files: readonly ShownFile[]) {
  const shown = new Set(files.map(({ path }) => path))
  return corrections.filter(({ places }) => places.some(({ path }) => shown.has(path))).slice(-mostCorrections)
}

/** The present lines around the lost ones, as far as their files are still there and were read. */
function lostLines({ facts }: SummaryContext, { lost }: KeptSection): ShownFile[] {
  const cited = lost.flatMap(({ statement }) => statement.citations)
  return cited.flatMap(({ path, blob, from, to }) => {
    const file = facts.byPath.get(path)
    if (!file || file.blob === blob) return []
    const lines = linesAround(file, from - aroundLines, Math.min(to, from + 4 * aroundLines) + aroundLines)
    return lines.length === 0 ? [] : [{ ...shownFile(file), form: 'part', lines }]
  })
}

const firstLines = (file: SourceFile): ShownFile => ({ ...shownFile(file), lines: file.lines.slice(0, newFileLines) })

/** One entry for each file. */
function mergeLines(files: readonly ShownFile[]): ShownFile[] {
  return [...Map.groupBy(files, ({ path }) => path).values()].map((same) => {
    const byNumber = new Map(same.flatMap(({ lines }) => lines.map((line) => [line.number, line])))
    return { ...same[0]!, lines: [...byNumber.values()].sort((a, b) => a.number - b.number) }
  })
}

// ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function updateSections(context: SummaryContext, { kept, requests }: UpdatePlan): Promise<Section[]> {
  const sections = kept.sections.map(({ heading, kept: statements }) => ({ heading, statements }))
  const known = new Set(statementsOf({ sections }).map(({ text }) => text))
  await context.queue.all([...requests.keys()], async (index) => {
    const request = requests[index]
    const section = kept.sections[index]!
    if (request) sections[index] = mergeSection(section, await writeStatements(context, section, request, known))
  })
  return sections
}

async function writeStatements(
  context: SummaryContext,
  { heading }: KeptSection,
  { messages, shown, most }: SectionUpdate,
  known: ReadonlySet<string>,
): Promise<Statement[]> {
  const { asker, facts, counts, sizes } = context
  const reply = await asker.ask({ purpose: 'summary', messages, answerTokens: Math.min(sizes.summary.output, 1_000) })
  if (!reply) {
    context.notice(`The section “${heading}” lost statements, and there was no room or no reply for new ones.`)
    return []
  }
  const options = { shown: shown.shown, pathIndex: facts.pathIndex, counts, mayIntroduce: false }
  return parseStatements(reply.text, options)
    .filter(({ text }) => !known.has(text))
    .slice(0, most)
}

/** New statements take the place of the first lost one. The statements that stay are the same objects, in their order. */
function mergeSection({ heading, kept, lost }: KeptSection, added: readonly Statement[]): Section {
  const at = lost[0]?.after ?? kept.length
  const opens = lost[0]?.statement.opens ?? (kept.at(-1)?.opens === 'item' ? 'item' : undefined)
  const placed = added.map(({ opens: _opens, ...statement }, index) =>
    opens === undefined || (opens === 'paragraph' && index > 0) ? statement : { ...statement, opens },
  )
  return { heading, statements: [...kept.slice(0, at), ...placed, ...kept.slice(at)] }
}

/** The estimate counts nothing for requests that are known. */
export function planUsage({ queue, sizes, asker }: SummaryContext, { requests }: UpdatePlan) {
  const sent = requests.flatMap((request) => (request && !asker.isKnown(request.messages) ? [request] : []))
  return {
    calls: sent.length,
    input: sent.reduce((sum, { messages }) => sum + queue.size(messages), 0),
    output: sent.length * (sizes.thinking + 300),
  }
}
