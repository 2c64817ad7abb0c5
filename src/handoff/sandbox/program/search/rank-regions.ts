// Second ranking: the places of the files that stand best. A place is scored by its words, its name, the name it stands in and its path; a file
// by its best places and by itself.

import { type Place, type Structure, structureOf } from './code-regions.js'
import type { Corpus } from './corpus.js'
import type { Query } from './query.js'
import { nameMeaning, type Standing, type Survey, saturated } from './rank-files.js'
import { weights } from './ranking-weights.js'
import { meaningBits, meaningMask } from './scan-words.js'
import { splitIdentifier } from './tokenize.js'

export interface Ranked extends Standing {
  structure: Structure
  /** Best first. */
  places: Place[]
  rank: number
}

/** Gives candidates their places and ranks; files that are no text after all fall out. */
export async function rankFiles(
  standings: readonly Standing[],
  corpus: Corpus,
  survey: Survey,
  query: Query,
): Promise<Ranked[]> {
  const contents = await corpus.read(standings.map(({ file }) => file))
  const ranked: Ranked[] = []
  for (const standing of standings) {
    const bytes = contents.get(standing.file.index)
    const structure = bytes && structureOf(standing.file, bytes)
    if (structure) ranked.push({ ...standing, structure, places: structure.places, rank: 0 })
  }
  scorePlaces(ranked, survey, query)
  for (const file of ranked) file.rank = rankOf(file)
  return ranked.sort((a, b) => b.rank - a.rank)
}

function rankOf({ places, score }: Ranked): number {
  places.sort((a, b) => b.score - a.score)
  const [first, second, third] = places
  return (
    (first?.score ?? 0) +
    weights.secondPlace * (second?.score ?? 0) +
    weights.thirdPlace * (third?.score ?? 0) +
    weights.wholeFile * score
  )
}

function scorePlaces(ranked: readonly Ranked[], survey: Survey, query: Query): void {
  const pairs = pairRarity(ranked, survey, query)
  let bytes = 0
  let count = 0
  for (const { structure } of ranked) {
    for (const place of structure.places) bytes += place.bytes
    count += structure.places.length
  }
  const average = bytes / Math.max(1, count)
  for (const file of ranked) scoreFile(file, survey, query, pairs, average)
}

function scoreFile(file: Ranked, survey: Survey, query: Query, pairs: PairRarity, average: number): void {
  const { hits } = survey
  const times = new Float64Array(query.concepts.length)
  const namesOf = nameReader(query)
  let first = file.from
  for (const place of file.places) {
    times.fill(0)
    while (first < file.to && hits[first]! >> meaningBits < place.from) first++
    if (!countWords(times, file, place, first, survey)) {
      place.score = 0
      continue
    }
    // A heading is a sentence, and says little more than the lines below it.
    const isHeading = place.definition?.kind === 'heading'
    const own = place.definition && !isHeading ? namesOf(place.definition.name) : undefined
    addNames(times, own, weights.ownName)
    if (place.enclosing && !isHeading) addNames(times, namesOf(place.enclosing.name), weights.enclosingName)
    addNames(times, file.path, weights.path)
    let sum = bm25(times, survey.rarity, Math.max(weights.leastLength, place.bytes / average))
    if (own && place.definition) sum += weights.nameCoverage * coverage(place.definition.name, own, survey.rarity)
    sum += weights.neighbours * pairs.of(file, place)
    place.score = sum * file.factor
  }
}

/** What names of definitions say; many regions share the name of the definition around them. */
function nameReader(query: Query): (name: string) => Map<number, number> {
  const known = new Map<string, Map<number, number>>()
  return (name) => {
    const found = known.get(name) ?? nameMeaning(query, name)
    known.set(name, found)
    exact(query, name, found)
    return found
  }
}

/** Adds how often each concept stands in the region. Returns false when only lines that import have hits. */
function countWords(times: Float64Array, file: Ranked, place: Place, first: number, survey: Survey): boolean {
  const { hits, meanings } = survey
  const { imports } = file.structure
  let found = false
  for (let at = first; at < file.to && hits[at]! >> meaningBits <= place.to; at++) {
    if (imports[hits[at]! >> meaningBits] === 1) continue
    found = true
    const meaning = meanings[hits[at]! & meaningMask]!
    for (let part = 0; part < meaning.length; part += 2) times[meaning[part]!]! += meaning[part + 1]!
  }
  return found
}

