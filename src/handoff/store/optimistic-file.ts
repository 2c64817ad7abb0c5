// One small file that several processes change: the state that holds across instances. Whoever changes it says how, as a function of what
// stands there; the file is read, changed and written on the condition that nobody was quicker, and read again if somebody was.
//
// Changes that are asked for in one process while another is on its way are written together, so a hundred requests at once are a few writes.

import { type HandoffError, isHandoffError } from '../domain/errors.js'
import type { Clock, Drive } from '../domain/ports.js'
import { cleanupSignal } from '../util/step-timer.js'

/** What is kept says at which revision it stands, so that one look tells both; others may have left that out. */
export interface Kept {
  revision?: number
}

export interface SharedFile<T> {
  /**
   * Applies a change to the state, which it may alter in place, and resolves with what it returned. It may be applied several times, each time
   * to a newer state; only the last time counts. When it throws, what it altered must be true all the same: others may be written together with it.
   */
  update<R>(change: Change<T, R>): Promise<R>
  /** For a change that takes something which is to be given back. When it rejects, nothing was taken, or what was is given back. */
  take<R>(change: Change<T, R>, back: GivingBack<T>): Promise<R>
  /** Tried again for some seconds while the drive fails; resolves also when it need not be done any more. */
  giveBack(back: GivingBack<T>): Promise<void>
}

export type Change<T, R> = (state: T, now: number) => R

export interface GivingBack<T> {
  /** Does nothing where there is nothing to give back. */
  change: Change<T, void>
  /** When it runs out by itself, in milliseconds since 1970. */
  until: number
}

export interface SharedFileOptions<T> {
  drive: Drive
  path: string
  decode: (bytes: Uint8Array) => T
  encode: (state: T) => Uint8Array
  empty: () => T
  /** What to say when others were always quicker; `state` is the last that was seen. */
  crowded: (state: T) => HandoffError
  clock: Clock
}

interface Pending<T> {
  change: Change<T, unknown>
  givesBack: boolean
  /** Whether it went into what was sent last: then it may stand there, whatever was heard of the sending. */
  applied: boolean
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

interface Known {
  bytes: Uint8Array | null
  revision: number
}

const most = 4_000_000
/** How long a change is tried while others are quicker. */
export const longestFightMs = 20_000
/**
 * How long something is given back in spite of failures. The caller waits: an instance may be stopped as soon as it has answered, so what goes on
 * behind its back would not be done.
 */
const longestGivingBackMs = 10_000
const shortestPauseMs = 250
/** Whoever has lost again steps aside, twice as long each time. */
const shortestAsideMs = 50
const longestPauseMs = 2_000

export function sharedFile<T extends Kept>(options: SharedFileOptions<T>): SharedFile<T> {
  const { drive, path, clock } = options
  let pending: Pending<T>[] = []
  let working = false
  let kept: Known | undefined

  const read = () => drive.read(path, { maxBytes: most, signal: cleanupSignal() })

  /** `lostAt` is a revision at which nothing could be written: what says so again was put there by somebody who does not count. */
  async function load(lostAt: number | undefined): Promise<Known> {
    const bytes = await read()
    const said = bytes === null ? 0 : options.decode(bytes).revision
    if (said !== undefined && said !== lostAt) return { bytes, revision: said }
    // The revision first: what is read is then never older than the revision it will be replaced at.
    const stat = await drive.stat(path, cleanupSignal())
    return { bytes: stat === null ? null : await read(), revision: stat?.revision ?? 0 }
  }

  async function workOff(): Promise<void> {
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
    for (let losses = 0; ; ) {
      const fresh = kept === undefined
      const known = kept ?? (await load(lostAt))
      kept = undefined
      const state = known.bytes === null ? options.empty() : options.decode(known.bytes)
      const settles = batch.map((one) => attempt(one, state, clock.now()))
      if (same(options.encode(state), known.bytes ?? options.encode(options.empty()))) {
        // A decision that writes nothing is only as good as what it was made on.
        if (!fresh) continue
        kept = known
        return settles
      }
      state.revision = known.revision + 1
      const bytes = options.encode(state)
      const revision = await replace(bytes, known.revision)
      if (revision !== undefined) {
        kept = { bytes, revision }
        return settles
      }
      // It is known that nothing of it stands there.
      for (const one of batch) one.applied = false
      losses += 1
      lostAt = known.revision
      if (clock.now() - start >= longestFightMs) throw options.crowded(state)
      // What we kept may only have been old, and the next look decides. In a crowd somebody wins each time; with unequal pauses it is not always the same.
      if (losses > 1) await clock.sleep(aside(losses - 2, batch), cleanupSignal())
    }
  }

  async function replace(bytes: Uint8Array, expectedRevision: number): Promise<number | undefined> {
    try {
      return (await drive.write(path, bytes, { expectedRevision, signal: cleanupSignal() })).revision
    } catch (error) {
      if (isHandoffError(error, 'conflict')) return undefined
      throw error
    }
  }

  function add<R>(change: Change<T, R>, givesBack = false): { one: Pending<T>; result: Promise<R> } {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const one: Pending<T> = { change, givesBack, applied: false, resolve, reject }
    pending.push(one)
    if (!working) void workOff()
    return { one, result: promise as Promise<R> }
  }

  async function giveBack({ change, until }: GivingBack<T>): Promise<void> {
    const start = clock.now()
    for (let pause = shortestPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        return await add(change, true).result
      } catch (error) {
        const now = clock.now()
        if (now >= until) return
        if (now - start + pause > longestGivingBackMs) throw error
        await clock.sleep(pause, cleanupSignal())
      }
    }
  }

  return {
    update: (change) => add(change).result,
    async take(change, back) {
      const { one, result } = add(change)
      try {
        return await result
      } catch (error) {
        // Else it is known: the change refused, or nothing was sent.
        if (one.applied) await giveBack(back).catch(() => undefined)
        throw error
      }
    },
    giveBack,
  }
}

/** Does it once, in the way it was asked for first; what failed is done again when it is asked for again. */
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

/** Who gives something back makes the crowd smaller, and is let through sooner. */
function aside(times: number, batch: { givesBack: boolean }[]): number {
  const longest = batch.some(({ givesBack }) => givesBack) ? longestPauseMs / 4 : longestPauseMs
  return Math.random() * Math.min(shortestAsideMs * 2 ** times, longest)
}

/** Applies one change; what to tell its owner once the batch is written. */
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

const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0
