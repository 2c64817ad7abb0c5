// The chosen text of a survey as numbered lines.
import type { ShownLines } from '../citations/shown-files.js'
import type { NumberedLine } from '../prompt-blocks.js'
import type { ChosenText, FileKind } from '../survey.js'
import type { ShownFile } from './summary-prompt.js'

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

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0
}

export interface SizedFile {
  path: string
  tokens: number
  file: SourceFile
}

/** The file as it is shown to a model. */
export function shownFile({ path, blob, kind, form, lines }: SourceFile): ShownFile {
  return { path, blob, kind, form, lines }
}

/** What a model that was shown this may cite. */
export function shownLines(files: readonly ShownFile[]): ShownLines[] {
  const shown: (ShownLines & { to: number })[] = []
  for (const { path, blob, lines } of files) {
    for (const { number, text } of lines) {
      const last = shown.at(-1)
      if (last?.path === path && last.to === number - 1) {
        last.lines.push(text)
        last.to = number
      } else shown.push({ path, blob, from: number, to: number, lines: [text], source: 'code' })
    }
  }
  return shown
}

/** The lines of a range, as far as they were chosen. */
export function linesAround(file: SourceFile, from: number, to: number): NumberedLine[] {
  return file.lines.filter(({ number }) => from <= number && number <= to)
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
