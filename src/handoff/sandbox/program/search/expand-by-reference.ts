// Widening: where that is defined which the best places use, who speaks of what the best places define, what a test tests and what tests it,
// what a file imports. A file gains by being near files that stand well, and the definitions that are used gain with it.
import type { Definer, DefinersOf } from './definition-index.js'
import type { Ranked } from './rank-regions.js'
import { weights } from './ranking-weights.js'
import type { Hint } from './summary-hints.js'

/** How many files, and how many places of each, are asked what they use. */
const asking = { files: 6, places: 4 }
/** The same for what they define: only the best are sure enough to lift others by their names. */
const naming = { files: 3, places: 3 }
/** A name with more definitions does not tell where it comes from. */
const mostDefinitions = 4
const mostGain = 1.5

export interface Gains {
  /** By path; 1 is the rank of the best file. */
  files: Map<string, number>
  /** By path and line. */
  definitions: Map<string, number>
  hints: readonly Hint[]
}

export interface Neighbourhood {
  definersOf: DefinersOf
  /** Paths by their name without its ending. */
  byName: ReadonlyMap<string, readonly string[]>
}

export function gainsOf(
  ranked: readonly Ranked[],
  { definersOf, byName }: Neighbourhood,
  hints: readonly Hint[],
): Gains {
  const gains: Gains = { files: new Map(), definitions: new Map(), hints }
  const best = ranked[0]?.rank ?? 0
  if (best <= 0) return gains
  const asked = ranked.slice(0, asking.files)
  const uses = asked.map((file) => usesOf(file, file.rank / best))
  const definers = definersOf(new Set(uses.flatMap((names) => [...names.keys()])))
  for (const [index, file] of asked.entries()) {
    const share = file.rank / best
    gainByUse(gains, file, uses[index]!, definers)
    for (const path of importedBy(file, byName)) add(gains.files, path, weights.imported * share)
    for (const path of testedBy(file, byName)) add(gains.files, path, weights.testedFile * share)
  }
  gainAsTests(gains, ranked, asked, byName)
  gainByMention(gains, ranked)
  for (const [path, gain] of gains.files) gains.files.set(path, Math.min(gain, mostGain * weights.definition))
  for (const [path, share] of bestHints(hints)) add(gains.files, path, weights.hint * share)
  return gains
}

/** However often a file is pointed to, it is lifted once. */
function bestHints(hints: readonly Hint[]): Map<string, number> {
  const best = new Map<string, number>()
  for (const { path, share } of hints) best.set(path, Math.max(share, best.get(path) ?? 0))
  return best
}

/** Everybody gets what they gained, and the order is made again. */
export function applyGains(ranked: readonly Ranked[], late: readonly Ranked[], gains: Gains): Ranked[] {
  const best = ranked[0]?.rank ?? 0
  const all = [...ranked, ...late]
  for (const file of all) {
    const { path } = file.file
    file.rank += best * (gains.files.get(path) ?? 0)
    const hints = gains.hints.filter((hint) => hint.path === path)
    for (const place of file.places) {
      const used = place.definition ? (gains.definitions.get(`${path}:${place.definition.line}`) ?? 0) : 0
      const hinted = hints.reduce(
        (most, { line, share }) => (place.from <= line && line <= place.to ? Math.max(most, share) : most),
        0,
      )
      place.score *= 1 + weights.place * Math.min(mostGain, used + hinted)
    }
    file.places.sort((a, b) => b.score - a.score)
  }
  return all.sort((a, b) => b.rank - a.rank)
}

function add(map: Map<string, number>, key: string, gain: number): void {
  map.set(key, (map.get(key) ?? 0) + gain)
}

function gainByUse(gains: Gains, file: Ranked, uses: Map<string, number>, definers: Map<string, Definer[]>): void {
  const perFile = new Map<string, number>()
  for (const [name, weight] of uses) {
    const places = definers.get(name) ?? []
    if (places.length > mostDefinitions) continue
    for (const { path, line } of places) {
      if (path === file.file.path) continue
      add(perFile, path, weight / places.length)
      add(gains.definitions, `${path}:${line}`, weight / places.length)
    }
  }
  // However much one file uses of another, it is one file that says so.
  for (const [path, gain] of perFile) add(gains.files, path, weights.definition * (gain / (gain + 1)))
}

