// The last line of a definition: by brackets, by indentation or by the word `end`.
import type { Grammar } from './definition-patterns.js'
import type { FileScan } from './scan-identifiers.js'

/** How far the end of a definition is searched, in characters. */
const searchReach = 60_000

export interface LineIndex {
  at: (offset: number) => number
  start: (line: number) => number
  last: number
}

/** Lines are counted from 1. */
export function createLineIndex(scan: FileScan): LineIndex {
  const starts = scan.lineStarts
  return {
    at(offset) {
      let low = 0
      let high = scan.lines - 1
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (starts[middle]! <= offset) low = middle
        else high = middle - 1
      }
      return low + 1
    },
    start: (line) => starts[line - 1] ?? 0,
    last: scan.lines,
  }
}

export function readIndent(text: string, lineStart: number): string {
  let end = lineStart
  while (end < lineStart + 80 && (text[end] === ' ' || text[end] === '\t')) end++
  return text.slice(lineStart, end)
}

export function findEnd(
  grammar: Grammar,
  text: string,
  line: number,
  indent: string,
  lines: LineIndex,
): number | undefined {
  if (grammar.ends === 'bracket') return findBracketEnd(text, line, indent, lines)
  if (grammar.ends === 'indent') return findIndentEnd(text, line, indent, lines)
  if (grammar.ends === 'end') return matchLine(text, lines.start(line), closingPattern('end', indent), lines)
  return undefined
}

const closingPatterns = new Map<string, RegExp>()

export function closingPattern(kind: 'bracket' | 'end' | 'indent', indent: string): RegExp {
  const key = kind + indent
  let pattern = closingPatterns.get(key)
  if (!pattern) {
    if (closingPatterns.size > 500) closingPatterns.clear()
    const source = {
      bracket: `\\n${indent}[)}\\]]`,
      end: `\\n${indent}end\\b`,
      indent: `\\n[ \\t]{0,${indent.length}}[^\\s#)}\\]]`,
    }[kind]
    pattern = new RegExp(source)
    closingPatterns.set(key, pattern)
  }
  return pattern
}

/** The line of the first match after an offset. */
function matchLine(text: string, offset: number, pattern: RegExp, lines: LineIndex): number | undefined {
  const index = text.slice(offset, offset + searchReach).search(pattern)
  return index < 0 ? undefined : lines.at(offset + index + 1)
}

/** Brackets by layout: a bracket that opens at the end of a line closes at the start of a line with the same indentation. */
function findBracketEnd(text: string, first: number, indent: string, lines: LineIndex): number | undefined {
  let line = first
  for (let turn = 0; turn < 4; turn++) {
    const start = lines.start(line)
    const after = line < lines.last ? lines.start(line + 1) : text.length
    const shown = text.slice(start, Math.min(after, start + 2_000)).trimEnd()
    const last = shown.at(-1) ?? ''
    if (!'{(['.includes(last)) {
      if (turn > 0 || ';}'.includes(last)) return line
      // The bracket may be alone on a later line, after the rest of the head.
      const next = matchLine(text, after - 1, closingPattern('indent', indent), lines)
      if (next === undefined || !text.startsWith(`${indent}{`, lines.start(next))) return undefined
      line = next
      continue
    }
    const end = closingLine(text, line, indent, lines)
    if (end === undefined) return undefined
    line = end
  }
  return line
}

/** The next line that closes a bracket at this indentation. One character of each line is looked at; an expression reads all of them. */
function closingLine(text: string, line: number, indent: string, lines: LineIndex): number | undefined {
  const limit = lines.start(line + 1) - 1 + searchReach
  for (let next = line + 1; next <= lines.last; next++) {
    const start = lines.start(next)
    const at = start + indent.length
    if (at >= limit) return undefined
    if (isClosingBracket(text.charCodeAt(at)) && text.startsWith(indent, start)) return next
  }
  return undefined
}

const isClosingBracket = (code: number) => code === 125 || code === 41 || code === 93

/** Up to the next line with the same or less indentation, without the empty lines and comments before it. */
function findIndentEnd(text: string, line: number, indent: string, lines: LineIndex): number | undefined {
  if (line >= lines.last) return line
  const after = lines.start(line + 1) - 1
  const rest = text.slice(after, after + searchReach)
  const index = rest.search(closingPattern('indent', indent))
  if (index < 0 && rest.length === searchReach) return undefined
  let end = index < 0 ? lines.last : lines.at(after + index + 1) - 1
  while (end > line && isBlankOrComment(lineAt(text, end, lines))) end--
  return end
}

function lineAt(text: string, line: number, lines: LineIndex): string {
  return text.slice(lines.start(line), line < lines.last ? lines.start(line + 1) : text.length)
}

function isBlankOrComment(line: string): boolean {
  const bare = line.trim()
  return bare === '' || (bare.startsWith('#') && !bare.includes('\n'))
}
