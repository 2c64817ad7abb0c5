// First ranking: how every file stands to the question, from its words, its path and its best stretch of lines. Cheap enough for all of them;
// only the best are looked at closely.
import type { Corpus, SourceFile } from './corpus.js'
import type { DefinitionNotes } from './definition-index.js'
import { meaningOf, type Query } from './query.js'
import { sizes, weights } from './ranking-weights.js'
import { createScanner, meaningBits, meaningMask, type Scanner } from './scan-words.js'
import { splitIdentifier } from './tokenize.js'

export interface Standing {
  file: SourceFile
  lines: number
  /** Where in `hits` this file's begin and end. */
  from: number
  to: number
  /** BM25 of the whole file, times what kind of file it is. */
  score: number
  /** The same of its best stretch of lines. */
  stretch: number
  factor: number
  /** How surely the path says each concept. */
  path: Map<number, number>
}

export interface Survey {
  standings: Standing[]
  hits: Int32Array
  meanings: Scanner['meanings']
  /** How rare each concept is among stretches of lines, times what it counts for. */
  rarity: Float64Array
  /** The same among files. */
  fileRarity: Float64Array
}

/** A stretch is 32 lines. */
const stretchBits = 5

export async function standingsOf(corpus: Corpus, query: Query, notes: DefinitionNotes | undefined): Promise<Survey> {
  const scanner = createScanner(query, notes)
  const standings: Standing[] = []
  const pathMeaning = pathReader(query)
  const stubs = stubsOf(corpus)
  let stretches = 0
  await corpus.readAll((file, bytes) => {
    if (bytes.indexOf(0) < Math.min(file.size, 8_000)) return
    const from = scanner.hitCount
    notes?.begin(file.path)
    const lines = scanner.look(bytes, file.size)
    stretches += (lines >> stretchBits) + 1
    const path = pathMeaning(file)
    if (scanner.hitCount > from || path.size > 0) {
      const factor = factorOf(file, query, stubs.has(file.path))
      standings.push({ file, lines, from, to: scanner.hitCount, score: 0, stretch: 0, factor, path })
    }
  })
  return measure(standings, scanner, query, corpus.files.length, stretches)
}

/** Folders are thought about once. */
function pathReader(query: Query): (file: SourceFile) => Map<number, number> {
  const folders = new Map<string, Map<number, number>>()
  return ({ directory, name }) => {
    let folder = folders.get(directory)
    if (!folder) {
      folder = nameMeaning(query, directory)
      folders.set(directory, folder)
    }
    return nameMeaning(query, name.replace(/\.\w+$/, ''), new Map(folder))
  }
}

/** How surely a name says each concept. */
export function nameMeaning(query: Query, name: string, found = new Map<number, number>()): Map<number, number> {
  for (const part of splitIdentifier(name)) {
    const meaning = meaningOf(query, part)
    if (!meaning) continue
    for (let at = 0; at < meaning.length; at += 2) {
      if (meaning[at + 1]! > (found.get(meaning[at]!) ?? 0)) found.set(meaning[at]!, meaning[at + 1]!)
    }
  }
  return found
}

/** Declarations that stand beside what they declare say the same again. */
function stubsOf({ files }: Corpus): Set<string> {
  const stubs = files.filter(({ name }) => /\.(?:pyi|d\.[cm]?ts)$/.test(name)).map(({ path }) => path)
  if (stubs.length === 0) return new Set()
  const paths = new Set(files.map(({ path }) => path))
  return new Set(
    stubs.filter((path) => {
      const bare = path.replace(/\.(?:pyi|d\.[cm]?ts)$/, '')
      return ['.py', '.pyx', '.js', '.mjs', '.cjs', '.ts'].some((ending) => paths.has(bare + ending))
    }),
  )
}

function factorOf(file: SourceFile, query: Query, isStub: boolean): number {
  let factor = 1
  if (file.kind === 'test') factor *= query.asksForTests ? weights.testWhenAsked : weights.test
  if (file.kind === 'documentation' || file.kind === 'configuration') {
    factor *= query.asksForDocuments ? weights.documentationWhenAsked : weights.documentation
  } else if (file.isExample || file.kind === 'vendored') factor *= weights.example
  return isStub ? factor * weights.stub : factor
}

