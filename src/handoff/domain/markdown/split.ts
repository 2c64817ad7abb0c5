// Cuts Markdown that we wrote into parts that fit into one comment each. It cuts between blocks; a block that is too long by itself is cut
// between its lines, a line between its words. Code that is cut is closed and opened again, a table gets its head again, and no code span,
// link or escape is ever cut in two, so every part is as safe as the whole was.
import { codeSpan } from './escape.js'

/** GitHub refuses bodies over 65,536 characters; what is left is for markers and headings of the caller. */
export const commentLimit = 60_000

/** Smaller parts than this could not hold a fence and its language. */
const smallestLimit = 300

export function splitComment(markdown: string, limit = commentLimit): string[] {
  const room = Math.max(limit, smallestLimit)
  const parts: string[] = []
  let part = ''
  for (const block of blocksOf(markdown)) {
    if (part !== '' && part.length + 2 + block.length <= room) {
      part += `\n\n${block}`
      continue
    }
    if (part !== '') parts.push(part)
    const deep = parts.length + part.length > 0 && /^\s{4}/.test(block)
    const pieces = block.length <= room && !deep ? [block] : splitBlock(block.split('\n'), room)
    parts.push(...pieces.slice(0, -1))
    part = pieces.at(-1)!
  }
  return part === '' && parts.length > 0 ? parts : [...parts, part]
}

interface Fence {
  /** What stands before the fence: quote signs, a list's marker, spaces. */
  before: string
  mark: string
  language: string
}

const fenceLine = /^((?:\s|>|[-+*]\s|\d{1,9}[.)]\s)*)(?:(`{3,})([^`\n]*)$|(~{3,})(.*))/

const itemLine = /^[\s>]*(?:[-+*]|\d{1,9}[.)])\s/

/** Follows fences from line to line: given the one that is open, the one that is open afterwards. */
function fenceAfter(line: string, open: Fence | undefined): Fence | undefined {
  const match = fenceLine.exec(line)
  if (!match) return open
  const mark = match[2] ?? match[4]!
  const language = match[3] ?? match[5]!
  if (open) return mark.startsWith(open.mark) && language.trim() === '' ? undefined : open
  return { before: match[1]!, mark, language }
}

/** Blocks are separated by empty lines outside of code and of our own collapsed parts. */
function blocksOf(markdown: string): string[] {
  const blocks: string[][] = [[]]
  let fence: Fence | undefined
  let folded = false
  for (const line of markdown.split('\n')) {
    fence = fenceAfter(line, fence)
    if (!fence && line.startsWith('<details>')) folded = true
    if (line.trim() === '' && !fence && !folded) blocks.push([])
    else blocks.at(-1)!.push(line)
    if (!fence && line === '</details>') folded = false
  }
  return blocks.filter((block) => block.length > 0).map((block) => loosened(block).join('\n'))
}

/** A block from inside a list may come to begin a part. Then its first lines are a paragraph, which not every item ends: an empty line does. */
function loosened(block: string[]): string[] {
  if (!/^\s/.test(block[0]!) || fenceLine.test(block[0]!)) return block
  let fence: Fence | undefined
  return block.flatMap((line, index) => {
    const inCode = fence !== undefined
    fence = fenceAfter(line, fence)
    return index > 0 && !inCode && itemLine.test(line) ? ['', line] : [line]
  })
}

interface Cutter {
  room: number
  pieces: string[]
  piece: string[]
  size: number
  fence: Fence | undefined
  /** Columns taken off the lines of a fence that was opened again further left. */
  outdent: number
  head: string[]
  /** The piece began in the middle of something: before the next item of a list an empty line makes sure that a list begins there. */
  loose: boolean
}

function splitBlock(lines: string[], room: number): string[] {
  const cutter: Cutter = {
    room,
    pieces: [],
    piece: [],
    size: 0,
    fence: undefined,
    outdent: 0,
    head: tableHead(lines, room),
    loose: false,
  }
  for (const line of lines) addLine(cutter, line)
  if (cutter.piece.length > 0) cutter.pieces.push(cutter.piece.join('\n'))
  return cutter.pieces
}

function addLine(cutter: Cutter, line: string): void {
  const shown = shownLine(cutter, line)
  const after = fenceAfter(shown, cutter.fence)
  // There is always room for the end of the code that is open.
  if (cutter.fence && !after) put(cutter, endOf(cutter.fence))
  else placeLine(cutter, line, after)
  if (!after || !cutter.fence)
    cutter.fence = after && { ...after, before: fenceAfter(shownLine(cutter, line), undefined)!.before }
}

function placeLine(cutter: Cutter, line: string, after: Fence | undefined): void {
  if (cutter.loose && !cutter.fence && itemLine.test(line)) {
    if (cutter.size > 0) put(cutter, '')
    cutter.loose = false
  }
  const closing = after && !cutter.fence ? endOf(after).length + 1 : 0
  if (roomLeft(cutter) < shownLine(cutter, line).length + closing && cutter.size > 0) cut(cutter)
  if (cutter.size === 0 && !cutter.fence) cutter.outdent = Math.max(0, indentOf(line) - 3)
  for (const piece of cutLine(cutter, shownLine(cutter, line))) {
    if (roomLeft(cutter) < piece.length) cut(cutter)
    put(cutter, piece)
  }
}

