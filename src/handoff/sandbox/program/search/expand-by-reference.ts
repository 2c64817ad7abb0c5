// Raises files that are related to the best ones: they define what those use, mention what those define, test them, are tested by them, or are
// imported by them. The definitions that are used rise as well.
import type { DefinitionSite, FindDefinitions } from './definition-index.js'
import type { RankedFile } from './rank-regions.js'
import { weights } from './ranking-weights.js'
import type { Hint } from './summary-hints.js'

/** How many files, and how many regions of each, contribute the names they use. */
const useLimits = { files: 6, regions: 4 }
/** The same for the names they define. Only the best files are certain enough to raise others by their names. */
const mentionLimits = { files: 3, regions: 3 }
/** A name with more definitions is ambiguous. */
const ambiguousDefinitions = 4
const boostLimit = 1.5

export interface Boosts {
  /** By path; 1 is the rank of the best file. */
  files: Map<string, number>
  /** By path and line. */
  definitions: Map<string, number>
  hints: readonly Hint[]
}

export interface ReferenceLookup {
  findDefinitions: FindDefinitions
  /** Paths by file name without extensions, in lower case. */
  pathsByName: ReadonlyMap<string, readonly string[]>
}

export function computeBoosts(
  ranked: readonly RankedFile[],
  { findDefinitions, pathsByName }: ReferenceLookup,
  hints: readonly Hint[],
): Boosts {
  const boosts: Boosts = { files: new Map(), definitions: new Map(), hints }
  const best = ranked[0]?.rank ?? 0
  if (best <= 0) return boosts
  const asked = ranked.slice(0, useLimits.files)
  const uses = asked.map((file) => usedIdentifiers(file, file.rank / best))
  const sites = findDefinitions(new Set(uses.flatMap((names) => [...names.keys()])))
  for (const [index, file] of asked.entries()) {
    const share = file.rank / best
    boostUsedDefinitions(boosts, file, uses[index]!, sites)
    for (const path of importedFiles(file, pathsByName)) addTo(boosts.files, path, weights.imported * share)
    for (const path of testedFiles(file, pathsByName)) addTo(boosts.files, path, weights.testedFile * share)
  }
  boostTests(boosts, ranked, asked, pathsByName)
  boostMentions(boosts, ranked)
  for (const [path, boost] of boosts.files) boosts.files.set(path, Math.min(boost, boostLimit * weights.definition))
  for (const [path, share] of strongestHints(hints)) addTo(boosts.files, path, weights.hint * share)
  return boosts
}

/** A file with several hints counts once. */
function strongestHints(hints: readonly Hint[]): Map<string, number> {
  const best = new Map<string, number>()
  for (const { path, share } of hints) best.set(path, Math.max(share, best.get(path) ?? 0))
  return best
}

/** Adds the boosts to ranks and regions, and sorts again. */
export function applyBoosts(ranked: readonly RankedFile[], added: readonly RankedFile[], boosts: Boosts): RankedFile[] {
  const best = ranked[0]?.rank ?? 0
  const all = [...ranked, ...added]
  for (const file of all) {
    const { path } = file.file
    file.rank += best * (boosts.files.get(path) ?? 0)
    const hints = boosts.hints.filter((hint) => hint.path === path)
    for (const region of file.regions) {
      const used = region.definition ? (boosts.definitions.get(`${path}:${region.definition.line}`) ?? 0) : 0
      const hinted = hints.reduce(
        (most, { line, share }) => (region.from <= line && line <= region.to ? Math.max(most, share) : most),
        0,
      )
      region.score *= 1 + weights.region * Math.min(boostLimit, used + hinted)
    }
    file.regions.sort((a, b) => b.score - a.score)
  }
  return all.sort((a, b) => b.rank - a.rank)
}

function addTo(map: Map<string, number>, key: string, boost: number): void {
  map.set(key, (map.get(key) ?? 0) + boost)
}

function boostUsedDefinitions(
  boosts: Boosts,
  file: RankedFile,
  uses: Map<string, number>,
  sites: Map<string, DefinitionSite[]>,
): void {
  const perFile = new Map<string, number>()
  for (const [name, weight] of uses) {
    const definitions = sites.get(name) ?? []
    if (definitions.length > ambiguousDefinitions) continue
    for (const { path, line } of definitions) {
      if (path === file.file.path) continue
      addTo(perFile, path, weight / definitions.length)
      addTo(boosts.definitions, `${path}:${line}`, weight / definitions.length)
    }
  }
  // One file counts once, however many names of another it uses.
  for (const [path, boost] of perFile) addTo(boosts.files, path, weights.definition * (boost / (boost + 1)))
}

