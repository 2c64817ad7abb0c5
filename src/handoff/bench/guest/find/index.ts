// Finding what bears on a question, and showing more of it on request.
import type { Excerpt } from '../../../library/answer.js'
import type { Search } from '../../../library/records.js'
import type { Outline } from '../../../library/survey.js'
import { chooseExcerpts } from './choose.js'
import { type Corpus, openCorpus } from './corpus.js'
import { createDefinitionNotes, definersInOutline } from './definers.js'
import { type Query, readQuestion } from './query.js'
import { type Ranked, rankFiles } from './rank.js'
import { bestCandidates, type Survey, standingsOf } from './standing.js'
import { weights } from './weights.js'
import { bareName, type Gains, gainsOf } from './widen.js'

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
}

export async function find(options: FindOptions): Promise<Found> {
  return findIn(await openCorpus(options.gitDirectory, options.commit), options)
}

export async function findIn(
  corpus: Corpus,
  { search, outline }: Omit<FindOptions, 'gitDirectory' | 'commit'>,
): Promise<Found> {
  const query = readQuestion(search.question, search.terms)
  const notes = createDefinitionNotes()
  const survey = await standingsOf(corpus, query, outline ? undefined : notes)
  const candidates = bestCandidates(survey)
  const ranked = await rankFiles(candidates, corpus, survey, query)
  const gains = gainsOf(ranked, {
    definersOf: outline ? definersInOutline(outline) : notes.definersOf,
    byName: namesOf(corpus),
  })
  const all = await widened(ranked, gains, corpus, survey, query)
  const contents = await corpus.read(all.slice(0, 40).map(({ file }) => file))
  return {
    excerpts: chooseExcerpts(all, contents, search),
    searched: { terms: termsOf(query, survey), files: corpus.files.length, candidates: survey.standings.length },
  }
}

/** Files that gained from outside the candidates join them; then all gains are added. */
/** Files that gained and were no candidates join them; then everybody gets what they gained. */
async function widened(
  ranked: Ranked[],
  gains: Gains,
  corpus: Corpus,
  survey: Survey,
  query: Query,
): Promise<Ranked[]> {
  const known = new Set(ranked.map(({ file }) => file.path))
  const late = survey.standings
    .filter(({ file }) => !known.has(file.path) && (gains.files.get(file.path) ?? 0) > 0)
    .sort((a, b) => gains.files.get(b.file.path)! - gains.files.get(a.file.path)!)
    .slice(0, 20)
  const all = [...ranked, ...(await rankFiles(late, corpus, survey, query))]
  const best = ranked[0]?.rank ?? 0
  for (const file of all) {
    file.rank += best * (gains.files.get(file.file.path) ?? 0)
    for (const place of file.places) {
      const gain = place.definition && gains.definitions.get(`${file.file.path}:${place.definition.line}`)
      if (gain) place.score *= 1 + weights.place * Math.min(1.5, gain)
    }
    file.places.sort((a, b) => b.score - a.score)
  }
  return all.sort((a, b) => b.rank - a.rank)
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

/** The words that were found, the rarest first. */
function termsOf(query: Query, { rarity }: Survey): string[] {
  return query.concepts
    .toSorted((a, b) => rarity[b.index]! - rarity[a.index]!)
    .map(({ word }) => word)
    .slice(0, 30)
}
