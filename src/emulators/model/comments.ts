// Reads comments: where they begin and end, what they say, and whether they are about the code beside them.
import { isDirective, isImport, isLicence } from './definitions.js'
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

const blocks: { open: RegExp; close: RegExp }[] = [
  { open: /^\s*\/\*+!?/, close: /\*\// },
  { open: /^\s*<!--/, close: /-->/ },
  { open: /^\s*\{-/, close: /-\}/ },
]
const docstrings = [
  { open: /^\s*[rRuU]?"""/, close: /"""/ },
  { open: /^\s*[rRuU]?'''/, close: /'''/ },
]
const lineSigns = /^\s*(?:\/\/[/!]?|#+(?=\s|$)|--(?!-)|;;+|%%?(?=\s))/
/** Signs, tags that only announce a module, and heading marks. */
const decoration =
  /^\s*(?:\*(?!\/)|\/\/[/!]?|#+(?=\s|$)|--|;;+|%%?)?\s*(?:@(?:module|file|fileoverview|overview|packageDocumentation)\b(?:\s+\S+\s*$)?)?\s*#*\s*/

const isPython = ({ path }: FileBlock) => /\.pyi?$/.test(path)

/** The comment that starts at this line; undefined when none does. */
export function commentAt(file: FileBlock, index: number): Comment | undefined {
  const first = file.lines[index]?.text ?? ''
  const block = [...blocks, ...(isPython(file) ? docstrings : [])].find(({ open }) => open.test(first))
  if (block) return blockComment(file, index, block)
  let end = index
  while (end < file.lines.length && lineSigns.test(file.lines[end]!.text) && (end === index || follows(file, end)))
    end += 1
  return end === index ? undefined : paragraphOf(file.lines.slice(index, end), end)
}

const follows = (file: FileBlock, index: number) => file.lines[index]!.number === file.lines[index - 1]!.number + 1

function blockComment(file: FileBlock, index: number, { open, close }: (typeof blocks)[number]): Comment {
  const opened = file.lines[index]!
  const lines = [{ ...opened, text: opened.text.replace(open, '') }]
  let end = index
  while (!close.test(lines.at(-1)!.text) && end + 1 < file.lines.length && follows(file, end + 1)) {
    end += 1
    lines.push(file.lines[end]!)
  }
  const last = lines.at(-1)!
  const closed = close.exec(last.text)
  if (closed) lines[lines.length - 1] = { ...last, text: last.text.slice(0, closed.index) }
  return paragraphOf(lines, end + 1)
}

/** The first paragraph: up to an empty line or a tag such as `@param`. Orders to tools are no part of it. */
function paragraphOf(lines: Line[], next: number): Comment {
  const taken: { line: Line; text: string }[] = []
  for (const line of lines) {
    const text = line.text.replace(decoration, '').trim()
    if (isDirective(text)) continue
    const ends = !/\p{L}/u.test(text) || /^@\w/.test(text)
    if (ends && taken.length > 0) break
    if (!ends) taken.push({ line, text })
  }
  return { lines: taken.map(({ line }) => line), text: taken.map(({ text }) => text).join(' '), next }
}

const notProse =
  /^(TODO|FIXME|NOTE|XXX|HACK|See (also )?the)\b|https?:| \$ |[;{}:,(]$|#{4}|\bimport \{| from ['"]|\s=\s\w+[.(]/

/** Its first sentence, if it tells a reader something: no licence, no note to a programmer, no code. */
export function saidBy(comment: Comment | undefined): string | undefined {
  if (comment === undefined || isLicence(comment.text)) return undefined
  const sentence = firstSentence(plainText(comment.text))
  const words = sentence.match(/\p{L}{2,}/gu) ?? []
  const telling = words.length >= 3 && /^[\p{L}\p{N}\u0060"'“(]/u.test(sentence) && !notProse.test(sentence)
  return telling ? sentence : undefined
}

/** What a file opens with: its first comment that is neither a licence nor an order to a tool, before any code. */
export function openingComment(file: FileBlock): Comment | undefined {
  let index = 0
  while (index < file.lines.length) {
    const { text } = file.lines[index]!
    const comment = text.startsWith('#!') ? undefined : commentAt(file, index)
    if (comment && saidBy(comment)) return isOfFile(file, index, comment) ? comment : undefined
    if (comment) index = comment.next
    else if (mayStandAbove(text)) index += 1
    else return undefined
  }
  return undefined
}

/** A comment right above code is about that code, unless its form says otherwise. */
function isOfFile(file: FileBlock, index: number, { next }: Comment): boolean {
  const opening = file.lines[index]!.text
  if (/^\s*(\/\/!|\/\*!)/.test(opening) || (isPython(file) && /^\s*[rRuU]?("""|''')/.test(opening))) return true
  if (/^\s*\/\/\/(?!\/)/.test(opening)) return false
  const below = file.lines[next]
  if (below === undefined || !follows(file, next)) return true
  return isImport(below.text) || (mayStandAbove(below.text) && !/^\s*(#\[|@)/.test(below.text))
}

const mayStandAbove = (text: string) =>
  /^\s*$|^#!|^<\?php|^(package|module)\s[\w.]+;?$|^['"]use \w+['"];?$|^from __future__|^\s*#!?\[/.test(
    text.slice(0, 200),
  )

/** The comment that belongs to the definition in this line: right above it, or below it in Python. */
export function commentOf(file: FileBlock, index: number): Comment | undefined {
  if (isPython(file)) {
    // The header of a definition ends with a colon; the text right below it is its own.
    const header = file.lines.slice(index, index + 20).findIndex(({ text }) => /:\s*(#.*)?$/.test(text))
    const below = index + header + 1
    const isText = header >= 0 && /^\s*[rRuU]?("""|''')/.test(file.lines[below]?.text ?? '')
    return isText ? commentAt(file, below) : undefined
  }
  for (let start = Math.max(0, index - 30); start < index; start += 1) {
    const comment = commentAt(file, start)
    const adjoins = comment !== undefined && file.lines[index]!.number - file.lines[comment.next - 1]!.number === 1
    if (comment?.next === index && adjoins) return comment
    if (comment) start = comment.next - 1
  }
  return undefined
}
