// Finding what bears on a question, and showing more of it on request.
import type { Excerpt } from '../../../domain/answer.js'
import type { Search } from '../../../domain/sandbox-protocol.js'
import type { Outline } from '../../../domain/survey.js'
import { type Corpus, openCorpus } from './corpus.js'
import { createDefinitionNotes, definersInOutline } from './definition-index.js'
import { applyGains, bareName, type Gains, gainsOf } from './expand-by-reference.js'
import { frontOf, liftNamed, readNamed, withNamed } from './named-files.js'
import { type Query, readQuestion } from './query.js'
import { bestCandidates, type Standing, type Survey, standingsOf } from './rank-files.js'
import { type Ranked, rankFiles } from './rank-regions.js'
import { sizes } from './ranking-weights.js'
import { chooseExcerpts } from './select-excerpts.js'
import { hintsOf } from './summary-hints.js'

export interface FindOptions {
  /** Bare. */
  gitDirectory: string
  commit: string
  search: Search
  /** The repository's summary: the places it points to count as weak hints. */
  summary?: string
  /** What is defined where. Without it the files tell. */
  outline?: Outline
}

export interface Found {
  /** Best file first, each file's lines in their order. */
  excerpts: Excerpt[]
  searched: { terms: string[]; files: number; candidates: number }
  /** Names of files that were not searched, because no citation could name them. */
  unnamable: string[]
}

export async function find(options: FindOptions): Promise<Found> {
  return findIn(await openCorpus(options.gitDirectory, options.commit), options)
}

export async function findIn(
  corpus: Corpus,
  { search, summary = '', outline }: Omit<FindOptions, 'gitDirectory' | 'commit'>,
): Promise<Found> {
  const { text, named: said } = readNamed(search.question.slice(0, 8_000), corpus.files)
  const query = readQuestion(text, search.terms)
  const named = query.isGeneral ? [...said, ...frontOf(corpus.files)] : said
  const notes = createDefinitionNotes()
  const survey = await standingsOf(corpus, query, outline ? undefined : notes)
  const candidates = withNamed(bestCandidates(survey), survey, named)
  const ranked = liftNamed(await rankFiles(candidates, corpus, survey, query), named)
  const definersOf = outline ? definersInOutline(outline) : notes.definersOf
  const gains = gainsOf(ranked, { definersOf, byName: namesOf(corpus) }, hintsOf(summary, query, survey))
  const late = await rankFiles(gainersOf(survey, ranked, gains), corpus, survey, query)
  const all = applyGains(ranked, late, gains)
  const contents = await corpus.read(all.slice(0, sizes.competing).map(({ file }) => file))
  return {
    excerpts: chooseExcerpts(all, contents, search),
    searched: { terms: termsOf(query, survey), files: corpus.files.length, candidates: survey.standings.length },
    unnamable: corpus.unnamable,
  }
}

const gainerLimit = 20

/** Files that gained and were no candidates. */
function gainersOf({ standings }: Survey, ranked: readonly Ranked[], { files }: Gains): Standing[] {
  const known = new Set(ranked.map(({ file }) => file.path))
  const gain = ({ file }: Standing) => files.get(file.path) ?? 0
  return standings
    .filter((standing) => gain(standing) > 0 && !known.has(standing.file.path))
    .sort((a, b) => gain(b) - gain(a))
    .slice(0, gainerLimit)
}

function namesOf(corpus: Corpus): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const { name, path, kind } of corpus.files) {
    if (kind === 'documentation') continue
    const bare = bareName(name).toLowerCase()
    const paths = names.get(bare)
    if (paths) paths.push(path)
    else names.set(bare, [path])
  }
  return names
}

/** The words that were looked for, the rarest first. */
function termsOf(query: Query, { rarity }: Survey): string[] {
  return query.concepts
    .toSorted((a, b) => rarity[b.index]! - rarity[a.index]!)
    .map(({ word }) => word)
    .slice(0, 30)
}
