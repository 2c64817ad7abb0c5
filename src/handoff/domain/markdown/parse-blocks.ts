// Reads Markdown into blocks, as CommonMark does wherever that matters to a reader. Safety does not rest on this: what is written out again is
// safe whatever was read (see sanitize.ts), so where the rules are intricate the simpler reading wins.

export type Block =
  | { kind: 'paragraph'; text: string }
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'code'; language: string; lines: string[] }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: Block[][] }
  | { kind: 'table'; rows: string[][] }
  | { kind: 'rule' }

/** Lists and quotes inside one another; deeper ones are read as words. */
const deepest = 8

/** A place in the lines. Every reader of a block moves it past what it read, or leaves it and returns nothing. */
interface Reader {
  lines: string[]
  at: number
  depth: number
  /** Set when no comment ends any more, so that many beginnings are not each searched to the end. */
  noCommentEnds: boolean
}

export function parseBlocks(text: string): Block[] {
  return readBlocks(text.split('\n').map(expandTabs), 0)
}

/** Tabs before the first word count to the next multiple of four. */
function expandTabs(line: string): string {
  const start = /^[ \t]*\t/.exec(line)?.[0]
  if (start === undefined) return line
  let width = 0
  for (const character of start) width += character === '\t' ? 4 - (width % 4) : 1
  return ' '.repeat(width) + line.slice(start.length)
}

function readBlocks(lines: string[], depth: number): Block[] {
  const reader: Reader = { lines, at: 0, depth, noCommentEnds: false }
  const blocks: Block[] = []
  while (reader.at < lines.length) {
    const block = readBlock(reader)
    if (block) blocks.push(block)
  }
  return blocks
}

function readBlock(reader: Reader): Block | undefined {
  if (reader.lines[reader.at]!.trim() === '') {
    reader.at++
    return undefined
  }
  if (skipComment(reader)) return undefined
  return (
    readIndentedCode(reader) ??
    readFence(reader) ??
    readHeading(reader) ??
    readRule(reader) ??
    readQuote(reader) ??
    readList(reader) ??
    readTable(reader) ??
    readParagraph(reader)
  )
}

/** Removes an HTML comment, which may span blocks. The rest of its last line is text again. */
function skipComment(reader: Reader): boolean {
  const { lines, at } = reader
  if (reader.noCommentEnds || !/^ {0,3}<!--/.test(lines[at]!)) return false
  const from = lines[at]!.indexOf('<!--') + 4
  for (let index = at; index < lines.length; index++) {
    const end = lines[index]!.indexOf('-->', index === at ? from : 0)
    if (end < 0) continue
    reader.at = index
    lines[index] = lines[index]!.slice(end + 3).trimStart()
    return true
  }
  reader.noCommentEnds = true
  return false
}

function readIndentedCode(reader: Reader): Block | undefined {
  if (indentOf(reader.lines[reader.at]!) < 4) return undefined
  const lines: string[] = []
  for (; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at]!
    if (line.trim() !== '' && indentOf(line) < 4) break
    lines.push(line.slice(4))
  }
  while (lines.at(-1)?.trim() === '') lines.pop()
  return { kind: 'code', language: '', lines }
}

const fenceStart = /^( {0,3})(?:(`{3,})([^`\n]*)$|(~{3,})(.*))/

function readFence(reader: Reader): Block | undefined {
  const open = fenceStart.exec(reader.lines[reader.at]!)
  if (!open) return undefined
  const indent = open[1]!.length
  const mark = open[2] ?? open[4]!
  const close = new RegExp(`^ {0,3}\\${mark[0]}{${Math.min(mark.length, 1_000)},}\\s*$`)
  const lines: string[] = []
  for (reader.at++; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at]!
    if (close.test(line)) {
      reader.at++
      break
    }
    lines.push(line.slice(Math.min(indent, indentOf(line))))
  }
  return { kind: 'code', language: (open[3] ?? open[5]!).trim().split(/\s/)[0]!, lines }
}

