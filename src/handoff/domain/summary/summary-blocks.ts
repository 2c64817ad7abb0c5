// A summary as a tree of nodes, with the corrections of its statements. The places that it mentions become links to their lines on the git host.
import { type AnswerPlace, linkRepository, permalink } from '../answers/permalinks.js'
import type { ShownCorrection } from '../corrections/correction.js'
import { placeCorrections } from '../corrections/render-corrections.js'
import { type MarkdownBlock, parseDocument, type TextPlace } from '../markdown/parse-document.js'
import { findMentions } from './path-mentions.js'

/** A correction whose lines no statement cites is not shown here; the run lists all of them. */
export function summaryBlocks(
  summary: string,
  commit: string,
  place: AnswerPlace,
  corrections: readonly ShownCorrection[] = [],
): MarkdownBlock[] {
  return parseDocument(placeCorrections(summary, corrections).markdown, {
    ...linkRepository(place),
    findPlaces: (text) => findPlaces(text, commit, place),
  })
}

function findPlaces(text: string, commit: string, place: AnswerPlace): TextPlace[] {
  if (!/:\d|#L\d/.test(text)) return []
  return findMentions(text).flatMap(({ start, end, path, line, to }) => {
    // `12:30` is a time of day.
    if (line === undefined || path.startsWith('/') || !/[./]/.test(path)) return []
    const url = permalink(place, commit, { path, from: line, to: to ?? line })
    return url === null ? [] : [{ start, end, url }]
  })
}
