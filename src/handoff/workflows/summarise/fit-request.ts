// Shows the model less of each thing until a request fits into its context.

import type { ShownLines } from '../../domain/citations/shown-files.js'
import { linesAround, type SourceFile, shownLines } from '../../domain/summary/source-files.js'
import type { DirectoryNote, Messages, ShownFile } from '../../domain/summary/summary-prompt.js'
import type { SummaryContext } from './types.js'

/** A request, and the lines that its reply may cite. */
export interface Fitted {
  messages: Messages
  shown: ShownLines[]
  /** The share of each thing that is shown. */
  share: number
}

const shares = [1, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05]

/** Undefined if not even little fits. */
export function fitRequest(
  { queue, facts }: Pick<SummaryContext, 'queue' | 'facts'>,
  bound: number,
  data: { notes?: readonly DirectoryNote[]; files?: readonly ShownFile[] },
  build: (data: { notes: DirectoryNote[]; files: ShownFile[] }) => Messages,
  most = 1,
): Fitted | undefined {
  for (const share of shares.map((one) => one * most)) {
    const notes = shortenNotes(data.notes ?? [], share)
    const files = shortenFiles(data.files ?? [], share)
    const messages = build({ notes, files })
    if (queue.size(messages) > bound) continue
    return { messages, shown: [...citedLines(notes, facts.byPath), ...shownLines(files)], share }
  }
  return undefined
}

/** The first statements of each note. */
function shortenNotes(notes: readonly DirectoryNote[], share: number): DirectoryNote[] {
  return notes.map((note) => ({
    ...note,
    statements: note.statements.slice(0, Math.max(1, Math.ceil(note.statements.length * share))),
  }))
}

/** The first lines of every file, and less of each line. */
function shortenFiles(files: readonly ShownFile[], share: number): ShownFile[] {
  if (share === 1) return [...files]
  const lineLimit = Math.max(20, Math.floor(400 * share))
  return files.map((file) => ({
    ...file,
    lineLimit,
    lines: file.lines.slice(0, Math.max(1, Math.floor(file.lines.length * share))),
  }))
}

/** A model that is shown a note may cite the lines that the note cites: they were shown when it was written. */
function citedLines(notes: readonly DirectoryNote[], byPath: ReadonlyMap<string, SourceFile>): ShownLines[] {
  const cited = notes.flatMap(({ statements }) => statements.flatMap(({ citations }) => citations))
  return cited.flatMap(({ path, from, to }) => {
    const file = byPath.get(path)
    return file ? shownLines([{ ...file, lines: linesAround(file, from, to) }]) : []
  })
}
