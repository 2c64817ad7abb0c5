// In which order somebody who is new here should see the files. Source by how much rests on it; documents, manifests and entry points by how
// much lies below the folder they speak for; tests, examples and boilerplate last. Then neighbours give way to each other, so that the order
// does not end in one corner of the repository.
import { isProduct } from './analyse.js'
import { centrality } from './graph.js'
import { languageOfGrammar } from './languages.js'
import { isBoilerplate, isEntryPoint, isGuide, isManifest, isReadme, trait } from './names.js'
import type { Store } from './store.js'
import type { Entry, Folder, Tree } from './tree.js'

/** The best first. Only entries that may be chosen. */
export function rank(tree: Tree, candidates: readonly Entry[], store: Store): Entry[] {
  const product = candidates.filter(isProduct)
  const scores = centrality(product, store)
  const central = new Map(product.map((entry, index): [Entry, number] => [entry, scores[index]!]))
  const context: Context = {
    unit: Math.min(0.002, 1 / Math.max(1, product.length)),
    mass: massOfFolders(tree, central),
    central,
  }
  const scored = candidates.map((entry, index) => ({ entry, index, score: scoreOf(entry, store, context) }))
  return spread(scored.sort(best)).map(({ entry }) => entry)
}

interface Scored {
  entry: Entry
  /** In git's order, which settles a draw. */
  index: number
  score: number
}

function best(a: Scored, b: Scored): number {
  return b.score - a.score || a.index - b.index
}

interface Context {
  /** What an average source file has. */
  unit: number
  /** The share of everything that is below a folder. */
  mass: Map<Folder, number>
  central: Map<Entry, number>
}

function massOfFolders({ folders }: Tree, central: Map<Entry, number>): Map<Folder, number> {
  const all = Math.max(1, folders[0]!.files)
  const sourceShare = central.size > 0 ? 0.9 : 0
  const mass = new Map(folders.map((folder): [Folder, number] => [folder, 0]))
  for (const [entry, score] of central) mass.set(entry.folder, mass.get(entry.folder)! + score * sourceShare)
  for (let index = folders.length - 1; index > 0; index--) {
    const folder = folders[index]!
    if (folder.parent) mass.set(folder.parent, mass.get(folder.parent)! + mass.get(folder)!)
  }
  for (const folder of folders) mass.set(folder, mass.get(folder)! + ((1 - sourceShare) * folder.files) / all)
  return mass
}

function scoreOf(entry: Entry, store: Store, context: Context): number {
  const aside = (entry.folder.traits & (trait.example | trait.test | trait.fixture)) !== 0 ? 0.03 : 1
  const mass = context.mass.get(entry.folder)! * aside
  const { name, kind } = entry
  if (entry.folder.depth === 0 && isReadme(name)) return 1
  if (isReadme(name)) return mass * 0.08
  if (isManifest(name)) return mass * 0.04
  if (kind === 'documentation') return documentScore(entry, mass, context)
  if (kind === 'configuration') return context.unit * settingsScore(entry) * aside
  if (kind === 'test') return context.unit * 0.03
  const own = context.central.get(entry)
  if (own === undefined) return context.unit * 0.04
  const { grammar, outline } = store.records[entry.record]!
  const begins = outline.includes('"name":"main","kind":"function"')
    ? context.unit * (/(?:^|\/)(?:cmd|bin|apps?)\//.test(entry.path) ? 6 : 2)
    : 0
  return own * weightOf(grammar) * substance(entry.size) + begins + (isEntryPoint(name) ? mass * 0.01 : 0)
}

/** Of two files that are used as much, the longer one does more. A file of some pages counts 1. */
function substance(size: number): number {
  return (Math.min(size, 60_000) / 6_000) ** 0.4
}

/** How it is checked and released is in a few files; the rest are the habits of editors. */
function settingsScore({ path, name, folder }: Entry): number {
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
function spread(sorted: readonly Scored[]): Scored[] {
  const folders = new Map<Folder, number>()
  const parts = new Map<Folder, number>()
  const next = (counts: Map<Folder, number>, folder: Folder) => {
    const count = counts.get(folder) ?? 0
    counts.set(folder, count + 1)
    return count
  }
  const waited = sorted.map((scored) => {
    const { folder } = scored.entry
    const delay = (1 + 0.12 * next(folders, folder)) * (1 + 0.02 * next(parts, partOf(folder)))
    return { ...scored, score: scored.score / delay }
  })
  return waited.sort(best)
}

/** The folder two below the top. */
function partOf(folder: Folder): Folder {
  let part = folder
  while (part.depth > 2 && part.parent) part = part.parent
  return part
}