const heading = /^ {0,3}(#{1,6})(?:\s|$)/

function readHeading(reader: Reader): Block | undefined {
  const line = reader.lines[reader.at]!
  const match = heading.exec(line)
  if (!match) return undefined
  reader.at++
  return { kind: 'heading', level: match[1]!.length, text: withoutClosing(line.slice(match[0].length).trim()) }
}

/** `## Title ##` is called `Title`. */
function withoutClosing(text: string): string {
  let end = text.length
  while (text[end - 1] === '#') end--
  return end === 0 || /\s/.test(text[end - 1]!) ? text.slice(0, end).trimEnd() : text
}

const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/

function readRule(reader: Reader): Block | undefined {
  if (!rule.test(reader.lines[reader.at]!)) return undefined
  reader.at++
  return { kind: 'rule' }
}

const quoteStart = /^ {0,3}> ?/

function readQuote(reader: Reader): Block | undefined {
  if (reader.depth >= deepest || !quoteStart.test(reader.lines[reader.at]!)) return undefined
  const inner: string[] = []
  for (; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at]!
    if (quoteStart.test(line)) inner.push(line.replace(quoteStart, ''))
    else if (line.trim() !== '' && inner.at(-1)!.trim() !== '' && !startsBlock(line)) inner.push(line)
    else break
  }
  return { kind: 'quote', blocks: readBlocks(inner, reader.depth + 1) }
}

interface Marker {
  /** `-`, `*`, `+`, `.` or `)`: items of one list share it. */
  sign: string
  number: number
  /** Columns up to the item's own text. */
  width: number
  rest: string
}

function markerOf(line: string): Marker | undefined {
  const match = /^( {0,3})(?:([-+*])|(\d{1,9})([.)]))( *)(.*)/.exec(line)
  if (!match || (match[5] === '' && match[6] !== '') || rule.test(line)) return undefined
  const spaces = match[5]!.length > 4 || match[6] === '' ? 1 : match[5]!.length
  const width = match[1]!.length + (match[2] ?? match[3]! + match[4]!).length + spaces
  return { sign: match[2] ?? match[4]!, number: Number(match[3] ?? 0), width, rest: line.slice(width) }
}

function readList(reader: Reader): Block | undefined {
  const first = reader.depth < deepest ? markerOf(reader.lines[reader.at]!) : undefined
  if (!first) return undefined
  const items: Block[][] = []
  for (let marker: Marker | undefined = first; marker?.sign === first.sign; ) {
    items.push(readBlocks(itemLines(reader, marker), reader.depth + 1))
    marker = reader.at < reader.lines.length ? markerOf(reader.lines[reader.at]!) : undefined
  }
  const ordered = first.sign === '.' || first.sign === ')'
  return { kind: 'list', ordered, start: first.number, items }
}

function itemLines(reader: Reader, marker: Marker): string[] {
  const inner = [marker.rest]
  for (reader.at++; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at]!
    if (line.trim() === '') inner.push('')
    else if (indentOf(line) >= marker.width) inner.push(line.slice(marker.width))
    else if (inner.at(-1) !== '' && !startsBlock(line) && !markerOf(line)) inner.push(line.trimStart())
    else break
  }
  return inner
}

const widestTable = 40
const longestRow = 20_000

function readTable(reader: Reader): Block | undefined {
  const head = reader.lines[reader.at]!
  const below = reader.lines[reader.at + 1] ?? ''
  if (!head.includes('|') || !/^[|:\- \t]*$/.test(below) || below.length > longestRow) return undefined
  const columns = cellsOf(head)
  const delimiters = cellsOf(below)
  if (columns.length !== delimiters.length || columns.length > widestTable) return undefined
  if (!delimiters.every((cell) => /^:?-+:?$/.test(cell))) return undefined
  const rows = [columns]
  for (reader.at += 2; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at]!
    if (line.trim() === '' || startsBlock(line)) break
    const cells = cellsOf(line)
    rows.push(columns.map((_, index) => cells[index] ?? ''))
  }
  return { kind: 'table', rows }
}

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replace(/\\\|/g, '|').trim())
}

function readParagraph(reader: Reader): Block {
  const lines = [reader.lines[reader.at]!.trim()]
  for (reader.at++; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at]!
    const underline = /^ {0,3}(=+|-+)\s*$/.exec(line)
    if (underline) {
      reader.at++
      return { kind: 'heading', level: underline[1]![0] === '=' ? 1 : 2, text: lines.join('\n') }
    }
    if (line.trim() === '' || startsBlock(line)) break
    lines.push(line.trim())
  }
  return { kind: 'paragraph', text: lines.join('\n') }
}

/** Does this line end a paragraph by beginning something else? Only a list that starts at 1 does. */
function startsBlock(line: string): boolean {
  if (indentOf(line) >= 4) return false
  if (fenceStart.test(line) || heading.test(line) || rule.test(line) || quoteStart.test(line)) return true
  const marker = markerOf(line)
  return marker !== undefined && marker.rest.trim() !== '' && (marker.number === 1 || /[-+*]/.test(marker.sign))
}

function indentOf(line: string): number {
  let width = 0
  while (line[width] === ' ') width++
  return width
}
