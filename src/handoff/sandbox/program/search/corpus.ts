// The searchable files of a commit, read in one stream. Their bytes stay in memory as far as there is room, so that the best files are not
// read twice.
import { toUtf8 } from '../../../domain/source-lines.js'
import type { FileKind } from '../../../domain/survey.js'
import { classifyFiles } from '../survey/classify-file.js'
import { type AttributeLookup, type AttributesFile, parseAttributes } from '../survey/git-attributes.js'
import { gitAt, listTree, openBlobReader, type SpawnGit } from '../survey/git-objects.js'
import { createTreeParser, type Entry, type Folder, type Tree } from '../survey/git-tree.js'
import { extensionOf, languageForExtension } from '../survey/languages.js'
import { trait } from '../survey/path-rules.js'
import type { WordIndex } from './find-hits.js'
import type { SourceFile, SourceFiles } from './source-files.js'

export interface Corpus {
  files: SourceFile[]
  /** What is left out and why, for people: names that a citation cannot contain, large files, binary files. */
  unsearched: string[]
  /** Whole files by index; missing files are left out. The byte after each is 0. */
  read(files: readonly SourceFile[]): Promise<ReadonlyMap<number, Buffer>>
  /** How files are ranked: from an index that knows all their words, or by reading all of them. */
  words: WordIndex | Pick<SourceFiles, 'readAll'>
}

export interface GitCorpus extends Corpus, SourceFiles {
  tree: Tree
}

/** Larger files are data, whatever their name. */
export const largestFile = 2_000_000
/** Bytes that stay in memory, and the size of one allocation. */
const cacheBytes = 64_000_000
const slabBytes = 4_000_000

export async function openCorpus(gitDirectory: string, commit: string): Promise<GitCorpus> {
  const git = gitAt(gitDirectory)
  const parser = createTreeParser()
  await listTree(git, commit, parser.push)
  const tree = parser.finish(commit)
  classifyFiles(tree, { attributes: () => ({}), excluded: () => false, ignored: () => false })
  return createCorpus(tree, git)
}

const readableKinds = new Set<FileKind>(['source', 'test', 'documentation', 'configuration'])

const pythonPackages = (tree: Tree) =>
  new Set(tree.entries.filter(({ name }) => name === '__init__.py').map(({ folder }) => folder))

function selectFiles(tree: Tree, packages: ReadonlySet<Folder>): SourceFile[] {
  return tree.entries
    .filter((entry) => isSearchable(entry, packages) && isCitable(entry))
    .map((entry, index) => ({
      index,
      path: entry.path,
      name: entry.name,
      directory: entry.folder.path,
      blob: entry.blob,
      size: entry.size,
      kind: entry.kind,
      grammar: entry.grammar || (languageForExtension(extensionOf(entry.name))?.grammar ?? ''),
      isExample: (entry.folder.traits & (trait.example | trait.documentation)) !== 0,
    }))
}

/** A redacted name is not shown. */
function isSearchable(entry: Entry, packages: ReadonlySet<Folder>): boolean {
  return (
    ((entry.reason === undefined && readableKinds.has(entry.kind)) || isVendoredSubpackage(entry, packages)) &&
    !entry.maybeLfsPointer &&
    entry.size <= largestFile &&
    !entry.path.includes('[redacted:')
  )
}

/** A citation cannot contain a path that is not UTF-8 or has a line break. */
export const isCitable = ({ path, pathBase64 }: Pick<Entry, 'path' | 'pathBase64'>) =>
  pathBase64 === undefined && !/[\n\r]/.test(path)

/** Vendored code inside a Python package of the product counts as product, because questions are asked about it. */
function isVendoredSubpackage({ kind, folder, name }: Entry, packages: ReadonlySet<Folder>): boolean {
  if (kind !== 'vendored' || !name.endsWith('.py')) return false
  let top = folder
  while (top.parent && (top.parent.traits & trait.vendored) !== 0) top = top.parent
  return packages.has(top) && top.parent !== undefined && packages.has(top.parent)
}

const unsearchedNames = 5

