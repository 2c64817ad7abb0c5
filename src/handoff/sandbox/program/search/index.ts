// Finds the lines of a commit that bear on a question.
import type { Excerpt } from '../../../domain/answer.js'
import type { Search } from '../../../domain/sandbox-protocol.js'
import type { Outline } from '../../../domain/survey.js'
import { type Corpus, openCorpus } from './corpus.js'
import { createDefinitionIndex, definitionsInOutline } from './definition-index.js'
import { applyBoosts, type Boosts, computeBoosts, nameWithoutExtensions } from './expand-by-reference.js'
import { addNamedCandidates, boostNamedFiles, extractNamedFiles, overviewFiles } from './named-files.js'
import { parseQuestion, type Query } from './query.js'
import { type FileScore, type SearchStats, scoreFiles, selectCandidates } from './rank-files.js'
import { type RankedFile, rankCandidates } from './rank-regions.js'
import { sizes } from './ranking-weights.js'
import { selectExcerpts } from './select-excerpts.js'
import { findSummaryHints } from './summary-hints.js'

export interface FindOptions {
  /** Bare. */
  gitDirectory: string
  commit: string
  search: Search
  /** The repository's summary; the lines that it cites count as weak hints. */
  summary?: string
  /** Definitions by file. Without it, definitions are found during the scan. */
  outline?: Outline
}

export interface SearchResult {
  /** Best file first, each file's lines in their order. */
  excerpts: Excerpt[]
  searched: { terms: string[]; files: number; candidates: number }
  /** Names of files that were not searched, because a citation cannot contain them. */
  uncitable: string[]
}

export async function find(options: FindOptions): Promise<SearchResult> {
  return findInCorpus(await openCorpus(options.gitDirectory, options.commit), options)
}

export async function findInCorpus(
  corpus: Corpus,
  { search, summary = '', outline }: Omit<FindOptions, 'gitDirectory' | 'commit'>,
): Promise<SearchResult> {
  const { text, named: mentioned } = extractNamedFiles(search.question.slice(0, 8_000), corpus.files)
  const query = parseQuestion(text, search.terms)
  const named = query.isGeneral ? [...mentioned, ...overviewFiles(corpus.files)] : mentioned
  const definitions = createDefinitionIndex()
  const stats = await scoreFiles(corpus, query, outline ? undefined : definitions)
  const candidates = addNamedCandidates(selectCandidates(stats), stats, named)
  const ranked = boostNamedFiles(await rankCandidates(candidates, corpus, stats, query), named)
  const findDefinitions = outline ? definitionsInOutline(outline) : definitions.find
  const boosts = computeBoosts(
    ranked,
    { findDefinitions, pathsByName: pathsByName(corpus) },
    findSummaryHints(summary, query, stats),
  )
  const added = await rankCandidates(boostedNonCandidates(stats, ranked, boosts), corpus, stats, query)
  const reranked = applyBoosts(ranked, added, boosts)
  const contents = await corpus.read(reranked.slice(0, sizes.competing).map(({ file }) => file))
  return {
    excerpts: selectExcerpts(reranked, contents, search),
    searched: { terms: searchedTerms(query, stats), files: corpus.files.length, candidates: stats.scores.length },
    uncitable: corpus.uncitable,
  }
}

const boostedLimit = 20

/** Files with a boost that were no candidates. */
function boostedNonCandidates({ scores }: SearchStats, ranked: readonly RankedFile[], { files }: Boosts): FileScore[] {
  const known = new Set(ranked.map(({ file }) => file.path))
  const boost = ({ file }: FileScore) => files.get(file.path) ?? 0
  return scores
    .filter((score) => boost(score) > 0 && !known.has(score.file.path))
    .sort((a, b) => boost(b) - boost(a))
    .slice(0, boostedLimit)
}

function pathsByName(corpus: Corpus): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const { name, path, kind } of corpus.files) {
    if (kind === 'documentation') continue
    const bare = nameWithoutExtensions(name).toLowerCase()
    const paths = names.get(bare)
    if (paths) paths.push(path)
    else names.set(bare, [path])
  }
  return names
}

/** The search terms, the rarest first. */
function searchedTerms(query: Query, { rarity }: SearchStats): string[] {
  return query.concepts
    .toSorted((a, b) => rarity[b.index]! - rarity[a.index]!)
    .map(({ word }) => word)
    .slice(0, 30)
}
