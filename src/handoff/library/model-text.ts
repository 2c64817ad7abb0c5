// Makes a model's words safe to keep and to show: Markdown without HTML, links, images and control characters.
//
// The text may have been dictated by a hostile repository. So nothing is parsed and hoped for: what is written out is such that every
// Markdown renderer must see the same code as we do (fences at the edge of the line, code spans within one line), and `<` is escaped
// everywhere else.

import { cleanText, cutText } from './plain-text.js'

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
  let fence: string | undefined
  for (const line of lines) {
    const mark = /^\s*(`{3,}|~{3,})\s*([^`]*)$/.exec(line)
    if (fence !== undefined) {
      const closes = mark !== null && mark[1]!.startsWith(fence) && mark[2]!.trim() === ''
      result.push(closes ? fence : line.trimStart().startsWith(fence) ? ` ${line}` : line)
      if (closes) fence = undefined
    } else if (mark) {
      fence = mark[1]!
      result.push('', `${fence}${mark[2]!.trim().replace(/[^\w+#.-].*$/, '')}`)
    } else if (!/^ {0,3}\[[^\]]*\]:/.test(line)) {
      result.push(cleanLine(line))
    }
  }
  if (fence !== undefined) result.push(fence)
  return result
}

/** Outside code spans HTML is escaped and links become their text; a backtick without a partner is escaped, so that no other line finds it. */
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

function withoutMarkup(text: string): string {
  return text
    .replace(/<!--.*?-->/g, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\]\(/g, '] (')
    .replace(/<(?=[A-Za-z/!?])/g, '&lt;')
}
