// Idempotency keys: a repeated request with the same `Idempotency-Key` is processed once. The keys are stored in the repository's directory, so any
// instance can handle the repetition.

import { HandoffError, isHandoffError } from '../domain/errors.js'
import { decodeVersioned, encode } from '../domain/handoff-record.js'
import type { Drive } from '../domain/ports.js'
import { orAborted } from '../util/abort.js'
import * as read from '../util/decode.js'
import { cleanupSignal, delayAbort } from '../util/step-timer.js'
import { uniqueId } from '../util/unique-id.js'

/** Where the answer of a request is. */
export interface AnswerPointer {
  run: string
  answer: string
  /** The earlier run of a comparison, because its branch may have moved on. */
  base?: string
}

interface State {
  version: 1
  /** What the request's body hashes to. */
  body: string
  /** begun: a process works on it. accepted: the caller knows the address of the answer. open: it ended without an answer. */
  state: 'begun' | 'accepted' | 'open'
  at: number
  /** The deadline of the process that began the request. */
  until: number
  /** Identifies the writer, so that it recognises its own write after a lost reply or a second delivery. */
  claim?: string
  pointer?: AnswerPointer
}

export type Begun =
  | { kind: 'begun'; accept(pointer: AnswerPointer): Promise<void>; release(): Promise<void> }
  | { kind: 'known'; pointer: AnswerPointer }
  | { kind: 'other-body' }
  | { kind: 'in-progress'; retryAfterSeconds: number }

const shape = read.object({
  version: read.oneOf(1),
  body: read.sha256,
  state: read.oneOf('begun', 'accepted', 'open'),
  at: read.count,
  until: read.count,
  claim: read.optional(read.string(64)),
  pointer: read.optional(
    read.object({ run: read.string(200), answer: read.string(64), base: read.optional(read.string(200)) }),
  ),
})

/** The draft standard suggests a day. */
export const keyLifetimeMs = 24 * 60 * 60 * 1_000

/** How long a pending write may take after an abort. A key that stays behind would block the repeated request. */
const settlingMs = 5_000

/**
 * An abort rejects at once. If the key is won after the abort, it is released again, as work of `background`.
 */
export async function beginRequest(
  drive: Drive,
  path: string,
  request: Asked,
  signal: AbortSignal,
  background: (work: Promise<unknown>) => void = () => {},
): Promise<Begun> {
  const beginning = begin(drive, path, request, delayAbort(signal, settlingMs))
  const settled = beginning.then((found) => (signal.aborted && found.kind === 'begun' ? found.release() : undefined))
  background(settled.catch(() => undefined))
  return orAborted(beginning, signal, 'the request was given its name')
}

interface Asked {
  body: string
  now: number
  until: number
}

async function begin(drive: Drive, path: string, request: Asked, signal: AbortSignal): Promise<Begun> {
  const { body, now, until } = request
  const wanted: State = { version: 1, body, state: 'begun', at: now, until, claim: uniqueId() }
  let seen = 0
  for (let tries = 0; tries < 5; tries += 1) {
    const revision = await attempt(drive, path, wanted, seen, signal)
    if (revision !== undefined) return begun(drive, path, wanted, revision)
    const stat = await drive.stat(path, signal)
    const bytes = stat && (await drive.read(path, { maxBytes: 10_000, signal }))
    seen = stat?.revision ?? 0
    const found = bytes && (decodeVersioned(bytes, shape, 'the name of a request') as State)
    if (found?.claim === wanted.claim && found?.state === 'begun') return begun(drive, path, wanted, seen)
    if (!found || found.at + keyLifetimeMs < request.now) continue
    if (found.body !== request.body) return { kind: 'other-body' }
    if (found.state === 'accepted' && found.pointer) return { kind: 'known', pointer: found.pointer }
    if (found.state === 'begun' && found.until > request.now) return { kind: 'in-progress', retryAfterSeconds: 2 }
  }
  throw new HandoffError('in-progress', 'The same request came many times at once.', {
    next: 'Repeat the request in a moment.',
    retryAfterSeconds: 2,
  })
}

function begun(drive: Drive, path: string, held: State, revision: number): Begun {
  const replace = async (state: State) => {
    await attempt(drive, path, state, revision, cleanupSignal())
  }
  return {
    kind: 'begun',
    accept: (pointer) => replace({ ...held, state: 'accepted', pointer }),
    release: () => replace({ ...held, state: 'open' }),
  }
}

async function attempt(
  drive: Drive,
  path: string,
  state: State,
  expectedRevision: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    return (await drive.write(path, encode(state), { expectedRevision, signal })).revision
  } catch (error) {
    if (isHandoffError(error, 'conflict')) return undefined
    throw error
  }
}
