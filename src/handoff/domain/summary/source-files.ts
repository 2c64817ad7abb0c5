// The chosen text of a survey as numbered lines.
import type { NumberedLine } from '../prompt-blocks.js'
import type { ChosenText, FileKind } from '../survey.js'

export interface SourceFile {
  path: string
  blob: string
  kind: FileKind
  form: ChosenText['form']
  /** 0 is the most central. */
  rank: number
  lines: NumberedLine[]
  /** Approximate bytes of the chosen text. */
  bytes: number
}

/** One entry per path, ordered by path; pieces of one path are merged. */
export function sourceFiles(texts: readonly ChosenText[]): SourceFile[] {
  const files = new Map<string, SourceFile>()
  for (const text of texts) {
    const lines = numberedLines(text)
    if (lines.length === 0) continue
    const known = files.get(text.path)
    if (known === undefined) files.set(text.path, newFile(text, lines))
    // Two paths that are not UTF-8 may look alike; only the first is described.
    else if (known.blob === text.blob) addPiece(known, text, lines)
  }
  return [...files.values()].sort(byPath)
}

export function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0
}

/** The highest line that is known to exist. */
export function lastLine(file: SourceFile): number {
  return file.lines.at(-1)?.number ?? 0
}

function newFile(text: ChosenText, lines: NumberedLine[]): SourceFile {
  const { path, blob, kind, form, rank } = text
  return { path, blob, kind, form, rank, lines, bytes: text.text.length }
}

function addPiece(file: SourceFile, text: ChosenText, lines: NumberedLine[]): void {
  const seen = new Set(file.lines.map((line) => line.number))
  file.lines.push(...lines.filter((line) => !seen.has(line.number)))
  file.lines.sort((a, b) => a.number - b.number)
  file.rank = Math.min(file.rank, text.rank)
  file.bytes += text.text.length
}

function numberedLines(text: ChosenText): NumberedLine[] {
  const lines = text.text.replace(/^\ufeff/, '').split('\n')
  if (lines.at(-1) === '') lines.pop()
  let number = Math.max(1, text.from) - 1
  return lines.map((line) => {
    const plain = line.endsWith('\r') ? line.slice(0, -1) : line
    const own = text.form === 'signatures' ? /^\s*(\d{1,9})\|? ?(.*)$/s.exec(plain) : null
    number = own ? Math.max(Number(own[1]), number + 1) : number + 1
    return { number, text: own ? own[2]! : plain }
  })
}
