// In which order somebody who is new here should see the files. Source by how much rests on it and how much it brings together; documents,
// manifests and entry points by how much lies below the folder they speak for; tests, examples and boilerplate last. Then neighbours give way
// to each other, so that the order does not end in one corner of the repository.

import type { AnalysisTable } from './analysis-table.js'
import { isProduct } from './analyze-file.js'
import type { Entry, Folder, Tree } from './git-tree.js'
import { languageOfGrammar } from './languages.js'
import { isBoilerplate, isBuildScript, isEntryPoint, isGuide, isManifest, isReadme, trait } from './path-rules.js'
import { centrality } from './reference-graph.js'

/** The best first. Only entries that may be chosen. */
export function rank(tree: Tree, candidates: readonly Entry[], analyses: AnalysisTable): Entry[] {
  const product = candidates.filter(isProduct)
  const central = centrality(product, analyses)
  const context: Context = {
    unit: Math.min(0.002, 1 / Math.max(1, product.length)),
    mass: massOfFolders(tree, product, central),
    scripts: product.filter((entry) => isScript(entry, analyses)).length > product.length * 0.3 ? 1 : 0.3,
  }
  const scores = new Float64Array(candidates.length)
  let next = 0
  for (let index = 0; index < candidates.length; index++) {
    const entry = candidates[index]!
    // The product comes in the same order.
    const own = entry === product[next] ? central[next++] : undefined
    scores[index] = scoreOf(entry, own, analyses, context)
  }
  const order = spread(bestFirst(scores), scores, candidates, tree)
  return Array.from(order, (index) => candidates[index]!)
}

/** Places by their scores; git's order settles a draw. */
function bestFirst(scores: Float64Array): Uint32Array {
  const order = Uint32Array.from(scores, (_, index) => index)
  return order.sort((a, b) => scores[b]! - scores[a]! || a - b)
}

interface Context {
  /** What an average source file has. */
  unit: number
  /** The share of everything that is below a folder, by the folder's place. */
  mass: Float64Array
  /** What a shell script counts: little beside a program, for all scripts use the same few. */
  scripts: number
}

function isScript({ record }: Entry, analyses: AnalysisTable): boolean {
  const { family } = languageOfGrammar(analyses.records[record]!.grammar)
  return family === 'shell' || family === 'make'
}

function massOfFolders({ folders }: Tree, product: readonly Entry[], central: Float64Array): Float64Array {
  const all = Math.max(1, folders[0]!.files)
  const sourceShare = product.length > 0 ? 0.9 : 0
  const mass = new Float64Array(folders.length)
  for (let index = 0; index < product.length; index++) {
    const { folder } = product[index]!
    mass[folder.index] = mass[folder.index]! + central[index]! * sourceShare
  }
  for (let index = folders.length - 1; index > 0; index--) {
    const { parent } = folders[index]!
    if (parent) mass[parent.index] = mass[parent.index]! + mass[index]!
  }
  for (const { index, files } of folders) mass[index] = mass[index]! + ((1 - sourceShare) * files) / all
  return mass
}

function scoreOf(entry: Entry, own: number | undefined, analyses: AnalysisTable, context: Context): number {
  const aside = (entry.folder.traits & (trait.example | trait.test | trait.fixture)) !== 0 ? 0.03 : 1
  const mass = context.mass[entry.folder.index]! * aside
  const { name, kind } = entry
  if (entry.folder.depth === 0 && isReadme(name)) return 1
  if (isReadme(name)) return mass * 0.08
  if (isManifest(name)) return mass * 0.04
  if (kind === 'documentation') return documentScore(entry, mass, context)
  if (kind === 'configuration') return context.unit * settingsScore(entry) * aside
  if (kind === 'test') return context.unit * 0.03
  if (own === undefined) return context.unit * 0.04
  const { grammar, outline } = analyses.records[entry.record]!
  const begins = outline.includes('"name":"main","kind":"function"') ? beginning(entry, mass, context) : 0
  const weight = weightOf(grammar) * (isScript(entry, analyses) ? context.scripts : 1) * (isBuildScript(name) ? 0.1 : 1)
  return own * weight * substance(entry.size) + begins + (isEntryPoint(name) ? mass * 0.01 : 0)
}

/** Where a program begins; the more so the more of it lies below. A script has its `main` too, and nothing below it. */
function beginning({ path }: Entry, mass: number, { unit }: Context): number {
  return /(?:^|\/)(?:cmd|bin|apps?)\//.test(path) ? unit * 6 + mass * 0.1 : unit * 2
}

/** Of two files that are used as much, the longer one does more. A file of some pages counts 1. */
function substance(size: number): number {
  return (Math.min(size, 60_000) / 6_000) ** 0.7
}

/** How it is checked and released is in a few files; the rest are the habits of editors. */
function settingsScore({ path, name, folder }: Entry): number {
  if (isBoilerplate(name)) return 0.02
  if (/^\.(?:github\/workflows|circleci|gitlab)/.test(path)) return 1
  return folder.depth === 0 && !name.startsWith('.') ? 1.5 : 0.2
}

function documentScore({ name, folder }: Entry, mass: number, { unit }: Context): number {
  if (isBoilerplate(name)) return unit * 0.02
  if (isGuide(name)) return mass * 0.03
  if (folder.depth === 0) return unit * 3
  return unit * (/^(?:index|introduction|intro|overview)\b/i.test(name) ? 2 : 0.4) * (mass > 0.5 ? 1 : 0.8)
}

/** Styles and templates say little of how a program works. */
function weightOf(grammar: string): number {
  const { family } = languageOfGrammar(grammar)
  return { style: 0.3, markup: 0.4, documentation: 0.4, other: 0.4 }[family] ?? 1
}

/** The more of a folder, and of the part of the repository it is in, has come already, the longer the next one waits. */
function spread(
  order: Uint32Array,
  scores: Float64Array,
  candidates: readonly Entry[],
  { folders }: Tree,
): Uint32Array {
  const inFolder = new Uint32Array(folders.length)
  const inPart = new Uint32Array(folders.length)
  for (const index of order) {
    const { folder } = candidates[index]!
    const part = partOf(folder).index
    const delay = (1 + 0.12 * inFolder[folder.index]!) * (1 + 0.02 * inPart[part]!)
    inFolder[folder.index] = inFolder[folder.index]! + 1
    inPart[part] = inPart[part]! + 1
    scores[index] = scores[index]! / delay
  }
  return bestFirst(scores)
}

/** The folder two below the top. */
function partOf(folder: Folder): Folder {
  let part = folder
  while (part.depth > 2 && part.parent) part = part.parent
  return part
}
