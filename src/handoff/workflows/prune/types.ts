// Types of prune: the request, the plan and the results.

import type { GitHub } from '../../domain/github.js'
import { fullName, type Layout, type Repository, type RunId } from '../../domain/run.js'
import type { StoredFile } from '../../store/inventory.js'

export interface PruneRequest {
  /** All repositories if absent. */
  repository?: Repository
  keepDays: number
  keepRuns: number
  /** An unfinished run is abandoned this long after its last write. */
  unfinishedHours: number
  /** Without access to GitHub: treats pull requests as closed if their refs are older than `keepDays`. */
  closedPulls?: boolean
  /** The clone address, to list the branches. Without one, the refs are kept. */
  cloneUrl?: (repository: Repository) => string | undefined
  /** The client that knows which pull requests are open. */
  github?: (repository: Repository) => GitHub | undefined
}

export interface PrunePlan {
  madeAt: string
  repositories: RepositoryPlan[]
  service: PruneItem[]
  /** Sentences about what could not be checked and is therefore kept. */
  notices: string[]
}

export interface RepositoryPlan {
  repository: Repository
  /** Sealed runs that are kept, newest first. */
  kept: { run: RunId; why: string }[]
  /** In the order of removal. */
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

/** How an item is removed. */
export type PruneAction =
  | { how: 'sealed'; place: Layout; run: RunId; pointer: StoredFile }
  | { how: 'unsealed' | 'unspoken' | 'emptied'; place: Layout; run: RunId }
  | { how: 'pointer'; file: StoredFile }
  | { how: 'file'; file: StoredFile }

export interface PruneResult {
  item: PruneItem
  repository?: Repository
  outcome: 'removed' | 'stayed' | 'failed'
  /** Why it was kept, or the error. */
  why?: string
}

export function fileItem(kind: PruneItem['kind'], file: StoredFile, why: string, name?: string): PruneItem {
  const shown = name ?? file.path.split('/').slice(-2).join('/')
  const how = kind === 'ref' || kind === 'pointer' ? 'pointer' : 'file'
  return { kind, name: shown, why, files: 1, bytes: file.bytes, act: { how, file } }
}

/** For people: `octo/tools on github.com`. */
export const nameOf = (repository: Repository) => `${fullName(repository)} on ${repository.host}`