/** Deep lines that come to begin a part are moved left, or they would be read as code; so are those that follow at the same depth. */
function shownLine(cutter: Cutter, line: string): string {
  if (line.trim() !== '' && indentOf(line) <= cutter.outdent) cutter.outdent = 0
  return line.slice(Math.min(cutter.outdent, indentOf(line)))
}

const indentOf = (line: string) => line.length - line.trimStart().length

function put(cutter: Cutter, line: string): void {
  cutter.piece.push(line)
  cutter.size += line.length + 1
}

/** What a line may still take, when the end of the code that is open has to fit too. */
function roomLeft(cutter: Cutter): number {
  return cutter.room - cutter.size - (cutter.fence ? endOf(cutter.fence).length + 1 : 0)
}

/** Ends the piece, closing the code it is in, and begins the next with the code opened again or the head of the table. */
function cut(cutter: Cutter): void {
  while (!cutter.fence && cutter.piece.at(-1) === '') cutter.piece.pop()
  if (cutter.fence) cutter.piece.push(endOf(cutter.fence))
  cutter.pieces.push(cutter.piece.join('\n'))
  cutter.piece = []
  cutter.size = 0
  cutter.loose = true
  if (cutter.fence) cutter.fence = reopened(cutter, cutter.fence)
  for (const line of cutter.fence ? [startOf(cutter.fence)] : cutter.head) put(cutter, line)
}

const startOf = (fence: Fence) => `${fence.before}${fence.mark}${fence.language}`

const endOf = (fence: Fence) => `${margin(fence.before)}${fence.mark}`

/** List markers become spaces: the lines of an item stand below its text. */
const margin = (before: string) => before.replace(/[^\s>]/g, ' ')

/** Outside its list, code must stand less than four columns in to be read as a fence. */
function reopened(cutter: Cutter, fence: Fence): Fence {
  const before = margin(fence.before)
  if (before.includes('>') || before.length < 4) return { ...fence, before }
  cutter.outdent += before.length - 1
  return { ...fence, before: ' ' }
}

function tableHead(lines: string[], room: number): string[] {
  const [first = '', second = ''] = lines
  const isTable = first.startsWith('| ') && /^\|(?: --- \|)+$/.test(second)
  return isTable && first.length + second.length < room / 4 ? [first, second] : []
}

function cutLine(cutter: Cutter, line: string): string[] {
  const room = roomLeft(cutter)
  if (line.length <= room) return [line]
  if (cutter.fence) {
    const before = /^[\s>]*/.exec(line)![0].slice(0, margin(cutter.fence.before).length)
    const pieces = hardCut(line.slice(before.length), room - before.length - 1)
    return pieces.map((piece, index) => before + (index > 0 && piece.startsWith('/') ? ' ' : '') + piece)
  }
  const quote = /^(?:\s*>\s?)*/.exec(line)![0].slice(0, 40)
  return cutWords(line.slice(quote.length), room - quote.length - 2).map((piece) => quote + piece)
}

/** What may not be cut: a code span, a link, an escape, an entity. Then words, spaces, and single characters of any script. */
const unit =
  /(`+)(?!`)[^\n]*?[^`]\1(?!`)|\[(?:\\.|`[^`]*`|[^\]\\`])*\]\([^()\s]*\)|\\[!-~]|&#?\w{1,8};|[!-~]|\s+|[^\s!-~]/gu

function cutWords(text: string, room: number): string[] {
  const pieces: string[] = []
  let piece = ''
  let lastSpace = 0
  for (const [token] of text.matchAll(unit)) {
    for (const part of token.length <= room ? [token] : cutToken(token, room)) {
      // Two code spans must not touch.
      const meets = piece.endsWith('`') && part.startsWith('`')
      while (piece !== '' && (meets || piece.length + part.length > room)) {
        const at = lastSpace > room / 2 ? lastSpace : piece.length
        pieces.push(piece.slice(0, at))
        piece = piece.slice(at)
        lastSpace = 0
      }
      piece += part
      if (/^\s/.test(part)) lastSpace = piece.length
    }
  }
  const lines = [...pieces, piece].map((text) => text.trim()).filter((text) => text !== '')
  return lines.map((text, index) => (index === 0 ? text : startLine(text)))
}

function cutToken(token: string, room: number): string[] {
  const ticks = /^`+/.exec(token)?.[0].length ?? 0
  if (ticks === 0) return hardCut(token, room)
  return hardCut(token.slice(ticks, -ticks), room - 2 * ticks - 4).map(codeSpan)
}

/** The rest of a line begins a line: what would begin a block there is escaped. */
function startLine(text: string): string {
  return text.replace(/^[-+=/:](?!\\)/, '\\$&').replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2')
}

/** By length alone, between whole characters. */
function hardCut(text: string, room: number): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const character of text) {
    if (piece.length + character.length > room) {
      pieces.push(piece)
      piece = ''
    }
    piece += character
  }
  return [...pieces, piece].filter((text) => text !== '')
}
