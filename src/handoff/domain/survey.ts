// The survey of a checkout by Sandbox A: the table of all files, the outline, and the chosen text.
import * as read from '../util/decode.js'

const fileKinds = [
  'source',
  'test',
  'documentation',
  'configuration',
  'generated',
  'vendored',
  'lock',
  'minified',
  'binary',
  'lfs-pointer',
  'symlink',
  'submodule',
  'data',
] as const
export type FileKind = (typeof fileKinds)[number]

/** One row per path of the commit. The model reads `read` files whole, `cut` files in part, and no `skipped` files; the last two have a reason. */
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
  /** The tree id of every directory, by which cached texts are reused. `''` is the top. */
  trees: Record<string, string>
  files: FileRow[]
  secrets: SecretPlace[]
}

export const secretPlace = read.object({ path: read.string(8_192), line: read.count, rule: read.string(100) })

/** The place of a possible credential, without its value. */
export type SecretPlace = read.Decoded<typeof secretPlace>

/** The name and place of a definition. */
export interface Definition {
  name: string
  kind: string
  line: number
  /** The last line, if the language shows it. */
  end?: number
}

/** `analysis/outline.json`. */
export interface Outline {
  version: 1
  commit: string
  files: Record<string, Definition[]>
  /** What each file imports of the commit: the path and the first line that names it. A path with a slash at its end is a Go package. */
  imports?: Record<string, [path: string, line: number][]>
}

export const chosenTextFields = {
  path: read.string(8_192),
  blob: read.objectId,
  kind: read.oneOf(...fileKinds),
  form: read.oneOf('full', 'head', 'signatures', 'line'),
  /** The number of the first line of `text`; for signatures each line of `text` carries its own number and this is 1. */
  from: read.count,
  text: read.string(4_000_000),
  /** The rank by which files were chosen; 0 is the most central. */
  rank: read.number,
}

/** An excerpt for the model. Secrets are already redacted. */
export type ChosenText = read.Shape<typeof chosenTextFields>

const byName = read.record(read.count, 100)

export const surveyCounts = read.object({
  files: read.count,
  bytes: read.count,
  read: read.count,
  cut: read.count,
  skipped: read.count,
  /** By `SkipReason` and by `FileKind`. */
  reasons: byName,
  kinds: byName,
})

/** The number of files by state and reason. The sums equal the lines of `git ls-tree -r`. */
export type SurveyCounts = read.Decoded<typeof surveyCounts>

export interface Survey {
  commit: string
  rootTree: string
  counts: SurveyCounts
  /** Directories with the files and bytes below them. The deepest are omitted if there are too many. */
  directories: { path: string; tree: string; files: number; bytes: number }[]
  /** Most central first. */
  texts: ChosenText[]
  secrets: SecretPlace[]
  /** Remarks for readers: a path that is not UTF-8, a name that the drive cannot store, an empty repository. */
  notices: string[]
}
