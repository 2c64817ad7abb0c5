// The lines that a model was shown, file by file, and where in them a quote stands. White space does not count: models reflow what they copy.
import type { Excerpt } from '../answer.js'
import { cleanLine } from '../markdown/clean-text.js'
import { digestLines } from './digest-lines.js'

/** Lines of a file that the model was shown. */
export type ShownLines = Pick<Excerpt, 'path' | 'blob' | 'from' | 'lines' | 'source'>

/** Neighbouring lines of one file as one text without white space; `starts[i]` is where the line `from + i` begins in it. */
interface Segment {
  from: number
  to: number
  text: string
  starts: number[]
}

export interface LineRange {
  from: number
  to: number
}

export interface ShownFile {
  blob: string
  /** The digest of these lines, all of which must have been shown. */
  digest: (range: LineRange) => string
  /** Were all of these lines shown? */
  covers: (range: LineRange) => boolean
  /** The shown lines around any line of the range, null when none of them was shown. */
  around: (range: LineRange) => LineRange | null
  /** Where the quote stands within these lines: the nearest to `near` when there are several. */
  find: (quote: string, within: LineRange, near: number) => LineRange | null
  /** Where the quote stands, when it stands in one place only. */
  findOnly: (quote: string) => LineRange | null
}

function squeeze(text: string): string {
  return cleanLine(text).normalize('NFC').replace(/\s+/g, '')
}

/** The model's own earlier words are no evidence: only code counts as shown. */
export function shownFiles(excerpts: readonly ShownLines[]): Map<string, ShownFile> {
  const files = new Map<string, { blob: string; lines: Map<number, string> }>()
  for (const excerpt of excerpts) {
    if (excerpt.source !== 'code') continue
    const known = files.get(excerpt.path) ?? { blob: excerpt.blob, lines: new Map<number, string>() }
    for (const [index, line] of excerpt.lines.entries()) known.lines.set(excerpt.from + index, line)
    files.set(excerpt.path, known)
  }
  return new Map([...files].map(([path, { blob, lines }]) => [path, shownFile(blob, lines)]))
}

function segmentsOf(lines: Map<number, string>): Segment[] {
  const segments: Segment[] = []
  for (const number of [...lines.keys()].sort((a, b) => a - b)) {
    let segment = segments.at(-1)
    if (segment?.to !== number - 1) {
      segment = { from: number, to: number, text: '', starts: [] }
      segments.push(segment)
    }
    segment.to = number
    segment.starts.push(segment.text.length)
    segment.text += squeeze(lines.get(number)!)
  }
  return segments
}

function shownFile(blob: string, lines: Map<number, string>): ShownFile {
  const segments = segmentsOf(lines)
  return {
    blob,
    digest: ({ from, to }) =>
      digestLines(Array.from({ length: to - from + 1 }, (_, index) => lines.get(from + index) ?? '')),
    covers: (range) => segments.some((segment) => segment.from <= range.from && range.to <= segment.to),
    around: (range) => segments.find((segment) => segment.from <= range.to && range.from <= segment.to) ?? null,
    find: (quote, within, near) => {
      const places = segments.flatMap((segment) => placesIn(segment, squeeze(quote), within, 50))
      return places.sort((a, b) => Math.abs(a.from - near) - Math.abs(b.from - near))[0] ?? null
    },
    findOnly: (quote) => {
      const everywhere = { from: 0, to: Number.POSITIVE_INFINITY }
      const places = segments.flatMap((segment) => placesIn(segment, squeeze(quote), everywhere, 2))
      return places.length === 1 ? places[0]! : null
    },
  }
}

function placesIn(segment: Segment, needle: string, within: LineRange, most: number): LineRange[] {
  if (needle === '' || within.to < segment.from || within.from > segment.to) return []
  const { starts, text } = segment
  const start = starts[Math.max(0, within.from - segment.from)]!
  const end = starts[within.to - segment.from + 1] ?? text.length
  const places: LineRange[] = []
  for (let at = text.indexOf(needle, start); at >= 0 && at + needle.length <= end; at = text.indexOf(needle, at + 1)) {
    places.push({ from: lineAt(segment, at), to: lineAt(segment, at + needle.length - 1) })
    if (places.length >= most) break
  }
  return places
}

/** The last line that begins at or before this place; empty lines begin where the next one does. */
function lineAt(segment: Segment, place: number): number {
  let low = 0
  let high = segment.starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (segment.starts[middle]! <= place) low = middle
    else high = middle - 1
  }
  return segment.from + low
}
