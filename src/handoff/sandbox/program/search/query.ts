// Turns a question into concepts, each with the forms in which code may write it.
import { isEnglish } from '../../../domain/answers/question-words.js'
import type { Search } from '../../../domain/sandbox-protocol.js'
import type { Shape } from './question-shape.js'
import { weights } from './ranking-weights.js'
import { abbreviationsOf, questionWords, stopWords } from './stop-words.js'
import { synonymsOf } from './synonyms.js'
import { isUnspaced, splitIdentifier, stem, wordParts } from './tokenize.js'
import { createWordEdges, type WordEdges } from './word-edges.js'

interface Concept {
  index: number
  /** The word of the question, or the whole identifier. */
  word: string
  /** Its weight before rarity. */
  weight: number
  /** How often the question has it. */
  times: number
  /** A whole identifier: only the same identifier matches. */
  exact: boolean
  /** A word that stands outside identifiers. */
  plain: boolean
}

/** What a word of the code means: index and certainty of each concept, one after the other. */
export type Meaning = readonly number[]

export interface Query {
  concepts: readonly Concept[]
  /** The first so many concepts are the question's own; a model or earlier questions add the others. */
  own: number
  /** So many with these; the others are other words for the question's own. */
  said: number
  /** By stem. */
  meanings: ReadonlyMap<string, Meaning>
  /** The first two letters of all words that have a meaning. */
  beginnings: ReadonlySet<string>
  /** Cache: the meaning of words of the code. */
  known: Map<string, Meaning | undefined>
  /** How words begin and end that have a meaning in a name. */
  edges: WordEdges
  /** Cache: the meaning of words of names that are written together. */
  compounds: Map<string, Meaning | undefined>
  /** Concepts of whole identifiers. */
  identifiers: ReadonlyMap<string, number>
  /** Concepts that stand side by side in the question. */
  neighbours: readonly (readonly [number, number])[]
  /** It has words, and all of them are question words. */
  isGeneral: boolean
  /** It is in another language than the code, and no words of a model help. */
  isForeign: boolean
  asksForTests: boolean
  asksForDocuments: boolean
}

const conceptLimit = 100
/** Characters of a word. Longer words are encoded data, of which the beginning is enough. */
const wordLimit = 100

interface QueryDraft {
  concepts: Concept[]
  known: Map<string, Concept>
  forms: Map<string, [number, number]>
}

export function parseQuestion(
  question: string,
  { terms, earlier = [] }: Pick<Search, 'terms' | 'earlier'>,
  shape: Shape = 'question',
): Query {
  const draft: QueryDraft = { concepts: [], known: new Map(), forms: new Map() }
  const { title, body } = splitTitle(question.slice(0, 8_000), shape)
  const asked = [...addWords(draft, title, 1), ...addWords(draft, body, weights.body)]
  for (const concept of draft.concepts) concept.weight *= 1 + weights.repeated * Math.log2(concept.times)
  const own = draft.concepts.length
  // Code is mostly English, so for a question in another language the extra terms count in full.
  const foreign = !isEnglish(question)
  const wordsOf = (words: readonly string[]) => words.slice(0, 60).join(' ').slice(0, 4_000)
  const added = addWords(draft, wordsOf(terms), foreign ? 1 : weights.modelTerm)
  addWords(draft, wordsOf(earlier), weights.earlierTerm)
  const said = draft.concepts.length
  if (shape === 'question' || shape === 'name') addSynonyms(draft, own)
  const order = foreign ? [...asked, ...added] : asked
  const meanings = createMeanings(draft, order)
  const wanted = [...meanings.keys(), ...draft.concepts.map(({ word }) => word)]
  return {
    concepts: draft.concepts,
    own,
    said,
    meanings,
    beginnings: new Set(wanted.map(beginningOf)),
    edges: createWordEdges(
      wanted,
      draft.concepts.filter(isCompoundPart).map(({ word }) => word),
    ),
    known: new Map(),
    compounds: new Map(),
    identifiers: new Map(draft.concepts.filter(({ exact }) => exact).map(({ word, index }) => [word, index])),
    neighbours: findNeighbours(order),
    isGeneral: draft.concepts.length > 0 && draft.concepts.every(({ word }) => questionWords.has(word)),
    isForeign: foreign && terms.length === 0,
    asksForTests: /\btests?\b|\btesting\b|test_|Test[A-Z]/.test(question),
    asksForDocuments: /\bdocumentation\b|\bdocs\b|readme|changelog/i.test(question),
  }
}

/** Parts of an identifier mean that identifier, and no other words. */
function addSynonyms(draft: QueryDraft, own: number): void {
  for (const { word, weight, plain } of draft.concepts.slice(0, own)) {
    if (!plain || questionWords.has(word)) continue
    for (const other of synonymsOf(word)) {
      const isForm = draft.forms.has(stem(other))
      if (!isForm) addConcept(draft, stem(other), other, weight * weights.synonym, false)
    }
  }
}

/** The first line of a longer text is its title, and says most. */
function splitTitle(text: string, shape: Shape): { title: string; body: string } {
  const end = shape === 'question' || shape === 'name' ? -1 : text.trimStart().indexOf('\n')
  if (end < 0) return { title: text, body: '' }
  return { title: text.trimStart().slice(0, end), body: text.trimStart().slice(end) }
}

