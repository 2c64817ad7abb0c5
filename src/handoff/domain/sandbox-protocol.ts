// How the program inside a sandbox and the host talk: one task goes in (as JSON in the environment, never in a command's text), and typed
// records come out (one JSON object a line on standard output). A line may change; a record with a version and a type may not.
import type { Excerpt } from './answer.js'
import type { ChosenText, Survey } from './survey.js'

export const recordVersion = 1

/** Where the durable directory is and how to prove that the mount shows it. The token comes apart, in DRIVE9_API_KEY. */
export interface MountTask {
  server: string
  /** The run directory on drive9, absolute. */
  remote: string
  /** A file that the host knows to be there, and what it hashes to. Only a mount that shows the right directory can show it. */
  marker: { path: string; sha256: string }
}

export interface SummariseTask {
  task: 'summarise'
  mount: MountTask
  clone: { url: string; sha: string; ref?: string }
  repositoryName: string
  /** How the commit is kept: one tar of a bare clone, or that and the plain files beside it. */
  form: 'tar' | 'plain'
  survey: SurveyLimits
}

export interface SurveyLimits {
  /** Bytes of chosen text the survey may print. */
  textBytes: number
  /** Globs; an empty `include` takes everything. */
  include: string[]
  exclude: string[]
}

export interface FindTask {
  task: 'find'
  mount: MountTask
  /** What must hash right before it is believed. */
  artifacts: { path: string; bytes: number; sha256: string }[]
  /** Which of the artifacts is the clone. */
  clonePath: string
  repositoryName: string
  commit: string
  search: Search
}

/** A further round in a sandbox that has found once already: the clone is still unpacked there. */
export interface MoreTask {
  task: 'more'
  repositoryName: string
  commit: string
  search: Search
  requests: MoreRequest[]
}

export type MoreRequest =
  | { kind: 'read'; path: string; from: number; to: number }
  | { kind: 'search'; terms: string }
  | { kind: 'list'; path: string }

export interface Search {
  question: string
  /** More words to look for, from earlier questions of the thread or from the model. */
  terms: string[]
  /** Bytes of lines to print at most, line numbers included. */
  textBytes: number
  /** Ranges that were shown already and need not be shown again. */
  shown: { path: string; from: number; to: number }[]
}

export type ProgramTask = SummariseTask | FindTask | MoreTask

/** What the sandbox prints. `v` is the version of the record; a reader refuses what it does not know. */
export type ProgramRecord = { v: 1 } & (
  | { type: 'step'; step: 'mount' | 'clone' | 'store' | 'survey' | 'drain' | 'find' | 'unpack'; milliseconds: number }
  | { type: 'notice'; text: string }
  /** Which drive9 program the sandbox has. */
  | { type: 'drive9'; version: string; sha256: string }
  /** Something is in the run directory: to be read back and compared. */
  | { type: 'stored'; path: string; bytes: number; sha256: string }
  /** The plain files are in the run directory too; `analysis/tree.json` (stored before) lists them with their hashes and what was lost. */
  | { type: 'stored-tree'; path: string; files: number; bytes: number; lost: number }
  | ({ type: 'survey' } & Omit<Survey, 'texts'>)
  | ({ type: 'text' } & ChosenText)
  | ({ type: 'excerpt' } & Excerpt)
  | { type: 'listing'; path: string; entries: string[] }
  | { type: 'searched'; terms: string[]; files: number; candidates: number }
  | { type: 'failed'; code: ProgramFailure; message: string }
  /** Always last when all went well. Its absence means that the sandbox died in the middle. */
  | { type: 'done' }
)

/** Why the program inside gave up. The host turns each into its own error and sentence. */
export type ProgramFailure =
  | 'mount-failed' // drive9 did not mount, or the mount does not show the marker
  | 'clone-refused' // the git host wants other credentials, or does not have the repository
  | 'no-such-commit'
  | 'clone-failed'
  | 'empty-repository'
  | 'store-failed' // a copy into the mount, a sync or a rename returned an error
  | 'not-drained' // drive9 says that something did not arrive
  | 'fetch-failed' // `drive9 fs cp` could not bring an artifact
  // The same four failures, where drive9's program says what its server answered:
  | 'drive-full'
  | 'drive-too-large'
  | 'drive-refused' // the token is refused
  | 'drive-unreachable'
  | 'corrupt' // an artifact does not hash to what the handoff records
  | 'tool-missing' // git, tar or drive9 is not on the PATH
  | 'drive9-too-old' // the drive9 program cannot do what is needed of it
  | 'internal'
