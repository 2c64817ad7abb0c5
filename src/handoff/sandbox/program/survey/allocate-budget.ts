// Divides the byte budget. If everything fits, every file is whole. Otherwise the best files are whole, the next show signatures or their beginning, and
// the rest one line. Every top folder gets a share first, and no single file takes much.
import type { ChosenText } from '../../../domain/survey.js'
import type { AnalysisTable } from './analysis-table.js'
import type { Entry } from './git-tree.js'

export interface Allocation {
  entry: Entry
  form: ChosenText['form']
  /** Bytes of its text and path. */
  bytes: number
}

/** Returns allocations in the order of the entries, within the budget together. */
export function allocateBudget(order: readonly Entry[], analyses: AnalysisTable, textBytes: number): Allocation[] {
  const whole = order.reduce((sum, entry) => sum + wholeBytes(entry), 0)
  if (whole <= textBytes) return order.map((entry) => ({ entry, form: 'full', bytes: wholeBytes(entry) }))
  const budget = createBudget(textBytes)
  const caps = { whole: clamp(textBytes / 12, 8_000, 100_000), part: clamp(textBytes / 80, 1_200, 8_000) }
  // The more text does not fit, the more files are shown in outline instead of in full.
  const excess = whole / textBytes
  const [wholeShare, partialShare] = excess < 3 ? [0.8, 0.95] : excess < 40 ? [0.6, 0.9] : [0.5, 0.88]
  allocateTopFolders(order, analyses, textBytes * 0.25, caps.part, budget)
  allocateWholeFiles(order, analyses, textBytes * wholeShare, caps, budget)
  allocateRemaining(order, (entry) => partialAllocation(entry, analyses, caps.part), textBytes * partialShare, budget)
  allocateRemaining(order, (entry) => lineAllocation(entry, analyses), textBytes, budget)
  completeFiles(order, textBytes, caps.whole, budget)
  return order.map((entry) => budget.get(entry)).filter((allocation) => allocation !== undefined)
}

function clamp(value: number, low: number, high: number): number {
  return Math.floor(Math.min(high, Math.max(low, value)))
}

interface Budget {
  has: (entry: Entry) => boolean
  get: (entry: Entry) => Allocation | undefined
  /** Returns false if the total would exceed `limit`. A new allocation replaces the earlier one of the same entry. */
  allocate: (allocation: Allocation, limit: number) => boolean
}

function createBudget(textBytes: number): Budget {
  const allocations = new Map<Entry, Allocation>()
  let spent = 0
  return {
    has: (entry) => allocations.has(entry),
    get: (entry) => allocations.get(entry),
    allocate(allocation, limit) {
      const after = spent - (allocations.get(allocation.entry)?.bytes ?? 0) + allocation.bytes
      if (after > Math.min(limit, textBytes)) return false
      allocations.set(allocation.entry, allocation)
      spent = after
      return true
    },
  }
}

/** Allocates the best file of every top folder. */
function allocateTopFolders(
  order: readonly Entry[],
  analyses: AnalysisTable,
  limit: number,
  cap: number,
  budget: Budget,
): void {
  const seen = new Set<string>()
  const firsts = order.filter((entry) => {
    const top = entry.path.slice(0, Math.max(0, entry.path.indexOf('/')))
    if (top === '' || seen.has(top)) return false
    return seen.add(top)
  })
  const each = Math.min(cap, Math.floor(limit / Math.max(1, firsts.length)))
  for (const entry of firsts) {
    if (each < 300 || !budget.allocate(partialAllocation(entry, analyses, each), limit))
      budget.allocate(lineAllocation(entry, analyses), limit)
  }
}

/** Allocates whole files by rank. A file over the limit is shown in part; after ten files that do not fit it stops. */
function allocateWholeFiles(
  order: readonly Entry[],
  analyses: AnalysisTable,
  limit: number,
  caps: { whole: number; part: number },
  budget: Budget,
): void {
  let passed = 0
  for (const entry of order) {
    const bytes = wholeBytes(entry)
    const allocation: Allocation =
      bytes <= caps.whole ? { entry, form: 'full', bytes } : partialAllocation(entry, analyses, caps.part)
    if (!budget.allocate(allocation, limit) && ++passed > 10) return
  }
}

/** Allocates entries that have nothing yet, until 50 in a row do not fit. */
function allocateRemaining(
  order: readonly Entry[],
  shareOf: (entry: Entry) => Allocation,
  limit: number,
  budget: Budget,
): void {
  let passed = 0
  for (const entry of order) {
    if (budget.has(entry)) continue
    passed = budget.allocate(shareOf(entry), limit) ? 0 : passed + 1
    if (passed > 50) return
  }
}

/** Uses the rest of the budget to make partial files whole. */
function completeFiles(order: readonly Entry[], textBytes: number, cap: number, budget: Budget): void {
  for (const entry of order) {
    const bytes = wholeBytes(entry)
    if (bytes <= cap && budget.has(entry) && budget.get(entry)?.form !== 'full')
      budget.allocate({ entry, form: 'full', bytes }, textBytes)
  }
}

function wholeBytes(entry: Entry): number {
  return entry.size + pathBytes(entry)
}

function pathBytes({ path }: Entry): number {
  return Buffer.byteLength(path)
}

/** Small files whole; source by its signatures, everything else by its beginning. */
function partialAllocation(entry: Entry, analyses: AnalysisTable, cap: number): Allocation {
  const whole = wholeBytes(entry)
  if (whole <= cap) return { entry, form: 'full', bytes: whole }
  const { outline } = analyses.records[entry.analysis]!
  const bySignatures = (entry.kind === 'source' || entry.kind === 'test') && outline.length > 2
  const bytes = bySignatures ? Math.min(cap, outline.length + pathBytes(entry)) : cap
  return { entry, form: bySignatures ? 'signatures' : 'head', bytes: Math.max(bytes, Math.min(cap, 200)) }
}

function lineAllocation(entry: Entry, analyses: AnalysisTable): Allocation {
  return {
    entry,
    form: 'line',
    bytes: Buffer.byteLength(analyses.records[entry.analysis]!.headline.text) + pathBytes(entry),
  }
}
