// What a summary is asked to be made of, and what every step of making it knows.

import type { Model } from '../../domain/ports.js'
import type { RunEvent } from '../../domain/run-events.js'
import type { CommitFacts } from '../../domain/summary/commit-facts.js'
import type { Sizes } from '../../domain/summary/request-sizes.js'
import type { Prose } from '../../domain/summary/summary-cache.js'
import type { Spending, SpendingLimits } from '../../domain/summary/token-budget.js'
import type { FileTable, Survey } from '../../domain/survey.js'
import type { Checkpoint } from './checkpoint.js'
import type { CallLimits, Calls } from './model-queue.js'

export interface SummaryOrder {
  survey: Survey
  /** The whole file table, where the host has it: then every path can be checked, and what was not chosen is known to be there. */
  table?: FileTable
  model: Model
  limits: SpendingLimits & CallLimits
  /** The run that this one may build on: its prose and the text of its `code-summary.md`. */
  previous?: { prose: Prose; summary: string }
  checkpoint?: Checkpoint
  emit: (event: RunEvent) => void
  signal: AbortSignal
}

/** What every step of one summary knows. */
export interface Job extends SummaryOrder {
  facts: CommitFacts
  sizes: Sizes
  spending: Spending
  calls: Calls
}
