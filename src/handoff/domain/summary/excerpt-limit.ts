// Limits how many changed lines of a file are shown to the model.
import type { ChangedFile } from './diff-commits.js'
import type { SourceFile } from './source-files.js'
import type { ShownFile } from './summary-prompt.js'

/** Lines of one range, and of all ranges of a file. Tests and documents need fewer than source code. */
function lineLimits({ kind }: SourceFile): { run: number; all: number } {
  return kind === 'source' ? { run: 60, all: 240 } : { run: 16, all: 60 }
}

/** Cuts a new file that is no source code to its first lines. */
export function limitNewFile(file: SourceFile): SourceFile {
  const { all } = lineLimits(file)
  if (file.kind === 'source' || file.lines.length <= all) return file
  return { ...file, form: file.form === 'full' ? 'head' : file.form, lines: file.lines.slice(0, all) }
}

/** The new lines of a file and a few around deletions; undefined if no shown line changed. */
export function changedLines(change: ChangedFile): ShownFile | undefined {
  const { file, alignment } = change
  const { run, all } = lineLimits(file)
  const lines = alignment.changed.flatMap(({ from, to }) => file.lines.slice(from, Math.min(to, from + run)))
  if (lines.length === 0) return undefined
  lines.splice(all)
  return { path: file.path, kind: file.kind, form: lines.length === file.lines.length ? file.form : 'changed', lines }
}