function describeUnsearched({ entries }: Tree, packages: ReadonlySet<Folder>): string[] {
  const isText = ({ kind }: Entry) => readableKinds.has(kind)
  const groups: [string, Entry[]][] = [
    ['a name that cannot be cited', entries.filter((entry) => isSearchable(entry, packages) && !isCitable(entry))],
    ['larger than 2 MB', entries.filter((entry) => isText(entry) && entry.size > largestFile)],
    ['binary', entries.filter(({ kind }) => kind === 'binary')],
  ]
  return groups.flatMap(([why, found]) => {
    const names = found.slice(0, unsearchedNames).map(({ path }) => JSON.stringify(path.slice(0, 100)))
    const rest = found.length > names.length ? ` and ${found.length - names.length} more` : ''
    return found.length === 0 ? [] : [`${why}: ${names.join(', ')}${rest}`]
  })
}

const attributesLimit = 50

/** The attribute files come first in the same stream, so that the files they exclude are skipped when they come. */
function createCorpus(tree: Tree, git: SpawnGit): GitCorpus {
  const packages = pythonPackages(tree)
  const files = selectFiles(tree, packages)
  const attributes = tree.entries
    .filter(({ name, mode }) => name === '.gitattributes' && mode.startsWith('100'))
    .slice(0, attributesLimit)
  const keep = createFileCache()

  const readAll: SourceFiles['readAll'] = async (take) => {
    const rules: AttributesFile[] = []
    let attributesOf: AttributeLookup | undefined
    const names = [...attributes, ...files].map(({ blob }) => blob)
    await openBlobReader(git, 'many').read(names, (index, bytes) => {
      if (!bytes) return
      if (index < attributes.length) {
        rules.push({ directory: attributes[index]!.folder.path, text: bytes.toString('utf8') })
        return
      }
      attributesOf ??= parseAttributes(rules)
      const file = files[index - attributes.length]!
      if (isExcluded(attributesOf, file)) return
      const text = toUtf8(bytes)
      file.size = text.length
      take(file, keep.copy(file, text))
    })
  }

  return {
    tree,
    files,
    unsearched: describeUnsearched(tree, packages),
    readAll,
    words: { readAll },
    async read(wanted) {
      const missing = wanted.filter((file) => !keep.kept.has(file.index))
      if (missing.length > 0) {
        const names = missing.map((file) => file.blob)
        await openBlobReader(git, 'many').read(names, (index, bytes) => {
          if (bytes) keep.add(missing[index]!, toUtf8(bytes))
        })
      }
      return keep.kept
    },
  }
}

function isExcluded(attributesOf: AttributeLookup, { path, directory }: SourceFile): boolean {
  const { generated, vendored, binary, lfs } = attributesOf(path, directory)
  return generated === true || vendored === true || binary === true || lfs === true
}

/** A zero follows it. */
export const withZero = (text: Buffer) => Buffer.concat([text, Buffer.alloc(1)]).subarray(0, text.length)

/** Copies files into a few large buffers, because thousands of small ones slow down garbage collection. */
function createFileCache() {
  const kept = new Map<number, Buffer>()
  let room = cacheBytes
  let slab = Buffer.alloc(0)
  let spare = Buffer.alloc(0)

  const pieceOf = (size: number): Buffer => {
    if (size > slab.length) slab = Buffer.allocUnsafeSlow(Math.max(size, slabBytes))
    const piece = slab.subarray(0, size)
    slab = slab.subarray(size)
    return piece
  }

  return {
    kept,
    add(file: SourceFile, text: Buffer): void {
      kept.set(file.index, withZero(text))
    },
    copy(file: SourceFile, bytes: Buffer): Buffer {
      const stays = room >= bytes.length
      if (!stays && spare.length <= bytes.length) spare = Buffer.allocUnsafeSlow(bytes.length * 2 + 1)
      const copied = stays ? pieceOf(bytes.length + 1) : spare
      bytes.copy(copied)
      copied[bytes.length] = 0
      if (stays) {
        room -= bytes.length
        kept.set(file.index, copied.subarray(0, bytes.length))
      }
      return copied
    },
  }
}
