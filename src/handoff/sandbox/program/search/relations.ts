// How the candidates relate to the best of them: who uses and tests whom. Values are between 0 and 1.

import { awaitedLater, pause } from '../../../util/abort.js'
import { textOfLine } from './code-regions.js'
import type { DefinitionSite, FindDefinitions } from './definition-sites.js'
import type { RankedFile } from './rank-regions.js'
import { sizes } from './ranking-weights.js'
import type { SourceFile } from './source-files.js'

/** How many files, and how many regions of each, contribute the names they use. */
const useLimits = { files: 6, regions: 4 }
/** A name with more definitions is ambiguous. */
const ambiguousDefinitions = 4

export interface Relations {
  /** By path: the file defines what the best files use. */
  uses: Map<string, number>
  /** By path and line of the definitions that the best files use. */
  usedDefinitions: Map<string, number>
  /** By path: one of the best files is a test of it, or it is a test of one. */
  tested: Map<string, number>
  testOf: Map<string, number>
  /** By path: how well its tests rank. Tests say in plain words what they test, so how little they themselves count does not matter. */
  testRank: Map<string, number>
  /** Path of a file that many files with the same definition inherit from, and these. */
  inherited: Map<string, RankedFile[]>
}

/** `ranked` is in the order of `rank`, best first. */
export async function findRelations(
  ranked: readonly RankedFile[],
  files: readonly SourceFile[],
  findDefinitions: FindDefinitions,
): Promise<Relations> {
  const best = ranked[0]?.rank ?? 0
  const share = (file: RankedFile) => (best > 0 ? Math.max(0, file.rank / best) : 0)
  const finding = awaitedLater(
    Promise.all([
      findUses(ranked.slice(0, useLimits.files), share, findDefinitions),
      findInherited(ranked, findDefinitions),
    ]),
  )
  // While the definitions are on their way; their requests are sent in this pause.
  await pause()
  const found = findTests(ranked, share, files)
  const [uses, inherited] = await finding
  return { ...uses, ...found, inherited }
}

type Share = (file: RankedFile) => number

async function findUses(asked: readonly RankedFile[], share: Share, findDefinitions: FindDefinitions) {
  const uses = new Map<string, number>()
  const usedDefinitions = new Map<string, number>()
  const names = asked.map((file) => usedIdentifiers(file, share(file)))
  const sites = await findDefinitions(new Set(names.flatMap((used) => [...used.keys()])))
  for (const [index, file] of asked.entries()) {
    for (const [path, value] of usesOf(file, names[index]!, sites, usedDefinitions)) {
      // One file counts once, however many names of another it uses.
      raise(uses, path, value / (value + 1), true)
    }
  }
  return { uses, usedDefinitions }
}

function usesOf(
  file: RankedFile,
  names: ReadonlyMap<string, number>,
  sites: ReadonlyMap<string, DefinitionSite[]>,
  usedDefinitions: Map<string, number>,
): Map<string, number> {
  const perFile = new Map<string, number>()
  for (const [name, weight] of names) {
    const definitions = sites.get(name) ?? []
    if (definitions.length > ambiguousDefinitions) continue
    for (const { path, line } of definitions) {
      if (path === file.file.path) continue
      raise(perFile, path, weight / definitions.length, true)
      raise(usedDefinitions, `${path}:${line}`, weight / definitions.length, true)
    }
  }
  return perFile
}

function raise(map: Map<string, number>, key: string, value: number, adds = false): void {
  const known = map.get(key) ?? 0
  map.set(key, adds ? known + value : Math.max(known, value))
}

/** The identifiers of a file's best regions, each with the relative score of the best region that has it. */
function usedIdentifiers(file: RankedFile, share: number): Map<string, number> {
  const uses = new Map<string, number>()
  const { structure } = file
  const first = file.regions[0]?.score ?? 0
  if (first <= 0) return uses
  for (const region of file.regions.slice(0, useLimits.regions)) {
    const weight = share * (region.score / first)
    const head = region.enclosing ? textOfLine(structure, region.enclosing.line) : ''
    const text = structure.text.slice(structure.starts[region.from - 1], structure.starts[region.to]) + head
    for (const name of text.match(/[A-Za-z_]\w*/g) ?? []) raise(uses, name, weight)
  }
  return uses
}

