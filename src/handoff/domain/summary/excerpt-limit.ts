// How much of what a push brought into a file is shown: what a change is about is known after some lines of it.
import type { ChangedFile } from './diff-commits.js'
import type { SourceFile } from './source-files.js'
import type { ShownFile } from './summary-prompt.js'

/**
 * How many lines in a row, and in all, are shown of what a push brought into one file. What a change is about is known after some lines of
 * it; of a test or a document that is soon.
 */
function lineLimits({ kind }: SourceFile): { run: number; all: number } {
  return kind === 'source' ? { run: 60, all: 240 } : { run: 16, all: 60 }
}

/** A new file that is no source, by its beginning. */
export function limitNewFile(file: SourceFile): SourceFile {
  const { all } = lineLimits(file)
  if (file.kind === 'source' || file.lines.length <= all) return file
  return { ...file, form: file.form === 'full' ? 'head' : file.form, lines: file.lines.slice(0, all) }
}

/** The new lines of a file, and a few around places where lines went away; undefined when nothing that is shown changed. */
export function changedLines(change: ChangedFile): ShownFile | undefined {
  const { file, alignment } = change
  const { run, all } = lineLimits(file)
  const lines = alignment.changed.flatMap(({ from, to }) => file.lines.slice(from, Math.min(to, from + run)))
  if (lines.length === 0) return undefined
  lines.splice(all)
  return { path: file.path, kind: file.kind, form: lines.length === file.lines.length ? file.form : 'changed', lines }
}
