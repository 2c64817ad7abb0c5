// What the ranking knows about a candidate: one number between 0 and 1 for each feature. The table of weights turns them into one score.
import type { FindDefinitions } from './definition-sites.js'
import type { NamedFile } from './named-files.js'
import { nameMeaning } from './path-meaning.js'
import type { Query } from './query.js'
import type { SearchStats } from './rank-files.js'
import { nameCoverage, type RankedFile } from './rank-regions.js'
import { type FileWeights, features } from './ranking-weights.js'
import type { Relations } from './relations.js'
import { meaningBits, meaningMask } from './scan-words.js'

interface Evidence {
  query: Query
  stats: SearchStats
  named: readonly NamedFile[]
  relations: Relations
  hints: ReadonlyMap<string, number>
  /** By path: how surely the file defines names that the question has. */
  defined: ReadonlyMap<string, number>
}

/** The score of a file with these features. */
export function scoreOf(row: Float64Array, table: FileWeights): number {
  return row.reduce((sum, value, at) => sum + value * table[at]!, 0)
}

const kinds: readonly [string, (file: RankedFile) => boolean][] = [
  ['test', ({ file }) => file.kind === 'test'],
  ['documentation', ({ file }) => file.kind === 'documentation'],
  ['example', ({ file }) => file.isExample],
]

export function describeFiles(ranked: readonly RankedFile[], evidence: Evidence): Float64Array[] {
  const { query, stats, named, relations, hints, defined } = evidence
  const whole = stats.fileRarity.reduce((sum, value) => sum + value, 0) || 1
  const rows = ranked.map((one) => {
    const { path } = one.file
    const row = new Float64Array(features.length)
    const put = (feature: string, value: number) => {
      row[features.indexOf(feature)] = value
    }
    const [first, second, third] = one.regions
    put('base', one.rank)
    put('first', first?.score ?? 0)
    put('second', second?.score ?? 0)
    put('third', third?.score ?? 0)
    put('whole', one.score)
    put('block', one.blockScore)
    put('path', sumOf(one.pathMeaning, stats.fileRarity) / whole)
    const name = one.file.name.replace(/\.\w+$/, '')
    put('name', nameCoverage(name, nameMeaning(query, name), stats.fileRarity))
    put('defines', defined.get(path) ?? 0)
    put('named', named.find(({ file }) => file === one.file)?.share ?? 0)
    put('uses', Math.min(1, relations.uses.get(path) ?? 0))
    put('tested', relations.tested.get(path) ?? 0)
    put('testOf', relations.testOf.get(path) ?? 0)
    put('testRank', relations.testRank.get(path) ?? 0)
    put('imports', importedShare(one, stats) / whole)
    put('hint', hints.get(path) ?? 0)
    put('big', Math.min(1, Math.log2(1 + one.file.size / 1_000) / 10))
    for (const [feature, holds] of kinds) put(feature, Number(holds(one)))
    return row
  })
  scale(rows, ['base', 'whole', 'block', 'path', 'name', 'defines'])
  scale(rows, ['first', 'second', 'third'])
  return rows
}

/** Divides each feature by the most of all candidates; features that are listed together by the most of the first. */
function scale(rows: readonly Float64Array[], names: string[]): void {
  const together = names[0] === 'first'
  for (const name of names) {
    const at = features.indexOf(together ? 'first' : name)
    if (together && name === 'first') continue
    scaleOne(rows, features.indexOf(name), Math.max(0, ...rows.map((row) => row[at]!)))
  }
  if (together)
    scaleOne(rows, features.indexOf('first'), Math.max(0, ...rows.map((row) => row[features.indexOf('first')]!)))
}

function scaleOne(rows: readonly Float64Array[], at: number, most: number): void {
  for (const row of rows) row[at] = most > 0 ? row[at]! / most : 0
}

const sumOf = (meaning: ReadonlyMap<number, number>, rarity: Float64Array) =>
  [...meaning].reduce((sum, [concept, weight]) => sum + rarity[concept]! * weight, 0)

/** What the lines that import say of the question. They are no part of a region's score, because they explain nothing. */
function importedShare({ from, to, structure }: RankedFile, { hits, meanings, fileRarity }: SearchStats): number {
  const said = new Set<number>()
  for (const hit of hits.subarray(from, to)) {
    if (structure.imports[hit >> meaningBits] !== 1) continue
    for (const [at, concept] of meanings[hit & meaningMask]!.entries()) if (at % 2 === 0) said.add(concept)
  }
  return [...said].reduce((sum, concept) => sum + fileRarity[concept]!, 0)
}

const ambiguous = 12

/** Names in code style, and capitalised words. */
export const codeNames = (question: string): ReadonlySet<string> =>
  new Set(question.match(/[A-Za-z_]\w{2,100}/g)?.filter((name) => /_|[a-z][A-Z]|^[A-Z][a-z]/.test(name)))

/** Files that define names of the question. */
export async function findDefined(question: string, findDefinitions: FindDefinitions): Promise<Map<string, number>> {
  const defined = new Map<string, number>()
  for (const [, sites] of await findDefinitions(codeNames(question))) {
    const paths = new Set(sites.map(({ path }) => path))
    if (paths.size > ambiguous) continue
    for (const path of paths) defined.set(path, (defined.get(path) ?? 0) + 1 / paths.size)
  }
  return defined
}
