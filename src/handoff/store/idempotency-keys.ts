// Repeated requests: a caller gives a request a name (`Idempotency-Key`), and whatever happens to the network, the same request under the same
// name is worked on once. The names stand in the directory, so it does not matter which instance a request meets.

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
  /** The earlier run of a comparison: the branch it was named by may have moved on. */
  base?: string
}

interface State {
  version: 1
  /** What the request's body hashes to. */
  body: string
  /** Begun: somebody works on it. Accepted: the caller was told where the answer will be. Open: it ended without an answer. */
  state: 'begun' | 'accepted' | 'open'
  at: number
  /** Until when the one who began is waited for. */
  until: number
  /** A word of the one who began: a write whose answer was lost, or that was delivered twice, is known by it from everybody else's. */
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

/** As the draft suggests: long enough for every retry, short enough to be forgotten. */
export const keyLifetimeMs = 24 * 60 * 60 * 1_000

/** How long the writing of a name is waited for when nobody wants it any more: one that stood there unknown would refuse who repeats the request. */
const settlingMs = 5_000

/**
 * Whoever stops waiting stops at once, and the name that is won behind their back is free again. Until then `background` has to be waited for.
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
