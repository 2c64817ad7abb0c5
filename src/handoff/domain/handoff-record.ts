// The handoff record of a run, and the two pointer files that lead to it. Format version 1: every file that was ever written must stay
// readable (test/fixtures/format holds samples).

import * as read from '../util/decode.js'
import type { Cost, Usage } from './answer.js'
import { HandoffError } from './errors.js'
import type { Repository, RunId } from './run.js'
import { parseRunId, quote } from './run.js'
import type { SurveyCounts } from './survey.js'

export interface Artifact {
  /** Relative to the run directory. */
  path: string
  bytes: number
  sha256: string
}

/** `analysis/handoff.json`, written last. A run is complete if a commit pointer holds the hash of this file. */
export interface Handoff {
  version: 1
  run: RunId
  /** The git host. */
  host: string
  /** `owner/name` when the run was made. */
  repository: string
  /** The host's id of the repository. A name can be reused by another repository, an id cannot. */
  repositoryId?: string
  ref?: string
  commit: string
  /** The run whose texts were reused. */
  basedOn?: string
  form: 'tar' | 'plain'
  /** The sha256 of the include and exclude patterns, in their given order. Absent in old runs. */
  patterns?: string
  artifacts: Artifact[]
  survey: SurveyCounts
  /** The number of possible credentials. `files.json` lists their places. */
  secrets: number
  claims: { checked: number; repaired: number; removed: number }
  /** Why the summary does not cover the whole repository. */
  partial?: string
  reusedPercent: number
  model: { name: string; host: string }
  usage: Usage
  cost?: Cost
  /** Milliseconds by step. */
  durations: Record<string, number>
  sandbox: { id: string; template: string }
  /** The drive9 program that stored the run. Absent in old runs. */
  drive9?: { version: string; sha256: string }
  requestedBy?: { workflowRun?: string; actor?: string }
  notices: string[]
  sealedAt: string
}

/** Compares repository ids. If either is unknown, equal names suffice. */
export function isOf({ repositoryId }: Handoff, { id }: Repository): boolean {
  return id === undefined || repositoryId === undefined || id === repositoryId
}

/** `commits/<sha>.json`: the canonical run of the commit, and the hash of its handoff record. */
export interface CommitPointer {
  version: 1
  run: RunId
  handoff: string
  sealedAt: string
}

/** `refs/…json`: the commit at the head of a branch or a pull request when it was last summarised. */
export interface RefPointer {
  version: 1
  commit: string
  /** The ref itself: the file name of a long branch is not reversible. Absent in old files. */
  ref?: string
}

/** A file below this size is written with one PUT, which makes the seal atomic. */
export const sealLimit = 50_000

const runId: read.Decoder<RunId> = (value, at) => {
  const text = read.string(200)(value, at)
  try {
    return parseRunId(text)
  } catch (error) {
    throw new read.DecodeError(`${at} is not a run id`, { cause: error })
  }
}

/** A path inside the run directory: no way up, nothing absolute. */
const artifactPath: read.Decoder<string> = (value, at) => {
  const path = read.string(1_000)(value, at)
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) {
    throw new read.DecodeError(`${at} is not a path inside the run directory`)
  }
  return path
}

const counts = read.record(read.count, 100)

const usage = read.object({
  inputTokens: read.count,
  outputTokens: read.count,
  estimated: read.optional(read.boolean),
})

const cost = read.object({ amount: read.number, currency: read.oneOf('USD'), source: read.string(100) })

const handoffShape = read.object({
  version: read.oneOf(1),
  run: runId,
  host: read.string(300),
  repository: read.string(1_000),
  repositoryId: read.optional(read.string(40)),
  ref: read.optional(read.string(1_000)),
  commit: read.objectId,
  basedOn: read.optional(read.string(200)),
  form: read.oneOf('tar', 'plain'),
  patterns: read.optional(read.sha256),
  artifacts: read.array(read.object({ path: artifactPath, bytes: read.count, sha256: read.sha256 }), 20),
  survey: read.object({
    files: read.count,
    bytes: read.count,
    read: read.count,
    cut: read.count,
    skipped: read.count,
    reasons: counts,
    kinds: counts,
  }),
  secrets: read.count,
  claims: read.object({ checked: read.count, repaired: read.count, removed: read.count }),
  partial: read.optional(read.string(500)),
  reusedPercent: read.number,
  model: read.object({ name: read.string(200), host: read.string(300) }),
  usage,
  cost: read.optional(cost),
  durations: read.record(read.number, 50),
  sandbox: read.object({ id: read.string(200), template: read.string(200) }),
  drive9: read.optional(read.object({ version: read.string(100), sha256: read.sha256 })),
  requestedBy: read.optional(
    read.object({ workflowRun: read.optional(read.string(500)), actor: read.optional(read.string(200)) }),
  ),
  notices: read.array(read.string(500), 30),
  sealedAt: read.time,
})

const pointerShape = read.object({ version: read.oneOf(1), run: runId, handoff: read.sha256, sealedAt: read.time })
const refShape = read.object({ version: read.oneOf(1), commit: read.objectId, ref: read.optional(read.string(1_000)) })

export function encodeHandoff(handoff: Handoff): Uint8Array {
  const bytes = encode(handoff)
  if (bytes.length >= sealLimit) {
    throw new HandoffError(
      'invalid-input',
      `The record of run ${handoff.run} has ${bytes.length} bytes; it must stay under ${sealLimit}.`,
    )
  }
  return bytes
}

export function decodeHandoff(bytes: Uint8Array): Handoff {
  return decodeVersioned(bytes, handoffShape, 'handoff.json') as Handoff
}

export const encodePointer = (pointer: CommitPointer): Uint8Array => encode(pointer)
export const decodePointer = (bytes: Uint8Array): CommitPointer =>
  decodeVersioned(bytes, pointerShape, 'the commit pointer')
export const encodeRef = (ref: RefPointer): Uint8Array => encode(ref)
export const decodeRef = (bytes: Uint8Array): RefPointer => decodeVersioned(bytes, refShape, 'the ref')

export function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`)
}

/** Checks the version before the other fields. Errors name the file and the problem. */
export function decodeVersioned<T>(bytes: Uint8Array, shape: read.Decoder<T>, what: string): T {
  const text = new TextDecoder().decode(bytes)
  try {
    const { version } = read.decodeJson(text, read.object({ version: read.count }))
    if (version !== 1) {
      throw new HandoffError(
        'unknown-version',
        `${capital(what)} is of format version ${version}; this handoff reads version 1.`,
        {
          next: 'Update handoff where the question was asked.',
        },
      )
    }
    return read.decodeJson(text, shape)
  } catch (error) {
    if (!(error instanceof read.DecodeError)) throw error
    throw new HandoffError('corrupt', `${capital(what)} cannot be read: ${quote(error.message)}.`, {
      cause: error,
      next: 'Summarise the commit again with force.',
    })
  }
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
