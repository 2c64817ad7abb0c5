// What Sandbox A tells about a checkout: the table of every file, its outline, and the chosen text.

export type FileKind =
  | 'source'
  | 'test'
  | 'documentation'
  | 'configuration'
  | 'generated'
  | 'vendored'
  | 'lock'
  | 'minified'
  | 'binary'
  | 'lfs-pointer'
  | 'symlink'
  | 'submodule'
  | 'data'

/** One row per path of the commit. `read` went to the model whole, `cut` in part, `skipped` not at all; the last two say why. */
export interface FileRow {
  /** As UTF-8; a path that is not valid UTF-8 is shown with replacement characters and kept exactly in `pathBase64`. */
  path: string
  pathBase64?: string
  /** Six octal digits, as git prints them. */
  mode: string
  /** The git blob id (for a submodule, the commit id it points to). */
  blob: string
  /** Bytes; 0 for submodules. */
  size: number
  kind: FileKind
  state: 'read' | 'cut' | 'skipped'
  reason?: SkipReason
}

export type SkipReason =
  | 'binary'
  | 'generated'
  | 'vendored'
  | 'lock file'
  | 'minified'
  | 'lfs pointer'
  | 'symlink'
  | 'submodule'
  | 'too large'
  | 'excluded'
  | 'ignored'
  | 'data'
  | 'budget' // there was no room: signatures or one line at most
  | 'empty'
  | 'missing' // the clone does not have the object

/** `analysis/files.json`. Rows are in git's order. */
export interface FileTable {
  version: 1
  commit: string
  /** The tree's id and every directory's, so that prose can be kept by what it describes. `''` is the top. */
  trees: Record<string, string>
  files: FileRow[]
  secrets: SecretPlace[]
}

/** Where something that looks like a credential stands; never what it says. */
export interface SecretPlace {
  path: string
  line: number
  rule: string
}

/** A definition: what it is called, where it starts. */
export interface Definition {
  name: string
  kind: string
  line: number
  /** The last line, where the language lets us see it. */
  end?: number
}

/** `analysis/outline.json`. */
export interface Outline {
  version: 1
  commit: string
  files: Record<string, Definition[]>
}

/** A piece of the repository as it goes to the model. Secrets are already redacted. */
export interface ChosenText {
  path: string
  blob: string
  kind: FileKind
  form: 'full' | 'head' | 'signatures' | 'line'
  /** The number of the first line of `text`; for signatures each line of `text` carries its own number and this is 1. */
  from: number
  text: string
  /** Rank by which the budget was filled; 0 is the most central. */
  rank: number
}

/** How many files there are, by state and reason. The sums equal what `git ls-tree -r` lists. */
export interface SurveyCounts {
  files: number
  bytes: number
  read: number
  cut: number
  skipped: number
  reasons: Partial<Record<SkipReason, number>>
  kinds: Partial<Record<FileKind, number>>
}

export interface Survey {
  commit: string
  rootTree: string
  counts: SurveyCounts
  /** Directories with how many files and bytes are below them, the deepest left out when there are too many to print. */
  directories: { path: string; tree: string; files: number; bytes: number }[]
  /** Most central first. */
  texts: ChosenText[]
  secrets: SecretPlace[]
  /** Anything a reader should know: a path that is not UTF-8, a name the drive cannot keep, an empty repository. */
  notices: string[]
}
