// The command `/ask` in the text of a comment.
import { codeRanges } from '../markdown/code-ranges.js'
import { type Depth, depthNamed } from './depth.js'

export interface AskCommand {
  /** Empty if the comment holds the command alone. */
  question: string
  /** `/ask --fresh …`: answer again. */
  fresh: boolean
  /** `/ask --deep …`, `/ask --quick …`. */
  depth?: Depth | undefined
}

/**
 * Reads `/ask …` from the first line of a comment; what follows on other lines belongs to the question. Quoted replies and code begin
 * otherwise and are no commands. HTML comments are removed, because people cannot see them.
 */
export function parseAskCommand(body: string): AskCommand | null {
  const text = body.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n')
  const command = /^ {0,3}\/ask(?=[\s]|$)/i.exec(text)
  if (!command) return null
  let question = withoutComments(text.slice(command[0].length)).trim()
  let fresh = false
  let depth: Depth | undefined
  for (;;) {
    const [flag, word = ''] = /^(?:--|—)(fresh|quick|normal|deep)(?=\s|$)/i.exec(question) ?? []
    if (flag === undefined) return { question, fresh, depth }
    question = question.slice(flag.length).trim()
    const named = depthNamed(word.toLowerCase())
    if (named) depth = named
    else fresh = true
  }
}

function withoutComments(text: string): string {
  const code = codeRanges(text)
  let result = ''
  let from = 0
  let range = 0
  for (const { index } of text.matchAll(/<!--/g)) {
    while (range < code.length && code[range]!.to <= index) range++
    if (index < from || (range < code.length && code[range]!.from <= index)) continue
    const end = text.indexOf('-->', index + 2)
    // Without an end it hides all that follows, but only where a block begins.
    const hides = end >= 0 || /(?:^|\n) {0,3}$/.test(text.slice(Math.max(0, index - 4), index))
    if (hides) result += text.slice(from, index)
    if (hides) from = end < 0 ? text.length : end + 3
    if (end < 0) break
  }
  return result + text.slice(from)
}
