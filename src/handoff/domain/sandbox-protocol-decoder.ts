// Reads what a sandbox prints. The text comes from a machine that has read a hostile repository: every record is checked, every length is
// bounded, and what is not a record is an error.
import * as read from '../util/decode.js'
import { excerptFields } from './answer.js'
import { changedLinesShape, changeShape } from './change/change.js'
import { HandoffError } from './errors.js'
import { diagramShape } from './graph/diagram.js'
import { quote } from './run.js'
import { programFailures } from './sandbox-protocol.js'
import { chosenTextFields, secretPlace, surveyCounts } from './survey.js'

interface RecordLimits {
  /** Characters of one line. */
  line: number
  /** Characters in all. */
  total: number
}

const recordLimits: RecordLimits = { line: 4_000_000, total: 64_000_000 }

const path = read.string(8_192)
const text = read.string(4_000_000)

const relocated = read.object({
  type: read.oneOf('relocated'),
  path,
  blob: read.objectId,
  from: read.count,
  to: read.count,
  verdict: read.oneOf('same', 'moved', 'changed', 'gone'),
  /** Where the lines are now, if they are. */
  now: read.optional(read.object({ path, blob: read.objectId, from: read.count, to: read.count })),
})

/**
 * What became of cited lines. `same`: the file has the same blob, also under another path. `moved`: the file changed and the lines are in it.
 * `changed`: the file is there without them. `gone`: the file is not there.
 */
export type Relocation = Omit<read.Decoded<typeof relocated>, 'type'>

const searched = read.object({
  type: read.oneOf('searched'),
  terms: read.array(read.string(500), 1_000),
  files: read.count,
  candidates: read.count,
  /** Words of the question that no file has. */
  missing: read.array(read.string(500), 100),
  /** How much of what the question says stands together in one place. */
  found: read.oneOf('well', 'partly', 'hardly', 'nothing'),
  /** What was not searched and why, for people. */
  unsearched: read.array(read.string(2_000), 10),
})

/** What was searched, and how well the words of the question were found. */
export type Searched = Omit<read.Decoded<typeof searched>, 'type'>

const card = read.object({
  type: read.oneOf('card'),
  path,
  /** What it defines. */
  names: read.array(read.string(40), 8),
  /** Its first comment or heading. */
  says: read.string(100),
})

/** What a model chooses a file by. */
export type Card = Omit<read.Decoded<typeof card>, 'type'>

const shapes = {
  step: read.object({
    type: read.oneOf('step'),
    step: read.oneOf('mount', 'clone', 'store', 'survey', 'drain', 'find', 'unpack'),
    milliseconds: read.number,
  }),
  notice: read.object({ type: read.oneOf('notice'), text: read.string(1_000) }),
  /** Which drive9 program the sandbox has. */
  drive9: read.object({ type: read.oneOf('drive9'), version: read.string(100), sha256: read.sha256 }),
  /** A file is in the run directory; the host reads it back and compares the hash. */
  stored: read.object({ type: read.oneOf('stored'), path, bytes: read.count, sha256: read.sha256 }),
  /** The plain files are in the run directory too; `analysis/tree.json` (stored before) lists them with their hashes and what was lost. */
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
    counts: surveyCounts,
    directories: read.array(read.object({ path, tree: read.objectId, files: read.count, bytes: read.count }), 20_000),
    secrets: read.array(secretPlace, 20_000),
    notices: read.array(read.string(1_000), 1_000),
  }),
  change: read.object({ type: read.oneOf('change'), change: changeShape }),
  'changed-lines': (value: unknown, at: string) => ({
    ...read.object({ type: read.oneOf('changed-lines') })(value, at),
    ...changedLinesShape(value, at),
  }),
  /** The git host does not have the base, or does not serve it. */
  'no-base': read.object({ type: read.oneOf('no-base'), base: read.objectId }),
  diagram: read.object({ type: read.oneOf('diagram'), diagram: diagramShape }),
  text: read.object({ type: read.oneOf('text'), ...chosenTextFields }),
  relocated,
  excerpt: read.object({ type: read.oneOf('excerpt'), ...excerptFields }),
  /** What the repository says to agents and assistants. */
  notes: read.object({ type: read.oneOf('notes'), ...excerptFields }),
  /** Leads from the commit to what is shown; the host believes nothing else. */
  object: read.object({ type: read.oneOf('object'), kind: read.oneOf('commit', 'tree', 'blob'), data: text }),
  listing: read.object({ type: read.oneOf('listing'), path, entries: read.array(path, 10_000) }),
  searched,
  card,
  failed: read.object({
    type: read.oneOf('failed'),
    code: read.oneOf(...programFailures),
    message: read.string(2_000),
  }),
  /** The last record of a successful program. Without it the sandbox ended early. */
  done: read.object({ type: read.oneOf('done') }),
}

type Shapes = typeof shapes

/** What a program prints. `v` is the version of the record; a reader refuses an unknown one. */
export type ProgramRecord = { v: 1 } & { [T in keyof Shapes]: read.Decoded<Shapes[T]> }[keyof Shapes]

const head = read.object({ v: read.count, type: read.string(40) })

export function decodeRecord(line: string): ProgramRecord {
  const { v, type } = read.decodeJson(line, head)
  if (v !== 1) throw new read.DecodeError(`it is of version ${v}`)
  const shape: read.Decoder<unknown> | undefined = Object.hasOwn(shapes, type)
    ? shapes[type as keyof Shapes]
    : undefined
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
