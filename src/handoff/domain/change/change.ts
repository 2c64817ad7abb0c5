// What a commit changes against its base, and which code that it does not touch depends on what it changes.
import * as read from '../../util/decode.js'
import type { FileKind } from '../survey.js'

type ChangeStatus = 'added' | 'removed' | 'modified' | 'renamed'

export interface ChangedFile {
  path: string
  previousPath?: string
  status: ChangeStatus
  kind: FileKind
  /** Lines; 0 where lines were not compared. */
  added: number
  removed: number
  /** Why lines were not compared. */
  uncompared?: 'binary' | 'too much' | 'not a file'
  /** Changed and removed definitions, by name. */
  definitions: string[]
}

/** A place that depends on what changed, in a file that did not change. */
export interface Ripple {
  kind: 'caller' | 'importer' | 'test'
  path: string
  line: number
  /** The changed file. */
  of: string
  /** Changed definitions that the file names. */
  names: string[]
}

export interface Change {
  base: string
  head: string
  /** All of them, or the first `mostFiles`. */
  files: ChangedFile[]
  filesLeftOut: number
  /** The strongest first. */
  ripples: Ripple[]
  ripplesLeftOut: number
}

/** Lines around a change, for the model. Secrets are already redacted. */
export interface ChangedLines {
  path: string
  blob: string
  /** The number of the first of `lines`, at the head. */
  from: number
  lines: string[]
  /** Lines of the base that stood here. */
  gone: string[]
}

export const mostFiles = 3_000
export const mostRipples = 60
export const mostNames = 12

const path = read.string(8_192)
const name = read.string(300)
const kind: read.Decoder<FileKind> = (value, at) => read.string(40)(value, at) as FileKind

export const changeShape: read.Decoder<Change> = read.object({
  base: read.objectId,
  head: read.objectId,
  files: read.array(
    read.object({
      path,
      previousPath: read.optional(path),
      status: read.oneOf('added', 'removed', 'modified', 'renamed'),
      kind,
      added: read.count,
      removed: read.count,
      uncompared: read.optional(read.oneOf('binary', 'too much', 'not a file')),
      definitions: read.array(name, mostNames),
    }),
    mostFiles,
  ),
  filesLeftOut: read.count,
  ripples: read.array(
    read.object({
      kind: read.oneOf('caller', 'importer', 'test'),
      path,
      line: read.count,
      of: path,
      names: read.array(name, mostNames),
    }),
    mostRipples,
  ),
  ripplesLeftOut: read.count,
})

export const changedLinesShape: read.Decoder<ChangedLines> = read.object({
  path,
  blob: read.objectId,
  from: read.count,
  lines: read.array(read.string(10_000), 2_000),
  gone: read.array(read.string(10_000), 2_000),
})
