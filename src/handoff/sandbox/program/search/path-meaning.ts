// What names and paths of files mean to a question.
import type { DirectoryWords } from '../../../domain/summary/summary-record.js'
import { pause } from '../../../util/abort.js'
import type { WordIndex } from './find-hits.js'
import { meaningInName, type Query } from './query.js'
import { weights } from './ranking-weights.js'
import type { SourceFile } from './source-files.js'
import { splitIdentifier } from './tokenize.js'
import { mayHaveWord } from './word-edges.js'

/** How certainly a path means each concept. */
export type PathMeaning = ReadonlyMap<number, number>
export type ReadPath = (file: SourceFile) => PathMeaning

const pathsAtOnce = 250

/** Reads all paths while the pages of the index come: with pauses, because their requests are sent in them. */
export async function readPaths({ texts }: WordIndex, pathMeaning: ReadPath): Promise<PathMeaning[]> {
  const paths: PathMeaning[] = []
  for (const { file } of texts) {
    if (paths.length % pathsAtOnce === 0) await pause()
    paths.push(pathMeaning(file))
  }
  return paths
}

/** Reads paths; the meaning of a folder is cached. The summary's words of a folder, or else of the nearest above it, count as words of its path. */
export function createPathReader(query: Query, words: readonly DirectoryWords[]): ReadPath {
  const wordsOf = new Map(words.map((one) => [one.directory, one.words.join(' ')]))
  const nearest = (directory: string): string =>
    wordsOf.get(directory) ?? (directory.includes('/') ? nearest(directory.slice(0, directory.lastIndexOf('/'))) : '')
  const folders = new Map<string, PathMeaning>()
  return ({ directory, name }) => {
    let folder = folders.get(directory)
    if (!folder) {
      const said = [...nameMeaning(query, nearest(directory))]
      const known = new Map(said.map(([concept, weight]) => [concept, weight * weights.directoryWords]))
      folder = addMeaning(known, nameMeaning(query, directory))
      folders.set(directory, folder)
    }
    const own = nameMeaning(query, name.replace(/\.\w+$/, ''))
    return own.size === 0 ? folder : addMeaning(new Map(folder), own)
  }
}

/** How certainly a name means each concept. */
export function nameMeaning(query: Query, name: string): PathMeaning {
  if (!mayHaveWord(query.edges, name)) return noMeaning
  let found: Map<number, number> | undefined
  for (const part of splitIdentifier(name)) {
    const meaning = meaningInName(query, part)
    if (!meaning) continue
    found ??= new Map()
    for (let at = 0; at < meaning.length; at += 2) raise(found, meaning[at]!, meaning[at + 1]!)
  }
  return found ?? noMeaning
}

/** One for all names without any, because most have none. */
const noMeaning: PathMeaning = new Map()

function addMeaning(found: Map<number, number>, more: PathMeaning): Map<number, number> {
  for (const [concept, weight] of more) raise(found, concept, weight)
  return found
}

function raise(found: Map<number, number>, concept: number, weight: number): void {
  if (weight > (found.get(concept) ?? 0)) found.set(concept, weight)
}
