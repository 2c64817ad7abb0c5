// Makes a model's text safe to store and to show: Markdown without HTML, links, images and control characters.
//
// A hostile repository may have dictated the text. The output is written so that every Markdown renderer sees the same code (fences at the
// start of a line, code spans within one line), and `<` is escaped everywhere else.

import { cleanText, cutText } from '../markdown/clean-text.js'
import { codeSpansOf } from '../markdown/code-ranges.js'

export function cleanModelText(text: string, limit = 60_000): string {
  return tidy(cleanLines(cleanText(cutText(text, limit)).split('\n')).join('\n'))
}

/** At most one empty line in a row, none at the start or end. */
function tidy(markdown: string): string {
  // Line by line: an expression for spaces before a line's end starts anew at each of them, which is quadratic for a long run.
  return markdown
    .split('\n')
    .map((line) => line.slice(0, endOf(line)))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+/, '')
    .trimEnd()
}

/** Where the line ends without its spaces and tabs. */
function endOf(line: string): number {
  let end = line.length
  while (line[end - 1] === ' ' || line[end - 1] === '\t') end--
  return end
}

function cleanLines(lines: string[]): string[] {
  const result: string[] = []
  let fence: { mark: string; at: number } | undefined
  for (const line of lines) {
    const found = /^\s*(?:(`{3,})([^`\n]*)$|(~{3,})(.*))/.exec(line)
    const mark = found?.[1] ?? found?.[3] ?? ''
    const rest = (found?.[2] ?? found?.[4] ?? '').trim()
    if (fence && found && mark.startsWith(fence.mark) && rest === '') {
      close(result, fence)
      fence = undefined
    } else if (fence) {
      result.push(line)
    } else if (found) {
      result.push('', mark + /^[\w+#.-]*/.exec(rest)![0])
      fence = { mark, at: result.length }
    } else if (!/^ {0,3}\[[^\]]*\]:/.test(line)) {
      // The rest of the line must not open another fence.
      result.push(cleanLine(line).replace(/^\s*(?=~~~)/, '$&\\'))
    }
  }
  if (fence) close(result, fence)
  return result
}

/** Removes an empty fence. */
function close(lines: string[], fence: { mark: string; at: number }): void {
  while (lines.length > fence.at && lines.at(-1)!.trim() === '') lines.pop()
  if (lines.length === fence.at) lines.pop()
  else lines.push(fence.mark)
}

/** Outside code spans, escapes HTML, breaks links and escapes unpaired backticks. */
function cleanLine(line: string): string {
  let result = ''
  let from = 0
  for (const [start, end] of codeSpansOf(line)) {
    result += withoutMarkup(line.slice(from, start)) + line.slice(start, end)
    from = end
  }
  return result + withoutMarkup(line.slice(from))
}

/** Only adds characters, because removing some could create new markup. */
function withoutMarkup(text: string): string {
  return text
    .replace(/\\[\s\S]|`/g, (found) => (found === '`' ? '\\`' : found))
    .replace(/\]\(/g, '] (')
    .replace(/\]:/g, ']\\:')
    .replace(/<(?=[A-Za-z/!?])/g, '&lt;')
}
