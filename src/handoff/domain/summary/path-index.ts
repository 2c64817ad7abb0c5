// The paths of a commit, to check the paths in a model's text.

export interface PathIndex {
  /** Of files and of directories. */
  exists(path: string): boolean
  /** Files with this name. */
  withName(name: string): readonly string[]
  /** True for a path that an earlier commit had and this one lacks. */
  gone(path: string): boolean
  /** True if any file has this extension. */
  hasExtension(extension: string): boolean
  /** Paths with spaces or punctuation, longest first. They are searched as plain text. */
  odd: readonly string[]
}

interface PathIndexInput {
  /** Files. Their directories follow. */
  paths: Iterable<string>
  /** Directories that may hold none of these files. */
  directories?: Iterable<string>
  /** Files that an earlier commit had. */
  before?: Iterable<string>
  odd?: readonly string[]
}

export function createPathIndex(facts: PathIndexInput): PathIndex {
  const files = new Set(facts.paths)
  const directories = directoriesOf(files)
  for (const directory of facts.directories ?? []) addDirectory(directories, directory)
  const former = new Set(facts.before ?? [])
  const formerDirectories = directoriesOf(former)
  const names = Map.groupBy(files, (path) => path.slice(path.lastIndexOf('/') + 1))
  const extensions = new Set([...names.keys()].map((name) => name.slice(name.lastIndexOf('.') + 1).toLowerCase()))
  const exists = (path: string) => files.has(path) || directories.has(plain(path))
  return {
    exists,
    withName: (name) => names.get(name) ?? [],
    gone: (path) => (former.has(plain(path)) || formerDirectories.has(plain(path))) && !exists(path),
    hasExtension: (extension) => extensions.has(extension.toLowerCase()),
    odd: facts.odd ?? [],
  }
}

/** Without slashes at its end. */
function plain(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

function directoriesOf(files: Iterable<string>): Set<string> {
  const directories = new Set<string>()
  for (const path of files) addDirectory(directories, parentOf(path))
  return directories
}

function addDirectory(directories: Set<string>, directory: string): void {
  for (let at = directory; at !== '' && !directories.has(at); at = parentOf(at)) directories.add(at)
}
