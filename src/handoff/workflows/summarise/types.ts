// Types of the summarise workflow: its request and result, and what the steps of writing a summary share.

import type { Handoff } from '../../domain/handoff-record.js'
import type { Model } from '../../domain/ports.js'
import type { Commit, RunId } from '../../domain/run.js'
import type { RunEvent } from '../../domain/run-events.js'
import type { CommitFacts } from '../../domain/summary/commit-facts.js'
import type { RequestSizes } from '../../domain/summary/request-sizes.js'
import type { SummaryCache } from '../../domain/summary/summary-cache.js'
import type { TokenBudget, TokenLimits } from '../../domain/summary/token-budget.js'
import type { FileTable, Survey } from '../../domain/survey.js'
import type { Checkpoint } from './checkpoint.js'
import type { ModelQueue, QueueLimits } from './model-queue.js'

export interface SummariseRequest {
  commit: Commit
  /** Names this attempt: the workflow run and its attempt number, or a unique id. */
  attempt: string
  /** Create a new run although the commit has one. */
  force?: boolean
  form?: 'tar' | 'plain'
  /** A token that can read the repository and do nothing else. */
  cloneToken?: string
  /** Commits and refs whose summary cache may be reused, best first. */
  reuseFrom?: { commits?: string[]; refs?: string[] }
  requestedBy?: { workflowRun?: string; actor?: string }
  include?: string[]
  exclude?: string[]
  /** Metadata of the sandbox, so that the caller can find it from outside. */
  labels?: Record<string, string>
}

export interface SummariseResult {
  run: RunId
  directory: string
  handoff: Handoff
  /** The text of `code-summary.md`. */
  summary: string
  /** True when the commit already had a sealed run. Then no sandbox and no model was used. */
  reused: boolean
  /** True when the ref names this commit now. */
  refMoved: boolean
  /** How the settings of a reused run differ from this request. */
  differences: string[]
}

export interface SummaryInput {
  survey: Survey
  /** The whole file table, if the host has it. With it every path can be checked, also of files that were not chosen. */
  table?: FileTable
  model: Model
  limits: TokenLimits & QueueLimits
  /** The run that this one may build on: its prose and the text of its `code-summary.md`. */
  previous?: { cache: SummaryCache; summary: string }
  checkpoint?: Checkpoint
  emit: (event: RunEvent) => void
  signal: AbortSignal
}

/** What every step of writing one summary shares. */
export interface SummaryContext extends SummaryInput {
  facts: CommitFacts
  sizes: RequestSizes
  budget: TokenBudget
  queue: ModelQueue
}
