// The order in which a newcomer should read the files. Source ranks by how many files depend on it and how much it combines; documents, manifests and
// entry points by the size of their folder; tests, examples and boilerplate come last. Then neighbours are spread, so that the first files do not all
// come from one folder.

import type { AnalysisTable } from './analysis-table.js'
import { isProduct } from './analyze-file.js'
import type { Entry, Folder, Tree } from './git-tree.js'
import { languageForGrammar } from './languages.js'
import {
  isBoilerplate,
  isBuildScript,
  isEntryPoint,
  isManifest,
  isProjectGuide,
  isReadme,
  trait,
} from './path-rules.js'
import { centrality } from './reference-graph.js'

/** Best first; `candidates` are the entries that may be chosen. */
export function rankFiles(tree: Tree, candidates: readonly Entry[], analyses: AnalysisTable): Entry[] {
  const product = candidates.filter(isProduct)
  const central = centrality(product, analyses)
  const context: ScoringContext = {
    averageScore: Math.min(0.002, 1 / Math.max(1, product.length)),
    mass: folderMasses(tree, product, central),
    scriptFactor: product.filter((entry) => isScript(entry, analyses)).length > product.length * 0.3 ? 1 : 0.3,
  }
  const scores = new Float64Array(candidates.length)
  let next = 0
  for (let index = 0; index < candidates.length; index++) {
    const entry = candidates[index]!
    // `product` has the order of `candidates`.
    const own = entry === product[next] ? central[next++] : undefined
    scores[index] = scoreFile(entry, own, analyses, context)
  }
  const order = diversify(bestFirst(scores), scores, candidates, tree)
  return Array.from(order, (index) => candidates[index]!)
}

/** Indexes by score; git's order breaks ties. */
function bestFirst(scores: Float64Array): Uint32Array {
  const order = Uint32Array.from(scores, (_, index) => index)
  return order.sort((a, b) => scores[b]! - scores[a]! || a - b)
}

interface ScoringContext {
  /** The score of an average source file. */
  averageScore: number
  /** The share of all centrality below each folder, by folder index. */
  mass: Float64Array
  /** The weight of a shell script: low beside a program, because all scripts use the same few names. */
  scriptFactor: number
}

function isScript({ analysis: record }: Entry, analyses: AnalysisTable): boolean {
  const { family } = languageForGrammar(analyses.records[record]!.grammar)
  return family === 'shell' || family === 'make'
}

function folderMasses({ folders }: Tree, product: readonly Entry[], central: Float64Array): Float64Array {
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

function scoreFile(entry: Entry, own: number | undefined, analyses: AnalysisTable, context: ScoringContext): number {
  const aside = (entry.folder.traits & (trait.example | trait.test | trait.fixture)) !== 0 ? 0.03 : 1
  const mass = context.mass[entry.folder.index]! * aside
  const { name, kind } = entry
  if (entry.folder.depth === 0 && isReadme(name)) return 1
  if (isReadme(name)) return mass * 0.08
  if (isManifest(name)) return mass * 0.04
  if (kind === 'documentation') return documentScore(entry, mass, context)
  if (kind === 'configuration') return context.averageScore * configurationScore(entry) * aside
  if (kind === 'test') return context.averageScore * 0.03
  if (own === undefined) return context.averageScore * 0.04
  const { grammar, outline } = analyses.records[entry.analysis]!
  const begins = outline.includes('"name":"main","kind":"function"') ? entryPointBonus(entry, mass, context) : 0
  const weight =
    languageWeight(grammar) * (isScript(entry, analyses) ? context.scriptFactor : 1) * (isBuildScript(name) ? 0.1 : 1)
  return own * weight * sizeFactor(entry.size) + begins + (isEntryPoint(name) ? mass * 0.01 : 0)
}

/** The bonus of a file with `main`; higher the more lies below. A script has a `main` too, and nothing below it. */
function entryPointBonus({ path }: Entry, mass: number, { averageScore }: ScoringContext): number {
  return /(?:^|\/)(?:cmd|bin|apps?)\//.test(path) ? averageScore * 6 + mass * 0.1 : averageScore * 2
}

/** Of two files with equal use the longer one does more. A file of 6,000 bytes counts 1. */
function sizeFactor(size: number): number {
  return (Math.min(size, 60_000) / 6_000) ** 0.7
}

/** Few configuration files tell how a project is tested and released; the rest configure editors. */
function configurationScore({ path, name, folder }: Entry): number {
  if (isBoilerplate(name)) return 0.02
  if (/^\.(?:github\/workflows|circleci|gitlab)/.test(path)) return 1
  return folder.depth === 0 && !name.startsWith('.') ? 1.5 : 0.2
}

function documentScore({ name, folder }: Entry, mass: number, { averageScore }: ScoringContext): number {
  if (isBoilerplate(name)) return averageScore * 0.02
  if (isProjectGuide(name)) return mass * 0.03
  if (folder.depth === 0) return averageScore * 3
  return averageScore * (/^(?:index|introduction|intro|overview)\b/i.test(name) ? 2 : 0.4) * (mass > 0.5 ? 1 : 0.8)
}

/** Styles and templates say little about how a program works. */
function languageWeight(grammar: string): number {
  const { family } = languageForGrammar(grammar)
  return { style: 0.3, markup: 0.4, documentation: 0.4, other: 0.4 }[family] ?? 1
}

/** The more files of a folder and of its part of the repository come before, the later the next one comes. */
function diversify(
  order: Uint32Array,
  scores: Float64Array,
  candidates: readonly Entry[],
  { folders }: Tree,
): Uint32Array {
  const inFolder = new Uint32Array(folders.length)
  const inPart = new Uint32Array(folders.length)
  for (const index of order) {
    const { folder } = candidates[index]!
    const part = repositoryPart(folder).index
    const delay = (1 + 0.12 * inFolder[folder.index]!) * (1 + 0.02 * inPart[part]!)
    inFolder[folder.index] = inFolder[folder.index]! + 1
    inPart[part] = inPart[part]! + 1
    scores[index] = scores[index]! / delay
  }
  return bestFirst(scores)
}

/** The folder's ancestor on the second level. */
function repositoryPart(folder: Folder): Folder {
  let part = folder
  while (part.depth > 2 && part.parent) part = part.parent
  return part
}
