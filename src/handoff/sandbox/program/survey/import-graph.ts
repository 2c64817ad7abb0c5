// Which file of the commit imports which, from the statements that the analysis of each file kept.
import type { AnalysisTable } from './analysis-table.js'
import { decodeText } from './decode-text.js'
import type { ImportStatement } from './find-imports.js'
import type { BlobReader } from './git-objects.js'
import type { Entry, Tree } from './git-tree.js'
import { type CommitPaths, createGoImports, folderOf, type GoModule, resolveImports } from './resolve-imports.js'

/** What one file imports: files, or in Go folders, each with the first line that names it. */
export interface FileImports {
  entry: Entry
  targets: [target: string, line: number][]
}

/** Only these are read for the names of modules. */
const mostModuleFiles = 200
const moduleFileBytes = 100_000

/** In the order of the entries, without files that import nothing of the commit. */
export async function buildImportGraph(
  { entries, folders }: Tree,
  analyses: AnalysisTable,
  reader: BlobReader,
): Promise<FileImports[]> {
  const importing = entries.filter(
    ({ analysis, reason }) => analysis >= 0 && isReadable(reason) && analyses.records[analysis]!.imports !== '',
  )
  if (importing.length === 0) return []
  const known = new Set(entries.map(({ path }) => path))
  const has = (path: string) => known.has(path)
  const modules = await readGoModules(entries, reader)
  // Only Go imports folders.
  if (modules.length > 0) for (const { path } of folders) known.add(`${path}/`)
  let byName: Map<string, string[]> | undefined
  const paths: CommitPaths = {
    has,
    endingWith(suffix) {
      byName ??= Map.groupBy(
        entries.map(({ path }) => path),
        (path) => path.slice(path.lastIndexOf('/') + 1),
      ) as Map<string, string[]>
      const named = byName.get(suffix.slice(suffix.lastIndexOf('/') + 1)) ?? []
      return named.filter((path) => path === suffix || path.endsWith(`/${suffix}`))
    },
    goImports: createGoImports(modules, has),
  }
  return importing.flatMap((entry) => {
    const { grammar, imports } = analyses.records[entry.analysis]!
    const targets = resolveImports(entry.path, grammar, JSON.parse(imports) as ImportStatement[], paths)
    return targets.length === 0 ? [] : [{ entry, targets }]
  })
}

/** A generated or copied file says nothing of how the project is built. */
const isReadable = (reason: Entry['reason']) => reason === undefined || reason === 'budget'

async function readGoModules(entries: readonly Entry[], reader: BlobReader): Promise<GoModule[]> {
  const files = entries
    .filter(({ name, size }) => name === 'go.mod' && size <= moduleFileBytes)
    .slice(0, mostModuleFiles)
  const modules: GoModule[] = []
  await reader.read(
    files.map(({ blob }) => blob),
    (index, bytes) => {
      const text = (bytes && decodeText(bytes)?.toString('utf8')) ?? ''
      const name = /^module[ \t]+"?([^\s"]{1,300})/m.exec(text)?.[1]
      if (name !== undefined) modules.push({ folder: folderOf(files[index]!.path), name: `${name}/` })
    },
  )
  return modules.sort((a, b) => b.folder.length - a.folder.length)
}
