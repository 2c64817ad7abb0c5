// What a summary is asked to be made of, and what every step of making it knows.

import type { RunEvent } from '../library/events.js'
import type { CommitFacts } from '../library/summaries/commit-facts.js'
import type { Prose } from '../library/summaries/prose.js'
import type { Spending, SpendingLimits } from '../library/summaries/spending.js'
import type { Sizes } from '../library/summaries/summary-sizes.js'
import type { FileTable, Survey } from '../library/survey.js'
import type { Model } from '../library/tools.js'
import type { Checkpoint } from './checkpoints.js'
import type { CallLimits, Calls } from './model-calls.js'

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
