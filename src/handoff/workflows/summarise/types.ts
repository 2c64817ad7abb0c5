// What a summary is asked to be made of, and what every step of making it knows.

import type { Model } from '../../domain/ports.js'
import type { RunEvent } from '../../domain/run-events.js'
import type { CommitFacts } from '../../domain/summary/commit-facts.js'
import type { RequestSizes } from '../../domain/summary/request-sizes.js'
import type { SummaryCache } from '../../domain/summary/summary-cache.js'
import type { BudgetLimits, TokenBudget } from '../../domain/summary/token-budget.js'
import type { FileTable, Survey } from '../../domain/survey.js'
import type { Checkpoint } from './checkpoint.js'
import type { ModelQueue, QueueLimits } from './model-queue.js'

export interface SummaryInput {
  survey: Survey
  /** The whole file table, where the host has it: then every path can be checked, and what was not chosen is known to be there. */
  table?: FileTable
  model: Model
  limits: BudgetLimits & QueueLimits
  /** The run that this one may build on: its prose and the text of its `code-summary.md`. */
  previous?: { cache: SummaryCache; summary: string }
  checkpoint?: Checkpoint
  emit: (event: RunEvent) => void
  signal: AbortSignal
}

/** What every step of one summary knows. */
export interface SummaryContext extends SummaryInput {
  facts: CommitFacts
  sizes: RequestSizes
  budget: TokenBudget
  queue: ModelQueue
}
