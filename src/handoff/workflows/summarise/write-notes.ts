// Has the model describe the parts of a repository that is too large for one request, and combines the descriptions until they fit into one.

import { quote } from '../../domain/run.js'
import { noCounts, parseStatements } from '../../domain/summary/parse-statements.js'
import { commonDirectory, groupNeighbours, splitIntoLeaves } from '../../domain/summary/partition.js'
import type { RequestSizes } from '../../domain/summary/request-sizes.js'
import { type SizedFile, type SourceFile, shownFile, shownLines } from '../../domain/summary/source-files.js'
import { wordsIn } from '../../domain/summary/split-sections.js'
import {
  combineMessages,
  type DirectoryNote,
  type Messages,
  partMessages,
  type ShownFile,
} from '../../domain/summary/summary-prompt.js'
import { fitRequest } from './fit-request.js'
import type { SummaryContext } from './types.js'

interface WrittenNotes {
  /** Ordered by directory; few enough for the request of the sections. */
  notes: DirectoryNote[]
  /** Notes on the parts themselves. */
  leaves: DirectoryNote[]
  /** Files that no note describes. */
  left: SourceFile[]
}

/** The requests for the parts, the most central first, so that a limit cuts the least important ones. */
export function planParts(chosen: readonly SizedFile[], sizes: RequestSizes): SourceFile[][] {
  const rank = (files: SourceFile[]) => Math.min(...files.map((file) => file.rank))
  return splitIntoLeaves(chosen, sizes.part.input - sizes.part.output)
    .map(({ items }) => items.map(({ file }) => file))
    .sort((a, b) => rank(a) - rank(b))
}

export async function writeNotes(context: SummaryContext, chosen: readonly SizedFile[]): Promise<WrittenNotes> {
  const leaves: DirectoryNote[] = []
  const left: SourceFile[] = []
  await context.queue.all(planParts(chosen, context.sizes), async (files) => {
    const note = await describe(context, files.map(shownFile), true)
    if (note && note.statements.length > 0) leaves.push(note)
    else left.push(...files)
  })
  leaves.sort(byDirectory)
  return { notes: await combineUntilFew(context, leaves), leaves, left }
}

const byDirectory = (a: DirectoryNote, b: DirectoryNote) =>
  a.directory < b.directory ? -1 : a.directory > b.directory ? 1 : 0

/** Undefined if the budget has no room. Files that are too large for one request, or for one reply, are described in two halves. */
async function describe(
  context: SummaryContext,
  files: readonly ShownFile[],
  maySplit: boolean,
): Promise<DirectoryNote | undefined> {
  const { asker, queue, sizes } = context
  const messages = partMessages(files)
  const halves = splitInHalf(files)
  if (queue.size(messages) > sizes.part.input)
    return halves ? describeHalves(context, halves, maySplit) : describeOneLine(context, files)
  const reply = await asker.ask({ purpose: 'part', messages, answerTokens: sizes.part.output })
  if (!reply) return undefined
  if (reply.cut && maySplit && halves) return describeHalves(context, halves, false)
  return readNote(context, files, reply.text)
}

async function describeHalves(
  context: SummaryContext,
  [first, second]: [ShownFile[], ShownFile[]],
  maySplit: boolean,
): Promise<DirectoryNote | undefined> {
  const one = await describe(context, first, maySplit)
  const other = one && (await describe(context, second, maySplit))
  if (!one || !other) return one
  return {
    directory: commonDirectory([...first, ...second].map(({ path }) => path)),
    statements: [...one.statements, ...other.statements],
    words: [...new Set([...one.words, ...other.words])],
  }
}

/** A single line that is too long for a request is cut. */
async function describeOneLine(
  context: SummaryContext,
  files: readonly ShownFile[],
): Promise<DirectoryNote | undefined> {
  const { asker, queue, sizes } = context
  for (const lineLimit of [500, 100, 20]) {
    const cut = files.map((file) => ({ ...file, lineLimit }))
    const messages = partMessages(cut)
    if (queue.size(messages) > sizes.part.input) continue
    const reply = await asker.ask({ purpose: 'part', messages, answerTokens: sizes.part.output })
    return reply && readNote(context, cut, reply.text)
  }
  return undefined
}

/** Splits by lines, so that a single large file is split too. Undefined if there is only one line. */
function splitInHalf(files: readonly ShownFile[]): [ShownFile[], ShownFile[]] | undefined {
  const total = files.reduce((sum, file) => sum + file.lines.length, 0)
  if (total < 2) return undefined
  const halves: [ShownFile[], ShownFile[]] = [[], []]
  let room = Math.floor(total / 2)
  for (const file of files) {
    const first = file.lines.slice(0, room)
    const second = file.lines.slice(room)
    if (first.length > 0) halves[0].push({ ...file, lines: first })
    if (second.length > 0) halves[1].push({ ...file, lines: second })
    room = Math.max(0, room - file.lines.length)
  }
  return halves
}

const wordsLine = /^[\s*_]*words[*_]{0,3}:[*_]{0,3}(.*)/i

function readNote({ facts }: SummaryContext, files: readonly ShownFile[], text: string): DirectoryNote {
  const lines = text.split('\n')
  const words = lines.flatMap((line) => wordsLine.exec(line)?.[1] ?? [])
  const markdown = lines.filter((line) => !wordsLine.test(line)).join('\n')
  const options = { shown: shownLines(files), pathIndex: facts.pathIndex, counts: noCounts(), mayIntroduce: false }
  return {
    directory: commonDirectory(files.map(({ path }) => path)),
    statements: parseStatements(markdown, options),
    words: wordsIn(words.join(', ')),
  }
}

// ── combining ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function combineUntilFew(context: SummaryContext, leaves: DirectoryNote[]): Promise<DirectoryNote[]> {
  const { sizes, queue } = context
  let notes = leaves
  while (notes.length > sizes.top) {
    const groups = groupNeighbours(
      notes.map(({ directory }) => directory),
      sizes.joined,
    )
    if (!groups) break
    const combined: DirectoryNote[] = []
    await queue.all(groups, async ([from, to]) => {
      combined.push(await combine(context, notes.slice(from, to)))
    })
    notes = combined.sort(byDirectory)
  }
  return notes
}

/** Without a reply the first statement of each note stands for it. */
async function combine(context: SummaryContext, notes: DirectoryNote[]): Promise<DirectoryNote> {
  const { asker, sizes, facts } = context
  const directory = commonDirectory(notes.map((note) => `${note.directory}/`))
  const build = (data: { notes: DirectoryNote[] }): Messages => combineMessages(data.notes)
  const fitted = fitRequest(context, sizes.combine.input, { notes }, build)
  const reply =
    fitted && (await asker.ask({ purpose: 'combine', messages: fitted.messages, answerTokens: sizes.combine.output }))
  const options = { shown: fitted?.shown ?? [], pathIndex: facts.pathIndex, counts: noCounts(), mayIntroduce: false }
  const statements = reply ? parseStatements(reply.text, options) : []
  if (statements.length > 0) return { directory, statements, words: [] }
  context.notice(
    `The model wrote no text that combines the parts of ${quote(directory === '' ? '.' : directory)}; the texts of the parts are used instead.`,
  )
  return { directory, statements: notes.flatMap((note) => note.statements.slice(0, 1)), words: [] }
}
