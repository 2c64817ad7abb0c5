// Finds the lines of a commit that bear on a question.
import type { Excerpt } from '../../../domain/answer.js'
import type { Search } from '../../../domain/sandbox-protocol.js'
import type { Card, Searched } from '../../../domain/sandbox-protocol-decoder.js'
import type { DirectoryWords } from '../../../domain/summary/summary-record.js'
import type { Outline } from '../../../domain/survey.js'
import { awaitedLater } from '../../../util/abort.js'
import { type Corpus, openCorpus } from './corpus.js'
import { definitionsIn, type FindDefinitions } from './definition-sites.js'
import { codeNames, describeFiles, findDefined, scoreOf } from './features.js'
import { cardsOf } from './file-cards.js'
import { countableIdentifiers, keysOfQuery } from './find-hits.js'
import { addNamedCandidates, boostNamedRegions, extractNamedFiles, overviewFiles } from './named-files.js'
import { parseQuestion, type Query } from './query.js'
import { type Shape, shapeOf } from './question-shape.js'
import { emptyScore, type FileScore, type SearchStats, scoreFiles, selectCandidates } from './rank-files.js'
import { type RankedFile, rankCandidates } from './rank-regions.js'
import { type FileWeights, sizes, tables, weights } from './ranking-weights.js'
import { keysOfNames, type WantedKeys } from './read-index.js'
import { findRelations, type Relations } from './relations.js'
import { createWordScanner, meaningMask } from './scan-words.js'
import { selectExcerpts } from './select-excerpts.js'
import type { SourceFile } from './source-files.js'
import { questionWords } from './stop-words.js'
import { findSummaryHints, type Hint, strongestHints } from './summary-hints.js'
import { readTeamNotes } from './team-notes.js'

interface FindOptions {
  search: Search
  /** The repository's summary; the lines that it cites count as weak hints. */
  summary?: string
  /** Words that the summary gives to directories. */
  words?: readonly DirectoryWords[]
  findDefinitions: FindDefinitions
  /** The weights of the ranking, by shape. */
  weights?: Record<Shape, FileWeights>
}

export interface SearchResult {
  /** Best file first, each file's lines in their order. */
  excerpts: Excerpt[]
  searched: Searched
  /** What the repository says to agents. */
  notes: Excerpt[]
  /** Where the ranking is unsure and cards are wanted. */
  cards: Card[]
}

interface Ranking {
  shape: Shape
  query: Query
  stats: SearchStats
  /** Best first. */
  files: RankedFile[]
}

/** Searches a bare repository by reading all files. */
export async function find({
  gitDirectory,
  commit,
  outline,
  ...options
}: Omit<FindOptions, 'findDefinitions'> & {
  gitDirectory: string
  commit: string
  outline: Outline
}): Promise<SearchResult> {
  return findInCorpus(await openCorpus(gitDirectory, commit), { ...options, findDefinitions: definitionsIn(outline) })
}

export async function findInCorpus(corpus: Corpus, options: FindOptions): Promise<SearchResult> {
  const notes = awaitedLater(readTeamNotes(corpus))
  const ranking = await rankFiles(corpus, options)
  const { files } = ranking
  const contents = await corpus.read(files.slice(0, sizes.competing).map(({ file }) => file))
  return {
    excerpts: selectExcerpts(files, contents, options.search),
    searched: describeSearch(corpus, ranking),
    notes: await notes,
    cards: options.search.cards ? cardsOf(files) : [],
  }
}

/** What the ranking of files looks up, but for the words that the question shares with a path of the commit. */
export function wantedKeys(search: Search): WantedKeys {
  const query = parseQuestion(search.question.slice(0, longestQuestion), search, shapeOf(search.question))
  const names = keysOfNames(codeNames(search.question))
  return { ...keysOfQuery(query, countableIdentifiers(query, createWordScanner(query))), names }
}

const longestQuestion = 8_000