const nameWithoutExtensions = (name: string) => /^\.?[^.]+/.exec(name)?.[0] ?? name

function findTests(ranked: readonly RankedFile[], share: Share, files: readonly SourceFile[]) {
  const names = new Map(
    ranked.flatMap(({ file }) => (file.kind === 'test' ? [[file.path, testedNames(file)] as const] : [])),
  )
  const byName = filesByName(files, new Set([...names.values()].flat()))
  const shares = new Map(ranked.slice(0, useLimits.files).map((file) => [file.file.path, share(file)]))
  const tested = new Map<string, number>()
  const testOf = new Map<string, number>()
  const testRank = new Map<string, number>()
  const plainRank = (file: RankedFile) => file.rank / file.factor
  const most = Math.max(0, ...ranked.map(plainRank)) || 1
  for (const test of ranked) {
    for (const name of names.get(test.file.path) ?? []) {
      const found = byName.get(name) ?? []
      if (found.length > ambiguousDefinitions) continue
      for (const { path } of found) {
        raise(testRank, path, plainRank(test) / most)
        if (shares.has(test.file.path)) raise(tested, path, shares.get(test.file.path)!)
        if (shares.has(path)) raise(testOf, test.file.path, shares.get(path)!)
      }
    }
  }
  return { tested, testOf, testRank }
}

/** `test_session.py`, `session.test.ts`, `SessionTest.java`, `session_spec.rb` and the fixtures in `session/` test session. */
function testedNames({ name, directory }: SourceFile): string[] {
  const stem = nameWithoutExtensions(name).replace(/^tests?[-_]|[-_]?(?:tests?|spec)$|Tests?$|Spec$/gi, '')
  return [stem, directory.split('/').at(-1) ?? ''].filter((one) => one.length > 1).map((one) => one.toLowerCase())
}

/** Source files with one of the names. */
function filesByName(files: readonly SourceFile[], names: ReadonlySet<string>): Map<string, SourceFile[]> {
  const found = new Map<string, SourceFile[]>()
  if (names.size === 0) return found
  for (const file of files) {
    if (file.kind !== 'source') continue
    const name = nameWithoutExtensions(file.name).toLowerCase().replace(/^_/, '')
    if (!names.has(name)) continue
    const known = found.get(name)
    if (known) known.push(file)
    else found.set(name, [file])
  }
  return found
}

async function findInherited(
  ranked: readonly RankedFile[],
  findDefinitions: FindDefinitions,
): Promise<Map<string, RankedFile[]>> {
  const found = new Map<string, RankedFile[]>()
  const groups = Map.groupBy(ranked, ({ regions: [best] }) => (best?.score ? (best.definition?.name ?? '') : ''))
  groups.delete('')
  for (const twins of groups.values()) {
    if (twins.length < sizes.twins) continue
    for (const sites of (await findDefinitions(commonParents(twins))).values()) {
      if (sites.length <= ambiguousDefinitions) for (const { path } of sites) found.set(path, twins)
    }
  }
  for (const twins of found.values()) for (const { file } of twins) found.delete(file.path)
  return found
}

/** The names in most of the heads of the classes that the best lines are in. */
function commonParents(twins: readonly RankedFile[]): Set<string> {
  const parents = new Map<string, number>()
  for (const { structure, regions } of twins) {
    const head = textOfLine(structure, (regions[0]!.enclosing ?? regions[0]!.definition!).line)
    for (const parent of new Set(head.match(/[A-Za-z_]\w*/g))) raise(parents, parent, 1 / twins.length, true)
  }
  return new Set([...parents].flatMap(([name, share]) => (share > 0.5 ? [name] : [])))
}
