// What a commit changes against its base, and which code that it does not touch depends on what it changes.
import * as read from '../../util/decode.js'
import type { FileKind } from '../survey.js'

export const mostFiles = 3_000
export const mostRipples = 60
export const mostNames = 12

const path = read.string(8_192)
const name = read.string(300)
const kind: read.Decoder<FileKind> = (value, at) => read.string(40)(value, at) as FileKind

const file = read.object({
  path,
  previousPath: read.optional(path),
  status: read.oneOf('added', 'removed', 'modified', 'renamed'),
  kind,
  /** Lines; 0 where lines were not compared. */
  added: read.count,
  removed: read.count,
  /** Why lines were not compared. */
  uncompared: read.optional(read.oneOf('binary', 'too much', 'not a file')),
  /** Changed and removed definitions, by name. */
  definitions: read.array(name, mostNames),
})

export type ChangedFile = read.Decoded<typeof file>

const ripple = read.object({
  kind: read.oneOf('caller', 'importer', 'test'),
  path,
  line: read.count,
  /** The changed file. */
  of: path,
  /** Changed definitions that the file names. */
  names: read.array(name, mostNames),
})

/** A place that depends on what changed, in a file that did not change. */
export type Ripple = read.Decoded<typeof ripple>

export const changeShape = read.object({
  base: read.objectId,
  head: read.objectId,
  /** All of them, or the first `mostFiles`. */
  files: read.array(file, mostFiles),
  filesLeftOut: read.count,
  /** The strongest first. */
  ripples: read.array(ripple, mostRipples),
  ripplesLeftOut: read.count,
})

export type Change = read.Decoded<typeof changeShape>

export const changedLinesShape = read.object({
  path,
  blob: read.objectId,
  /** The number of the first of `lines`, at the head. */
  from: read.count,
  lines: read.array(read.string(10_000), 2_000),
  /** Lines of the base that stood here. */
  gone: read.array(read.string(10_000), 2_000),
})

/** Lines around a change, for the model. Secrets are already redacted. */
export type ChangedLines = read.Decoded<typeof changedLinesShape>
