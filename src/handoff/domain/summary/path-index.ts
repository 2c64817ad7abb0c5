// The known paths and lines of a commit, to verify the paths in a model's text.

export interface PathIndex {
  /** Of files and of directories. */
  exists(path: string): boolean
  isDirectory(path: string): boolean
  /** The last line known to exist; undefined if nothing is known. */
  linesOf(path: string): number | undefined
  /** The replacement for a line that does not exist: the first definition, or the first shown line. */
  firstLine(path: string): number | undefined
  /** Files with this name. */
  withName(name: string): readonly string[]
  /** True for a path that an earlier commit had and this one lacks. */
  gone(path: string): boolean
  /** True if any file has this extension. */
  hasExtension(extension: string): boolean
  /** Paths with spaces or punctuation, longest first. They are searched as plain text. */
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

/** The index with these paths marked as gone, whether they exist or not. */
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

/** Directories of `before` that contain no file of `now`. */
export function goneDirectories(before: Iterable<string>, now: Iterable<string>): string[] {
  const there = new Set<string>()
  for (const path of now) addDirectory(there, parentOf(path))
  const gone = new Set<string>()
  for (const path of before) addDirectory(gone, parentOf(path))
  return [...gone].filter((directory) => !there.has(directory))
}