/** Ranks files by their own words, then by how they relate to the best of them. */
export async function rankFiles(
  corpus: Corpus,
  { search, summary = '', words = [], findDefinitions, weights: byShape = tables }: FindOptions,
): Promise<Ranking> {
  const shape = shapeOf(search.question)
  const { text, named: mentioned } = extractNamedFiles(search.question.slice(0, longestQuestion), corpus.files)
  const query = parseQuestion(text, search, shape)
  const overview = query.isGeneral
    ? overviewFiles(corpus.files, 1)
    : query.isForeign
      ? overviewFiles(corpus.files, weights.overview)
      : []
  const named = [...mentioned, ...overview]
  const [stats, defined] = await Promise.all([
    scoreFiles(corpus, query, words),
    findDefined(search.question, findDefinitions),
  ])
  const candidates = addNamedCandidates(selectCandidates(stats), stats, named)
  const ranked = await rankCandidates(candidates, corpus, stats, query)
  const relations = await findRelations(ranked, corpus.files, findDefinitions)
  const hints = findSummaryHints(summary, query, stats)
  const evidence = { query, stats, named, relations, hints: strongestHints(hints), defined }
  const inherited = new Map([...relations.inherited.keys()].map((path) => [path, 1]))
  const added = relatedNonCandidates(corpus.files, stats, ranked, [
    relations.uses,
    relations.tested,
    inherited,
    defined,
  ])
  const all = [...ranked, ...(await rankCandidates(added, corpus, stats, query))]
  boostNamedRegions(all, named)
  boostRegions(all, relations, hints)
  const rows = describeFiles(all, evidence)
  for (const [index, file] of all.entries()) {
    file.features = rows[index]!
    file.rank = scoreOf(file.features, byShape[shape])
  }
  placeInherited(all, relations.inherited)
  placeChosen(all, search.chosen ?? [])
  return { shape, query, stats, files: all.sort((a, b) => b.rank - a.rank) }
}

/** Of many files with the same definition the best comes first, then what they inherit from, then the others. */
function placeInherited(all: readonly RankedFile[], inherited: Relations['inherited']): void {
  for (const file of all) {
    const [leader, ...twins] = inherited.get(file.file.path)?.toSorted((a, b) => b.rank - a.rank) ?? []
    if (!leader) continue
    file.rank = Math.max(file.rank, leader.rank - 0.001)
    for (const twin of twins) twin.rank = Math.min(twin.rank, leader.rank - 0.002)
  }
}

/** What a model chose comes first. */
function placeChosen(all: readonly RankedFile[], chosen: readonly string[]): void {
  const best = Math.max(0, ...all.map(({ rank }) => rank))
  for (const [index, path] of chosen.entries()) {
    const file = all.find((one) => one.file.path === path)
    if (file) file.rank = best + (chosen.length - index) * weights.clearLead
  }
}

/** The files with the strongest relation to the best ones that were no candidates, whether or not they have a word of the question. */
function relatedNonCandidates(
  files: readonly SourceFile[],
  { scores }: SearchStats,
  ranked: readonly RankedFile[],
  relations: readonly ReadonlyMap<string, number>[],
): FileScore[] {
  const known = new Set(ranked.map(({ file }) => file.path))
  const related = new Set(relations.flatMap((relation) => [...relation.keys()]))
  // Directories first: a path is hashed when it is looked up, which takes long for all files.
  const directories = new Set([...related].map((path) => path.slice(0, Math.max(0, path.lastIndexOf('/')))))
  const strength = ({ path }: SourceFile) => Math.max(...relations.map((relation) => relation.get(path) ?? 0))
  const added = files
    .filter((file) => directories.has(file.directory) && related.has(file.path) && !known.has(file.path))
    .filter((file) => strength(file) > 0)
    .sort((a, b) => strength(b) - strength(a))
    .slice(0, sizes.related)
  const scored = new Map(scores.map((score) => [score.file, score]))
  return added.map((file) => scored.get(file) ?? emptyScore(file))
}

