// The survey and the file table in the form that the summary needs.

import type { FileTable, Survey } from '../survey.js'
import { createPathIndex, type PathIndex } from './path-index.js'
import { isUnusualPath } from './path-mentions.js'
import { type SourceFile, sourceFiles } from './source-files.js'

export interface CommitFacts {
  commit: string
  /** The chosen files, ordered by path. */
  files: SourceFile[]
  byPath: Map<string, SourceFile>
  topLevel: string[]
  /** Lines of the directory tree for the prompt. */
  tree: string[]
  pathIndex: PathIndex
}

/** `before` are the paths of the earlier commit. */
export function commitFacts(survey: Survey, table?: FileTable, before: readonly string[] = []): CommitFacts {
  const files = sourceFiles(survey.texts)
  const directories = [...Object.keys(table?.trees ?? {}), ...survey.directories.map(({ path }) => path)]
  const paths = table ? table.files.map((row) => row.path) : files.map((file) => file.path)
  return {
    commit: survey.commit,
    files,
    byPath: new Map(files.map((file) => [file.path, file])),
    topLevel: topLevelOf(directories, paths),
    tree: treeLines(survey),
    pathIndex: createPathIndex({
      paths,
      directories: directories.filter((directory) => directory !== ''),
      before,
      odd: oddPaths([...files.map(({ path }) => path), ...before]),
    }),
  }
}

const mostOdd = 2_000

const oddPaths = (paths: readonly string[]) =>
  [...new Set(paths)]
    .filter(isUnusualPath)
    .slice(0, mostOdd)
    .sort((a, b) => b.length - a.length)

function topLevelOf(directories: string[], paths: string[]): string[] {
  const names = new Set<string>()
  for (const directory of directories) if (directory !== '') names.add(directory.split('/', 1)[0]!)
  for (const path of paths) if (path.includes('/')) names.add(path.slice(0, path.indexOf('/')))
  return [...names].sort()
}

const mostTreeLines = 80

/** The first two levels, up to a limit. Without file counts, which would change with every push. */
function treeLines(survey: Survey): string[] {
  const depth = (path: string) => path.split('/').length
  const wanted = survey.directories.filter(({ path }) => path !== '' && depth(path) <= 2)
  const largest = [...wanted].sort((a, b) => depth(a.path) - depth(b.path) || b.bytes - a.bytes).slice(0, mostTreeLines)
  const lines = largest.map(({ path }) => `${path}/`).sort()
  return wanted.length > lines.length ? [...lines, 'and more directories below'] : lines
}
