// Updates the four sections: finds the sections that a push affects, and merges the model's reply. Sections that were not sent stay unchanged,
// and sentences that are still valid are restored if the reply omits them.

import type { FileKind } from '../survey.js'
import { tidy } from './clean-model-text.js'
import type { PathIndex } from './path-index.js'
import { findMentions } from './path-mentions.js'
import { restorePlaceholders, type TextWithPlaceholders } from './placeholders.js'
import { type ParsedSections, parseSections, type Sections } from './summary-document.js'
import { sentencesOf } from './verify-paths.js'

export interface Touched {
  kinds: ReadonlySet<FileKind>
  /** Former and present paths of all changed files. */
  paths: ReadonlySet<string>
  /** Sections that already lost a sentence. */
  sections: ReadonlySet<number>
}

/** The sections for the kinds of the changed files, and each section that names a changed path. */
export function affectedSections(sections: Sections, touched: Touched): number[] {
  const shown = new Set(touched.sections)
  for (const kind of touched.kinds) shown.add(sectionOfKind(kind))
  sections.forEach((text, index) => {
    if (findMentions(text).some(({ path }) => touched.paths.has(path))) shown.add(index)
    if (text === '') shown.add(index)
  })
  if (shown.size === 0) shown.add(1)
  return [...shown].sort()
}

function sectionOfKind(kind: FileKind): number {
  if (kind === 'documentation') return 0
  return kind === 'configuration' || kind === 'test' ? 3 : 1
}

/** `shown` are the indexes of the sections that were sent, with the placeholders of `briefs`. */
export function mergeSections(
  before: Sections,
  reply: string,
  shown: readonly number[],
  briefs: readonly TextWithPlaceholders[],
  touched: Touched,
  pathIndex: PathIndex,
): Sections {
  const parsed: ParsedSections = parseSections(reply)
  const after = before.map((text, index) => {
    const said = parsed.sections[index]!
    return shown.includes(index) && said !== '' && !/^as before\.?$/i.test(said)
      ? restorePlaceholders(said, briefs[index]!.held)
      : text
  }) as Sections
  const everywhere = after.join('\n\n')
  return after.map((text, index) =>
    text === before[index] ? text : restoreForgotten(before[index]!, text, touched, pathIndex, everywhere),
  ) as Sections
}

/**
 * Restores earlier sentences about unchanged paths that the new text no longer names: the model omitted them, it did not correct them.
 * Whole paragraphs and list items are restored in place, single sentences at the end.
 */
export function restoreForgotten(
  before: string,
  after: string,
  touched: Touched,
  pathIndex: PathIndex,
  everywhere = after,
): string {
  const named = new Set(findMentions(everywhere, pathIndex.odd).map(({ path }) => path))
  const isLost = (text: string) => {
    const paths = findMentions(text, pathIndex.odd).flatMap(({ path }) => (pathIndex.exists(path) ? [path] : []))
    return paths.length > 0 && !paths.some((path) => named.has(path) || touched.paths.has(path))
  }
  const units = unitsOf(before)
  const whole = units.filter(isLost)
  const sentences = units.filter((unit) => !isLost(unit)).flatMap((unit) => sentencesOf(unit).filter(isLost))
  const text = whole.reduce((sum, unit) => `${sum}${joint(sum, unit)}${unit}`, after)
  return tidy(`${text}\n\n${sentences.map(plainSentence).join(' ')}`)
}

const isItem = (text: string) => /^\s*([-*+]|\d{1,9}[.)])\s/.test(text)

const plainSentence = (text: string) => text.replace(/^\s*([-*+]|\d{1,9}[.)])\s/, '').trim()

function joint(text: string, unit: string): string {
  return isItem(unit) && isItem(text.slice(text.lastIndexOf('\n') + 1)) ? '\n' : '\n\n'
}

/** Paragraphs and list items, without fenced code. */
function unitsOf(text: string): string[] {
  const units: string[] = []
  for (const paragraph of text.replace(/^(```+|~~~+)[\s\S]*?^\1$/gm, '').split(/\n\s*\n/)) {
    let open = false
    for (const line of paragraph.split('\n')) {
      if (line.trim() === '') continue
      if (open && !isItem(line)) units.push(`${units.pop()}\n${line}`)
      else units.push(line)
      open = true
    }
  }
  return units
}