const boostLimit = 1.5

/** Regions rise that define what the best files use, and that the summary cites. A related file without a word of the question shows its best lines. */
function boostRegions(all: readonly RankedFile[], relations: Relations, hints: readonly Hint[]): void {
  const best = Math.max(0, ...all.map(({ regions }) => regions[0]?.score ?? 0))
  for (const { file, regions, to, from } of all) {
    const ours = hints.filter(({ path }) => path === file.path)
    const related = Math.max(relations.uses.get(file.path) ?? 0, relations.tested.get(file.path) ?? 0)
    for (const region of regions) {
      const used = region.definition
        ? (relations.usedDefinitions.get(`${file.path}:${region.definition.line}`) ?? 0)
        : 0
      const within = ours.filter(({ line }) => region.from <= line && line <= region.to)
      const hinted = Math.max(0, ...within.map(({ share }) => share))
      const boost = Math.min(boostLimit, used + hinted)
      if (from === to) region.score = Math.max(region.score, best * weights.region * (related + boost) * 0.5)
      else region.score *= 1 + weights.region * boost
    }
    regions.sort((a, b) => b.score - a.score || a.from - b.from)
  }
}

/**
 * The best region is worth so much of the question's own words by their rarity: less is hardly or partly found. A question is hardly found too where
 * the files have less of the identifiers that it names, and no region is strong without them. `npm run eval:silence` measures it.
 */
const worth = { partly: 0.46, well: 0.7, identifiers: 0.9, strong: 1 }
const most = { terms: 30, missing: 20, best: 5 }

function describeSearch(corpus: Corpus, { shape, query, stats, files }: Ranking): Searched {
  const { rarity, hits, meanings } = stats
  const anywhere = conceptsIn(stats.scores, hits, meanings)
  const byRarity = query.concepts.toSorted((a, b) => rarity[b.index]! - rarity[a.index]!)
  const asked = byRarity.filter(({ word, index }) => index < query.own && !questionWords.has(word))
  const weigh = (concepts: typeof asked) => concepts.reduce((sum, { index }) => sum + rarity[index]!, 0)
  const [words, identifiers] = [asked.filter(({ exact }) => !exact), asked.filter(({ exact }) => exact)]
  const best = Math.max(0, ...files.slice(0, most.best).map(({ regions }) => regions[0]?.score ?? 0))
  const strength = best / (weigh(words) || 1)
  // A report names code of its own, which no file has.
  const isUnknown =
    (shape === 'question' || shape === 'name') &&
    strength < worth.strong &&
    weigh(identifiers.filter(({ index }) => anywhere.has(index))) < worth.identifiers * weigh(identifiers)
  const sure = strength < worth.partly || isUnknown ? 'hardly' : strength < worth.well ? 'partly' : 'well'
  return {
    terms: byRarity.flatMap(({ index, word }) => (index < query.said ? [word] : [])).slice(0, most.terms),
    files: corpus.files.length,
    candidates: stats.scores.length,
    missing: asked.flatMap(({ index, word }) => (anywhere.has(index) ? [] : [word])).slice(0, most.missing),
    found: anywhere.size === 0 ? 'nothing' : sure,
    unsearched: corpus.unsearched,
  }
}

/** The concepts that files have in their text or in their path. */
function conceptsIn(scores: readonly FileScore[], hits: Int32Array, meanings: SearchStats['meanings']): Set<number> {
  const seen = new Set<number>()
  for (const { from, to, pathMeaning } of scores) {
    for (let at = from; at < to; at++) seen.add(hits[at]! & meaningMask)
    for (const concept of pathMeaning.keys()) seen.add(-1 - concept)
  }
  const concepts = [...seen].flatMap((one) => (one < 0 ? [-1 - one] : meanings[one]!.filter((_, at) => at % 2 === 0)))
  return new Set(concepts)
}
