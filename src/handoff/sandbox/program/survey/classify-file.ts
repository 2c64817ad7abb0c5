// Tells by path, size and attributes what every file is, and which files nobody needs to look into. What only the content can tell
// (generated, minified, binary under a strange name) is settled when the file is read.
import type { FileKind, SkipReason } from '../../../domain/survey.js'
import type { AttributesOf, FileAttributes } from './git-attributes.js'
import type { Entry, Folder, Tree } from './git-tree.js'
import { endingOf, languageOfEnding, meaningOf } from './languages.js'
import {
  isBoilerplate,
  isGeneratedName,
  isLockFile,
  isMinifiedName,
  isPythonTestName,
  meaningOfName,
  namesTests,
  trait,
  traitsOfFolder,
} from './path-rules.js'

/** Larger files are not read: nobody would read them in a first hour either. */
export const largestText = 8_000_000
export const largestUnknown = 1_000_000
const largestConfiguration = 256_000
const largestJson = 64_000
const largestBoilerplate = 64_000

export interface Selection {
  attributes: AttributesOf
  /** True for paths that the settings leave out. */
  excluded: (path: string) => boolean
  /** True for paths that .handoffignore leaves out. */
  ignored: (path: string) => boolean
}

export function classify(tree: Tree, selection: Selection): void {
  traitFolders(tree)
  for (const entry of tree.entries) classifyEntry(entry, selection)
}

function traitFolders({ folders, entries }: Tree): void {
  const suites = new Set<Folder>()
  const packages = new Set<Folder>()
  for (const { name, folder: own } of entries) {
    // Only what ends in a y can end in .py: that is asked of every file.
    if (name.charCodeAt(name.length - 1) !== 121) continue
    if (name === '__init__.py') packages.add(own)
    if (!isPythonTestName(name)) continue
    for (let folder: Folder | undefined = own; folder && !suites.has(folder); folder = folder.parent) suites.add(folder)
  }
  for (const folder of folders) {
    if (!folder.parent) continue
    const own = traitsOfFolder(folder.path.slice(folder.path.lastIndexOf('/') + 1))
    folder.traits = folder.parent.traits | settled(own, folder, packages, suites)
  }
}

/** What a name that may mean a test means here. */
function settled(own: number, folder: Folder, packages: Set<Folder>, suites: Set<Folder>): number {
  // A Python package `test` without a single test in it is what others write their tests with.
  if (own === trait.maybeTest)
    return packages.has(folder) && packages.has(folder.parent!) && !suites.has(folder) ? 0 : trait.test
  return own === trait.maybeBench ? (/(?:^|\/)src\/.*\/bench$/.test(folder.path) ? 0 : trait.test) : own
}

function classifyEntry(entry: Entry, selection: Selection): void {
  const lost = entry.reason === 'missing'
  const verdict = verdictOf(entry, selection)
  entry.kind = verdict.kind
  entry.reason = verdict.reason
  if (lost) entry.reason = 'missing'
  if (lost) return
  if (verdict.reason === 'symlink' || verdict.reason === 'submodule') return
  if (selection.excluded(entry.path)) entry.reason = 'excluded'
  else if (selection.ignored(entry.path)) entry.reason = 'ignored'
  else if (entry.size === 0) entry.reason = 'empty'
}

interface Verdict {
  kind: FileKind
  reason?: SkipReason
}

function verdictOf(entry: Entry, selection: Selection): Verdict {
  if (entry.mode === '120000') return { kind: 'symlink', reason: 'symlink' }
  if (entry.mode === '160000') return { kind: 'submodule', reason: 'submodule' }
  const attributes = selection.attributes(entry.path, entry.folder.path)
  const ending = endingOf(entry.name)
  return closedBook(entry, ending, attributes) ?? openBook(entry, ending, attributes)
}

/** What nobody reads, by its name or by what the attributes say. */
function closedBook(entry: Entry, ending: string, attributes: FileAttributes): Verdict | undefined {
  const { name, folder, size } = entry
  const meaning = meaningOf(ending)
  const vendored = attributes.vendored ?? (folder.traits & trait.vendored) !== 0
  const generated = attributes.generated ?? ((folder.traits & trait.generated) !== 0 || isGeneratedName(name))
  if (attributes.lfs && size < 1_024) return { kind: 'lfs-pointer', reason: 'lfs pointer' }
  if (attributes.binary) return { kind: 'binary', reason: 'binary' }
  if (isLockFile(name, ending)) return { kind: 'lock', reason: 'lock file' }
  if (vendored) return { kind: 'vendored', reason: 'vendored' }
  if (meaning === 'binary') return maybePointer(entry, { kind: 'binary', reason: 'binary' })
  if (generated) return { kind: 'generated', reason: 'generated' }
  if (isMinifiedName(name, ending)) return { kind: 'minified', reason: 'minified' }
  return meaning === 'data' ? maybePointer(entry, { kind: 'data', reason: 'data' }) : undefined
}

/** A file kept elsewhere by LFS has about 130 bytes, whatever its name says; only its content tells. */
function maybePointer(entry: Entry, verdict: Verdict): Verdict {
  entry.pointer = entry.size >= 100 && entry.size <= 200
  return entry.pointer ? { kind: verdict.kind } : verdict
}

function openBook(entry: Entry, ending: string, attributes: FileAttributes): Verdict {
  const { name, folder, size } = entry
  const language = languageOfEnding(ending)
  const plain = language !== undefined && kindOfFamily(language.family) === 'source'
  const special = plain ? undefined : meaningOfName(name)
  const family = special?.kind ?? kindOfFamily(language?.family)
  // A workflow that runs the tests is none.
  const forTests = (family === 'source' && namesTests(name)) || (folder.traits & trait.test) !== 0
  const alike = trait.fixture | trait.bulk | (family === 'configuration' ? trait.translation : 0)
  const isFixture = (folder.traits & alike) !== 0
  entry.grammar = special?.grammar ?? language?.grammar ?? ''
  entry.byHand = attributes.generated === false
  if (family !== 'source' && !attributes.documentation && (isFixture || isTable(name, ending, family, size))) {
    return maybePointer(entry, { kind: 'data', reason: 'data' })
  }
  const kind = attributes.documentation ? 'documentation' : forTests && family !== 'documentation' ? 'test' : family
  const known = language !== undefined || special !== undefined
  return size > (known ? largestText : largestUnknown) ? { kind, reason: 'too large' } : { kind }
}

function kindOfFamily(family: string | undefined): 'source' | 'documentation' | 'configuration' {
  return family === 'documentation' || family === 'configuration' ? family : 'source'
}

/** Large settings are tables of something, and so are long lists of changes. */
function isTable(name: string, ending: string, kind: FileKind, size: number): boolean {
  if (kind === 'documentation') return isBoilerplate(name) && size > largestBoilerplate
  return size > (/^(?:json|json5|xml|plist)$/.test(ending) ? largestJson : largestConfiguration)
}
