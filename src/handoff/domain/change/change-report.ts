// `analysis/changes/<base>.json`: what a commit changes against a base, with the sentences of the model.
import * as read from '../../util/decode.js'
import type { Cost, Usage } from '../answer.js'
import { decodeVersioned } from '../handoff-record.js'
import { type Statement, statementShape } from '../summary/summary-record.js'
import { type Change, changeShape } from './change.js'

export interface ChangeReport {
  version: 1
  base: string
  head: string
  /** Absent when the git host did not give the base. */
  change?: Change
  model: string
  /** Empty when the model said nothing that holds; then `problem` says why. */
  statements: Statement[]
  /** Questions that a reviewer may ask about the change. */
  questions: string[]
  problem?: string
  /** Changed files of which the model saw no line. */
  unseen: number
  usage: Usage
  cost?: Cost
}

export const mostStatements = 6
export const mostQuestions = 3
export const longestQuestion = 200

const usage = read.object({
  inputTokens: read.count,
  outputTokens: read.count,
  cachedInputTokens: read.optional(read.count),
  cacheWriteTokens: read.optional(read.count),
  estimated: read.optional(read.boolean),
})

const shape: read.Decoder<ChangeReport> = read.object({
  version: read.oneOf(1),
  base: read.objectId,
  head: read.objectId,
  change: read.optional(changeShape),
  model: read.string(300),
  statements: read.array(statementShape, mostStatements),
  questions: read.array(read.string(longestQuestion), mostQuestions),
  problem: read.optional(read.string(1_000)),
  unseen: read.count,
  usage,
  cost: read.optional(read.object({ amount: read.number, currency: read.oneOf('USD'), source: read.string(100) })),
})

export const changeReportBytes = 4_000_000

/** Throws `corrupt` or `unknown-version`. */
export const decodeChangeReport = (bytes: Uint8Array): ChangeReport => decodeVersioned(bytes, shape, 'the change')

export const encodeChangeReport = (report: ChangeReport): Uint8Array =>
  new TextEncoder().encode(`${JSON.stringify(report)}\n`)
