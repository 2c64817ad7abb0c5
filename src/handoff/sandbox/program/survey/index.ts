// The survey of a commit: the table of all files, their definitions, and the text of the most central files within a byte budget.
//
//   list (git ls-tree) → classify by name → analyze (one git cat-file) → rank → allocate the budget → write excerpts
//
// There is no checkout. Files are analyzed while they stream by and are not kept; only the chosen ones are read again.
// The same commit and limits give the same bytes.
import { type Diagram, drawDiagram, type ImportEdge } from '../../../domain/graph/diagram.js'
import type { CitedFile, SurveyLimits } from '../../../domain/sandbox-protocol.js'
import type { Relocation } from '../../../domain/sandbox-protocol-decoder.js'
import type { ChosenText, FileTable, Outline, Survey } from '../../../domain/survey.js'
import { ProgramError } from '../emit-record.js'
import { allocateBudget } from './allocate-budget.js'
import { type AnalysisTable, createAnalysisTable } from './analysis-table.js'
import { analysisKey, createAnalyzer, isProduct } from './analyze-file.js'
import { classifyFiles } from './classify-file.js'
import { type DescribedChange, describeChange } from './describe-change.js'
import { type BlobReader, gitAt, listTree, openBlobReader, type SpawnGit } from './git-objects.js'
import { createTreeParser, type Entry, type Tree } from './git-tree.js'
import { buildImportGraph, type FileImports } from './import-graph.js'
import { createNotices } from './notices.js'
import { rankFiles } from './rank-files.js'
import { relocate } from './relocate.js'
import {
  collectSecrets,
  countFiles,
  createSurvey,
  fileTableJson,
  longestPath,
  outlineJson,
  parsePieces,
} from './report.js'
import { createSelection, readRules } from './repository-rules.js'
import { writeExcerpts } from './write-excerpts.js'

interface SurveyOptions {
  /** A bare repository; one commit deep is enough. */
  gitDirectory: string
  commit: string
  limits: SurveyLimits
  /** Cited lines of an earlier commit, to be found again. */
  cited?: readonly CitedFile[]
  /** Starts git; by default the git on the PATH. */
  spawnGit?: SpawnGit
}

export interface SurveyResult {
  survey: Omit<Survey, 'texts'>
  /** JSON of both tables in pieces; each call starts from the beginning. */
  fileTableJson: () => Iterable<string>
  outlineJson: () => Iterable<string>
  /** The parsed tables, built on first use. */
  readonly table: FileTable
  readonly outline: Outline
  texts: ChosenText[]
  relocated: Relocation[]
  /** Without tests, examples and documentation, if anything is left then. */
  diagram: Diagram
  /** What the commit changes against another one in the same repository. */
  describeChange: (base: string, textBytes: number, only?: (path: string) => boolean) => Promise<DescribedChange>
}

/** Three `git cat-file` processes: `few` answers at once and may be asked again, the others read one long list each in large pieces. */
interface Readers {
  few: BlobReader
  all: BlobReader
  chosen: BlobReader
}

export async function survey(options: SurveyOptions): Promise<SurveyResult> {
  const git = options.spawnGit ?? gitAt(options.gitDirectory)
  const parser = createTreeParser()
  const listed = listTree(git, options.commit, parser.push)
  // They start now, so that they are ready when the list is.
  const readers: Readers = {
    few: openBlobReader(git, 'few'),
    all: openBlobReader(git, 'many'),
    chosen: openBlobReader(git, 'many'),
  }
  try {
    const [, root] = await Promise.all([listed, readRootTree(options.commit, readers.few)])
    return await surveyTree(parser.finish(root), options, readers, git)
  } finally {
    readers.few.stop()
    readers.all.stop()
    readers.chosen.stop()
  }
}

async function surveyTree(
  tree: Tree,
  { commit, limits, cited = [] }: SurveyOptions,
  { few, all, chosen }: Readers,
  git: SpawnGit,
): Promise<SurveyResult> {
  const rules = await readRules(tree, few)
  classifyFiles(tree, createSelection(rules, limits))

  const analyses = createAnalysisTable()
  const skippedTests = skipTests(tree, limits)
  await analyzeFiles(tree.entries, analyses, all)
  const imports = await buildImportGraph(tree, analyses, few)
  const candidates = tree.entries.filter((entry) => entry.reason === undefined)
  const allocations = allocateBudget(rankFiles(tree, candidates, analyses), analyses, limits.textBytes)
  const excerpts = await writeExcerpts(allocations, analyses, limits.textBytes, chosen)
  const relocated = await relocate(cited, tree.entries, few)
  for (const entry of candidates) if (entry.state !== 'read') entry.reason = 'budget'

  const counts = countFiles(tree.entries)
  const secrets = collectSecrets(tree.entries, analyses, excerpts)
  const notices = createNotices({ tree, counts, analyses, secrets: secrets.length, skippedTests, rules })
  const files = () => fileTableJson(commit, tree, secrets)
  const outlines = () => outlineJson(commit, tree.entries, analyses, imports)
  let table: FileTable | undefined
  return {
    survey: createSurvey(commit, tree, counts, secrets, notices),
    fileTableJson: files,
    outlineJson: outlines,
    get table() {
      table ??= parsePieces<FileTable>(files())
      return table
    },
    get outline() {
      return parsePieces<Outline>(outlines())
    },
    texts: excerpts.texts,
    relocated,
    diagram: drawDiagram(commit, drawnImports(imports)),
    async describeChange(base, textBytes, only) {
      const reader = openBlobReader(git, 'few')
      const sources = { entries: tree.entries, imports, analyses, reader }
      try {
        return await describeChange({ ...sources, git, base, head: commit, textBytes, ...(only ? { only } : {}) })
      } finally {
        reader.stop()
      }
    },
  }
}

