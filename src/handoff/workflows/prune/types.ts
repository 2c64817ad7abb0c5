// The words of pruning: what is asked for, what would go, and what went.

import type { GitHub } from '../../domain/github.js'
import { fullName, type Layout, type Repository, type RunId } from '../../domain/run.js'
import type { FileThere } from '../../store/inventory.js'

export interface PruneRequest {
  /** All under the root when absent. */
  repository?: Repository
  keepDays: number
  keepRuns: number
  /** What was not finished so long after it was last written to never will be. */
  unfinishedHours: number
  /** Takes refs of pull requests that nobody can be asked about for those of closed ones once they are older than `keepDays`. */
  closedPulls?: boolean
  /** Where to ask which branches there are; refs of a repository without an address stay. */
  cloneUrl?: (repository: Repository) => string | undefined
  /** Knows which pull requests are open. */
  github?: (repository: Repository) => GitHub | undefined
}

export interface PrunePlan {
  madeAt: string
  repositories: RepositoryPlan[]
  service: PruneItem[]
  /** In sentences: what could not be looked at and therefore stays. */
  notices: string[]
}

export interface RepositoryPlan {
  repository: Repository
  /** Sealed runs that stay, the newest first. */
  kept: { run: RunId; why: string }[]
  /** In the order in which they go. */
  items: PruneItem[]
}

export interface PruneItem {
  kind: 'ref' | 'run' | 'attempt' | 'pointer' | 'note' | 'checkpoint' | 'service'
  /** A run, a ref, or a file. */
  name: string
  why: string
  files: number
  bytes: number
  act: PruneAction
}

/** How it goes. */
export type PruneAction =
  | { how: 'sealed'; place: Layout; run: RunId; pointer: FileThere }
  | { how: 'unsealed' | 'unspoken' | 'emptied'; place: Layout; run: RunId }
  | { how: 'pointer'; file: FileThere }
  | { how: 'file'; file: FileThere }

export interface PruneResult {
  item: PruneItem
  repository?: Repository
  outcome: 'removed' | 'stayed' | 'failed'
  /** Why it stayed, or what went wrong. */
  why?: string
}

export function fileItem(kind: PruneItem['kind'], file: FileThere, why: string, name?: string): PruneItem {
  const shown = name ?? file.path.split('/').slice(-2).join('/')
  return { kind, name: shown, why, files: 1, bytes: file.bytes, act: { how: 'file', file } }
}

/** For people: `octo/tools on github.com`. */
export const nameOf = (repository: Repository) => `${fullName(repository)} on ${repository.host}`
