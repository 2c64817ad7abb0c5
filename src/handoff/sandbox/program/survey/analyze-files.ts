// Looking into files: which are worth it, each distinct one once, and what follows from what is found.
import type { SurveyLimits } from '../../../domain/sandbox-protocol.js'
import type { AnalysisTable } from './analysis-table.js'
import { analysisKey, createAnalyser } from './analyze-file.js'
import type { BlobReader } from './git-objects.js'
import type { Entry, Tree } from './git-tree.js'
import { longestPath } from './report.js'

/** In a repository of this many files … */
const large = 10_000
/** … whose product alone is this many times what there is room for, no test could be shown beyond its name. */
const crowded = 8
/** Of a folder at the top that has nothing but tests some are looked into all the same. */
const kept = 20

/** Leaves the tests of a very large repository unread. Returns how many. */
export function setTestsAside({ entries }: Tree, limits: SurveyLimits): number {
  if (entries.length < large) return 0
  const open = entries.filter(({ reason }) => reason === undefined)
  const product = open.filter(({ kind }) => kind !== 'test')
  if (product.reduce((sum, { size }) => sum + size, 0) < limits.textBytes * crowded) return 0
  const covered = new Map(product.map((entry): [string, number] => [topOf(entry), kept]))
  let aside = 0
  for (const entry of open) {
    if (entry.kind !== 'test') continue
    const seen = covered.get(topOf(entry)) ?? 0
    covered.set(topOf(entry), seen + 1)
    if (seen < kept) continue
    entry.reason = 'budget'
    aside++
  }
  return aside
}

function topOf({ path }: Entry): string {
  return path.slice(0, path.indexOf('/') + 1)
}

/** Every distinct file once, whatever the number of its names. */
export async function lookInto(entries: readonly Entry[], analyses: AnalysisTable, reader: BlobReader): Promise<void> {
  const asked = new Map<string, Entry[]>()
  for (const entry of entries) {
    if (entry.reason !== undefined) continue
    if (entry.path.length > longestPath) {
      entry.reason = 'too large'
      continue
    }
    const key = analysisKey(entry)
    const alike = asked.get(key)
    if (alike) alike.push(entry)
    else asked.set(key, [entry])
  }
  const waiting = [...asked.values()]
  const analyse = createAnalyser(analyses)
  await reader.read(
    waiting.map(([entry]) => entry!.blob),
    (index, bytes) => {
      const alike = waiting[index]!
      const record = bytes ? analyse(alike[0]!, bytes) : -1
      for (const entry of alike) {
        entry.record = record
        settle(entry, analyses)
      }
    },
  )
}

/** What the content says goes before what the name said. */
function settle(entry: Entry, analyses: AnalysisTable): void {
  if (entry.record < 0) {
    entry.reason = 'missing'
    return
  }
  const { nature, grammar } = analyses.records[entry.record]!
  if (nature === 'lfs-pointer') {
    entry.kind = 'lfs-pointer'
    entry.reason = 'lfs pointer'
  } else if (entry.pointer) entry.reason = entry.kind === 'data' ? 'data' : 'binary'
  else if (nature !== 'text') {
    entry.kind = nature
    entry.reason = nature
  } else if (grammar === 'unknown' && !entry.name.includes('.')) entry.kind = 'documentation'
}
