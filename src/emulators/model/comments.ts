// Reads comments: where they begin and end, and what they say.
import { commentIn, isDirective, isImport, isLicence } from './definitions.js'
import { firstSentence, plainText } from './format-text.js'
import type { FileBlock, Line } from './parse-prompt.js'

interface Comment {
  /** The lines of its first paragraph. */
  lines: Line[]
  /** The first paragraph, without the comment's signs. */
  text: string
  /** The index of the first line after the whole comment. */
  next: number
}

/** The comment that starts at this line; undefined when none does. */
export function commentAt(file: FileBlock, index: number): Comment | undefined {
  let next = index
  while (next < file.lines.length && isCommentLine(file, next) && (next === index || adjoins(file, next))) next += 1
  if (next === index) return undefined
  const lines: Line[] = []
  const words: string[] = []
  for (const line of file.lines.slice(index, next)) {
    const text = (commentIn(line.text) ?? '').replace(/^@(module|file|fileoverview|packageDocumentation)\b/, '').trim()
    const ends = !/\p{L}/u.test(text) || text.startsWith('@')
    if (isDirective(text) || (ends && words.length === 0)) continue
    if (ends) break
    lines.push(line)
    words.push(text)
  }
  return { lines, text: words.join(' '), next }
}

const isCommentLine = ({ lines }: FileBlock, index: number) =>
  commentIn(lines[index]!.text) !== undefined || /^\s*\*\/\s*$/.test(lines[index]!.text)

const adjoins = ({ lines }: FileBlock, index: number) => lines[index]!.number === lines[index - 1]!.number + 1

/** Its first sentence, if it tells a reader something: no licence, no note to a programmer, no code. */
export function saidBy(comment: Comment | undefined): string | undefined {
  if (comment === undefined || isLicence(comment.text)) return undefined
  const sentence = firstSentence(plainText(comment.text))
  const isTelling = (sentence.match(/\p{L}{2,}/gu) ?? []).length >= 3 && !/^(TODO|FIXME|HACK)\b|[;{}=(]$/.test(sentence)
  return isTelling ? sentence : undefined
}

/** What a file opens with: its first comment that is neither a licence nor an order to a tool. A comment right above code is about that code. */
export function openingComment(file: FileBlock): Comment | undefined {
  for (let index = 0; index < file.lines.length; ) {
    const comment = file.lines[index]!.text.startsWith('#!') ? undefined : commentAt(file, index)
    if (comment && saidBy(comment)) {
      const below = file.lines[comment.next]?.text ?? ''
      return below.trim() === '' || /^(package|module)\s/.test(below) || isImport(below) ? comment : undefined
    }
    if (!comment && !/^\s*$|^#!/.test(file.lines[index]!.text)) return undefined
    index = comment?.next ?? index + 1
  }
  return undefined
}

/** The comment right above the definition in this line. */
export function commentOf(file: FileBlock, index: number): Comment | undefined {
  let start = index
  while (start > 0 && isCommentLine(file, start - 1) && adjoins(file, start)) start -= 1
  return start === index ? undefined : commentAt(file, start)
}
