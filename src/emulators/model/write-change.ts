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
  // The product before its examples and tests, and changed definitions before other lines.
  const order = [...byPath.values()].sort((a, b) => rank(a) - rank(b))
  const sentences = order.slice(0, mostSentences).flatMap((pieces) => sentenceFor(pieces, listed) ?? [])
  if (sentences.length === 0) return 'Nothing that was shown says what changes.'
  const names = order.flatMap((pieces) => changedNames(listed, pieces[0]!.path)).slice(0, 2)
  const questions = names.map((name) => `? What depends on ${name}?`)
  return joinWithin([...sentences, ...questions], maxBytes, '\n\n')
}

/** The names that the list of changes gives for a file. */
function changedNames(listed: readonly string[], path: string): string[] {
  const row = listed.find((line) => line.includes(JSON.stringify(path)))
  return row?.includes('; ') ? row.slice(row.lastIndexOf('; ') + 2).split(', ') : []
}

function sentenceFor(pieces: readonly FileBlock[], listed: readonly string[]): string | undefined {
  const path = pieces[0]!.path
  const row = listed.find((line) => line.includes(JSON.stringify(path))) ?? ''
  const status = /^(added|renamed)\b/.exec(row)?.[1] ?? 'changed'
  const size = /\+\d+ -\d+/.exec(row)?.[0] ?? ''
  const names = changedNames(listed, path)
  const place = bestPlace(pieces, names)
  if (place === undefined) return undefined
  const said = saidBy(commentOf(place.file, place.index) ?? commentAt(place.file, place.index))
  const verb = { added: 'is new', renamed: 'is moved and changed', changed: 'changes' }[status] ?? 'changes'
  const what = names.length === 0 ? '' : ` in ${names.slice(0, 4).map(code).join(', ')}`
  const comment = said === undefined ? '' : `; a comment there says: ${quoted(said)}`
  return `${code(path)} ${verb}${what}${size === '' ? '' : ` (${size})`}${comment}. ${citation(place.file, [place.line])}`
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
