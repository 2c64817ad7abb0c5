// Reads what a sandbox prints. The text comes from a machine that has read a hostile repository: every record is checked, every length is
// bounded, and what is not a record is an error.
import * as read from '../util/decode.js'
import { changedLinesShape, changeShape } from './change/change.js'
import { HandoffError } from './errors.js'
import { diagramShape } from './graph/diagram.js'
import { quote } from './run.js'
import type { ProgramRecord } from './sandbox-protocol.js'

interface RecordLimits {
  /** Characters of one line. */
  line: number
  /** Characters in all. */
  total: number
}

const recordLimits: RecordLimits = { line: 4_000_000, total: 64_000_000 }

const path = read.string(8_192)
const text = read.string(4_000_000)
const kind = read.oneOf(
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
)
const counts = read.record(read.count, 100)
const secretPlace = read.object({ path, line: read.count, rule: read.string(100) })

const excerpt = {
  path,
  blob: read.objectId,
  from: read.count,
  lines: read.array(read.string(10_000), 100_000),
  source: read.oneOf('code', 'summary'),
  score: read.number,
}

const shapes: { [T in ProgramRecord['type']]: read.Decoder<unknown> } = {
  step: read.object({
    type: read.oneOf('step'),
    step: read.oneOf('mount', 'clone', 'store', 'survey', 'drain', 'find', 'unpack'),
    milliseconds: read.number,
  }),
  notice: read.object({ type: read.oneOf('notice'), text: read.string(1_000) }),
  drive9: read.object({ type: read.oneOf('drive9'), version: read.string(100), sha256: read.sha256 }),
  stored: read.object({ type: read.oneOf('stored'), path, bytes: read.count, sha256: read.sha256 }),
  'stored-tree': read.object({
    type: read.oneOf('stored-tree'),
    path,
    files: read.count,
    bytes: read.count,
    lost: read.count,
  }),
  survey: read.object({
    type: read.oneOf('survey'),
    commit: read.objectId,
    rootTree: read.objectId,
    counts: read.object({
      files: read.count,
      bytes: read.count,
      read: read.count,
      cut: read.count,
      skipped: read.count,
      reasons: counts,
      kinds: counts,
    }),
    directories: read.array(read.object({ path, tree: read.objectId, files: read.count, bytes: read.count }), 20_000),
    secrets: read.array(secretPlace, 20_000),
    notices: read.array(read.string(1_000), 1_000),
  }),
  change: read.object({ type: read.oneOf('change'), change: changeShape }),
  'changed-lines': (value, at) => ({
    ...read.object({ type: read.oneOf('changed-lines') })(value, at),
    ...changedLinesShape(value, at),
  }),
  'no-base': read.object({ type: read.oneOf('no-base'), base: read.objectId }),
  diagram: read.object({ type: read.oneOf('diagram'), diagram: diagramShape }),
  text: read.object({
    type: read.oneOf('text'),
    path,
    blob: read.objectId,
    kind,
    form: read.oneOf('full', 'head', 'signatures', 'line'),
    from: read.count,
    text,
    rank: read.number,
  }),
  relocated: read.object({
    type: read.oneOf('relocated'),
    path,
    blob: read.objectId,
    from: read.count,
    to: read.count,
    verdict: read.oneOf('same', 'moved', 'changed', 'gone'),
    now: read.optional(read.object({ path, blob: read.objectId, from: read.count, to: read.count })),
  }),
  excerpt: read.object({ type: read.oneOf('excerpt'), ...excerpt }),
  notes: read.object({ type: read.oneOf('notes'), ...excerpt }),
  object: read.object({ type: read.oneOf('object'), kind: read.oneOf('commit', 'tree', 'blob'), data: text }),
  listing: read.object({ type: read.oneOf('listing'), path, entries: read.array(path, 10_000) }),
  searched: read.object({
    type: read.oneOf('searched'),
    terms: read.array(read.string(500), 1_000),
    files: read.count,
    candidates: read.count,
    missing: read.array(read.string(500), 100),
    found: read.oneOf('well', 'partly', 'hardly', 'nothing'),
    unsearched: read.array(read.string(2_000), 10),
  }),
  card: read.object({ type: read.oneOf('card'), path, names: read.array(read.string(40), 8), says: read.string(100) }),
  failed: read.object({
    type: read.oneOf('failed'),
    code: read.oneOf(
      'mount-failed',
      'clone-refused',
      'no-such-commit',
      'clone-failed',
      'empty-repository',
      'store-failed',
      'not-drained',
      'fetch-failed',
      'drive-full',
      'drive-too-large',
      'drive-refused',
      'drive-unreachable',
      'corrupt',
      'too-many-files',
      'tool-missing',
      'drive9-too-old',
      'internal',
    ),
    message: read.string(2_000),
  }),
  done: read.object({ type: read.oneOf('done') }),
}

const head = read.object({ v: read.count, type: read.string(40) })

export function decodeRecord(line: string): ProgramRecord {
  const { v, type } = read.decodeJson(line, head)
  if (v !== 1) throw new read.DecodeError(`it is of version ${v}`)
  const shape = Object.hasOwn(shapes, type) ? shapes[type as ProgramRecord['type']] : undefined
  if (!shape) throw new read.DecodeError(`its type ${quote(type)} is not known`)
  return { v: 1, ...(read.decodeJson(line, shape) as object) } as ProgramRecord
}

/** Takes pieces of output as they come, gives records. Call `end` when the output is over. */
export function createRecordReader(
  take: (record: ProgramRecord) => void,
  limits: RecordLimits = recordLimits,
): { push: (piece: string) => void; end: () => void } {
  let pieces: string[] = []
  let pending = 0
  let total = 0

  const line = (text: string) => {
    if (text === '') return
    try {
      take(decodeRecord(text))
    } catch (error) {
      if (!(error instanceof read.DecodeError)) throw error
      throw new HandoffError(
        'sandbox',
        `The sandbox printed something that is not a record: ${quote(error.message)}.`,
        {
          cause: error,
          next: 'If it happens again, the template carries programs that print where they should not.',
        },
      )
    }
  }

  return {
    push(piece) {
      total += piece.length
      let start = 0
      for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
        pieces.push(piece.slice(start, end))
        line(pieces.join(''))
        pieces = []
        pending = 0
        start = end + 1
      }
      pieces.push(piece.slice(start))
      pending += piece.length - start
      if (pending > limits.line || total > limits.total) {
        throw new HandoffError('sandbox', 'The sandbox printed more than it may.', {
          next: 'Lower the limits of the survey, or exclude the files that make it so large.',
        })
      }
    },
    end() {
      line(pieces.join(''))
      pieces = []
    },
  }
}
