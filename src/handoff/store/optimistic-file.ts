// A small file that several processes change with optimistic concurrency: read the state, apply the change, write it if the revision is unchanged,
// else retry.
//
// Changes of one process that arrive during a write are batched, so a hundred concurrent requests cause only a few writes.

import { type HandoffError, ignoreFailure } from '../domain/errors.js'
import type { Clock, Drive } from '../domain/ports.js'
import { cleanupSignal } from '../util/abort.js'
import { readAtRevision, writeIfUnchanged } from './conditional-write.js'

/** The state contains its own revision, so that one read returns both. Older versions did not write it. */
interface Revisioned {
  revision?: number | undefined
}

export interface OptimisticFile<T> {
  /**
   * Applies a change, which may mutate the state, and resolves with its result. After a conflict the change is applied again to the newer state. When
   * the change throws, its mutations may still be written, together with other changes of the batch.
   */
  update<R>(change: Change<T, R>): Promise<R>
  /** Applies a change that acquires something. When it rejects, nothing was acquired, or it was released again. */
  acquire<R>(change: Change<T, R>, back: Release<T>): Promise<R>
  /** Retries for some seconds while the drive fails. Also resolves when the acquisition has expired. */
  release(back: Release<T>): Promise<void>
}

type Change<T, R> = (state: T, now: number) => R

export interface Release<T> {
  /** Does nothing if there is nothing to release. */
  change: Change<T, void>
  /** When the acquisition expires, in milliseconds since 1970. */
  until: number
}

interface OptimisticFileOptions<T> {
  drive: Drive
  path: string
  decode: (bytes: Uint8Array) => T
  encode: (state: T) => Uint8Array
  empty: () => T
  /** Creates the error for too many conflicts; `state` is the last one that was read. */
  contentionError: (state: T) => HandoffError
  clock: Clock
}

