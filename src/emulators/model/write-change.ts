// Writes the reply to `Task: change`: what was added or changed, file by file, each with a line that shows it. It says nothing about why.
import { commentAt, commentOf, saidBy } from './comments.js'
import { codeLines, definedIn } from './definitions.js'
import { besides, holdsTests } from './file-facts.js'
import { code, joinWithin, quoted } from './format-text.js'
import type { FileBlock, Line, Prompt } from './parse-prompt.js'
import { citation } from './write-answer.js'

const mostSentences = 5

export function writeChange(prompt: Prompt, maxBytes: number): string {
  const listed = prompt.texts.find(({ kind }) => kind === 'changes')?.lines ?? []
  const byPath = Map.groupBy(prompt.files, ({ path }) => path)
  const rank = ([file]: readonly FileBlock[]) =>
    (holdsTests(file!) ? 4 : 0) +
    (besides.test(file!.path) ? 2 : 0) +
    (changedNames(listed, file!.path).length > 0 ? 0 : 1)
  const size = ([file]: readonly FileBlock[]) => changedLines(listed, file!.path).reduce((sum, lines) => sum + lines, 0)
  // The product before its examples and tests, changed definitions before other lines, and much before little.
  const order = [...byPath.values()].sort((a, b) => rank(a) - rank(b) || size(b) - size(a))
  const sentences = order.slice(0, mostSentences).flatMap((pieces) => sentenceFor(pieces, listed) ?? [])
  if (sentences.length === 0) return 'Nothing that was shown says what changes.'
  const questions = order.flatMap(([file]) => questionsAbout(changedNames(listed, file!.path), file!.path)).slice(0, 2)
  return joinWithin([...sentences, ...questions], maxBytes, '\n\n')
}

const questionsAbout = (names: readonly string[], path: string) =>
  names.map((name) => `? What depends on ${name} of ${path.slice(path.lastIndexOf('/') + 1)}?`)

const rowOf = (listed: readonly string[], path: string) =>
  listed.find((line) => line.includes(JSON.stringify(path))) ?? ''

/** How many lines came and went; empty for a file that was not compared. */
const changedLines = (listed: readonly string[], path: string) =>
  (/ \+(\d+) -(\d+)/.exec(rowOf(listed, path)) ?? []).slice(1).map(Number)

/** The names that the list of changes gives for a file. */
function changedNames(listed: readonly string[], path: string): string[] {
  const row = rowOf(listed, path)
  return row.includes('; ') ? row.slice(row.lastIndexOf('; ') + 2).split(', ') : []
}

/** What is said of a file by its status, and how its changed definitions follow. */
const verbs: Record<string, [verb: string, joint: string]> & { changed: [string, string] } = {
  added: ['is new', 'and defines'],
  renamed: ['is moved and changed', 'in'],
  changed: ['changes', 'in'],
}

function sentenceFor(pieces: readonly FileBlock[], listed: readonly string[]): string | undefined {
  const path = pieces[0]!.path
  const status = /^(added|renamed)\b/.exec(rowOf(listed, path))?.[1] ?? 'changed'
  const [added, removed] = changedLines(listed, path)
  const size = added === undefined ? '' : ` (+${added} −${removed})`
  const names = changedNames(listed, path)
  const place = bestPlace(pieces, names)
  if (place === undefined) return undefined
  const said = saidBy(commentOf(place.file, place.index) ?? commentAt(place.file, place.index))
  const [verb, joint] = verbs[status] ?? verbs.changed
  const what = names.length === 0 ? '' : ` ${joint} ${names.slice(0, 4).map(code).join(', ')}`
  const comment = said === undefined ? '' : `; a comment there says: ${quoted(said)}`
  return `${code(path)} ${verb}${what}${size}${comment}. ${citation(place.file, [place.line])}`
}

interface Place {
  file: FileBlock
  index: number
  line: Line
}

/** The line that defines a changed name, else the first definition, else the first line with words. */
function bestPlace(pieces: readonly FileBlock[], names: readonly string[]): Place | undefined {
  const places = pieces.flatMap((file) => {
    const codeOnly = new Set(codeLines(file.lines))
    return file.lines.map((line, index) => ({ file, index, line, isCode: codeOnly.has(line) }))
  })
  const defines = ({ line, isCode }: (typeof places)[number]) => (isCode ? definedIn(line.text)?.name : undefined)
  return (
    places.find((place) => names.includes(defines(place) ?? '')) ??
    places.find((place) => defines(place) !== undefined) ??
    places.find(({ line }) => /\p{L}{3}/u.test(line.text))
  )
}
