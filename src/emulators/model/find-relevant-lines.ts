// Finds the lines of a prompt that bear on a question: by shared words, weighed by how rare they are, with a liking for definitions.
import { commentIn, definedIn, isDirective, isImport, isLicence } from './definitions.js'
import type { FileBlock, Line, Prompt } from './parse-prompt.js'
import { findIdentifiers, stem, stemsOf, synonymsOf } from './word-stems.js'

export interface RelevantLine {
  file: FileBlock
  /** Index into the file's lines. */
  index: number
  score: number
  /** Which of the question's words are here or close by. */
  words: Set<string>
}

interface Query {
  /** Each word's weight: rare words weigh more, words of an earlier question less. */
  weights: Map<string, number>
  /** Names that a line may hold as written. */
  names: string[]
  /** The weight of all words of the question itself. */
  total: number
  /** For a word, the ones that nearly say it. */
  synonyms: Map<string, string>
  /** Whether a line only says what is asked: in a test, an example, a default. It answers nothing. */
  repeats: (line: string) => boolean
}

const near = 3

/** The best places first, at most `limit`, none of them close to another; empty when the prompt does not speak of the question. */
export function findRelevantLines(prompt: Prompt, limit: number): RelevantLine[] {
  const stems = new Map<FileBlock, Set<string>[]>()
  for (const file of prompt.files)
    stems.set(
      file,
      file.lines.map((line) => new Set(stemsOf(line.text.slice(0, 2_000)))),
    )
  const query = makeQuery(prompt, [...stems.values()].flat())
  if (query.total === 0 && query.names.length === 0) return []
  const places = prompt.files.flatMap((file) => scoreFile(file, stems.get(file) ?? [], query))
  places.sort((a, b) => b.score - a.score || compare(a.file.path, b.file.path) || a.index - b.index)
  const best = places[0]
  if (best === undefined || !isAboutQuestion(best, query)) return []
  return selectDistinct(places, limit, best.score / 4)
}

function makeQuery(prompt: Prompt, lines: Set<string>[]): Query {
  const asked = new Set(stemsOf(prompt.question))
  const earlier = new Set(
    prompt.texts.filter((block) => block.kind === 'earlier').flatMap((block) => stemsOf(block.title)),
  )
  const rarity = (word: string) => {
    const count = lines.reduce((sum, line) => sum + (line.has(word) ? 1 : 0), 0)
    return Math.log(1 + lines.length / (count + 0.5))
  }
  const weights = new Map<string, number>()
  for (const word of asked) weights.set(word, rarity(word))
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  for (const word of earlier) if (!weights.has(word)) weights.set(word, rarity(word) / 3)
  const kin = new Map<string, string>()
  for (const word of asked) for (const other of synonymsOf(word).map(stem)) if (!asked.has(other)) kin.set(other, word)
  return {
    weights,
    names: findIdentifiers(prompt.question),
    total,
    synonyms: kin,
    repeats: matchQuestionText(prompt.question),
  }
}

function matchQuestionText(question: string): (line: string) => boolean {
  const start = plain(question).slice(0, 40)
  return (line) => start.length >= 20 && plain(line).includes(start)
}

const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')

function scoreFile(file: FileBlock, stems: Set<string>[], query: Query): RelevantLine[] {
  const fromPath = matchingWeights(new Set(stemsOf(file.path)), query)
  const found = stems.map((line) => matchingWeights(line, query))
  const places: RelevantLine[] = []
  for (const [index, line] of file.lines.entries()) {
    const own = found[index]!
    const named = query.names.filter((name) => line.text.includes(name)).length
    if ((own.size === 0 && named === 0) || query.repeats(line.text)) continue
    const around = mergeMax(found.slice(Math.max(0, index - near), index + near + 1))
    let score = sum(own) + 6 * named
    for (const [word, weight] of around) if (!own.has(word)) score += 0.4 * weight
    for (const [word, weight] of fromPath) score += (own.has(word) ? 0.1 : 0.3) * weight
    places.push({
      file,
      index,
      score: score * scoreFactor(file, line, query),
      words: new Set([...around.keys(), ...fromPath.keys()]),
    })
  }
  return places
}

/** The question's words in this set, with the weight they bring. */
function matchingWeights(words: Set<string>, query: Query): Map<string, number> {
  const found = new Map<string, number>()
  for (const word of words) {
    const weight = query.weights.get(word)
    if (weight !== undefined) found.set(word, weight)
    const said = query.synonyms.get(word)
    if (said !== undefined && !found.has(said)) found.set(said, (query.weights.get(said) ?? 0) / 2)
  }
  return found
}

function scoreFactor(file: FileBlock, line: Line, query: Query): number {
  if (isImport(line.text)) return 0.3
  const comment = commentIn(line.text) ?? ''
  if (isDirective(comment) || isLicence(comment)) return 0.1
  let factor = 1
  const defined = definedIn(line.text)
  if (defined) factor *= matchingWeights(new Set(stemsOf(defined.name)), query).size > 0 ? 1.8 : 1.2
  else if (comment !== '') factor *= 1.2
  if ((file.kind === 'test' || /(^|\/)(tests?|__tests__|spec)\//.test(file.path)) && !query.weights.has('test'))
    factor *= 0.6
  if (file.kind === 'lock' || file.kind === 'data' || file.kind === 'generated') factor *= 0.4
  return factor
}

/** A question is spoken of when a third of its weight is met near the best place, or when a name of it stands there as written. */
function isAboutQuestion(place: RelevantLine, query: Query): boolean {
  const text = place.file.lines[place.index]?.text ?? ''
  if (query.names.some((name) => text.includes(name))) return true
  let met = 0
  for (const word of place.words) met += query.weights.get(word) ?? 0
  return met >= query.total / 3
}

/** Takes the best, but not twice from nearly the same lines, and at most three of one file. */
function selectDistinct(places: RelevantLine[], limit: number, least: number): RelevantLine[] {
  const taken: RelevantLine[] = []
  for (const place of places) {
    if (taken.length >= limit || place.score < least) break
    const same = taken.filter((other) => other.file === place.file)
    if (same.length >= 3 || same.some((other) => Math.abs(other.index - place.index) <= 2 * near)) continue
    taken.push(place)
  }
  return taken
}

function mergeMax(maps: Map<string, number>[]): Map<string, number> {
  const merged = new Map<string, number>()
  for (const map of maps) for (const [word, weight] of map) merged.set(word, Math.max(weight, merged.get(word) ?? 0))
  return merged
}

const sum = (map: Map<string, number>) => [...map.values()].reduce((total, weight) => total + weight, 0)
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
