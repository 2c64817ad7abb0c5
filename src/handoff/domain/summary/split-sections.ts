// Splits a model's reply at its headings into the four sections and the words for the search.
import { trimEndOf } from '../../util/text.js'
import { cleanText } from '../markdown/clean-text.js'
import { type DirectoryWords, headings, summaryRecordLimits } from './summary-record.js'

export interface SplitReply {
  /** The Markdown under each of the four headings; empty where the reply lacks it. */
  sections: string[]
  words: DirectoryWords[]
}

/** Renamed headings are recognised; unknown ones become part of their section. A reply without headings is the first section. */
export function splitSections(reply: string): SplitReply {
  const lines = withoutWrapping(cleanText(reply).split('\n'))
  const translated = translatedHeadings(lines)
  const parts: string[][] = headings.map(() => [])
  const words: string[] = []
  let current: string[] | undefined
  for (const [index, line] of lines.entries()) {
    const title = headingOf(line)
    const section = translated?.indexOf(index) ?? (title && sectionOf(title.text, title.level)) ?? -1
    if (section >= 0) current = parts[section]!
    else if (title?.text.toLowerCase() === wordsHeading.toLowerCase()) current = words
    else current?.push(line)
  }
  if (current === undefined) parts[0] = lines
  return { sections: parts.map((part) => part.join('\n').trim()), words: parseWords(words) }
}

/** The lines of four headings that are not known: the model wrote them in another language. */
function translatedHeadings(lines: readonly string[]): number[] | undefined {
  const found = [...lines.keys()].filter((index) => {
    const title = headingOf(lines[index]!)
    return title?.level === 2 && title.text.toLowerCase() !== wordsHeading.toLowerCase()
  })
  const isKnown = (index: number) => sectionOf(headingOf(lines[index]!)!.text, 2) !== undefined
  return found.length === headings.length && !found.some(isKnown) ? found : undefined
}

export const wordsHeading = 'Words'

/** Lines such as `- src/server: port, request`. A directory is `.` at the top. */
function parseWords(lines: readonly string[]): DirectoryWords[] {
  return lines.flatMap((line) => {
    const [, written = '', list = ''] =
      /^`?([^\s`:]{1,400})`?\s{0,9}:(.{1,2000})/.exec(line.replace(/^[\s*-]+/, '')) ?? []
    const words = wordsIn(list)
    const directory = written.replace(/^\.?\/?|\/+$/g, '')
    return written === '' || words.length === 0 ? [] : [{ directory, words }]
  })
}

export function wordsIn(list: string): string[] {
  const words = list.split(/[,;]/).map((word) => word.replace(/[^\p{L}\p{N} _-]/gu, '').trim())
  return [...new Set(words.filter((word) => word !== '' && word.length <= 60))].slice(0, summaryRecordLimits.words)
}

/** A model may wrap its whole reply in one fence. */
function withoutWrapping(lines: string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== '')
  const wraps = /^(```|~~~)(markdown|md)?$/.test(lines[first] ?? '') && headingOf(lines[first + 1] ?? '') !== undefined
  return wraps
    ? lines.filter((line, index) => index !== first && !(index === lines.length - 1 && /^(```|~~~)$/.test(line)))
    : lines
}

function headingOf(line: string): { text: string; level: number } | undefined {
  const hashes = /^ {0,3}(#{1,6})\s(.*\S)/.exec(trimEndOf(line, (sign) => sign === '#' || sign === ' '))
  if (hashes) return { text: plainTitle(hashes[2]!.trim()), level: hashes[1]!.length }
  const bold = /^\s*(?:\d\.\s*)?\*\*([^*]+?):?\*\*:?\s*$/.exec(line)
  return bold && sectionOf(plainTitle(bold[1]!), 9) !== undefined ? { text: plainTitle(bold[1]!), level: 2 } : undefined
}

const plainTitle = (text: string) =>
  text
    .replace(/^\d+[.)]\s*/, '')
    .replace(/[*_]{2}/g, '')
    .replace(/:$/, '')
    .trim()

const signs: RegExp[] = [
  /^(what (it|this|the \w+) is\b.*|overview|purpose|about|introduction|summary|what and for whom)$/i,
  /^(how (it|this) (is|was) (built|made|structured|organi[sz]ed)\b.*|architecture|structure|design|components|how it works|data flow)$/i,
  /^(where to (start|begin)\b.*|reading guide|start(ing)? (here|points?)|entry points?|key files|what to read first)$/i,
  /^(how to (build|run|test)\b.*|build(ing)?,? (test|and|run).*|development|running( it)?|testing|risks?|known risks|its risks)$/i,
]

/** The index of the section that a heading means. Similar words count for headings of level one or two only. */
function sectionOf(title: string, level: number): number | undefined {
  const plain = title.toLowerCase()
  const exact = headings.findIndex((heading) => heading.toLowerCase() === plain)
  if (exact >= 0) return exact
  if (level > 2) return undefined
  const near = signs.findIndex((sign) => sign.test(title))
  return near < 0 ? undefined : near
}
