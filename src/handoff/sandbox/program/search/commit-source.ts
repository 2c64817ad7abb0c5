// Where a search reads a commit: from the stored files by ranges, or from a clone that was unpacked.
import type { PackedObject } from '../../../domain/git-proof.js'
import type { Corpus } from './corpus.js'
import type { FindDefinitions } from './definition-sites.js'

export interface CommitSource {
  corpus: Corpus
  findDefinitions: FindDefinitions
  /** Files by path, searched or not; a path that is no file, or none that a citation can name, is left out. */
  readFiles(paths: readonly string[]): Promise<ReadonlyMap<string, { blob: string; bytes: Buffer }>>
  /** The names in a directory; those of directories end with a slash. */
  namesIn(directory: string): Promise<string[]>
  /** The objects that lead from the commit to what is shown, so that the host need not believe this sandbox. */
  prove(shown: Provable): Promise<PackedObject[]>
}

interface Provable {
  excerpts: readonly { path: string; blob: string }[]
  listings?: readonly { path: string }[]
}

/** '' and all directories that lead to what is shown; a listed one as well. */
export function directoriesOf({ excerpts, listings = [] }: Provable): string[] {
  const found = new Set(['', ...excerpts.flatMap(({ path }) => parentsOf(path))])
  for (const { path } of listings) for (const one of [path, ...parentsOf(path)]) found.add(one)
  return [...found]
}

/** `a/b/c.ts` → `a`, `a/b`. */
export function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
