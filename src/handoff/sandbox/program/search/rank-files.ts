// First ranking: scores every file by its words, its path and its best block of lines. It is cheap enough for all files; only the best ones go to
// the second ranking.
import type { DirectoryWords } from '../../../domain/summary/summary-record.js'
import { awaitedLater } from '../../../util/abort.js'
import type { Corpus } from './corpus.js'
import { findHits, type WordIndex } from './find-hits.js'
import { createPathReader, type PathMeaning, type ReadPath, readPaths } from './path-meaning.js'
import type { Query } from './query.js'
import { sizes, weights } from './ranking-weights.js'
import { blockBits, blocksOf, createWordScanner, meaningBits, meaningMask, type WordScanner } from './scan-words.js'
import { isBinary, type SourceFile } from './source-files.js'

export interface FileScore {
  file: SourceFile
  lines: number
  /** The range of this file in `hits`. */
  from: number
  to: number
  /** BM25 of the whole file, times `factor`. */
  score: number
  /** The same for its best block of lines. */
  blockScore: number
  factor: number
  /** How certainly the path means each concept. */
  pathMeaning: PathMeaning
}

/** No integer: V8 changes the shape of an object when a field with an integer gets its first fraction, which takes longer than the scoring. */
const unscored = Number.NaN

/** A file without a word of the question, which is a candidate for another reason. */
export function emptyScore(file: SourceFile): FileScore {
  return { file, lines: 0, from: 0, to: 0, score: 0, blockScore: 0, factor: 1, pathMeaning: new Map() }
}

export interface SearchStats {
  scores: FileScore[]
  /** May be another array after `locate`. */
  readonly hits: Int32Array
  meanings: WordScanner['meanings']
  /** How rare each concept is among blocks, times its weight. */
  rarity: Float64Array
  /** How rare each concept is among files, times its weight. */
  fileRarity: Float64Array
  /** Finds the lines of a file's hits, where only their blocks are known. The byte after `bytes` is 0. */
  locate(score: FileScore, bytes: Buffer): void
}

export async function scoreFiles(
  corpus: Corpus,
  query: Query,
  words: readonly DirectoryWords[] = [],
): Promise<SearchStats> {
  const scanner = createWordScanner(query)
  const scores: FileScore[] = []
  const pathMeaning = createPathReader(query, words)
  let blocks = 0
  const take: TakeFile = (file, path, lines, from, to) => {
    blocks += blocksOf(lines)
    if (to === from && path.size === 0) return
    const factor = kindFactor(file, query)
    scores.push({ file, lines, from, to, score: unscored, blockScore: unscored, factor, pathMeaning: path })
  }
  if (!('readAll' in corpus.words)) {
    await takeFromIndex(corpus.words, query, scanner, pathMeaning, take)
    return computeStats(scores, scanner, query, corpus.files.length, blocks)
  }
  await corpus.words.readAll((file, bytes) => {
    if (isBinary(bytes, file.size)) return
    const from = scanner.hitCount
    const lines = scanner.scan(bytes, file.size)
    take(file, pathMeaning(file), lines, from, scanner.hitCount)
  })
  const stats = computeStats(scores, scanner, query, corpus.files.length, blocks)
  return { ...stats, locate: () => undefined }
}

type TakeFile = (file: SourceFile, path: PathMeaning, lines: number, from: number, to: number) => void

async function takeFromIndex(
  index: WordIndex,
  query: Query,
  scanner: WordScanner,
  pathMeaning: ReadPath,
  take: TakeFile,
): Promise<void> {
  const finding = awaitedLater(findHits(index, query, scanner))
  const paths = await readPaths(index, pathMeaning)
  const { hits, starts } = await finding
  scanner.hits = hits
  scanner.hitCount = hits.length
  for (const [order, { file, firstBlock, lines }] of index.texts.entries())
    take(file, paths[order]!, lines, starts[firstBlock]!, starts[firstBlock + blocksOf(lines)]!)
}

function kindFactor(file: SourceFile, query: Query): number {
  let factor = 1
  if (file.kind === 'test')
    factor *= query.asksForTests
      ? weights.testWhenAsked
      : file.grammar === 'python'
        ? weights.testInPython
        : weights.test
  if (file.kind === 'documentation' || file.kind === 'configuration') {
    factor *= query.asksForDocuments ? weights.documentationWhenAsked : weights.documentation
  } else if (file.isExample || file.kind === 'vendored') factor *= weights.example
  return factor
}

