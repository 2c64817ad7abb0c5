// Keeps Markdown that we wrote under a limit in bytes. GitHub throws a job summary away that is over its limit, and refuses such a comment.
//
// It is cut where a block, a row, an item or a line of code begins, and open code is closed. No span or link goes over such a place, so what is
// left is as safe as the whole.

/** The limit is 1,048,576 for one step. */
const summaryBytes = 1_000_000

/** What stands before the fence: quote signs, a list's marker, spaces. */
const fenceLine = /^((?:\s|>|[-+*]\s|\d{1,9}[.)]\s)*)(?:(`{3,})([^`\n]*)$|(~{3,})(.*))/
const startsPiece = /^(?:\s*$|\| |[-+*] |\d{1,9}[.)] |#{1,6} )/

const note = 'The rest was too long to be shown here.'

export function fitMarkdown(markdown: string, bytes = summaryBytes): string {
  if (Buffer.byteLength(markdown) <= bytes) return markdown
  const lines = markdown.split('\n')
  let room = bytes - Buffer.byteLength(note) - 4
  let kept: string[] = []
  let fence: Fence | undefined
  let folded = false
  for (const [index, line] of lines.entries()) {
    const isPlace = !folded && (fence !== undefined || startsPiece.test(line))
    if (isPlace && room >= (fence?.end.length ?? 0)) kept = [...lines.slice(0, index), ...(fence ? [fence.end] : [])]
    room -= Buffer.byteLength(line) + 1
    if (room < 0) break
    if (!fence) folded = (folded || line.startsWith('<details>')) && line !== '</details>'
    fence = fenceAfter(line, fence)
  }
  return `${kept.join('\n').trimEnd()}\n\n${note}\n`
}

interface Fence {
  mark: string
  /** The line that closes it. */
  end: string
}

function fenceAfter(line: string, open: Fence | undefined): Fence | undefined {
  const [, before = '', ticks, , tildes] = fenceLine.exec(line) ?? []
  const mark = ticks ?? tildes
  if (mark === undefined) return open
  if (open) return mark.startsWith(open.mark) && line.trimEnd().endsWith(mark) ? undefined : open
  // List markers become spaces: the lines of an item stand below its text.
  return { mark, end: `${before.replace(/[^\s>]/g, ' ')}${mark}` }
}
