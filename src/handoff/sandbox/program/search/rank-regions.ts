// Second ranking: scores the regions of the best files. A region is scored by its words, its name, the name around it and its path; a file by its best
// regions and its own score.

import { type CodeRegion, type FileStructure, parseStructure } from './code-regions.js'
import type { Corpus } from './corpus.js'
import { nameMeaning, type PathMeaning } from './path-meaning.js'
import type { Query } from './query.js'
import { type FileScore, type SearchStats, saturate } from './rank-files.js'
import { weights } from './ranking-weights.js'
import { meaningBits, meaningMask } from './scan-words.js'
import { splitIdentifier } from './tokenize.js'

export interface RankedFile extends FileScore {
  structure: FileStructure
  /** Best first. */
  regions: CodeRegion[]
  rank: number
  /** Filled when relations are known. */
  features: Float64Array
}

/** Splits the candidates into regions and ranks them. Files that are not text are dropped. */
export async function rankCandidates(
  scores: readonly FileScore[],
  corpus: Corpus,
  stats: SearchStats,
  query: Query,
): Promise<RankedFile[]> {
  const contents = await corpus.read(scores.map(({ file }) => file))
  const ranked: RankedFile[] = []
  for (const score of scores) {
    const bytes = contents.get(score.file.index)
    const structure = bytes && parseStructure(score.file, bytes)
    if (structure) stats.locate(score, bytes)
    if (structure)
      ranked.push({ ...score, structure, regions: structure.regions, rank: 0, features: new Float64Array(0) })
  }
  scoreRegions(ranked, stats, query)
  for (const file of ranked) file.rank = rankFromScores(file)
  return ranked.sort((a, b) => b.rank - a.rank)
}

function rankFromScores({ regions, score }: RankedFile): number {
  regions.sort((a, b) => b.score - a.score)
  const [first, second, third] = regions
  return (
    (first?.score ?? 0) +
    weights.secondRegion * (second?.score ?? 0) +
    weights.thirdRegion * (third?.score ?? 0) +
    weights.wholeFile * score
  )
}

function scoreRegions(ranked: readonly RankedFile[], stats: SearchStats, query: Query): void {
  const pairs = createPairScores(ranked, stats, query)
  let bytes = 0
  let count = 0
  for (const { structure } of ranked) {
    for (const region of structure.regions) bytes += region.bytes
    count += structure.regions.length
  }
  const average = bytes / Math.max(1, count)
  for (const file of ranked) scoreFile(file, stats, query, pairs, average)
}

function scoreFile(file: RankedFile, stats: SearchStats, query: Query, pairs: PairScores, average: number): void {
  const { hits } = stats
  const times = new Float64Array(query.concepts.length)
  const namesOf = createNameReader(query)
  let first = file.from
  for (const region of file.regions) {
    times.fill(0)
    while (first < file.to && hits[first]! >> meaningBits < region.from) first++
    // A file that only its path or its directory's words lead to shows its best names.
    if (!countWords(times, file, region, first, stats) && file.from < file.to) {
      region.score = 0
      continue
    }
    // A heading is a sentence that repeats the lines below it.
    const isHeading = region.definition?.kind === 'heading'
    const own = region.definition && !isHeading ? namesOf(region.definition.name) : undefined
    addNames(times, own, weights.ownName)
    if (region.enclosing && !isHeading) addNames(times, namesOf(region.enclosing.name), weights.enclosingName)
    addNames(times, file.pathMeaning, weights.path)
    let sum = bm25(times, stats.rarity, Math.max(weights.leastLength, region.bytes / average))
    if (own && region.definition) sum += weights.nameCoverage * nameCoverage(region.definition.name, own, stats.rarity)
    sum += weights.neighbours * pairs.of(file, region)
    region.score = sum * file.factor
  }
}

/** What names of definitions say; many regions share the name of the definition around them. */
function createNameReader(query: Query): (name: string) => PathMeaning {
  const known = new Map<string, PathMeaning>()
  return (name) => {
    const before = known.get(name)
    if (before) return before
    const meaning = nameMeaning(query, name)
    const identifier = query.identifiers.get(name)
    const found = identifier === undefined ? meaning : new Map([...meaning, [identifier, 1]])
    known.set(name, found)
    return found
  }
}

/** Adds how often each concept stands in the region. Returns false when only lines that import have hits. */
function countWords(
  times: Float64Array,
  file: RankedFile,
  region: Pick<CodeRegion, 'from' | 'to'>,
  first: number,
  stats: SearchStats,
): boolean {
  const { hits, meanings } = stats
  const { imports } = file.structure
  let found = false
  for (let at = first; at < file.to && hits[at]! >> meaningBits <= region.to; at++) {
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
    if (times[concept]! > 0) sum += rarity[concept]! * saturate(times[concept]!, length)
  }
  return sum
}

function addNames(times: Float64Array, meaning: ReadonlyMap<number, number> | undefined, share: number): void {
  for (const [concept, weight] of meaning ?? []) times[concept]! += share * weight
}

/** The more of a name's words are in the question, the more likely the question means it. */
export function nameCoverage(name: string, meaning: ReadonlyMap<number, number>, rarity: Float64Array): number {
  if (meaning.size === 0) return 0
  let sum = 0
  for (const [concept, weight] of meaning) sum += rarity[concept]! * weight
  return (sum * meaning.size) / Math.max(meaning.size, splitIdentifier(name).length)
}

interface PairScores {
  of(file: RankedFile, region: CodeRegion): number
}

/** Scores pairs of words that are neighbours in the question and share a line of code, by their rarity. */
function createPairScores(ranked: readonly RankedFile[], stats: SearchStats, query: Query): PairScores {
  const findPairs = pairFinder(stats, query)
  const found = new Map(ranked.map((file) => [file, findPairs(file)]))
  const frequency = new Float64Array(query.neighbours.length)
  let regions = 0
  for (const [file, pairs] of found) {
    regions += file.regions.length
    for (const { pair } of pairs) frequency[pair]!++
  }
  const rarity = Float64Array.from(query.neighbours, ([low, high], pair) => {
    const count = Math.min(frequency[pair]!, regions)
    const weight = Math.min(query.concepts[low]!.weight, query.concepts[high]!.weight)
    return Math.log(1 + (regions - count + 0.5) / (count + 0.5)) * weight
  })
  return { of: (file, region) => sumPairs(found.get(file) ?? [], region, rarity) }
}

interface PairHit {
  line: number
  /** Index in `query.neighbours`. */
  pair: number
}

/** Finds the pairs of a file, in the order of lines. */
function pairFinder({ hits, meanings }: SearchStats, query: Query): (file: RankedFile) => PairHit[] {
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
function sumPairs(list: readonly PairHit[], region: CodeRegion, rarity: Float64Array): number {
  let low = 0
  for (let high = list.length; low < high; ) {
    const middle = (low + high) >> 1
    if (list[middle]!.line < region.from) low = middle + 1
    else high = middle
  }
  const seen = new Set<number>()
  let sum = 0
  for (let at = low; at < list.length && list[at]!.line <= region.to; at++) {
    const { pair } = list[at]!
    if (seen.has(pair)) continue
    seen.add(pair)
    sum += rarity[pair]!
  }
  return sum
}
