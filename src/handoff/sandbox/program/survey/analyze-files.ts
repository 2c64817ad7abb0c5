// Selects the files to analyze, analyzes each distinct one once, and applies the result to its entries.
import type { SurveyLimits } from '../../../domain/sandbox-protocol.js'
import type { AnalysisTable } from './analysis-table.js'
import { analysisKey, createAnalyzer } from './analyze-file.js'
import type { BlobReader } from './git-objects.js'
import type { Entry, Tree } from './git-tree.js'
import { longestPath } from './report.js'

/** A repository of this many files is large. */
const largeRepository = 10_000
/** If its product alone exceeds the byte limit this many times, tests could be shown by name only. */
const crowdedFactor = 8
/** Of a top folder that contains only tests, so many are analyzed all the same. */
const testsPerFolder = 20

/** Excludes the tests of a very large repository from analysis. Returns how many. */
export function skipTests({ entries }: Tree, limits: SurveyLimits): number {
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
export async function analyzeFiles(
  entries: readonly Entry[],
  analyses: AnalysisTable,
  reader: BlobReader,
): Promise<void> {
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
