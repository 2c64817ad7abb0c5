// What is known of a commit's paths and lines, to check a model's words against.

export interface PathIndex {
  /** Of files and of directories. */
  exists(path: string): boolean
  isDirectory(path: string): boolean
  /** The last line known to exist; undefined where nothing is known. */
  linesOf(path: string): number | undefined
  /** The line to name when a line does not exist: the first definition, or the first that was shown. */
  firstLine(path: string): number | undefined
  /** Files that have this last part. */
  withName(name: string): readonly string[]
  /** True for what an earlier commit had and this one has not. */
  gone(path: string): boolean
  /** Is there any file that ends so? */
  hasExtension(extension: string): boolean
  /** Paths that have to be looked for letter by letter, longest first. */
  odd: readonly string[]
}

export interface PathIndexInput {
  /** Files. Their directories follow. */
  paths: Iterable<string>
  /** Directories that may hold none of these files. */
  directories?: Iterable<string>
  /** Last known lines. */
  lines?: ReadonlyMap<string, number>
  firstLine?: (path: string) => number | undefined
  /** Files and directories that are no more. */
  gone?: Iterable<string>
  odd?: readonly string[]
}

export function createPathIndex(facts: PathIndexInput): PathIndex {
  const files = new Set(facts.paths)
  const directories = new Set<string>()
  for (const directory of facts.directories ?? []) addDirectory(directories, directory)
  const names = new Map<string, string[]>()
  const extensions = new Set<string>()
  for (const path of files) {
    addDirectory(directories, parentOf(path))
    const name = path.slice(path.lastIndexOf('/') + 1)
    const others = names.get(name)
    if (others) others.push(path)
    else names.set(name, [path])
    extensions.add(name.slice(name.lastIndexOf('.') + 1).toLowerCase())
  }
  const gone = new Set([...(facts.gone ?? [])].filter((path) => !files.has(path) && !directories.has(path)))
  const plain = (path: string) => path.replace(/\/+$/, '')
  return {
    exists: (path) => files.has(path) || directories.has(plain(path)),
    isDirectory: (path) => directories.has(plain(path)),
    linesOf: (path) => facts.lines?.get(path),
    firstLine: (path) => facts.firstLine?.(path),
    withName: (name) => names.get(name) ?? [],
    gone: (path) => gone.has(plain(path)),
    hasExtension: (extension) => extensions.has(extension.toLowerCase()),
    odd: facts.odd ?? [],
  }
}

/** The same, but what is said of these paths counts as wrong, whether they are there or not. */
export function withoutPaths(pathIndex: PathIndex, paths: ReadonlySet<string>): PathIndex {
  return {
    ...pathIndex,
    exists: (path) => !paths.has(path) && pathIndex.exists(path),
    gone: (path) => paths.has(path) || pathIndex.gone(path),
  }
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

function addDirectory(directories: Set<string>, directory: string): void {
  for (let at = directory; at !== '' && !directories.has(at); at = parentOf(at)) directories.add(at)
}

/** Every directory of an earlier set of files that holds none of the files there are now. */
export function goneDirectories(before: Iterable<string>, now: Iterable<string>): string[] {
  const there = new Set<string>()
  for (const path of now) addDirectory(there, parentOf(path))
  const gone = new Set<string>()
  for (const path of before) addDirectory(gone, parentOf(path))
  return [...gone].filter((directory) => !there.has(directory))
}
