// Questions and the records of their answers.
import type { Depth } from './answers/depth.js'
import type { RunId } from './run.js'

export interface Question {
  text: string
  /** Answers see the earlier questions of the same thread: a review thread, a pull request, a conversation on the page. */
  thread?: string
  /** Answer again although there is an answer already. */
  fresh?: boolean
  /** Distinguishes `fresh` answers; a repeated request sends the same value again. */
  nonce?: string
  /** The installation's own when absent. */
  depth?: Depth
  /** The asker, for the record: `github:octocat`, `bearer:team-a`. Not a secret and not checked here. */
  asker?: string
}

/** A question whose depth is decided. */
export interface SettledQuestion extends Question {
  depth: Depth
}

/** Lines of one file of the commit, with their numbers. The lines are as stored, secrets redacted. */
export interface Excerpt {
  path: string
  /** The git blob the lines are of. */
  blob: string
  from: number
  lines: string[]
  /** The source: `code`, or `summary` for a text of the model. */
  source: 'code' | 'summary'
  score: number
}

/** Lines that an answer cites. `verified`: path and lines exist at the commit, were shown to the model, and contain the quote. */
export interface Citation {
  path: string
  /** Set in comparisons only: the commit that the path is of. */
  commit?: string
  from: number
  to: number
  /** The blob and the sha256 of the lines, if verified; absent in old answers. */
  blob?: string
  digest?: string
  quote?: string
  verified: boolean
  /** True if the range was corrected by its quote. */
  moved?: boolean
  /** Why it was dropped, when it was. */
  problem?: 'not-shown' | 'no-such-path' | 'no-such-lines' | 'quote-not-found'
}

export interface Usage {
  inputTokens: number
  /** Thinking included. */
  outputTokens: number
  /** The part of the input that came from the service's cache. */
  cachedInputTokens?: number
  /** The part of the input that the service wrote to its cache. */
  cacheWriteTokens?: number
  /** True if the service reported no usage and handoff estimated it. */
  estimated?: boolean
}

/** `analysis/qa/<answer-id>.json`. Claimed before the work, completed once; then never changed. */
export type AnswerRecord = ClaimedAnswer | CompletedAnswer | FailedAnswer

interface AnswerHead {
  version: 1
  id: string
  run: RunId
  commit: string
  question: string
  thread?: string
  asker?: string
  /** A question about two commits: the earlier run. The record is stored with the later one. */
  compareWith?: ComparedRun
  model: string
  /** Normal when absent. */
  depth?: Depth
  acceptedAt: string
}

interface ComparedRun {
  run: RunId
  commit: string
}

/** What the model has written, as its readers saw it: a reader whose connection was lost continues in it. */
export interface Written {
  /** The claim under which it was written. */
  claim: string
  text: string
}

export interface ClaimedAnswer extends AnswerHead {
  status: 'running'
  /** After this time another process may take the question over; the holder renews it. */
  leaseUntil: string
  /** Which process holds the claim. */
  claim: string
  /** The answer was wanted although there was one. */
  fresh?: boolean
  /** A job in the queue goes on with the question when its holder does not finish. */
  queued?: boolean
  written?: Written
  /** Written by earlier versions; read, and not used. */
  tries?: number
}

export interface CompletedAnswer extends AnswerHead {
  status: 'done'
  completedAt: string
  /** Markdown, with citations as `[path:10-20]` in the places where the model cited; unsupported ones are gone. */
  text: string
  citations: Citation[]
  /** Sentences that cited something and have no verified citation left. */
  unsupported: number
  /** The answer was cut by the model's own limit. */
  truncated: boolean
  /** The model says the code does not tell. */
  unanswered: boolean
  excerpts: { path: string; commit?: string; blob: string; from: number; to: number; sha256: string }[]
  /** What was searched, for answers that found nothing. */
  searched: string[]
  /** For an answer that found nothing: how many files were searched, and which were not. */
  looked?: { files: number; unsearched: string[] }
  /** The lines around the verified citations, as the model was shown them: what a reader follows a citation to. */
  cited?: { path: string; commit?: string; blob: string; from: number; lines: string[] }[]
  rounds: number
  usage: Usage
  cost?: Cost
  seconds: Record<string, number>
  sandbox?: { id: string; template: string }
  /** The answer whose wording was so near that it was reused. */
  reusedFrom?: string
  written?: Written
}

export interface FailedAnswer extends AnswerHead {
  status: 'failed'
  completedAt: string
  error: { code: string; message: string; next?: string }
}

/** Money, only where a price is known: from the settings or from the dated table. */
export interface Cost {
  amount: number
  currency: 'USD'
  /** `settings`, or the date of the table's row. */
  source: string
}
