// Decides by path, size and attributes what kind every file is, and which files are not read. What only the content shows (generated, minified, binary
// under an unusual name) is decided when the file is read.
import type { FileKind, SkipReason } from '../../../domain/survey.js'
import type { AttributeLookup, FileAttributes } from './git-attributes.js'
import type { Entry, Folder, Tree } from './git-tree.js'
import { categoryOfExtension, extensionOf, languageForExtension } from './languages.js'
import {
  hasTestName,
  isBoilerplate,
  isGeneratedName,
  isLockFile,
  isMinifiedName,
  isPythonTestName,
  kindForName,
  trait,
  traitsForFolder,
} from './path-rules.js'

/** Larger files are not read. */
export const largestText = 8_000_000
export const largestUnknown = 1_000_000
const largestConfiguration = 256_000
const largestJson = 64_000
const largestBoilerplate = 64_000

export interface Selection {
  attributes: AttributeLookup
  /** Whether the settings exclude the path. */
  excluded: (path: string) => boolean
  /** Whether .handoffignore excludes the path. */
  ignored: (path: string) => boolean
}

export function classifyFiles(tree: Tree, selection: Selection): void {
  assignFolderTraits(tree)
  for (const entry of tree.entries) classifyEntry(entry, selection)
}

function assignFolderTraits({ folders, entries }: Tree): void {
  const suites = new Set<Folder>()
  const packages = new Set<Folder>()
  for (const { name, folder: own } of entries) {
    // Only a name that ends in y can end in .py; this check is cheap and runs for every file.
    if (name.charCodeAt(name.length - 1) !== 121) continue
    if (name === '__init__.py') packages.add(own)
    if (!isPythonTestName(name)) continue
    for (let folder: Folder | undefined = own; folder && !suites.has(folder); folder = folder.parent) suites.add(folder)
  }
  for (const folder of folders) {
    if (!folder.parent) continue
    const own = traitsForFolder(folder.path)
    folder.traits = folder.parent.traits | resolveTrait(own, folder, packages, suites)
  }
}

/** Resolves folder names that only sometimes mean tests. */
function resolveTrait(own: number, folder: Folder, packages: Set<Folder>, suites: Set<Folder>): number {
  // A Python package `test` without tests is a test library, which is product.
  if (own === trait.maybeTest)
    return packages.has(folder) && packages.has(folder.parent!) && !suites.has(folder) ? 0 : trait.test
  return own === trait.maybeBench
    ? folder.path.endsWith('/bench') && /(?:^|\/)src\/.*\//.test(folder.path)
      ? 0
      : trait.test
    : own
}

function classifyEntry(entry: Entry, selection: Selection): void {
  const lost = entry.reason === 'missing'
  const verdict = classifyByName(entry, selection)
  entry.kind = verdict.kind
  entry.reason = verdict.reason
  if (lost) entry.reason = 'missing'
  if (lost) return
  if (verdict.reason === 'symlink' || verdict.reason === 'submodule') return
  if (selection.excluded(entry.path)) entry.reason = 'excluded'
  else if (selection.ignored(entry.path)) entry.reason = 'ignored'
  else if (entry.size === 0) entry.reason = 'empty'
}

interface Classification {
  kind: FileKind
  reason?: SkipReason
}

function classifyByName(entry: Entry, selection: Selection): Classification {
  if (entry.mode === '120000') return { kind: 'symlink', reason: 'symlink' }
  if (entry.mode === '160000') return { kind: 'submodule', reason: 'submodule' }
  const attributes = selection.attributes(entry.path, entry.folder.path)
  const ending = extensionOf(entry.name)
  return classifyUnread(entry, ending, attributes) ?? classifyText(entry, ending, attributes)
}

/** Kinds that are not read, by name or attributes. */
function classifyUnread(entry: Entry, ending: string, attributes: FileAttributes): Classification | undefined {
  const { name, folder, size } = entry
  const meaning = categoryOfExtension(ending)
  const vendored = attributes.vendored ?? (folder.traits & trait.vendored) !== 0
  const generated = attributes.generated ?? ((folder.traits & trait.generated) !== 0 || isGeneratedName(name))
  if (attributes.lfs && size < 1_024) return { kind: 'lfs-pointer', reason: 'lfs pointer' }
  if (attributes.binary) return { kind: 'binary', reason: 'binary' }
  if (isLockFile(name, ending)) return { kind: 'lock', reason: 'lock file' }
  if (vendored) return { kind: 'vendored', reason: 'vendored' }
  if (meaning === 'binary') return unlessLfsPointer(entry, { kind: 'binary', reason: 'binary' })
  if (generated) return { kind: 'generated', reason: 'generated' }
  if (isMinifiedName(name, ending)) return { kind: 'minified', reason: 'minified' }
  return meaning === 'data' ? unlessLfsPointer(entry, { kind: 'data', reason: 'data' }) : undefined
}

/** An LFS pointer has about 130 bytes under any name; only its content shows it. */
function unlessLfsPointer(entry: Entry, verdict: Classification): Classification {
  entry.maybeLfsPointer = entry.size >= 100 && entry.size <= 200
  return entry.maybeLfsPointer ? { kind: verdict.kind } : verdict
}

function classifyText(entry: Entry, ending: string, attributes: FileAttributes): Classification {
  const { name, folder, size } = entry
  const language = languageForExtension(ending)
  const plain = language !== undefined && kindForFamily(language.family) === 'source'
  const special = plain ? undefined : kindForName(name)
  const family = special?.kind ?? kindForFamily(language?.family)
  // A workflow that runs tests is no test.
  const forTests = (family === 'source' && hasTestName(name)) || (folder.traits & trait.test) !== 0
  const alike = trait.fixture | trait.bulk | (family === 'configuration' ? trait.translation : 0)
  const isFixture = (folder.traits & alike) !== 0
  entry.grammar = special?.grammar ?? language?.grammar ?? ''
  entry.handWritten = attributes.generated === false
  if (family !== 'source' && !attributes.documentation && (isFixture || isTable(name, ending, family, size))) {
    return unlessLfsPointer(entry, { kind: 'data', reason: 'data' })
  }
  const kind = attributes.documentation ? 'documentation' : forTests && family !== 'documentation' ? 'test' : family
  const known = language !== undefined || special !== undefined
  return size > (known ? largestText : largestUnknown) ? { kind, reason: 'too large' } : { kind }
}

function kindForFamily(family: string | undefined): 'source' | 'documentation' | 'configuration' {
  return family === 'documentation' || family === 'configuration' ? family : 'source'
}

/** Large configuration files are data, and so are long changelogs. */
function isTable(name: string, ending: string, kind: FileKind, size: number): boolean {
  if (kind === 'documentation') return isBoilerplate(name) && size > largestBoilerplate
  return size > (/^(?:json|json5|xml|plist)$/.test(ending) ? largestJson : largestConfiguration)
}
