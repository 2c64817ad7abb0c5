// Makes a model's words safe to keep and to show: Markdown without HTML, links, images and control characters.
//
// The text may have been dictated by a hostile repository. So nothing is parsed and hoped for: what is written out is such that every
// Markdown renderer must see the same code as we do (fences at the edge of the line, code spans within one line), and `<` is escaped
// everywhere else.

import { cleanText, cutText } from '../markdown/clean-text.js'

export function cleanModelText(text: string, limit = 60_000): string {
  return tidy(cleanLines(cleanText(cutText(text, limit)).split('\n')).join('\n'))
}

/** At most one empty line in a row, none at the ends. */
export function tidy(markdown: string): string {
  return markdown
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+|\s+$/g, '')
}

function cleanLines(lines: string[]): string[] {
  const result: string[] = []
  let fence: { mark: string; at: number } | undefined
  for (const line of lines) {
    const found = /^\s*(?:(`{3,})([^`]*)|(~{3,})(.*))$/.exec(line)
    const mark = found?.[1] ?? found?.[3] ?? ''
    const rest = (found?.[2] ?? found?.[4] ?? '').trim()
    if (fence && found && mark.startsWith(fence.mark) && rest === '') {
      close(result, fence)
      fence = undefined
    } else if (fence) {
      result.push(line)
    } else if (found) {
      result.push('', mark + rest.replace(/[^\w+#.-].*$/, ''))
      fence = { mark, at: result.length }
    } else if (!/^ {0,3}\[[^\]]*\]:/.test(line)) {
      // What is left of a line must not begin a fence that we do not know of.
      result.push(cleanLine(line).replace(/^\s*(?=~~~)/, '$&\\'))
    }
  }
  if (fence) close(result, fence)
  return result
}

/** A fence with nothing in it goes. */
function close(lines: string[], fence: { mark: string; at: number }): void {
  while (lines.length > fence.at && lines.at(-1)!.trim() === '') lines.pop()
  if (lines.length === fence.at) lines.pop()
  else lines.push(fence.mark)
}

/** Outside code spans HTML is escaped and links come apart; a backtick without a partner is escaped, so that no other line finds it. */
function cleanLine(line: string): string {
  let result = ''
  let plain = ''
  const flush = () => {
    result += withoutMarkup(plain)
    plain = ''
  }
  for (let index = 0; index < line.length; ) {
    const run = /^`+/.exec(line.slice(index))?.[0] ?? ''
    const end = run === '' ? -1 : closingRun(line, index + run.length, run.length)
    if (line[index] === '\\' && index + 1 < line.length) {
      plain += line.slice(index, index + 2)
      index += 2
    } else if (run === '') {
      plain += line[index++]
    } else if (end < 0) {
      plain += '\\`'.repeat(run.length)
      index += run.length
    } else {
      flush()
      result += line.slice(index, end)
      index = end
    }
  }
  flush()
  return result
}

/** Where a code span that was opened by so many backticks ends; -1 when it does not end in this line. */
function closingRun(line: string, from: number, length: number): number {
  for (const match of line.slice(from).matchAll(/`+/g)) {
    if (match[0].length === length) return from + match.index + length
  }
  return -1
}

/** Characters are only ever added: taking some away could make new markup of what is left. */
function withoutMarkup(text: string): string {
  return text
    .replace(/\]\(/g, '] (')
    .replace(/\]:/g, ']\\:')
    .replace(/<(?=[A-Za-z/!?])/g, '&lt;')
}
