// The protocol between the host and a sandbox program. One task goes in as JSON in the environment, never in the text of a command. Typed records
// come out, one JSON object a line on standard output: `sandbox-protocol-decoder.ts` has their shapes.

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
  /** Addresses of large artifacts that give ranges without a key, by path. They expire. */
  addresses?: Record<string, string>
  /**
   * The first bytes of the index's table, in base64. They say which pages are asked for while the table comes. Nothing else is taken from them,
   * because only the hash of the whole table is sealed.
   */
  tableStart?: string
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

export type ProgramTask = SummariseTask | FindTask

/** Why a program failed. The host maps each value to an error and a message. */
export const programFailures = [
  'mount-failed', // drive9 did not mount, or the mount does not show the marker
  'clone-refused', // the git host wants other credentials, or does not have the repository
  'no-such-commit',
  'clone-failed',
  'empty-repository',
  'store-failed', // a copy into the mount, a sync or a rename returned an error
  'not-drained', // drive9 reports files that it did not upload
  'fetch-failed', // `drive9 fs cp` could not bring an artifact
  // The same four failures, where drive9's program says what its server answered:
  'drive-full',
  'drive-too-large',
  'drive-refused', // the token is refused
  'drive-unreachable',
  'corrupt', // an artifact does not hash to what the handoff records
  'too-many-files', // the list of the commit's files is too long
  'tool-missing', // git, tar or drive9 is not on the PATH
  'drive9-too-old', // the drive9 program cannot do what is needed of it
  'internal',
] as const

export type ProgramFailure = (typeof programFailures)[number]