function computeStats(
  scores: FileScore[],
  scanner: WordScanner,
  query: Query,
  files: number,
  blocks: number,
): SearchStats {
  const count = query.concepts.length
  const { hits, meanings } = scanner
  const fileFrequency = new Float64Array(count)
  const blockFrequency = new Float64Array(count)
  const lastFile = new Int32Array(count).fill(-1)
  const lastBlock = new Int32Array(count)
  let bytes = 0
  for (const [number, { file, from, to }] of scores.entries()) {
    bytes += file.size
    for (let at = from; at < to; at++) {
      const block = hits[at]! >> (meaningBits + blockBits)
      const meaning = meanings[hits[at]! & meaningMask]!
      for (let part = 0; part < meaning.length; part += 2) {
        const concept = meaning[part]!
        if (lastFile[concept] !== number) fileFrequency[concept]!++
        else if (lastBlock[concept] === block) continue
        lastFile[concept] = number
        lastBlock[concept] = block
        blockFrequency[concept]!++
      }
    }
  }
  const stats: SearchStats = {
    scores,
    get hits() {
      return scanner.hits
    },
    meanings,
    locate(score, text) {
      if (score.from === score.to) return
      score.from = scanner.hitCount
      // The byte after the text.
      scanner.scan(new Uint8Array(text.buffer, text.byteOffset, text.length + 1), text.length)
      score.to = scanner.hitCount
    },
    rarity: computeRarity(query, blockFrequency, blocks),
    fileRarity: computeRarity(query, fileFrequency, files),
  }
  const averageSize = bytes / Math.max(1, scores.length)
  const scoreOne = createScorer(stats, count, averageSize)
  for (const score of scores) scoreOne(score)
  return stats
}

function computeRarity(query: Query, frequency: Float64Array, all: number): Float64Array {
  return Float64Array.from(query.concepts, ({ weight }, concept) => {
    const count = Math.min(frequency[concept]!, all)
    return Math.log(1 + (all - count + 0.5) / (count + 0.5)) * weight
  })
}

function createScorer(stats: SearchStats, count: number, averageSize: number): (score: FileScore) => void {
  const { hits, meanings, rarity, fileRarity } = stats
  const wholeCounts = new Float64Array(count)
  const blockCounts = new Float64Array(count)
  const touched: number[] = []

  /** Returns the score of the current block and starts a new one. */
  const closeBlock = (): number => {
    let sum = 0
    if (touched.length > 1) touched.sort((a, b) => a - b)
    for (const concept of touched) {
      sum += rarity[concept]! * saturate(exact(blockCounts[concept]!), 1)
      blockCounts[concept] = 0
    }
    touched.length = 0
    return sum
  }

  return (score) => {
    let current = -1
    let best = 0
    wholeCounts.fill(0)
    for (let at = score.from; at < score.to; at++) {
      const block = hits[at]! >> (meaningBits + blockBits)
      if (block !== current) best = Math.max(best, closeBlock())
      current = block
      const meaning = meanings[hits[at]! & meaningMask]!
      for (let part = 0; part < meaning.length; part += 2) {
        const concept = meaning[part]!
        wholeCounts[concept]! += meaning[part + 1]!
        if (blockCounts[concept] === 0) touched.push(concept)
        blockCounts[concept]! += meaning[part + 1]!
      }
    }
    best = Math.max(best, closeBlock())
    for (const [concept, weight] of score.pathMeaning)
      wholeCounts[concept] = exact(wholeCounts[concept]!) + weights.filePath * weight
    let sum = 0
    for (let concept = 0; concept < count; concept++) {
      if (wholeCounts[concept]! > 0)
        sum += fileRarity[concept]! * saturate(exact(wholeCounts[concept]!), score.file.size / averageSize)
    }
    score.score = sum * score.factor
    score.blockScore = best * score.factor
  }
}

/** A sum in any order is the same. */
const exact = (sum: number) => Math.round(sum * 1_000) / 1_000

/** BM25's saturation of repeated words. `length` is a multiple of the average length. */
export function saturate(times: number, length: number): number {
  const { saturation, lengthPenalty } = weights
  return (times * (saturation + 1)) / (times + saturation * (1 - lengthPenalty + lengthPenalty * length))
}

export function selectCandidates({ scores }: SearchStats): FileScore[] {
  const byFile = highest(scores, ({ score }) => score, sizes.candidates)
  const known = new Set(byFile)
  const others = scores.filter((score) => !known.has(score))
  return [...byFile, ...highest(others, ({ blockScore }) => blockScore, Math.floor(sizes.candidates / 3))]
}

/** Best first. Only those are put in order that are not below the last one. */
function highest(scores: readonly FileScore[], of: (score: FileScore) => number, count: number): FileScore[] {
  const values = new Float64Array(scores.length)
  for (const [at, score] of scores.entries()) values[at] = of(score)
  const least = values.sort().at(-count) ?? Number.NEGATIVE_INFINITY
  const enough = scores.filter((score) => of(score) >= least)
  return enough.sort((a, b) => of(b) - of(a)).slice(0, count)
}
