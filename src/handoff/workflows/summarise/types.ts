// Types of the summarise workflow: its request and result, and what the steps of writing a summary share.

import type { AnswerPlace } from '../../domain/answers/permalinks.js'
import type { ChangeReport } from '../../domain/change/change-report.js'
import type { Correction } from '../../domain/corrections/correction.js'
import type { Diagram } from '../../domain/graph/diagram.js'
import type { Handoff } from '../../domain/handoff-record.js'
import type { Model } from '../../domain/ports.js'
import type { Commit, RunId } from '../../domain/run.js'
import type { RunEvent } from '../../domain/run-events.js'
import type { Relocation } from '../../domain/sandbox-protocol-decoder.js'
import type { CommitFacts } from '../../domain/summary/commit-facts.js'
import type { Notes } from '../../domain/summary/notes.js'
import type { StatementCounts } from '../../domain/summary/parse-statements.js'
import type { RequestSizes } from '../../domain/summary/request-sizes.js'
import type { SummaryRecord } from '../../domain/summary/summary-record.js'
import type { TokenBudget, TokenLimits } from '../../domain/summary/token-budget.js'
import type { FileTable, Survey } from '../../domain/survey.js'
import type { Checkpoint } from './checkpoint.js'
import type { ModelQueue, QueueLimits } from './model-queue.js'
import type { Asker } from './reuse-replies.js'

export interface SummariseRequest {
  commit: Commit
  /** Names this attempt: the workflow run and its attempt number, or a unique id. */
  attempt: string
  /** Create a new run although the commit has one, and write its summary anew. */
  force?: boolean
  form?: 'tar' | 'plain'
  /** The commit that the change is described against: the merge base of a pull request. */
  base?: string | undefined
  /** A token that can read the repository and do nothing else. */
  cloneToken?: string | undefined
  /** Commits and refs whose summary may be kept, best first. */
  reuseFrom?: { commits?: string[]; refs?: string[] }
  requestedBy?: { workflowRun?: string; actor?: string }
  include?: string[]
  exclude?: string[]
  /** How links in the summary are written, where the name of the git host does not tell. */
  links?: Pick<AnswerPlace, 'serverUrl' | 'permalinks'>
  /** Metadata of the sandbox, so that the caller can find it from outside. */
  labels?: Record<string, string>
}

export interface SummariseResult {
  run: RunId
  directory: string
  handoff: Handoff
  /** The text of `code-summary.md`. */
  summary: string
  /** Its statements; absent for a reused run of an earlier version. */
  statements?: SummaryRecord
  /** What changed against `base`; absent when it was not asked for, or the run is older than the request. */
  change?: ChangeReport
  /** Who imports whom; absent in old runs and where nothing imports anything. */
  diagram?: Diagram
  /** What people corrected in summaries, where its lines are there. */
  corrections: Correction[]
  /** True when the commit already had a sealed run. Then no sandbox and no model was used. */
  reused: boolean
  /** True when the ref names this commit now. */
  refMoved: boolean
  /** How the settings of a reused run differ from this request. */
  differences: string[]
}

/** What an earlier run wrote. */
export interface PreviousSummary {
  record: SummaryRecord
  /** The text of its `code-summary.md`. */
  summary: string
  /** Its file table. */
  table: FileTable
  notes: Notes
  /** Why it does not cover the whole repository. */
  partial?: string
}

export interface SummaryInput {
  survey: Survey
  /** The whole file table, if the host has it. With it every path can be checked, also of files that were not chosen. */
  table?: FileTable
  model: Model
  limits: TokenLimits & QueueLimits
  previous?: PreviousSummary
  /** Of the previous run only the notes are used; every statement is written again. */
  anew?: boolean
  /** What became of the lines that the previous summary cites. */
  relocations?: readonly Relocation[]
  /** What people corrected, for the model to know. */
  corrections?: readonly Correction[]
  checkpoint?: Checkpoint
  emit: (event: RunEvent) => void
  signal: AbortSignal
}

/** What every step of writing one summary shares. */
export interface SummaryContext extends Omit<SummaryInput, 'checkpoint'> {
  facts: CommitFacts
  sizes: RequestSizes
  budget: TokenBudget
  queue: ModelQueue
  /** Requests to the model, of which none is paid for twice. */
  asker: Asker
  counts: StatementCounts
  notice: (text: string) => void
}
