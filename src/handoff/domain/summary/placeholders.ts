// Shortens an earlier text before the model updates it. Sentences about unchanged files only are replaced by a placeholder such as `[kept 1]`
// and restored in the reply. So a push costs what it changes, not what the summary holds.

import { tidy } from './clean-model-text.js'
import { type PathIndex, parentOf } from './path-index.js'
import { findMentions } from './path-mentions.js'
import { sentencesOf } from './verify-paths.js'

export interface TextWithPlaceholders {
  /** The text with `[kept 1]` in place of each omitted run of sentences. */
  text: string
  held: ReadonlyMap<number, string>
}

/** A shorter run costs less than its placeholder. */
const shortest = 60

/** `first` is the number of the first placeholder, so that the numbers of several texts differ. */
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

/** Paths of files and directories. A single word that equals a directory's name does not count. */
function placesIn(sentence: string, pathIndex: PathIndex): string[] {
  return findMentions(sentence, pathIndex.odd)
    .filter(
      ({ path, line, style }) =>
        pathIndex.exists(path) && (line !== undefined || style === 'code' || /[/.]/.test(path)),
    )
    .map(({ path }) => path.replace(/\/+$/, ''))
}

/** Replaces placeholders by their sentences. Missing ones are appended; unknown placeholders are removed. */
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

/** Splits into sentences, list items and fenced code, with the space between them. Joined, the pieces are the text. */
function piecesOf(text: string): string[] {
  return text
    .split(/(^(?:```+|~~~+)[^\n]*\n[\s\S]*?^(?:```+|~~~+)[ \t]*$)/m)
    .flatMap((part, index) => (index % 2 === 1 ? [part] : part.split(/(?<=\n)(?=\s*\n|[ \t]*(?:[-*+]|\d{1,9}[.)])\s)/)))
    .flatMap((part) => (isFence(part) ? [part] : sentencesOf(part)))
}

/** Code is kept whole: commands do not become wrong because they name a changed file. */
const isFence = (piece: string) => /^(?:```|~~~)/.test(piece)

interface Run {
  text: string
  kept: boolean
}

/** Adjacent pieces that stay share one placeholder. */
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
