// Writes the reply to `Task: answer`: one sentence for each place found, each with a citation in the form the host asks for.
import { commentIn, definedIn, isDirective, isProse } from './definitions.js'
import type { Fact } from './fact.js'
import { findRelevantLines, type RelevantLine } from './find-relevant-lines.js'
import { code, firstSentence, joinWithin, quoted, shorten } from './format-text.js'
import type { FileBlock, Line, Prompt } from './parse-prompt.js'
import { identityFacts } from './project-facts.js'
import { findIdentifiers, stem, stemsOf } from './word-stems.js'

export const disclaimer = 'These are extracts chosen by shared words; no language model has read them.'

export function writeAnswer(prompt: Prompt, maxBytes: number): string {
  const sentences = isGeneralQuestion(prompt.question)
    ? overview(prompt)
    : findRelevantLines(prompt, 6).map(sentenceFor)
  if (sentences.length > 0) return joinWithin([...sentences, disclaimer], maxBytes, '\n\n')
  return `NOT FOUND\n\nNothing in the ${prompt.files.length} pieces of the repository that were shown speaks of this question.`
}

const general = new Set(
  'project repository repo codebase program library package tool purpose about goal'.split(' ').map(stem),
)

/** Asks about the whole, with no word about any part. */
const isGeneralQuestion = (question: string) =>
  stemsOf(question).every((word) => general.has(word)) && findIdentifiers(question).length === 0

const overview = (prompt: Prompt) => identityFacts(prompt.files).map((fact) => `${fact.text} ${citations(fact)}`)

/** One for each run of lines. Only the first has a quote, so that a sentence with many stays short. */
export function citations({ file, lines, also = [] }: Fact): string {
  const [first = lines, ...others] = runsOf(file, lines)
  const further = [
    { file, runs: others },
    ...also.map((one) => ({ file: one.file, runs: runsOf(one.file, one.lines) })),
  ]
  const rest = further.flatMap(({ file: { path }, runs }) => runs.map((run) => `[[${path}:${rangeOf(run)}]]`))
  return [citation(file, first), ...rest.slice(0, mostCitations - 1)].join(' ')
}

const mostCitations = 8

/** Lines that stand nearly together are one range, where the lines between them were shown too: else the host would cut the range. */
function runsOf(file: FileBlock, lines: readonly Line[]): Line[][] {
  const shown = new Set(file.lines.map(({ number }) => number))
  const runs: Line[][] = []
  for (const line of lines) {
    const run = runs.at(-1)
    const last = run?.at(-1)?.number ?? Number.NEGATIVE_INFINITY
    const between = line.number - last
    const joins =
      between <= 3 && Array.from({ length: between }, (_, step) => last + step).every((one) => shown.has(one))
    if (run && joins) run.push(line)
    else runs.push([line])
  }
  return runs
}

function rangeOf(lines: readonly Line[]): string {
  const first = lines[0]?.number ?? 1
  const last = lines.at(-1)?.number ?? first
  return first === last ? String(first) : `${first}-${last}`
}

/** `src/a.ts:10-12 "const a = 1"` in double brackets, quoting the last line; without a quote when that cannot be quoted safely. */
export function citation(file: FileBlock, lines: Line[]): string {
  const quotable = quotation(lines.at(-1)?.text ?? '')
  return `[[${file.path}:${rangeOf(lines)}${quotable === '' ? '' : ` "${quotable.replaceAll('"', '\\"')}"`}]]`
}

/** A stretch of the line that can stand between quotation marks: no backslash, no closing brackets, at most 120 characters. */
function quotation(text: string): string {
  const stretches = text.split(/\\|\]\]/).map((stretch) => stretch.trim())
  const longest = stretches.sort((a, b) => b.length - a.length)[0] ?? ''
  return longest
    .slice(0, 120)
    .replace(/[\uD800-\uDBFF]$/, '')
    .trim()
}

function sentenceFor(place: RelevantLine): string {
  const { file, index } = place
  const line = file.lines[index]!
  const documented = isProse(file)
  const defined = documented ? undefined : definedIn(line.text)
  if (defined) return definitionSentence(file, index, defined)
  const words = documented ? line.text.replace(/^[#>*\-\s]+/, '') : commentIn(line.text)
  if (words !== undefined && words !== '') {
    const following = documented ? undefined : definitionAfter(file, index)
    const lines = file.lines.slice(index, (following ?? index) + 1)
    const about = following === undefined ? '' : ` about ${code(definedIn(file.lines[following]!.text)!.name)}`
    return `${code(file.path)} says${about}: ${quoted(words)} ${citation(file, lines)}`
  }
  const holder = definitionBefore(file, index)
  const where = holder === undefined ? `In ${code(file.path)}` : `Inside ${code(holder)} in ${code(file.path)}`
  return `${where}, line ${line.number} reads ${code(shorten(line.text.trim()))}. ${citation(file, [line])}`
}

function definitionSentence(file: FileBlock, index: number, defined: { name: string; kind: string }): string {
  const start = commentStart(file, index)
  const words = firstSentence(
    file.lines
      .slice(start, index)
      .map((line) => commentIn(line.text) ?? '')
      .filter((comment) => !isDirective(comment))
      .join(' '),
  )
  const what = `The ${defined.kind} ${code(defined.name)} is defined in ${code(file.path)}`
  const said = words === '' ? '.' : `, with the comment ${quoted(words)}`
  return `${what}${said} ${citation(file, file.lines.slice(start, index + 1))}`
}

/** Where the comment that stands right above a definition begins; of a long comment only the last lines are taken. */
function commentStart(file: FileBlock, index: number): number {
  let start = index
  while (
    start > 0 &&
    index - start < 6 &&
    adjoin(file, start - 1) &&
    commentIn(file.lines[start - 1]!.text) !== undefined
  )
    start -= 1
  return start
}

function definitionAfter(file: FileBlock, index: number): number | undefined {
  for (let at = index + 1; at < file.lines.length && at <= index + 4 && adjoin(file, at - 1); at += 1) {
    const text = file.lines[at]!.text
    if (definedIn(text)) return at
    if (commentIn(text) === undefined) return undefined
  }
  return undefined
}

function definitionBefore(file: FileBlock, index: number): string | undefined {
  for (let at = index - 1; at >= 0 && at >= index - 60; at -= 1) {
    const defined = definedIn(file.lines[at]!.text)
    if (defined && /^(function|method|class|struct|trait|interface|type|module)$/.test(defined.kind))
      return defined.name
  }
  return undefined
}

/** Whether a line and the next one shown stand next to each other in the file. */
const adjoin = (file: FileBlock, index: number) => file.lines[index + 1]?.number === file.lines[index]!.number + 1