function bm25(times: Float64Array, rarity: Float64Array, length: number): number {
  let sum = 0
  for (let concept = 0; concept < times.length; concept++) {
    if (times[concept]! > 0) sum += rarity[concept]! * saturated(times[concept]!, length)
  }
  return sum
}

function exact(query: Query, name: string, meaning: Map<number, number>): void {
  const concept = query.identifiers.get(name)
  if (concept !== undefined) meaning.set(concept, 1)
}

function addNames(times: Float64Array, meaning: Map<number, number> | undefined, share: number): void {
  for (const [concept, weight] of meaning ?? []) times[concept]! += share * weight
}

/** Names most of whose parts the question has are what the question speaks of. */
function coverage(name: string, meaning: Map<number, number>, rarity: Float64Array): number {
  if (meaning.size === 0) return 0
  let sum = 0
  for (const [concept, weight] of meaning) sum += rarity[concept]! * weight
  return (sum * meaning.size) / Math.max(meaning.size, splitIdentifier(name).length)
}

interface PairRarity {
  of(file: Ranked, place: Place): number
}

/** Neighbours in the question that stand on one line of the code: which there are, and how rare each such pair is. */
function pairRarity(ranked: readonly Ranked[], survey: Survey, query: Query): PairRarity {
  const findPairs = pairFinder(survey, query)
  const found = new Map(ranked.map((file) => [file, findPairs(file)]))
  const frequency = new Float64Array(query.neighbours.length)
  let places = 0
  for (const [file, pairs] of found) {
    places += file.places.length
    for (const { pair } of pairs) frequency[pair]!++
  }
  const rarity = Float64Array.from(query.neighbours, ([low, high], pair) => {
    const count = Math.min(frequency[pair]!, places)
    const weight = Math.min(query.concepts[low]!.weight, query.concepts[high]!.weight)
    return Math.log(1 + (places - count + 0.5) / (count + 0.5)) * weight
  })
  return { of: (file, place) => pairsIn(found.get(file) ?? [], place, rarity) }
}

interface PairHit {
  line: number
  /** Index in `query.neighbours`. */
  pair: number
}

/** Finds the pairs of a file, in the order of lines. */
function pairFinder({ hits, meanings }: Survey, query: Query): (file: Ranked) => PairHit[] {
  const partners: [number, number][][] = query.concepts.map(() => [])
  for (const [index, [low, high]] of query.neighbours.entries()) {
    partners[low]!.push([high, index])
    partners[high]!.push([low, index])
  }
  // The stamp of the line on which a concept was seen last.
  const stamps = new Int32Array(query.concepts.length).fill(-1)
  let stamp = 0
  const addPairs = (list: PairHit[], line: number, concept: number) => {
    if (stamps[concept] === stamp) return
    stamps[concept] = stamp
    for (const [partner, pair] of partners[concept]!) {
      if (stamps[partner] === stamp && partner !== concept) list.push({ line, pair })
    }
  }
  return (file) => {
    const list: PairHit[] = []
    let line = -1
    for (let at = file.from; at < file.to; at++) {
      const here = hits[at]! >> meaningBits
      if (here !== line) stamp++
      line = here
      const meaning = meanings[hits[at]! & meaningMask]!
      for (let part = 0; part < meaning.length; part += 2) addPairs(list, here, meaning[part]!)
    }
    return list
  }
}

/** The rarity of the distinct pairs in a region. The list is in the order of lines. */
function pairsIn(list: readonly PairHit[], place: Place, rarity: Float64Array): number {
  let low = 0
  for (let high = list.length; low < high; ) {
    const middle = (low + high) >> 1
    if (list[middle]!.line < place.from) low = middle + 1
    else high = middle
  }
  const seen = new Set<number>()
  let sum = 0
  for (let at = low; at < list.length && list[at]!.line <= place.to; at++) {
    const { pair } = list[at]!
    if (seen.has(pair)) continue
    seen.add(pair)
    sum += rarity[pair]!
  }
  return sum
}
