// The last line of a definition: by brackets, by indentation or by the word `end`.
import type { Grammar } from './definition-patterns.js'
import type { Scan } from './scan-identifiers.js'

/** How far the end of a definition is searched, in characters. */
const reach = 60_000

export interface Lines {
  at: (offset: number) => number
  start: (line: number) => number
  last: number
}

/** Lines are counted from 1. */
export function lineFinder(scan: Scan): Lines {
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

export function indentAt(text: string, lineStart: number): string {
  let end = lineStart
  while (end < lineStart + 80 && (text[end] === ' ' || text[end] === '\t')) end++
  return text.slice(lineStart, end)
}

export function endOf(grammar: Grammar, text: string, line: number, indent: string, lines: Lines): number | undefined {
  if (grammar.ends === 'bracket') return endOfBracket(text, line, indent, lines)
  if (grammar.ends === 'indent') return endOfIndent(text, line, indent, lines)
  if (grammar.ends === 'end') return lineAfter(text, lines.start(line), closing('end', indent), lines)
  return undefined
}

const closings = new Map<string, RegExp>()

export function closing(kind: 'bracket' | 'end' | 'indent', indent: string): RegExp {
  const key = kind + indent
  let pattern = closings.get(key)
  if (!pattern) {
    if (closings.size > 500) closings.clear()
    const source = {
      bracket: `\\n${indent}[)}\\]]`,
      end: `\\n${indent}end\\b`,
      indent: `\\n[ \\t]{0,${indent.length}}[^\\s#)}\\]]`,
    }[kind]
    pattern = new RegExp(source)
    closings.set(key, pattern)
  }
  return pattern
}

/** The line of the first match after an offset. */
function lineAfter(text: string, offset: number, pattern: RegExp, lines: Lines): number | undefined {
  const index = text.slice(offset, offset + reach).search(pattern)
  return index < 0 ? undefined : lines.at(offset + index + 1)
}

/** Brackets by layout: what is opened at the end of a line is closed at the start of one that is as far in. */
function endOfBracket(text: string, first: number, indent: string, lines: Lines): number | undefined {
  let line = first
  for (let turn = 0; turn < 4; turn++) {
    const start = lines.start(line)
    const after = line < lines.last ? lines.start(line + 1) : text.length
    const shown = text.slice(start, Math.min(after, start + 2_000)).trimEnd()
    const last = shown.at(-1) ?? ''
    if (!'{(['.includes(last)) {
      if (turn > 0 || ';}'.includes(last)) return line
      // The bracket may stand alone on a later line, after what belongs to the first.
      const next = lineAfter(text, after - 1, closing('indent', indent), lines)
      if (next === undefined || !text.startsWith(`${indent}{`, lines.start(next))) return undefined
      line = next
      continue
    }
    const end = lineAfter(text, after - 1, closing('bracket', indent), lines)
    if (end === undefined) return undefined
    line = end
  }
  return line
}

/** Up to the next line that is not further in, without the empty lines and comments before it. */
function endOfIndent(text: string, line: number, indent: string, lines: Lines): number | undefined {
  if (line >= lines.last) return line
  const after = lines.start(line + 1) - 1
  const rest = text.slice(after, after + reach)
  const index = rest.search(closing('indent', indent))
  if (index < 0 && rest.length === reach) return undefined
  let end = index < 0 ? lines.last : lines.at(after + index + 1) - 1
  while (end > line && /^\s*(?:#[^\n]*)?\s*$/.test(text.slice(lines.start(end), lines.start(end + 1) || text.length)))
    end--
  return end
}