/** Adds the concepts of a text and returns them in the order of the text. */
function addWords(draft: QueryDraft, text: string, share: number): Concept[] {
  const order: Concept[] = []
  const ours = /\b(?:the|is|are|does|do|what|how|why|where|which|when|of|and|in|to)\b/i.test(text)
  for (const { word, identifier } of splitWords(text)) {
    if (identifier) addConcept(draft, `=${word}`, word, share, true)
    for (const part of splitIdentifier(word).flatMap(wordParts)) {
      if (!identifier && isStopWord(part, ours)) continue
      const weight = share * (questionWords.has(part) ? weights.questionWord : 1)
      const concept = addConcept(draft, stem(part), part, weight, false)
      if (!concept) continue
      concept.plain ||= !identifier
      order.push(concept)
    }
  }
  return order
}

function* splitWords(text: string): Generator<{ word: string; identifier: boolean }> {
  for (const [whole] of text
    .normalize('NFC')
    .matchAll(/[\p{L}\p{M}\p{Nd}_]+(?:(?:\.|::|\/|#)[\p{L}\p{M}\p{Nd}_]+)*/gu)) {
    const parts = whole.split(/\.|::|\/|#/)
    const dotted = parts.length > 1 && !/^[eg]$|^i$/.test(parts[0]!)
    for (const part of parts) {
      const word = part.slice(0, wordLimit)
      const identifier = dotted || /_|\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}/u.test(word)
      yield { word, identifier: identifier && part.length <= wordLimit }
    }
  }
}

/** `ours`: the text has English stop words. Without them, short words are probably stop words of another language. */
function isStopWord(word: string, ours: boolean): boolean {
  if (isUnspaced(word)) return false
  if (word.length < 2 || stopWords.has(word)) return true
  return !ours && word.length < 4 && /^\p{Ll}+$/u.test(word)
}

function addConcept(draft: QueryDraft, key: string, word: string, weight: number, exact: boolean): Concept | undefined {
  const known = draft.known.get(key)
  if (known) {
    known.weight = Math.max(known.weight, weight)
    known.times++
    return known
  }
  if (draft.concepts.length === conceptLimit || (!exact && /^[a-z\d]?$/.test(word))) return undefined
  const concept = { index: draft.concepts.length, word, weight, exact, plain: false, times: 1 }
  draft.concepts.push(concept)
  draft.known.set(key, concept)
  if (!exact) addForms(draft, key, concept)
  return concept
}

function addForms({ forms }: QueryDraft, key: string, concept: Concept): void {
  const put = (form: string, weight: number) => {
    if (!((forms.get(form)?.[1] ?? 0) >= weight)) forms.set(form, [concept.index, weight])
  }
  put(key, 1)
  for (const short of abbreviationsOf(concept.word)) put(stem(short), weights.abbreviation)
}

function createMeanings({ forms }: QueryDraft, order: readonly Concept[]): Map<string, Meaning> {
  const meanings = new Map<string, Meaning>(forms)
  // Two words of a question may be one word in code: file name, filename.
  for (const [index, first] of order.entries()) {
    const second = order[index + 1]
    if (!second || second === first || first.word.length < 2) continue
    const joined = stem(first.word + second.word)
    if (!meanings.has(joined)) meanings.set(joined, [first.index, 1, second.index, 1])
  }
  return meanings
}

function findNeighbours(order: readonly Concept[]): [number, number][] {
  const pairs = new Map<number, [number, number]>()
  for (const [index, first] of order.entries()) {
    for (const second of order.slice(index + 1, index + 3)) {
      if (first === second) continue
      const low = Math.min(first.index, second.index)
      const high = Math.max(first.index, second.index)
      pairs.set(low * conceptLimit + high, [low, high])
    }
  }
  return [...pairs.values()]
}

/** The meaning of a lower-case word of the code. A word of four letters and more may abbreviate a longer one. */
export function meaningOfWord(query: Query, word: string): Meaning | undefined {
  if (!query.beginnings.has(beginningOf(word))) return undefined
  if (query.known.has(word)) return query.known.get(word)
  const meaning = query.meanings.get(stem(word)) ?? (word.length < 4 ? undefined : meaningOfPrefix(query, word))
  query.known.set(word, meaning)
  return meaning
}

/** No stem is another one at its beginning. */
const beginningOf = (word: string) => word.slice(0, 2)

function meaningOfPrefix({ concepts }: Query, word: string): Meaning | undefined {
  const longer = concepts.find(
    (concept) => !concept.exact && concept.word.length >= word.length + 3 && concept.word.startsWith(word),
  )
  return longer && [longer.index, weights.prefix]
}

/** What a lower-case word of a name means, which may be written together with another: `slowlog`, `noproxy`. */
export function meaningInName(query: Query, word: string): Meaning | undefined {
  const meaning = meaningOfWord(query, word)
  if (meaning || word.length < 6) return meaning
  if (!query.compounds.has(word)) {
    const isPart = (part: string) => part.length + 2 <= word.length && (word.startsWith(part) || word.endsWith(part))
    const parts = query.concepts.filter((concept) => isCompoundPart(concept) && isPart(concept.word))
    query.compounds.set(word, parts.length === 0 ? undefined : parts.flatMap(({ index }) => [index, weights.compound]))
  }
  return query.compounds.get(word)
}

const isCompoundPart = ({ exact, word }: Concept) => !exact && word.length >= 4