interface Pending<T> {
  change: Change<T, unknown>
  isRelease: boolean
  /** Whether the last write contained it. Such a write may have succeeded even if its request failed. */
  applied: boolean
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

interface Known {
  bytes: Uint8Array | null
  revision: number
}

/** A state with the changes of a batch, and the functions that settle them. */
interface Applied<T> {
  known: Known
  state: T
  settles: (() => void)[]
  changed: boolean
}

const maximumBytes = 4_000_000
/** How long a change is retried after conflicts. */
const contentionTimeoutMs = 20_000
/**
 * How long a release is retried. The caller waits for it, because an instance may be stopped as soon as it has responded.
 */
const releaseTimeoutMs = 10_000
const shortestPauseMs = 250
/** The first backoff after a second conflict. It doubles each time. */
const shortestAsideMs = 50
const longestPauseMs = 2_000

export function optimisticFile<T extends Revisioned>(options: OptimisticFileOptions<T>): OptimisticFile<T> {
  const { drive, path, clock } = options
  let pending: Pending<T>[] = []
  let working = false
  let kept: Known | undefined

  /** `lostAt` is the revision of the last conflict. A state that claims it again was written by a process that does not update the revision. */
  async function load(lostAt: number | undefined): Promise<Known> {
    const bytes = await drive.read(path, { maxBytes: maximumBytes, signal: cleanupSignal() })
    const said = bytes === null ? 0 : options.decode(bytes).revision
    if (said !== undefined && said !== lostAt) return { bytes, revision: said }
    return readAtRevision(drive, path, maximumBytes, cleanupSignal())
  }

  async function writePending(): Promise<void> {
    working = true
    while (pending.length > 0) {
      const batch = pending
      pending = []
      try {
        for (const settle of await write(batch)) settle()
      } catch (error) {
        kept = undefined
        for (const one of batch) one.reject(error)
      }
    }
    working = false
  }

  async function write(batch: Pending<T>[]): Promise<(() => void)[]> {
    const start = clock.now()
    let lostAt: number | undefined
    for (let losses = 0; ; losses += 1) {
      // The first conflict may come from a stale cache, so it causes no pause. Random pauses keep one process from always winning.
      if (losses > 1) await clock.sleep(backoff(losses - 2, batch), cleanupSignal())
      const applied = await apply(batch, lostAt)
      if (await store(applied)) return applied.settles
      // A conflict proves that nothing of the batch was written.
      for (const one of batch) one.applied = false
      lostAt = applied.known.revision
      if (clock.now() - start >= contentionTimeoutMs) throw options.contentionError(applied.state)
    }
  }

  /** Applies the batch to the kept state; if that changes nothing, to a fresh one. A result without a write must rest on a fresh read. */
  async function apply(batch: Pending<T>[], lostAt: number | undefined): Promise<Applied<T>> {
    const last = kept
    kept = undefined
    const applied = last && applyTo(last, batch)
    return applied?.changed ? applied : applyTo(await load(lostAt), batch)
  }

  function applyTo(known: Known, batch: Pending<T>[]): Applied<T> {
    const state = known.bytes === null ? options.empty() : options.decode(known.bytes)
    const settles = batch.map((one) => attempt(one, state, clock.now()))
    const changed =
      batch.some((one) => one.applied) &&
      !equalBytes(options.encode(state), known.bytes ?? options.encode(options.empty()))
    return { known, state, settles, changed }
  }

  /** Writes the state if it changed. False after a conflict. */
  async function store({ known, state, changed }: Applied<T>): Promise<boolean> {
    if (!changed) {
      kept = known
      return true
    }
    state.revision = known.revision + 1
    const bytes = options.encode(state)
    const revision = await writeIfUnchanged(drive, path, bytes, known.revision, cleanupSignal())
    if (revision === undefined) return false
    kept = { bytes, revision }
    return true
  }

  function add<R>(change: Change<T, R>, isRelease = false): { one: Pending<T>; result: Promise<R> } {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const one: Pending<T> = { change, isRelease, applied: false, resolve, reject }
    pending.push(one)
    if (!working) void writePending()
    return { one, result: promise as Promise<R> }
  }

  async function release({ change, until }: Release<T>): Promise<void> {
    const start = clock.now()
    for (let pause = shortestPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        return await add(change, true).result
      } catch (error) {
        const now = clock.now()
        if (now >= until) return
        if (now - start + pause > releaseTimeoutMs) throw error
        await clock.sleep(pause, cleanupSignal())
      }
    }
  }

  return {
    update: (change) => add(change).result,
    async acquire(change, back) {
      const { one, result } = add(change)
      try {
        return await result
      } catch (error) {
        // If it was not applied, the change threw or nothing was sent.
        if (one.applied) await release(back).catch(ignoreFailure)
        throw error
      }
    },
    release,
  }
}

/** Runs the work once, with the arguments of the first call. After a failure the next call runs it again. */
export function once<How extends unknown[]>(work: (...how: How) => Promise<void>): (...how: How) => Promise<void> {
  let first: How | undefined
  let doing: Promise<void> | undefined
  const failed = (error: unknown) => {
    doing = undefined
    throw error
  }
  return (...how) => {
    first ??= how
    doing ??= work(...first).catch(failed)
    return doing
  }
}

/** The backoff after a conflict. A release reduces contention, so its backoff is shorter. */
function backoff(times: number, batch: { isRelease: boolean }[]): number {
  const longest = batch.some(({ isRelease }) => isRelease) ? longestPauseMs / 4 : longestPauseMs
  return Math.random() * Math.min(shortestAsideMs * 2 ** times, longest)
}

/** Applies one change. Returns the function that settles it once the batch is written. */
function attempt<T>(one: Pending<T>, state: T, now: number): () => void {
  one.applied = false
  try {
    const value = one.change(state, now)
    one.applied = true
    return () => one.resolve(value)
  } catch (error) {
    return () => one.reject(error)
  }
}

const equalBytes = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0
