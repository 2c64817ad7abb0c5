// Code that a change does not touch and that depends on it: who names a changed definition, who imports a changed file, and its tests. No model
// takes part. A candidate comes from the import graph, from the folder where a language needs no import, or from the name of a test.
import type { Ripple } from '../../../domain/change/change.js'
import type { AnalysisTable } from './analysis-table.js'
import { decodeText } from './decode-text.js'
import type { BlobReader } from './git-objects.js'
import type { Entry } from './git-tree.js'
import type { FileImports } from './import-graph.js'

/** A changed source file with the definitions that others may depend on. */
export interface ChangedSource {
  path: string
  grammar: string
  names: string[]
}

export interface RippleSources {
  entries: readonly Entry[]
  imports: readonly FileImports[]
  analyses: AnalysisTable
  reader: BlobReader
}

interface Candidate {
  entry: Entry
  of: ChangedSource
  /** The line of the import; 0 where none is needed. */
  importLine: number
  /** Files that pass the changed one on, in between. */
  distance: number
  sameStem: boolean
}

/** Reexports are followed so far. */
const mostSteps = 2
const mostCandidates = 600
const fileBytes = 1_000_000
/** Without an import statement a file of these grammars sees its folder. */
const seesFolder = new Set(['go', 'java', 'kotlin', 'scala'])

/** Strongest first. `changed` are the paths that the change touches. */
export async function findRipples(
  sources: readonly ChangedSource[],
  changed: ReadonlySet<string>,
  { entries, imports, analyses, reader }: RippleSources,
): Promise<Ripple[]> {
  const candidates = collectCandidates(sources, changed, entries, imports, analyses)
  const found: { ripple: Ripple; score: number }[] = []
  const readable = candidates.filter(({ entry }) => entry.size <= fileBytes).slice(0, mostCandidates)
  await reader.read(
    readable.map(({ entry }) => entry.blob),
    (index, bytes) => {
      const content = bytes && decodeText(bytes)
      if (content) found.push(...judge(readable[index]!, content.toString('utf8')))
    },
  )
  return strongestOfEachFile(found)
}

