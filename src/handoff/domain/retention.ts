// Decides which sealed runs of a repository are kept, and why.
//
// Two limits remove runs (age, number of newer runs), and four needs override them. A run that a later one is based on is not needed: reused
// texts are copied, so every run is complete by itself.
import type { RunId } from './run.js'

export interface RetentionRun {
  run: RunId
  sha: string
  sealedAt: string
  /** The branch it was created for, if recorded. */
  branch?: string
  /** A question was asked about it recently. */
  busy?: boolean
}

interface RetentionRules {
  keepDays: number
  keepRuns: number
  now: number
  /** The reason why a commit is needed, by commit. */
  needed: ReadonlyMap<string, string>
  /** Branches that the git host no longer has. Their newest run is not needed. */
  gone: ReadonlySet<string>
}

type Verdict = { run: RetentionRun; keep: boolean; why: string }

const dayMs = 86_400_000

/** Newest first. */
export function judgeRuns(runs: readonly RetentionRun[], rules: RetentionRules): Verdict[] {
  const newest = [...runs].sort((a, b) => b.sealedAt.localeCompare(a.sealedAt) || a.run.localeCompare(b.run))
  const heads = newestOfBranches(newest, rules.gone)
  return newest.map((run, index) => {
    const need = whyNeeded(run, heads, rules)
    if (need !== undefined) return { run, keep: true, why: need }
    const limit = whyExpired(run, index, rules)
    return limit === undefined ? { run, keep: true, why: 'young enough' } : { run, keep: false, why: limit }
  })
}

function whyNeeded(run: RetentionRun, heads: ReadonlySet<RunId>, { needed }: RetentionRules): string | undefined {
  if (heads.has(run.run)) return `the newest of ${run.branch}`
  return needed.get(run.sha) ?? (run.busy ? 'a question about it is recent' : undefined)
}

function whyExpired(run: RetentionRun, newer: number, { keepDays, keepRuns, now }: RetentionRules): string | undefined {
  const days = (now - Date.parse(run.sealedAt)) / dayMs
  if (days > keepDays) return `sealed ${Math.floor(days)} days ago`
  return newer >= keepRuns ? `${newer} newer runs` : undefined
}

function newestOfBranches(newest: readonly RetentionRun[], gone: ReadonlySet<string>): Set<RunId> {
  const heads = new Map<string, RunId>()
  for (const { branch, run } of newest) {
    if (branch !== undefined && !gone.has(branch) && !heads.has(branch)) heads.set(branch, run)
  }
  return new Set(heads.values())
}