function measure(standings: Standing[], scanner: Scanner, query: Query, files: number, stretches: number): Survey {
  const count = query.concepts.length
  const { hits, meanings } = scanner
  const fileFrequency = new Float64Array(count)
  const stretchFrequency = new Float64Array(count)
  const lastFile = new Int32Array(count).fill(-1)
  const lastStretch = new Int32Array(count)
  let bytes = 0
  for (const [number, { file, from, to }] of standings.entries()) {
    bytes += file.size
    for (let at = from; at < to; at++) {
      const stretch = hits[at]! >> (meaningBits + stretchBits)
      const meaning = meanings[hits[at]! & meaningMask]!
      for (let part = 0; part < meaning.length; part += 2) {
        const concept = meaning[part]!
        if (lastFile[concept] !== number) fileFrequency[concept]!++
        else if (lastStretch[concept] === stretch) continue
        lastFile[concept] = number
        lastStretch[concept] = stretch
        stretchFrequency[concept]!++
      }
    }
  }
  const survey: Survey = {
    standings,
    hits,
    meanings,
    rarity: rarities(query, stretchFrequency, stretches),
    fileRarity: rarities(query, fileFrequency, files),
  }
  const averageSize = bytes / Math.max(1, standings.length)
  const scorer = createScorer(survey, count, averageSize)
  for (const standing of standings) scorer(standing)
  return survey
}

function rarities(query: Query, frequency: Float64Array, all: number): Float64Array {
  return Float64Array.from(query.concepts, ({ weight }, concept) => {
    const count = Math.min(frequency[concept]!, all)
    return Math.log(1 + (all - count + 0.5) / (count + 0.5)) * weight
  })
}

function createScorer(survey: Survey, count: number, averageSize: number): (standing: Standing) => void {
  const { hits, meanings, rarity, fileRarity } = survey
  const whole = new Float64Array(count)
  const here = new Float64Array(count)
  let touched: number[] = []

  /** What a stretch of lines is worth, and an end to it. */
  const closeStretch = (): number => {
    let sum = 0
    for (const concept of touched) {
      sum += rarity[concept]! * saturated(here[concept]!, 1)
      here[concept] = 0
    }
    touched = []
    return sum
  }

  return (standing) => {
    let current = -1
    let best = 0
    whole.fill(0)
    for (let at = standing.from; at < standing.to; at++) {
      const stretch = hits[at]! >> (meaningBits + stretchBits)
      if (stretch !== current) best = Math.max(best, closeStretch())
      current = stretch
      const meaning = meanings[hits[at]! & meaningMask]!
      for (let part = 0; part < meaning.length; part += 2) {
        const concept = meaning[part]!
        whole[concept]! += meaning[part + 1]!
        if (here[concept] === 0) touched.push(concept)
        here[concept]! += meaning[part + 1]!
      }
    }
    best = Math.max(best, closeStretch())
    for (const [concept, weight] of standing.path) whole[concept]! += weights.filePath * weight
    let sum = 0
    for (let concept = 0; concept < count; concept++) {
      if (whole[concept]! > 0)
        sum += fileRarity[concept]! * saturated(whole[concept]!, standing.file.size / averageSize)
    }
    standing.score = sum * standing.factor
    standing.stretch = best * standing.factor
  }
}

/** BM25's answer to repetition, in text whose length is a multiple of the average. */
export function saturated(times: number, length: number): number {
  const { saturation, lengthPenalty } = weights
  return (times * (saturation + 1)) / (times + saturation * (1 - lengthPenalty + lengthPenalty * length))
}

export function bestCandidates(survey: Survey): Standing[] {
  const byFile = survey.standings.toSorted((a, b) => b.score - a.score).slice(0, sizes.candidates)
  const known = new Set(byFile)
  const byStretch = survey.standings
    .toSorted((a, b) => b.stretch - a.stretch)
    .filter((standing) => !known.has(standing))
    .slice(0, sizes.candidates / 3)
  return [...byFile, ...byStretch]
}
