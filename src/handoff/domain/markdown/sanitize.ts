// Makes text of a model or a repository safe to post: read into blocks and words, then written again from nothing but a small safe subset.
//
// The output cannot mention an account, refer to an issue, begin a slash command or a workflow command, load an image, hold HTML or a hidden
// marker, open what it does not close, or link anywhere but to files on the git host. Code stays what it was. Nothing here depends on the
// reading being right: whatever was taken for words is escaped as words.

import { allowedAddress, writtenAddress } from './allowed-links.js'
import { cleanText } from './clean-text.js'
import { codeSpan, longestTicks, safeInline, safeText, sealLines, shortenTicks, textMarkdown } from './escape.js'
import { type Block, parseBlocks } from './parse-blocks.js'
import { type Inline, withoutIdleMarks } from './parse-emphasis.js'
import { type InlineRules, parseInlines } from './parse-inlines.js'

export { safeInline, safeText }

interface SafeOptions {
  /** The git host that links may go to, with its port if it has one. Without it no link stays. */
  host?: string
  /** Checked places, by the text between their brackets, with the address we made for each; null shows it without a link. */
  labels?: ReadonlyMap<string, string | null>
}

/** Larger headings would look like ours. */
const largestHeading = 3

export function safeMarkdown(markdown: string, options: SafeOptions = {}): string {
  const rules: InlineRules = { link: (url) => allowedAddress(url, options.host), labels: options.labels ?? new Map() }
  return writeBlocks(parseBlocks(cleanText(markdown)), rules, false)
}

function writeBlocks(blocks: Block[], rules: InlineRules, nested: boolean): string {
  let written = ''
  for (const block of blocks) {
    const text = writeBlock(block, rules, nested)
    if (text === '') continue
    // A list right below its sentence stays near it; everything else keeps its distance.
    const near = block.kind === 'list' && nested && (!block.ordered || block.start === 1)
    written += written === '' ? text : `${near ? '\n' : '\n\n'}${text}`
  }
  return written
}

function writeBlock(block: Block, rules: InlineRules, nested: boolean): string {
  switch (block.kind) {
    case 'paragraph':
      return sealLines(words(block.text, rules))
    case 'heading':
      return writeHeading(block, rules)
    case 'code':
      return writeCode(block, nested)
    case 'quote':
      return indent(writeBlocks(block.blocks, rules, true), '> ', '> ')
    case 'list':
      return writeList(block, rules)
    case 'table':
      return writeTable(block.rows, (cell) => words(cell, rules))
    case 'rule':
      return '***'
  }
}

function writeHeading(block: { level: number; text: string }, rules: InlineRules): string {
  const text = sealLines(words(block.text, rules)).replaceAll('\n', ' ')
  return text === '' ? '' : `${'#'.repeat(Math.max(largestHeading, block.level))} ${text}`
}

/** Some languages are not shown but acted on: a diagram, a map, a suggestion that one click commits. */
const activeLanguages = /^(?:mermaid|math|geojson|topojson|stl|suggestion)/i

function writeCode(block: { language: string; lines: string[] }, nested: boolean): string {
  const lines = block.lines.map(shortenTicks)
  const named = /^[A-Za-z][\w+#.-]{0,29}$/.test(block.language) && !activeLanguages.test(block.language)
  const fence = '`'.repeat(Math.max(3, longestTicks(lines.join('\n')) + 1))
  // A fence that stands one column in takes one column off each of its lines: the code is the same, and no line begins with a slash.
  const shift = !nested && lines.some((line) => line.startsWith('/')) ? ' ' : ''
  return indent([`${fence}${named ? block.language : ''}`, ...lines, fence].join('\n'), shift, shift)
}

function writeList(block: { ordered: boolean; start: number; items: Block[][] }, rules: InlineRules): string {
  const items = block.items.map((item) => writeBlocks(item, rules, true)).filter((item) => item !== '')
  const written = items.map((item, index) => {
    const marker = block.ordered ? `${Math.min(block.start, 900_000_000) + index}. ` : '- '
    return indent(item, marker, ' '.repeat(marker.length))
  })
  return written.join('\n')
}

/** A table of ours: the first row is its head. Cells are shown as they are, or as `cell` writes them. */
export function safeTable(rows: string[][], cell: (text: string) => string = safeInline): string {
  return writeTable(rows, cell)
}

/** In a row every bar is escaped, in code too: a table is cut into cells before code is looked for. */
function writeTable(rows: string[][], cell: (text: string) => string): string {
  const [head = [], ...body] = rows.map((row) => row.map((text) => writeCell(text, cell)))
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')
}

/** A backslash before a bar would take the bar's own escape away: such a bar is drawn broken. */
function writeCell(text: string, cell: (text: string) => string): string {
  const flat = text.replace(/(?<=\\)\|/g, '\u00a6')
  return cell(flat)
    .replaceAll('\n', ' ')
    .replace(/(?<!\\)\|/g, '\\|')
}

function indent(text: string, first: string, rest: string): string {
  if (text === '') return ''
  const lines = text.split('\n')
  return lines.map((line, index) => withPrefix(line, index === 0 ? first : rest)).join('\n')
}

const withPrefix = (line: string, prefix: string) => (line === '' ? prefix.trimEnd() : prefix + line)

function words(text: string, rules: InlineRules): string {
  // Joined once at the end: looking at the end of a text that grows by concatenation copies all of it.
  const written: string[] = []
  let url = ''
  for (const inline of withoutIdleMarks(parseInlines(text, rules))) {
    if (inline.kind === 'link') url = inline.url
    append(written, inline.kind === 'link-end' ? `](${writtenAddress(url)})` : writeInline(inline))
  }
  return written.join('')
}

/** Two code spans must not touch, and an exclamation mark before a link would make it an image. */
function append(written: string[], piece: string): void {
  if (piece === '') return
  const last = written.at(-1) ?? ''
  if (last.endsWith('`') && piece.startsWith('`')) written.push(' ')
  if (last.endsWith('!') && piece.startsWith('[')) written[written.length - 1] = `${last.slice(0, -1)}\\!`
  written.push(piece)
}

function writeInline(inline: Exclude<Inline, { kind: 'link-end' }>): string {
  switch (inline.kind) {
    case 'text':
      return textMarkdown(inline.text)
    case 'code':
      return codeSpan(inline.text)
    case 'open':
    case 'close':
      return inline.mark
    case 'link':
      return '['
    case 'citation':
      return inline.url === null ? codeSpan(inline.label) : `[${codeSpan(inline.label)}](${writtenAddress(inline.url)})`
  }
}
