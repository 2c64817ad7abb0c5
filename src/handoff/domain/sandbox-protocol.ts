// The protocol between the host and a sandbox program. One task goes in as JSON in the environment, never in the text of a command. Typed records
// come out, one JSON object a line on standard output.
import type { Excerpt } from './answer.js'
import type { Change, ChangedLines } from './change/change.js'
import type { PackedObject } from './git-proof.js'
import type { Diagram } from './graph/diagram.js'
import type { ChosenText, Survey } from './survey.js'

/** Where the run directory is and how the program verifies its mount. The token is in DRIVE9_API_KEY. */
export interface MountTask {
  server: string
  /** The run directory on drive9, absolute. */
  remote: string
  /** A file of the run directory and its hash. Only a mount of the right directory contains it. */
  marker: { path: string; sha256: string }
}

export interface SummariseTask {
  task: 'summarise'
  mount: MountTask
  clone: { url: string; sha: string; ref?: string }
  /** The commit that the change is described against. */
  base?: string
  repositoryName: string
  /** How the commit is stored: one tar of a bare clone, or also the plain files. */
  form: 'tar' | 'plain'
  survey: SurveyLimits
  /** Lines that an earlier summary and its answers cite, to be found again in this commit. */
  cited: CitedFile[]
}

/** Cited lines of one file at an earlier commit. */
export interface CitedFile {
  path: string
  blob: string
  places: { from: number; to: number; digest: string }[]
}

/**
 * What became of cited lines. `same`: the file has the same blob, also under another path. `moved`: the file changed and the lines are in it.
 * `changed`: the file is there without them. `gone`: the file is not there.
 */
export interface Relocation {
  path: string
  blob: string
  from: number
  to: number
  verdict: 'same' | 'moved' | 'changed' | 'gone'
  /** Where the lines are now, if they are. */
  now?: { path: string; blob: string; from: number; to: number }
}

export interface SurveyLimits {
  /** Limit of the chosen text in bytes. */
  textBytes: number
  /** Globs; an empty `include` takes everything. */
  include: string[]
  exclude: string[]
}

export interface FindTask {
  task: 'find'
  mount: MountTask
  /** A follow-up round in a sandbox that has searched before: the mount is there, and what was fetched. */
  again?: boolean
  /** Files that it may need; the program checks what it reads of each. */
  artifacts: { path: string; bytes: number; sha256: string }[]
  /** Which of the artifacts is the clone. */
  clonePath: string
  repositoryName: string
  commit: string
  search: Search
  /** Answered instead of the search, if there are any. */
  requests: MoreRequest[]
}

export type MoreRequest =
  | { kind: 'read'; path: string; from: number; to: number }
  | { kind: 'search'; terms: string }
  | { kind: 'list'; path: string }
  /** The definitions of a name, whole; or the places that use it. */
  | { kind: 'define' | 'callers'; name: string }

export interface Search {
  question: string
  /** Words that a model would look for. */
  terms: string[]
  /** Words of earlier questions of the thread; they weigh less. */
  earlier?: string[]
  /** Limit of the shown lines in tokens, with line numbers. */
  tokens: number
  /** Ranges that were shown already and need not be shown again. */
  shown: { path: string; from: number; to: number }[]
  /** Cards are wanted where the ranking is unsure. */
  cards?: boolean
  /** Files that a model chose from the cards, the likeliest first. */
  chosen?: string[]
}

/** What a model chooses a file by. */
export interface Card {
  path: string
  /** What it defines. */
  names: string[]
  /** Its first comment or heading. */
  says: string
}

export type ProgramTask = SummariseTask | FindTask

/** What a program prints. `v` is the version of the record; a reader refuses an unknown one. */
export type ProgramRecord = { v: 1 } & (
  | { type: 'step'; step: 'mount' | 'clone' | 'store' | 'survey' | 'drain' | 'find' | 'unpack'; milliseconds: number }
  | { type: 'notice'; text: string }
  /** Which drive9 program the sandbox has. */
  | { type: 'drive9'; version: string; sha256: string }
  /** A file is in the run directory; the host reads it back and compares the hash. */
  | { type: 'stored'; path: string; bytes: number; sha256: string }
  /** The plain files are in the run directory too; `analysis/tree.json` (stored before) lists them with their hashes and what was lost. */
  | { type: 'stored-tree'; path: string; files: number; bytes: number; lost: number }
  | ({ type: 'survey' } & Omit<Survey, 'texts'>)
  | { type: 'diagram'; diagram: Diagram }
  | { type: 'change'; change: Change }
  | ({ type: 'changed-lines' } & ChangedLines)
  /** The git host does not have the base, or does not serve it. */
  | { type: 'no-base'; base: string }
  | ({ type: 'text' } & ChosenText)
  | ({ type: 'relocated' } & Relocation)
  | ({ type: 'excerpt' } & Excerpt)
  /** Leads from the commit to what is shown; the host believes nothing else. */
  | ({ type: 'object' } & PackedObject)
  | { type: 'listing'; path: string; entries: string[] }
  | ({ type: 'searched' } & Searched)
  | ({ type: 'card' } & Card)
  /** What the repository says to agents and assistants. */
  | ({ type: 'notes' } & Excerpt)
  | { type: 'failed'; code: ProgramFailure; message: string }
  /** The last record of a successful program. Without it the sandbox ended early. */
  | { type: 'done' }
)

/** What was searched, and how well the words of the question were found. */
export interface Searched {
  terms: string[]
  files: number
  candidates: number
  /** Words of the question that no file has. */
  missing: string[]
  /** How much of what the question says stands together in one place. */
  found: 'well' | 'partly' | 'hardly' | 'nothing'
  /** What was not searched and why, for people. */
  unsearched: string[]
}

/** Why a program failed. The host maps each value to an error and a message. */
export type ProgramFailure =
  | 'mount-failed' // drive9 did not mount, or the mount does not show the marker
  | 'clone-refused' // the git host wants other credentials, or does not have the repository
  | 'no-such-commit'
  | 'clone-failed'
  | 'empty-repository'
  | 'store-failed' // a copy into the mount, a sync or a rename returned an error
  | 'not-drained' // drive9 reports files that it did not upload
  | 'fetch-failed' // `drive9 fs cp` could not bring an artifact
  // The same four failures, where drive9's program says what its server answered:
  | 'drive-full'
  | 'drive-too-large'
  | 'drive-refused' // the token is refused
  | 'drive-unreachable'
  | 'corrupt' // an artifact does not hash to what the handoff records
  | 'too-many-files' // the list of the commit's files is too long
  | 'tool-missing' // git, tar or drive9 is not on the PATH
  | 'drive9-too-old' // the drive9 program cannot do what is needed of it
  | 'internal'
