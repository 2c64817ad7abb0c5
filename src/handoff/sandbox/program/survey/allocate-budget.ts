// How the bytes are shared out. Everything whole when there is room; else the best whole, the next by their signatures or their beginning,
// then one line each. Every folder at the top gets something first, and no single file may have much of it.
import type { ChosenText } from '../../../domain/survey.js'
import type { AnalysisTable } from './analysis-table.js'
import type { Entry } from './git-tree.js'

export interface Share {
  entry: Entry
  form: ChosenText['form']
  /** Bytes of text and path that are set aside for it. */
  bytes: number
}

/** Shares in the order of the entries, together within the budget. */
export function shareOut(order: readonly Entry[], analyses: AnalysisTable, budget: number): Share[] {
  const whole = order.reduce((sum, entry) => sum + wholeBytes(entry), 0)
  if (whole <= budget) return order.map((entry) => ({ entry, form: 'full', bytes: wholeBytes(entry) }))
  const purse = openPurse(budget)
  const caps = { whole: between(budget / 12, 8_000, 100_000), part: between(budget / 80, 1_200, 8_000) }
  // The more there is that must stay out, the more is shown in outline instead of in full.
  const crowd = whole / budget
  const [wholes, parts] = crowd < 3 ? [0.8, 0.95] : crowd < 40 ? [0.6, 0.9] : [0.5, 0.88]
  giveBreadth(order, analyses, budget * 0.25, caps.part, purse)
  giveWhole(order, analyses, budget * wholes, caps, purse)
  giveAll(order, (entry) => part(entry, analyses, caps.part), budget * parts, purse)
  giveAll(order, (entry) => line(entry, analyses), budget, purse)
  giveRest(order, budget, caps.whole, purse)
  return order.map((entry) => purse.of(entry)).filter((share) => share !== undefined)
}

function between(value: number, low: number, high: number): number {
  return Math.floor(Math.min(high, Math.max(low, value)))
}

interface Purse {
  has: (entry: Entry) => boolean
  of: (entry: Entry) => Share | undefined
  /** False when that would spend more than `limit` in all. A larger share takes the place of a smaller one. */
  give: (share: Share, limit: number) => boolean
}

function openPurse(budget: number): Purse {
  const shares = new Map<Entry, Share>()
  let spent = 0
  return {
    has: (entry) => shares.has(entry),
    of: (entry) => shares.get(entry),
    give(share, limit) {
      const after = spent - (shares.get(share.entry)?.bytes ?? 0) + share.bytes
      if (after > Math.min(limit, budget)) return false
      shares.set(share.entry, share)
      spent = after
      return true
    },
  }
}

/** The best file of every folder at the top. */
function giveBreadth(order: readonly Entry[], analyses: AnalysisTable, limit: number, cap: number, purse: Purse): void {
  const seen = new Set<string>()
  const firsts = order.filter((entry) => {
    const top = entry.path.slice(0, Math.max(0, entry.path.indexOf('/')))
    if (top === '' || seen.has(top)) return false
    return seen.add(top)
  })
  const each = Math.min(cap, Math.floor(limit / Math.max(1, firsts.length)))
  for (const entry of firsts) {
    if (each < 300 || !purse.give(part(entry, analyses, each), limit)) purse.give(line(entry, analyses), limit)
  }
}

/** By rank, as long as the share lasts. A file that is too long for its own good is shown in part; a few that do not fit are passed over. */
function giveWhole(
  order: readonly Entry[],
  analyses: AnalysisTable,
  limit: number,
  caps: { whole: number; part: number },
  purse: Purse,
): void {
  let passed = 0
  for (const entry of order) {
    const bytes = wholeBytes(entry)
    const share: Share = bytes <= caps.whole ? { entry, form: 'full', bytes } : part(entry, analyses, caps.part)
    if (!purse.give(share, limit) && ++passed > 10) return
  }
}

/** To everybody who has nothing yet, until nothing fits any more. */
function giveAll(order: readonly Entry[], shareOf: (entry: Entry) => Share, limit: number, purse: Purse): void {
  let passed = 0
  for (const entry of order) {
    if (purse.has(entry)) continue
    passed = purse.give(shareOf(entry), limit) ? 0 : passed + 1
    if (passed > 50) return
  }
}

/** What is left over makes whole what fits, of those that are there already. */
function giveRest(order: readonly Entry[], budget: number, cap: number, purse: Purse): void {
  for (const entry of order) {
    const bytes = wholeBytes(entry)
    if (bytes <= cap && purse.has(entry) && purse.of(entry)?.form !== 'full')
      purse.give({ entry, form: 'full', bytes }, budget)
  }
}

function wholeBytes(entry: Entry): number {
  return entry.size + pathBytes(entry)
}

function pathBytes({ path }: Entry): number {
  return Buffer.byteLength(path)
}

/** Small files whole; source by its definitions, everything else by its beginning. */
function part(entry: Entry, analyses: AnalysisTable, cap: number): Share {
  const whole = wholeBytes(entry)
  if (whole <= cap) return { entry, form: 'full', bytes: whole }
  const { outline } = analyses.records[entry.record]!
  const bySignatures = (entry.kind === 'source' || entry.kind === 'test') && outline.length > 2
  const bytes = bySignatures ? Math.min(cap, outline.length + pathBytes(entry)) : cap
  return { entry, form: bySignatures ? 'signatures' : 'head', bytes: Math.max(bytes, Math.min(cap, 200)) }
}

function line(entry: Entry, analyses: AnalysisTable): Share {
  return {
    entry,
    form: 'line',
    bytes: Buffer.byteLength(analyses.records[entry.record]!.telling.text) + pathBytes(entry),
  }
}