/** The tests of files that stand well, among the candidates. */
function gainAsTests(
  gains: Gains,
  ranked: readonly Ranked[],
  asked: readonly Ranked[],
  byName: Neighbourhood['byName'],
): void {
  const best = ranked[0]?.rank ?? 0
  const shares = new Map(asked.map(({ file, rank }) => [file.path, rank / best]))
  for (const test of ranked) {
    for (const path of testedBy(test, byName))
      add(gains.files, test.file.path, weights.testOf * (shares.get(path) ?? 0))
  }
}

/** Candidates that say the names of what the best files define: who uses it, tests it or explains it. */
function gainByMention(gains: Gains, ranked: readonly Ranked[]): void {
  const best = ranked[0]?.rank ?? 0
  for (const file of ranked.slice(0, naming.files)) {
    const names = namesIn(file)
    for (const other of ranked) {
      if (other === file) continue
      const said = names.filter((name) => other.structure.text.includes(name)).length
      if (said > 0) add(gains.files, other.file.path, (weights.mention * (file.rank / best) * said) / names.length)
    }
  }
}

/** Names of more than one word: a name of one word may be any word. What has underscores at both ends belongs to the language. */
function namesIn({ places }: Ranked): string[] {
  const names = places.slice(0, naming.places).flatMap(({ definition, enclosing }) => [definition, enclosing])
  const compound = names.flatMap((one) => (one && /[a-z\d][A-Z_]|_[a-z]/.test(one.name) ? [one.name] : []))
  return [...new Set(compound)].filter((name) => name.length > 5 && !/^__.*__$/.test(name))
}

/** Identifiers of a file's best places, each with how good the best place is that has it. */
function usesOf(file: Ranked, share: number): Map<string, number> {
  const uses = new Map<string, number>()
  const { structure } = file
  const first = file.places[0]?.score ?? 0
  if (first <= 0) return uses
  for (const place of file.places.slice(0, asking.places)) {
    const weight = share * (place.score / first)
    const text = structure.text.slice(structure.starts[place.from - 1], structure.starts[place.to])
    for (const name of text.match(identifier) ?? []) if (weight > (uses.get(name) ?? 0)) uses.set(name, weight)
  }
  return uses
}

const identifier = /[A-Za-z_]\w*/g

/** `test_session.py`, `session.test.ts`, `SessionTest.java` and `session_spec.rb` test session. */
function testedBy({ file }: Ranked, byName: Neighbourhood['byName']): readonly string[] {
  if (file.kind !== 'test') return []
  const name = bareName(file.name)
  const tested = name.replace(/^tests?[-_]|[-_.]?(?:tests?|spec)$|Tests?$|Spec$/gi, '')
  if (tested === '' || tested === name) return []
  return [...(byName.get(tested.toLowerCase()) ?? []), ...(byName.get(`_${tested.toLowerCase()}`) ?? [])].slice(0, 4)
}

export function bareName(name: string): string {
  const dot = name.indexOf('.', 1)
  return dot < 0 ? name : name.slice(0, dot)
}

/** Files whose names stand in lines that import; of several, the one whose folders are named there too, or that is nearest. */
function importedBy({ file, structure }: Ranked, byName: Neighbourhood['byName']): string[] {
  const words = new Set<string>()
  for (let line = 1; line <= structure.lines; line++) {
    if (structure.imports[line] !== 1) continue
    for (const word of structure.text.slice(structure.starts[line - 1], structure.starts[line]).match(identifier) ??
      []) {
      words.add(word.toLowerCase())
    }
  }
  return [...words].flatMap((word) => nearest(byName.get(word) ?? [], words, file.directory, file.path))
}

function nearest(paths: readonly string[], words: ReadonlySet<string>, directory: string, own: string): string[] {
  let best = -1
  let found: string[] = []
  for (const path of paths) {
    if (path === own) continue
    const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')))
    let score = folder.split('/').filter((part) => words.has(part.toLowerCase())).length
    if (folder === directory) score += 1.5
    else if (folder.startsWith(directory) || directory.startsWith(folder)) score += 0.5
    if (score > best) found = []
    if (score >= best) found.push(path)
    best = Math.max(best, score)
  }
  return found.length <= 2 ? found : []
}
