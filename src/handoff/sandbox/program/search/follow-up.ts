// Answers a model's follow-up requests: a range of a file, a search, the list of a directory. Results come from the objects of the commit, fit the
// byte limit and repeat nothing that was shown.

import type { Excerpt } from '../../../domain/answer.js'
import type { MoreRequest, Search } from '../../../domain/sandbox-protocol.js'
import type { Searched } from '../../../domain/sandbox-protocol-decoder.js'
import { redactedLines, toUtf8 } from '../../../domain/source-lines.js'
import { withoutTrailingSlashes } from '../../../util/text.js'
import type { CommitSource } from './commit-source.js'
import { excerptCost, fitExcerpts } from './excerpt-cost.js'
import { findInCorpus } from './index.js'
import { nameMeaning } from './path-meaning.js'
import { parseQuestion } from './query.js'

interface FollowUpOptions {
  source: CommitSource
  search: Search
  requests: MoreRequest[]
}

export interface FollowUpResult {
  excerpts: Excerpt[]
  listings: { path: string; entries: string[] }[]
  /** Undefined where no request is a search. */
  searched: Searched | undefined
}

const limits = { requests: 8, lines: 400, hits: 100, names: 200, definitions: 4 }

export async function answerRequests(options: FollowUpOptions): Promise<FollowUpResult> {
  const { source, search } = options
  const found: FollowUpResult = { excerpts: [], listings: [], searched: undefined }
  const requests = options.requests.slice(0, limits.requests)
  const names = requests.flatMap((one) => (one.kind === 'define' || one.kind === 'callers' ? [one.name] : []))
  const sites = await source.findDefinitions(new Set(names))
  const placesOf = (name: string) =>
    (sites.get(name) ?? []).map(({ path, line, end }) => ({ path, from: line, to: end ?? line }))
  // The definitions of a name are read whole.
  const asked = requests.flatMap((one): MoreRequest[] =>
    one.kind === 'define'
      ? placesOf(one.name)
          .slice(0, limits.definitions)
          .map((place) => ({ kind: 'read', ...place }))
      : [one],
  )
  let searches = asked.filter(({ kind }) => kind === 'search' || kind === 'callers').length
  found.excerpts.push(...(await readRanges(source, asked)))
  for (const request of asked) {
    if (request.kind === 'list') found.listings.push(await listDirectory(source, request.path))
    if (request.kind === 'search') await searchTerms(request.terms, options, found, searches--)
    if (request.kind === 'callers')
      await searchTerms(request.name, withShown(options, placesOf(request.name)), found, searches--)
  }
  return { ...found, excerpts: fitExcerpts(found.excerpts, search.tokens) }
}

/** Where a name is used is shown without its definitions. */
const withShown = (options: FollowUpOptions, places: Search['shown']): FollowUpOptions => ({
  ...options,
  search: { ...options.search, shown: [...options.search.shown, ...places] },
})

async function readRanges(source: CommitSource, requests: MoreRequest[]): Promise<Excerpt[]> {
  const wanted = requests.flatMap((request) => (request.kind === 'read' ? [request] : []))
  const files = await source.readFiles([...new Set(wanted.map(({ path }) => path))])
  return wanted.flatMap(({ path, from: first, to }) => {
    const file = files.get(path)
    const text = file && toUtf8(file.bytes)
    if (!text || text.subarray(0, 8_000).includes(0)) return []
    const from = Math.max(1, first)
    const lines = redactedLines(text).slice(from - 1, Math.max(0, Math.min(to, from + limits.lines - 1)))
    return lines.length === 0 ? [] : [{ path, blob: file.blob, from, lines, source: 'code' as const, score: 0 }]
  })
}

async function listDirectory(source: CommitSource, path: string): Promise<{ path: string; entries: string[] }> {
  const directory = withoutTrailingSlashes(path)
  const entries = (await source.namesIn(directory)).map((name) => name.replace(/[\n\r]/g, '\ufffd')).sort()
  const rest = entries.length - limits.names
  return { path: directory, entries: rest > 0 ? [...entries.slice(0, limits.names), `… and ${rest} more`] : entries }
}

async function searchTerms(
  terms: string,
  { source, search }: FollowUpOptions,
  found: FollowUpResult,
  searches: number,
): Promise<void> {
  const spent = found.excerpts.reduce((sum, excerpt) => sum + excerptCost(excerpt), 0)
  // Each search that is still to come gets the same share of the room.
  const tokens = Math.floor((search.tokens - spent) / searches)
  if (tokens <= 0) return
  const shown = [
    ...search.shown,
    ...found.excerpts.map(({ path, from, lines }) => ({ path, from, to: from + lines.length - 1 })),
  ]
  const { corpus, findDefinitions } = source
  const question = { question: terms, terms: [], tokens, shown }
  const result = await findInCorpus(corpus, { search: question, findDefinitions })
  found.excerpts.push(...limitHits(result.excerpts, terms))
  found.searched = {
    ...result.searched,
    terms: [...new Set([...(found.searched?.terms ?? []), ...result.searched.terms])],
    candidates: (found.searched?.candidates ?? 0) + result.searched.candidates,
  }
}

/** The excerpts up to the limit of matching lines. */
function limitHits(excerpts: readonly Excerpt[], terms: string): Excerpt[] {
  const query = parseQuestion(terms, { terms: [] })
  const isHit = (line: string) => nameMeaning(query, line).size > 0
  let hits = 0
  return excerpts.flatMap((excerpt) => {
    const end = excerpt.lines.findIndex((line) => isHit(line) && ++hits > limits.hits)
    if (end === 0) return []
    return end < 0 ? [excerpt] : [{ ...excerpt, lines: excerpt.lines.slice(0, end) }]
  })
}