function collectCandidates(
  sources: readonly ChangedSource[],
  changed: ReadonlySet<string>,
  entries: readonly Entry[],
  imports: readonly FileImports[],
  analyses: AnalysisTable,
): Candidate[] {
  const importers = importersOf(imports)
  const readable = entries.filter(({ analysis, kind }) => analysis >= 0 && (kind === 'source' || kind === 'test'))
  const byFolder = Map.groupBy(readable, ({ path }) => folderOf(path))
  const tests = Map.groupBy(
    readable.filter(({ kind, path }) => kind === 'test' && !/(?:^|\/)(?:__)?(?:fixtures|mocks)(?:__)?\//.test(path)),
    ({ path }) => stemOf(path),
  )
  const candidates = new Map<string, Candidate>()
  for (const of of sources) {
    const sameLanguage = ({ analysis }: Entry) => analyses.records[analysis]!.grammar === of.grammar
    const beside = seesFolder.has(of.grammar) ? (byFolder.get(folderOf(of.path)) ?? []).filter(sameLanguage) : []
    const named = (tests.get(stemOf(of.path)) ?? []).filter(({ path }) => sharesFolder(path, of.path))
    for (const place of [
      ...importing(of, importers),
      ...beside.map((entry) => ({ entry, importLine: 0, distance: 1 })),
      ...named.map((entry) => ({ entry, importLine: 0, distance: mostSteps + 1 })),
    ]) {
      if (!changed.has(place.entry.path))
        keepNearest(candidates, { ...place, of, sameStem: named.includes(place.entry) })
    }
  }
  return [...candidates.values()].sort((a, b) => Number(b.sameStem) - Number(a.sameStem) || a.distance - b.distance)
}

type Importers = Map<string, { entry: Entry; line: number }[]>

function importersOf(imports: readonly FileImports[]): Importers {
  const importers: Importers = new Map()
  for (const { entry, targets } of imports) {
    for (const [target, line] of targets) {
      const known = importers.get(target)
      if (known) known.push({ entry, line })
      else importers.set(target, [{ entry, line }])
    }
  }
  return importers
}

/** Who imports the file, or one that passes it on. */
function importing(of: ChangedSource, importers: Importers): Pick<Candidate, 'entry' | 'importLine' | 'distance'>[] {
  const found: Pick<Candidate, 'entry' | 'importLine' | 'distance'>[] = []
  let targets = [of.path, ...(of.grammar === 'go' ? [folderOf(of.path)] : [])]
  for (let distance = 0; distance <= mostSteps; distance++) {
    const next = targets.flatMap((target) => importers.get(target) ?? [])
    for (const { entry, line } of next) found.push({ entry, importLine: line, distance })
    targets = next.filter(({ entry }) => passesOn(entry)).map(({ entry }) => entry.path)
  }
  return found
}

function keepNearest(candidates: Map<string, Candidate>, candidate: Candidate): void {
  const key = `${candidate.entry.path}\n${candidate.of.path}`
  const known = candidates.get(key)
  if (known === undefined || candidate.distance < known.distance) candidates.set(key, candidate)
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1)

/** `a/foo.test.ts`, `a/test_foo.py` and `a/foo_test.go` are `foo`; an index is its folder. */
function stemOf(path: string): string {
  const parts = path.split('/')
  const base = parts.at(-1)!.split('.', 1)[0]!.toLowerCase()
  const stem = base.replace(/^test[_-]|[_-](?:test|spec)s?$|(?<=[a-z])tests?$/g, '')
  const isIndex = /^(?:index|mod|lib|__init__|main)$/.test(stem)
  return isIndex
    ? (parts
        .filter((part) => !/^(?:src|lib|tests?|__tests__|spec)$/.test(part))
        .at(-2)
        ?.toLowerCase() ?? '')
    : stem
}

/** One stands below a folder of the other, or both below folders of the same name. */
function sharesFolder(test: string, source: string): boolean {
  const names = (path: string) =>
    path
      .split('/')
      .slice(0, -1)
      .filter((part) => !/^(?:src|lib|tests?|__tests__|spec|unit)$/.test(part))
  const [a, b] = [names(test), names(source)]
  return (
    a.length === 0 ||
    b.length === 0 ||
    a.at(-1) === b.at(-1) ||
    b.join('/').startsWith(a.join('/')) ||
    a.join('/').startsWith(b.join('/'))
  )
}

/** Files that mostly pass on what others define. */
const passesOn = ({ name }: Entry) => /^(?:index\.[cm]?[jt]sx?|__init__\.pyi?|mod\.rs|lib\.rs)$/.test(name)

/** The first line that names a changed definition, apart from imports and comments. */
function judge(candidate: Candidate, text: string): { ripple: Ripple; score: number }[] {
  const { entry, of, importLine, distance, sameStem } = candidate
  const used = usedNames(text, of.names)
  // A benchmark counts as a test for the summary, and only uses what it measures.
  const holdsTests = entry.kind === 'test' && !/(?:^|\/)bench/.test(entry.path)
  // Where no definition is known to have changed, everything that imports the file may depend on it.
  const unknown = of.names.length === 0 && distance === 0
  if (used.names.length === 0 && !unknown && !sameStem) return []
  const near = folderOf(entry.path) === folderOf(of.path) ? 8 : 0
  const named = 20 * Math.min(3, used.names.length)
  const score = (sameStem ? 100 : 0) + named + near + (importLine > 0 ? 4 : 0) - 5 * distance
  const kind = holdsTests ? 'test' : used.line > 0 ? 'caller' : 'importer'
  const line = used.line || importLine || 1
  return [{ ripple: { kind, path: entry.path, line, of: of.path, names: used.names }, score }]
}

const notUse = /^\s*(?:import\b|from\b|export\s+(?:\*|\{)|use\b|pub use\b|#\s*include|\/\/|\*|\/\*|#|"""|--)/

function usedNames(text: string, names: readonly string[]): { names: string[]; line: number } {
  const present = names.filter((name) => text.includes(name))
  if (present.length === 0) return { names: [], line: 0 }
  const pattern = new RegExp(`(?<![\\w$])(?:${present.map(literal).join('|')})(?![\\w$])`, 'g')
  const found = new Set<string>()
  let first = 0
  let number = 0
  for (const line of text.split('\n')) {
    number += 1
    const hits = line.length > 2_000 ? [] : (line.match(pattern) ?? [])
    if (hits.length === 0) continue
    const isUse = !notUse.test(line)
    for (const hit of hits) found.add(hit)
    if (isUse && first === 0) first = number
    if (isUse && found.size === present.length) break
  }
  return { names: [...found], line: first }
}

const literal = (name: string) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

function strongestOfEachFile(found: { ripple: Ripple; score: number }[]): Ripple[] {
  const byPath = new Map<string, { ripple: Ripple; score: number }>()
  for (const one of found) {
    const known = byPath.get(one.ripple.path)
    if (known === undefined || known.score < one.score) byPath.set(one.ripple.path, one)
  }
  return [...byPath.values()]
    .sort((a, b) => b.score - a.score || (a.ripple.path < b.ripple.path ? -1 : 1))
    .map(({ ripple }) => ripple)
}
