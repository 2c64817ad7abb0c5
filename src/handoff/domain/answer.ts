// Questions, and the records of their answers: `analysis/qa/<answer-id>.json`, format version 1.
import * as read from '../util/decode.js'
import { type Depth, depths } from './answers/depth.js'
import { decodeVersioned, encode } from './handoff-record.js'
import { parseRunId, type RunId } from './run.js'
import { costShape, usageShape } from './usage.js'

export interface Question {
  text: string
  /** Answers see the earlier questions of the same thread: a review thread, a pull request, a conversation on the page. */
  thread?: string | undefined
  /** Answer again although there is an answer already. */
  fresh?: boolean | undefined
  /** Distinguishes `fresh` answers; a repeated request sends the same value again. */
  nonce?: string | undefined
  /** The installation's own when absent. */
  depth?: Depth | undefined
  /** The asker, for the record: `github:octocat`, `bearer:team-a`. Not a secret and not checked here. */
  asker?: string | undefined
}

/** A question whose depth is decided. */
export interface SettledQuestion extends Question {
  depth: Depth
}

export const excerptFields = {
  path: read.string(8_192),
  /** The git blob the lines are of. */
  blob: read.objectId,
  from: read.count,
  lines: read.array(read.string(10_000), 100_000),
  /** The source: `code`, or `summary` for a text of the model. */
  source: read.oneOf('code', 'summary'),
  score: read.number,
}

/** Lines of one file of the commit, with their numbers. The lines are as stored, secrets redacted. */
export type Excerpt = read.Shape<typeof excerptFields>

const runId: read.Decoder<RunId> = (value, at) => parseRunId(read.string(200)(value, at))

const head = {
  version: read.oneOf(1),
  id: read.pattern(/^[0-9a-f]{32}$/, 'an answer id'),
  run: runId,
  commit: read.objectId,
  question: read.string(20_000),
  thread: read.optional(read.string(500)),
  asker: read.optional(read.string(500)),
  /** A question about two commits: the earlier run. The record is stored with the later one. */
  compareWith: read.optional(read.object({ run: runId, commit: read.objectId })),
  model: read.string(200),
  /** Normal when absent. */
  depth: read.optional(read.oneOf(...depths)),
  acceptedAt: read.time,
}

const writtenShape = read.object({
  /** The claim under which it was written. */
  claim: read.string(200),
  text: read.string(2_000_000),
})

/** What the model has written, as its readers saw it: a reader whose connection was lost continues in it. */
export type Written = read.Decoded<typeof writtenShape>

const claimed = read.object({
  ...head,
  status: read.oneOf('running'),
  /** After this time another process may take the question over; the holder renews it. */
  leaseUntil: read.time,
  /** Which process holds the claim. */
  claim: read.string(200),
  /** The answer was wanted although there was one. */
  fresh: read.optional(read.boolean),
  /** A job in the queue goes on with the question when its holder does not finish. */
  queued: read.optional(read.boolean),
  /** Written by earlier versions; read, and not used. */
  tries: read.optional(read.count),
  written: read.optional(writtenShape),
})

export type ClaimedAnswer = read.Decoded<typeof claimed>

const failed = read.object({
  ...head,
  status: read.oneOf('failed'),
  completedAt: read.time,
  error: read.object({ code: read.string(40), message: read.string(2_000), next: read.optional(read.string(2_000)) }),
})

export type FailedAnswer = read.Decoded<typeof failed>

const citation = read.object({
  path: read.string(8_192),
  /** Set in comparisons only: the commit that the path is of. */
  commit: read.optional(read.objectId),
  from: read.count,
  to: read.count,
  /** The blob and the sha256 of the lines, if verified; absent in old answers. */
  blob: read.optional(read.objectId),
  digest: read.optional(read.sha256),
  quote: read.optional(read.string(2_000)),
  verified: read.boolean,
  /** True if the range was corrected by its quote. */
  moved: read.optional(read.boolean),
  /** Why it was dropped, when it was. */
  problem: read.optional(read.oneOf('not-shown', 'no-such-path', 'no-such-lines', 'quote-not-found')),
})

/** Lines that an answer cites. `verified`: path and lines exist at the commit, were shown to the model, and contain the quote. */
export type Citation = read.Decoded<typeof citation>

const completed = read.object({
  ...head,
  status: read.oneOf('done'),
  completedAt: read.time,
  /** Markdown, with citations as `[path:10-20]` in the places where the model cited; unsupported ones are gone. */
  text: read.string(1_000_000),
  citations: read.array(citation, 1_000),
  /** Sentences that cited something and have no verified citation left. */
  unsupported: read.count,
  /** The answer was cut by the model's own limit. */
  truncated: read.boolean,
  /** The model says the code does not tell. */
  unanswered: read.boolean,
  excerpts: read.array(
    read.object({
      path: read.string(8_192),
      commit: read.optional(read.objectId),
      blob: read.objectId,
      from: read.count,
      to: read.count,
      sha256: read.sha256,
    }),
    10_000,
  ),
  /** What was searched, for answers that found nothing. */
  searched: read.array(read.string(500), 1_000),
  /** For an answer that found nothing: how many files were searched, and which were not. */
  looked: read.optional(read.object({ files: read.count, unsearched: read.array(read.string(2_000), 10) })),
  /** The lines around the verified citations, as the model was shown them: what a reader follows a citation to. */
  cited: read.optional(
    read.array(
      read.object({
        path: read.string(8_192),
        commit: read.optional(read.objectId),
        blob: read.objectId,
        from: read.count,
        lines: read.array(read.string(10_000), 1_000),
      }),
      200,
    ),
  ),
  rounds: read.count,
  usage: usageShape,
  cost: read.optional(costShape),
  seconds: read.record(read.number, 50),
  sandbox: read.optional(read.object({ id: read.string(200), template: read.string(200) })),
  /** The answer whose wording was so near that it was reused. */
  reusedFrom: read.optional(read.string(64)),
  written: read.optional(writtenShape),
})

export type CompletedAnswer = read.Decoded<typeof completed>

/** Claimed before the work, completed once; then never changed. */
export type AnswerRecord = ClaimedAnswer | CompletedAnswer | FailedAnswer

const shapes = { running: claimed, done: completed, failed }
const status = read.object({ status: read.oneOf('running', 'done', 'failed') })

const shape: read.Decoder<AnswerRecord> = (value, at) => shapes[status(value, at).status](value, at)

export const decodeAnswer = (bytes: Uint8Array): AnswerRecord => decodeVersioned(bytes, shape, 'the answer')

export const encodeAnswer = (record: AnswerRecord): Uint8Array => encode(record)
