// `analysis/changes/<base>.json`: what a commit changes against a base, with the sentences of the model.
import * as read from '../../util/decode.js'
import { decodeVersioned } from '../handoff-record.js'
import { statementShape } from '../summary/summary-record.js'
import { costShape, usageShape } from '../usage.js'
import { changeShape } from './change.js'

export const mostStatements = 6
export const mostQuestions = 3
export const longestQuestion = 200

const shape = read.object({
  version: read.oneOf(1),
  base: read.objectId,
  head: read.objectId,
  /** Absent when the git host did not give the base. */
  change: read.optional(changeShape),
  model: read.string(300),
  /** Empty when the model said nothing that holds; then `problem` says why. */
  statements: read.array(statementShape, mostStatements),
  /** Questions that a reviewer may ask about the change. */
  questions: read.array(read.string(longestQuestion), mostQuestions),
  problem: read.optional(read.string(1_000)),
  /** Changed files of which the model saw no line. */
  unseen: read.count,
  usage: usageShape,
  cost: read.optional(costShape),
})

export type ChangeReport = read.Decoded<typeof shape>

export const changeReportBytes = 4_000_000

/** Throws `corrupt` or `unknown-version`. */
export const decodeChangeReport = (bytes: Uint8Array): ChangeReport => decodeVersioned(bytes, shape, 'the change')

export const encodeChangeReport = (report: ChangeReport): Uint8Array =>
  new TextEncoder().encode(`${JSON.stringify(report)}\n`)
