// Answers a model's follow-up requests: a range of a file, a search, the list of a directory. Results come from the objects of the commit, fit the
// byte limit and repeat nothing that was shown.

import type { Excerpt } from '../../../domain/answer.js'
import type { MoreRequest, Search, Searched } from '../../../domain/sandbox-protocol.js'
import { redactedLines, toUtf8 } from '../../../domain/source-lines.js'
import type { Outline } from '../../../domain/survey.js'
import { withoutTrailingSlashes } from '../../../util/text.js'
import { gitAt, listTree, openBlobReader } from '../survey/git-objects.js'
import { createTreeParser, type Tree } from '../survey/git-tree.js'
import { isCitable, openCorpus } from './corpus.js'
import { excerptCost, fitExcerpts } from './excerpt-cost.js'
import { findInCorpus } from './index.js'
import { parseQuestion } from './query.js'
import { nameMeaning } from './rank-files.js'

interface FollowUpOptions {
  gitDirectory: string
  commit: string
  search: Search
  requests: MoreRequest[]
  outline: Outline
  wordIndex?: Uint8Array | undefined
}

export interface FollowUpResult {
  excerpts: Excerpt[]
  listings: { path: string; entries: string[] }[]
  /** Undefined where no request is a search. */
  searched: Searched | undefined
}

const limits = { requests: 8, lines: 400, hits: 100, names: 200, definitions: 4, fileBytes: 2_000_000 }

export async function answerRequests(options: FollowUpOptions): Promise<FollowUpResult> {
  const { gitDirectory, commit, search } = options
  const git = gitAt(gitDirectory)
  const parser = createTreeParser()
  await listTree(git, commit, parser.push)
  const tree = parser.finish(commit)
  const found: FollowUpResult = { excerpts: [], listings: [], searched: undefined }
  const asked = options.requests.slice(0, limits.requests).flatMap((one) => withDefinitions(one, options.outline))
  let searches = asked.filter(({ kind }) => kind === 'search' || kind === 'callers').length
  found.excerpts.push(...(await readRanges(gitDirectory, tree, asked)))
  for (const request of asked) {
    if (request.kind === 'list') found.listings.push(listDirectory(tree, request.path))
    if (request.kind === 'search') await searchTerms(request.terms, options, found, searches--)
    if (request.kind === 'callers') {
      const places = placesOf(request.name, options.outline)
      await searchTerms(request.name, withShown(options, places), found, searches--)
    }
  }
  return { ...found, excerpts: fitExcerpts(found.excerpts, search.tokens) }
}

function placesOf(name: string, { files }: Outline): { path: string; from: number; to: number }[] {
  return Object.entries(files).flatMap(([path, definitions]) =>
    definitions.filter((one) => one.name === name).map(({ line, end }) => ({ path, from: line, to: end ?? line })),
  )
}

/** The definitions of a name are read whole. */
function withDefinitions(request: MoreRequest, outline: Outline): MoreRequest[] {
  if (request.kind !== 'define') return [request]
  return placesOf(request.name, outline)
    .slice(0, limits.definitions)
    .map((place) => ({ kind: 'read', ...place }))
}

/** Where a name is used is shown without its definitions. */
const withShown = (options: FollowUpOptions, places: Search['shown']): FollowUpOptions => ({
  ...options,
  search: { ...options.search, shown: [...options.search.shown, ...places] },
})

/** Reads all requested files in one stream. */
async function readRanges(gitDirectory: string, tree: Tree, requests: MoreRequest[]): Promise<Excerpt[]> {
  const wanted = requests.flatMap((request) => {
    const entry = request.kind === 'read' && tree.entries.find(({ path }) => path === request.path)
    if (!entry || request.kind !== 'read' || !isCitable(entry)) return []
    return entry.mode.startsWith('100') && entry.size <= limits.fileBytes ? [{ request, entry }] : []
  })
  const excerpts: Excerpt[] = []
  if (wanted.length === 0) return excerpts
  const blobs = openBlobReader(gitAt(gitDirectory), 'few')
  try {
    await blobs.read(
      wanted.map(({ entry }) => entry.blob),
      (index, bytes) => {
        const { request, entry } = wanted[index]!
        const text = bytes && toUtf8(bytes)
        if (!text || text.subarray(0, 8_000).includes(0)) return
        const from = Math.max(1, request.from)
        const lines = redactedLines(text).slice(from - 1, Math.max(0, Math.min(request.to, from + limits.lines - 1)))
        if (lines.length > 0)
          excerpts.push({ path: entry.path, blob: entry.blob, from, lines, source: 'code', score: 0 })
      },
    )
  } finally {
    blobs.stop()
  }
  return excerpts
}

/** The names in a directory; directories end with a slash. */
function listDirectory(tree: Tree, path: string): { path: string; entries: string[] } {
  const directory = withoutTrailingSlashes(path)
  const inside = (parent: string) => parent === directory
  const folders = tree.folders
    .filter((folder) => folder.parent && inside(folder.parent.path))
    .map((folder) => `${lastPart(folder.path)}/`)
  const files = tree.entries.filter((entry) => inside(entry.folder.path)).map(({ name }) => name)
  const entries = [...folders, ...files].map((name) => name.replace(/[\n\r]/g, '\ufffd')).sort()
  const rest = entries.length - limits.names
  return { path: directory, entries: rest > 0 ? [...entries.slice(0, limits.names), `… and ${rest} more`] : entries }
}

const lastPart = (path: string) => path.split('/').at(-1) ?? path

async function searchTerms(
  terms: string,
  { gitDirectory, commit, search, outline, wordIndex }: FollowUpOptions,
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
  const result = await findInCorpus(await openCorpus(gitDirectory, commit, wordIndex), {
    search: { question: terms, terms: [], tokens, shown },
    outline,
  })
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
