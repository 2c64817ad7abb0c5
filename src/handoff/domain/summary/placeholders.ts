// What of an earlier text a model has to see to change it. A sentence that names only files which did not change stays as it is whatever the
// model says; so it is not sent, a short mark stands for it, and it comes back where the mark is found again. A push then costs what it
// touches, not what there is.

import { tidy } from './clean-model-text.js'
import { type PathIndex, parentOf } from './path-index.js'
import { findMentions } from './path-mentions.js'
import { sentencesOf } from './verify-paths.js'

export interface TextWithPlaceholders {
  /** With `[kept 1]` in place of what is held back. */
  text: string
  held: ReadonlyMap<number, string>
}

/** What is shorter costs less than its mark. */
const shortest = 60

/** `first` is the number of the first mark, so that several texts in one request can be told apart. */
export function insertPlaceholders(
  text: string,
  paths: ReadonlySet<string>,
  pathIndex: PathIndex,
  first = 1,
): TextWithPlaceholders {
  const near = new Set([...paths].map(parentOf))
  const stays = (sentence: string) => {
    if (isFence(sentence)) return false
    const named = placesIn(sentence, pathIndex)
    return named.length > 0 && !named.some((path) => paths.has(path) || near.has(path))
  }
  const held = new Map<number, string>()
  const runs = runsOf(piecesOf(text), stays)
  const shown = runs.map(({ text: run, kept }) => {
    const core = run.trim()
    if (!kept || core.length < shortest) return run
    const number = first + held.size
    held.set(number, core)
    const start = run.indexOf(core)
    return `${run.slice(0, start)}[kept ${number}]${run.slice(start + core.length)}`
  })
  return { text: shown.join(''), held }
}

/** Files and directories; a single word that happens to be a directory's name means nothing of the kind. */
function placesIn(sentence: string, pathIndex: PathIndex): string[] {
  return findMentions(sentence, pathIndex.odd)
    .filter(
      ({ path, line, style }) =>
        pathIndex.exists(path) && (line !== undefined || style === 'code' || /[/.]/.test(path)),
    )
    .map(({ path }) => path.replace(/\/+$/, ''))
}

/** Puts back what marks stand for; what the reply forgot comes at the end, and a mark of no meaning goes. */
export function restorePlaceholders(reply: string, held: ReadonlyMap<number, string>): string {
  if (held.size === 0) return reply
  const waiting = new Map(held)
  const text = reply.replace(/\[kept (\d{1,9})\]/g, (_, digits: string) => {
    const kept = waiting.get(Number(digits)) ?? ''
    waiting.delete(Number(digits))
    return kept
  })
  return waiting.size === 0 ? text : tidy([text, ...waiting.values()].join('\n\n'))
}

/** Sentences of `after` that `before` did not have, in their order. */
export function newSentences(before: string, after: string): string {
  const plain = (sentence: string) => sentence.trim()
  const known = new Set(piecesOf(before).map(plain))
  return piecesOf(after)
    .map(plain)
    .filter((sentence) => sentence !== '' && !known.has(sentence))
    .join(' ')
}

/** Sentences, list items' own lines and code in fences, with everything between them: together they are the text again. */
function piecesOf(text: string): string[] {
  return text
    .split(/(^(?:```+|~~~+)[^\n]*\n[\s\S]*?^(?:```+|~~~+)[ \t]*$)/m)
    .flatMap((part, index) => (index % 2 === 1 ? [part] : part.split(/(?<=\n)(?=\s*\n|[ \t]*(?:[-*+]|\d{1,9}[.)])\s)/)))
    .flatMap((part) => (isFence(part) ? [part] : sentencesOf(part)))
}

/** Code: commands hold or do not hold whatever files they name. */
const isFence = (piece: string) => /^(?:```|~~~)/.test(piece)

interface Run {
  text: string
  kept: boolean
}

/** Neighbours that stay are held back together, with the space between them. */
function runsOf(pieces: readonly string[], stays: (piece: string) => boolean): Run[] {
  const runs: Run[] = []
  for (const text of pieces) {
    const last = runs.at(-1)
    const kept = text.trim() === '' ? (last?.kept ?? false) : stays(text)
    if (last && last.kept === kept) last.text += text
    else runs.push({ text, kept })
  }
  return runs
}