function drawnImports(imports: readonly FileImports[]): ImportEdge[] {
  const edges = (from: readonly FileImports[]) =>
    from.flatMap(({ entry, targets }) => targets.map(([to, line]) => ({ from: entry.path, to, line })))
  const product = edges(imports.filter(({ entry }) => isProduct(entry)))
  return product.length > 0 ? product : edges(imports)
}

/** The commit object names its root tree; the list of files does not. */
async function readRootTree(commit: string, reader: BlobReader): Promise<string> {
  let root: string | undefined
  await reader.read([commit], (_, bytes) => {
    root = /^tree ([0-9a-f]{40,64})\n/.exec(bytes?.toString('latin1', 0, 100) ?? '')?.[1]
  })
  if (root === undefined) throw new ProgramError('no-such-commit', `the clone does not have the commit ${commit}`)
  return root
}

// Selects the files to analyze, analyzes each distinct one once, and applies the result to its entries.

/** A repository of this many files is large. */
const largeRepository = 10_000
/** If its product alone exceeds the byte limit this many times, tests could be shown by name only. */
const crowdedFactor = 8
/** Of a top folder that contains only tests, so many are analyzed all the same. */
const testsPerFolder = 20

/** Excludes the tests of a very large repository from analysis. Returns how many. */
function skipTests({ entries }: Tree, limits: SurveyLimits): number {
  if (entries.length < largeRepository) return 0
  const open = entries.filter(({ reason }) => reason === undefined)
  const product = open.filter(({ kind }) => kind !== 'test')
  if (product.reduce((sum, { size }) => sum + size, 0) < limits.textBytes * crowdedFactor) return 0
  const covered = new Map(product.map((entry): [string, number] => [topFolder(entry), testsPerFolder]))
  let skipped = 0
  for (const entry of open) {
    if (entry.kind !== 'test') continue
    const seen = covered.get(topFolder(entry)) ?? 0
    covered.set(topFolder(entry), seen + 1)
    if (seen < testsPerFolder) continue
    entry.reason = 'budget'
    skipped++
  }
  return skipped
}

function topFolder({ path }: Entry): string {
  return path.slice(0, path.indexOf('/') + 1)
}

/** Analyzes every distinct file once, however many paths it has. */
async function analyzeFiles(entries: readonly Entry[], analyses: AnalysisTable, reader: BlobReader): Promise<void> {
  const entriesByKey = new Map<string, Entry[]>()
  for (const entry of entries) {
    if (entry.reason !== undefined) continue
    if (entry.path.length > longestPath) {
      entry.reason = 'too large'
      continue
    }
    const key = analysisKey(entry)
    const group = entriesByKey.get(key)
    if (group) group.push(entry)
    else entriesByKey.set(key, [entry])
  }
  const groups = [...entriesByKey.values()]
  const analyzeFile = createAnalyzer(analyses)
  await reader.read(
    groups.map(([entry]) => entry!.blob),
    (index, bytes) => {
      const group = groups[index]!
      const analysis = bytes ? analyzeFile(group[0]!, bytes) : -1
      for (const entry of group) {
        entry.analysis = analysis
        applyAnalysis(entry, analyses)
      }
    },
  )
}

/** The content overrides what the name says. */
function applyAnalysis(entry: Entry, analyses: AnalysisTable): void {
  if (entry.analysis < 0) {
    entry.reason = 'missing'
    return
  }
  const { contentKind, grammar } = analyses.records[entry.analysis]!
  if (contentKind === 'lfs-pointer') {
    entry.kind = 'lfs-pointer'
    entry.reason = 'lfs pointer'
  } else if (entry.maybeLfsPointer) entry.reason = entry.kind === 'data' ? 'data' : 'binary'
  else if (contentKind !== 'text') {
    entry.kind = contentKind
    entry.reason = contentKind
  } else if (grammar === 'unknown' && !entry.name.includes('.')) entry.kind = 'documentation'
}
