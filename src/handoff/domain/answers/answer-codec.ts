// `analysis/qa/<answer-id>.json`: encodes and decodes the records of the answer store. Format version 1.

import * as read from '../../util/decode.js'
import type { AnswerRecord, ClaimedAnswer, CompletedAnswer, FailedAnswer } from '../answer.js'
import { decodeVersioned, encode } from '../handoff-record.js'
import { parseRunId, type RunId } from '../run.js'
import { depths } from './depth.js'

const runId: read.Decoder<RunId> = (value, at) => parseRunId(read.string(200)(value, at))

const head = {
  version: read.oneOf(1),
  id: read.pattern(/^[0-9a-f]{32}$/, 'an answer id'),
  run: runId,
  commit: read.objectId,
  question: read.string(20_000),
  thread: read.optional(read.string(500)),
  asker: read.optional(read.string(500)),
  compareWith: read.optional(read.object({ run: runId, commit: read.objectId })),
  model: read.string(200),
  depth: read.optional(read.oneOf(...depths)),
  acceptedAt: read.time,
}

const written = read.optional(read.object({ claim: read.string(200), text: read.string(2_000_000) }))

const claimed = read.object({
  ...head,
  status: read.oneOf('running'),
  leaseUntil: read.time,
  claim: read.string(200),
  fresh: read.optional(read.boolean),
  queued: read.optional(read.boolean),
  tries: read.optional(read.count),
  written,
})

const failed = read.object({
  ...head,
  status: read.oneOf('failed'),
  completedAt: read.time,
  error: read.object({ code: read.string(40), message: read.string(2_000), next: read.optional(read.string(2_000)) }),
})

const citation = read.object({
  path: read.string(8_192),
  commit: read.optional(read.objectId),
  from: read.count,
  to: read.count,
  blob: read.optional(read.objectId),
  digest: read.optional(read.sha256),
  quote: read.optional(read.string(2_000)),
  verified: read.boolean,
  moved: read.optional(read.boolean),
  problem: read.optional(read.oneOf('not-shown', 'no-such-path', 'no-such-lines', 'quote-not-found')),
})

const completed = read.object({
  ...head,
  status: read.oneOf('done'),
  completedAt: read.time,
  text: read.string(1_000_000),
  citations: read.array(citation, 1_000),
  unsupported: read.count,
  truncated: read.boolean,
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
  searched: read.array(read.string(500), 1_000),
  looked: read.optional(read.object({ files: read.count, unsearched: read.array(read.string(2_000), 10) })),
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
  usage: read.object({
    inputTokens: read.count,
    outputTokens: read.count,
    cachedInputTokens: read.optional(read.count),
    cacheWriteTokens: read.optional(read.count),
    estimated: read.optional(read.boolean),
  }),
  cost: read.optional(read.object({ amount: read.number, currency: read.oneOf('USD'), source: read.string(100) })),
  seconds: read.record(read.number, 50),
  sandbox: read.optional(read.object({ id: read.string(200), template: read.string(200) })),
  reusedFrom: read.optional(read.string(64)),
  written,
})

const status = read.object({ status: read.oneOf('running', 'done', 'failed') })

const shape: read.Decoder<AnswerRecord> = (value, at) => {
  switch (status(value, at).status) {
    case 'running':
      return claimed(value, at) as ClaimedAnswer
    case 'done':
      return completed(value, at) as CompletedAnswer
    case 'failed':
      return failed(value, at) as FailedAnswer
  }
}

export function decodeAnswer(bytes: Uint8Array): AnswerRecord {
  return decodeVersioned(bytes, shape, 'the answer')
}

export function encodeAnswer(record: AnswerRecord): Uint8Array {
  return encode(record)
}
