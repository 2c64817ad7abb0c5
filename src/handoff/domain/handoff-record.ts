// The handoff record of a run, and the two pointer files that lead to it. Format version 1: every file that was ever written must stay
// readable (test/fixtures/format holds samples).

import * as read from '../util/decode.js'
import { HandoffError } from './errors.js'
import type { Repository, RunId } from './run.js'
import { parseRunId, quote } from './run.js'
import { surveyCounts } from './survey.js'
import { costShape, usageShape } from './usage.js'

/** Compares repository ids. If either is unknown, equal names suffice. */
export function isOf({ repositoryId }: Handoff, { id }: Repository): boolean {
  return id === undefined || repositoryId === undefined || id === repositoryId
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

const artifact = read.object({
  /** Relative to the run directory. */
  path: artifactPath,
  bytes: read.count,
  sha256: read.sha256,
})

export type Artifact = read.Decoded<typeof artifact>

const handoffShape = read.object({
  version: read.oneOf(1),
  run: runId,
  /** The git host. */
  host: read.string(300),
  /** `owner/name` when the run was made. */
  repository: read.string(1_000),
  /** The host's id of the repository. A name can be reused by another repository, an id cannot. */
  repositoryId: read.optional(read.string(40)),
  ref: read.optional(read.string(1_000)),
  commit: read.objectId,
  /** The run whose texts were reused. */
  basedOn: read.optional(read.string(200)),
  form: read.oneOf('tar', 'plain'),
  /** The sha256 of the include and exclude patterns, in their given order. Absent in old runs. */
  patterns: read.optional(read.sha256),
  artifacts: read.array(artifact, 20),
  survey: surveyCounts,
  /** The number of possible credentials. `files.json` lists their places. */
  secrets: read.count,
  claims: read.object({ checked: read.count, repaired: read.count, removed: read.count }),
  /** Why the summary does not cover the whole repository. */
  partial: read.optional(read.string(500)),
  reusedPercent: read.number,
  model: read.object({ name: read.string(200), host: read.string(300) }),
  usage: usageShape,
  cost: read.optional(costShape),
  /** Milliseconds by step. */
  durations: read.record(read.number, 50),
  sandbox: read.object({ id: read.string(200), template: read.string(200) }),
  /** The drive9 program that stored the run. Absent in old runs. */
  drive9: read.optional(read.object({ version: read.string(100), sha256: read.sha256 })),
  requestedBy: read.optional(
    read.object({ workflowRun: read.optional(read.string(500)), actor: read.optional(read.string(200)) }),
  ),
  notices: read.array(read.string(500), 30),
  sealedAt: read.time,
})

/** `analysis/handoff.json`, written last. A run is complete if a commit pointer holds the hash of this file. */
export type Handoff = read.Decoded<typeof handoffShape>

const pointerShape = read.object({ version: read.oneOf(1), run: runId, handoff: read.sha256, sealedAt: read.time })

/** `commits/<sha>.json`: the canonical run of the commit, and the hash of its handoff record. */
export type CommitPointer = read.Decoded<typeof pointerShape>

const refShape = read.object({
  version: read.oneOf(1),
  commit: read.objectId,
  /** The ref itself: the file name of a long branch is not reversible. Absent in old files. */
  ref: read.optional(read.string(1_000)),
})

/** `refs/…json`: the commit at the head of a branch or a pull request when it was last summarised. */
export type RefPointer = read.Decoded<typeof refShape>

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
  return decodeVersioned(bytes, handoffShape, 'handoff.json')
}

export const encodePointer = (pointer: CommitPointer): Uint8Array => encode(pointer)
export const decodePointer = (bytes: Uint8Array): CommitPointer =>
  decodeVersioned(bytes, pointerShape, 'the commit pointer')
export const encodeRef = (ref: RefPointer): Uint8Array => encode(ref)
export const decodeRef = (bytes: Uint8Array): RefPointer => decodeVersioned(bytes, refShape, 'the ref')

export function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`)
}

const versioned = read.object({ version: read.count })

/** Checks the version before the other fields. Errors name the file and the problem. */
export function decodeVersioned<T>(bytes: Uint8Array, shape: read.Decoder<T>, what: string): T {
  const text = new TextDecoder().decode(bytes)
  try {
    const value = read.decodeJson(text, (parsed) => parsed)
    const { version } = versioned(value, '')
    if (version !== 1) {
      throw new HandoffError(
        'unknown-version',
        `${capital(what)} is of format version ${version}; this handoff reads version 1.`,
        {
          next: 'Update handoff where the question was asked.',
        },
      )
    }
    return shape(value, '')
  } catch (error) {
    if (!(error instanceof read.DecodeError)) throw error
    throw new HandoffError('corrupt', `${capital(what)} cannot be read: ${quote(error.message)}.`, {
      cause: error,
      next: 'Summarise the commit again with force.',
    })
  }
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