/** Raises candidates that test one of the best files. */
function boostTests(
  boosts: Boosts,
  ranked: readonly RankedFile[],
  asked: readonly RankedFile[],
  pathsByName: ReferenceLookup['pathsByName'],
): void {
  const best = ranked[0]?.rank ?? 0
  const shares = new Map(asked.map(({ file, rank }) => [file.path, rank / best]))
  for (const test of ranked) {
    for (const path of testedFiles(test, pathsByName))
      addTo(boosts.files, test.file.path, weights.testOf * (shares.get(path) ?? 0))
  }
}

/** Raises candidates that mention what the best files define: they use it, test it or explain it. */
function boostMentions(boosts: Boosts, ranked: readonly RankedFile[]): void {
  const best = ranked[0]?.rank ?? 0
  for (const file of ranked.slice(0, mentionLimits.files)) {
    const names = compoundNames(file)
    for (const other of ranked) {
      if (other === file) continue
      const mentioned = names.filter((name) => other.structure.text.includes(name)).length
      if (mentioned > 0)
        addTo(boosts.files, other.file.path, (weights.mention * (file.rank / best) * mentioned) / names.length)
    }
  }
}

/** Names of more than one word, because a single word is ambiguous. Names with underscores at both ends belong to the language. */
function compoundNames({ regions }: RankedFile): string[] {
  const names = regions.slice(0, mentionLimits.regions).flatMap(({ definition, enclosing }) => [definition, enclosing])
  const compound = names.flatMap((one) => (one && /[a-z\d][A-Z_]|_[a-z]/.test(one.name) ? [one.name] : []))
  return [...new Set(compound)].filter((name) => name.length > 5 && !/^__.*__$/.test(name))
}

/** The identifiers of a file's best regions, each with the relative score of the best region that has it. */
function usedIdentifiers(file: RankedFile, share: number): Map<string, number> {
  const uses = new Map<string, number>()
  const { structure } = file
  const first = file.regions[0]?.score ?? 0
  if (first <= 0) return uses
  for (const region of file.regions.slice(0, useLimits.regions)) {
    const weight = share * (region.score / first)
    const text = structure.text.slice(structure.starts[region.from - 1], structure.starts[region.to])
    for (const name of text.match(identifier) ?? []) if (weight > (uses.get(name) ?? 0)) uses.set(name, weight)
  }
  return uses
}

const identifier = /[A-Za-z_]\w*/g

/** `test_session.py`, `session.test.ts`, `SessionTest.java` and `session_spec.rb` test session. */
function testedFiles({ file }: RankedFile, pathsByName: ReferenceLookup['pathsByName']): readonly string[] {
  if (file.kind !== 'test') return []
  const name = nameWithoutExtensions(file.name)
  const tested = name.replace(/^tests?[-_]|[-_.]?(?:tests?|spec)$|Tests?$|Spec$/gi, '')
  if (tested === '' || tested === name) return []
  return [
    ...(pathsByName.get(tested.toLowerCase()) ?? []),
    ...(pathsByName.get(`_${tested.toLowerCase()}`) ?? []),
  ].slice(0, 4)
}

export function nameWithoutExtensions(name: string): string {
  const dot = name.indexOf('.', 1)
  return dot < 0 ? name : name.slice(0, dot)
}

/** Files whose names are in import lines. Of several, the one whose folders are named there too, or the nearest. */
function importedFiles({ file, structure }: RankedFile, pathsByName: ReferenceLookup['pathsByName']): string[] {
  const words = new Set<string>()
  for (let line = 1; line <= structure.lines; line++) {
    if (structure.imports[line] !== 1) continue
    for (const word of structure.text.slice(structure.starts[line - 1], structure.starts[line]).match(identifier) ??
      []) {
      words.add(word.toLowerCase())
    }
  }
  return [...words].flatMap((word) => nearestPaths(pathsByName.get(word) ?? [], words, file.directory, file.path))
}

function nearestPaths(paths: readonly string[], words: ReadonlySet<string>, directory: string, own: string): string[] {
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
