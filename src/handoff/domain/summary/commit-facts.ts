// The survey and the file table in the form that the summary needs.

import type { FileTable, Survey } from '../survey.js'
import { createPathIndex, goneDirectories, type PathIndex } from './path-index.js'
import { isUnusualPath } from './path-mentions.js'
import { lastLine, type SourceFile, sourceFiles } from './source-files.js'
import type { CachedFile } from './summary-cache.js'

export interface CommitFacts {
  commit: string
  /** The chosen files, ordered by path. */
  files: SourceFile[]
  byPath: Map<string, SourceFile>
  /** The blob of any path; absent without a file table. */
  blobOf?: (path: string) => string | undefined
  trees: Map<string, string>
  /** Every path that is known to exist. */
  paths: string[]
  topLevel: string[]
  /** Lines of the directory tree for the prompt. */
  tree: string[]
}

export function commitFacts(survey: Survey, table?: FileTable): CommitFacts {
  const files = sourceFiles(survey.texts)
  const trees = new Map(Object.entries(table?.trees ?? {}))
  for (const directory of survey.directories) trees.set(directory.path, directory.tree)
  trees.set('', survey.rootTree)
  const blobs = table && new Map(table.files.map((row) => [row.path, row.blob]))
  const paths = table ? table.files.map((row) => row.path) : files.map((file) => file.path)
  return {
    commit: survey.commit,
    files,
    byPath: new Map(files.map((file) => [file.path, file])),
    ...(blobs ? { blobOf: (path: string) => blobs.get(path) } : {}),
    trees,
    paths,
    topLevel: topLevelOf([...trees.keys()], paths),
    tree: treeLines(survey),
  }
}

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

const mostOdd = 2_000
const definition =
  /^\s*(export|public|abstract|class|def|func|fn|function|interface|type|struct|impl|module|package|namespace|const|pub|async)\b/

/** `described` are the entries of the new cache, `before` the paths of the earlier commit. */
export function pathIndexFor(
  facts: CommitFacts,
  described: Iterable<CachedFile>,
  before: Iterable<string> = [],
): PathIndex {
  const lines = new Map<string, number>()
  for (const file of described) lines.set(file.path, file.lines)
  for (const file of facts.files) lines.set(file.path, Math.max(lastLine(file), lines.get(file.path) ?? 0))
  const known = facts.blobOf ? facts.paths : [...new Set([...facts.paths, ...lines.keys()])]
  const former = [...before]
  const gone = [...former, ...goneDirectories(former, known)]
  return createPathIndex({
    paths: known,
    directories: facts.trees.keys(),
    lines,
    firstLine: (path) => facts.byPath.get(path)?.lines.find((line) => definition.test(line.text))?.number,
    gone,
    odd: [...lines.keys(), ...gone]
      .filter(isUnusualPath)
      .slice(0, mostOdd)
      .sort((a, b) => b.length - a.length),
  })
}
