// What the service sends, as far as the page reads it. Names and texts in it come from repositories and models: they are shown as text only.
import type { DiagramData } from '../src/handoff/domain/graph/diagram-markdown.js'
import type { MarkdownBlock } from '../src/handoff/domain/markdown/parse-document.js'

/** The repository, and one run of it. */
export interface RunAddress {
  repository: string
  run: string
}

export interface Run extends RunAddress {
  commit: string
  ref?: string | undefined
  sealedAt: string
  model: string
  files: number
  /** Why the summary is not of the whole repository. */
  partial?: string | undefined
}

export interface WholeRun extends Run {
  summaryBlocks: MarkdownBlock[]
  corrections?: Correction[] | undefined
  diagram?: DiagramData | undefined
  handoff: { host: string; repository: string; model: { name: string } }
}

export interface RunPage {
  runs: Run[]
  next?: string | undefined
}

export interface Citation {
  path: string
  from: number
  to: number
  label: string
  url: string | null
  quote?: string | undefined
  moved?: boolean | undefined
}

export interface Lines {
  path: string
  from: number
  lines: string[]
}

interface QuestionState {
  id: string
  commit: string
  question: string
  acceptedAt: string
}

export interface PendingAnswer extends QuestionState {
  status: 'queued' | 'running'
}

export interface FailedAnswer extends QuestionState {
  status: 'failed'
  completedAt?: string | undefined
  error: { code: string; message: string; next?: string | undefined }
}

export interface ListedAnswer extends QuestionState {
  status: 'done'
  citations: Citation[]
  verified: string
  unsupported: number
  truncated: boolean
  model: string
  usage: { inputTokens: number; outputTokens: number }
  cost?: { amount: number } | undefined
  completedAt: string
  seconds: Record<string, number>
  depth?: string | undefined
  reused: boolean
  reusedFrom?: string | undefined
  /** The answer that the question followed. */
  after?: string | undefined
  behind?: { head: string } | undefined
  stale?: { told: string; citations: { label: string; verdict: string; now?: string | undefined }[] } | undefined
}

/** What a person said about an answer or a summary, on lines that are there. */
export interface Correction {
  id: string
  at: string
  by: string
  text: string
  answer?: string | undefined
  places: { path: string; from: number; to: number; label: string; url: string | null }[]
}

export interface Answer extends ListedAnswer {
  text: string
  /** With the corrections behind the sentences that they are about. */
  blocks: MarkdownBlock[]
  code: Lines[]
  /** Whether it was useful to its readers, and to this one. */
  feedback?: { useful: number; notUseful: number; own?: boolean | undefined } | undefined
}

export type StoredAnswer = Answer | PendingAnswer | FailedAnswer

export interface AnswerPage {
  answers: (ListedAnswer | PendingAnswer | FailedAnswer)[]
  next?: string | undefined
}

/** What `/api/auth/session` says. */
export interface SignInState {
  /** Whether people can sign in with GitHub here. */
  offered: boolean
  signedIn: boolean
  user?: { login: string } | undefined
}

export interface Question extends RunAddress {
  question: string
  fresh?: boolean
  /** The answer that the question follows. */
  after?: string | undefined
  model?: string | undefined
  depth?: string | undefined
  compareWith?: { run: string } | undefined
}

/** A problem document of the service, or what the page says when there is none. */
export interface ProblemDocument {
  title: string
  detail?: string | undefined
  next?: string | undefined
  status?: number | undefined
  code?: string | undefined
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
  /** Where the answer will be; set while a job still works on the question. */
  self?: string | undefined
}

/** The `status` events of a question. */
export interface StatusEvent {
  state: string
  id?: string | undefined
  requestId?: string | undefined
  position?: number | undefined
  step?: string | undefined
  milliseconds?: number | undefined
  failed?: boolean | undefined
  template?: string | undefined
  count?: number | undefined
  files?: number | undefined
}
