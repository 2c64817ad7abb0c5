// Sandbox slots, shared by all instances of the service. When all slots are taken, callers wait in a queue. Slots rotate between callers, so a
// caller with a hundred questions does not block one with a single question.
//
// One small file holds the slots and the queue. Each process that reads it assigns free slots, also to processes that wait elsewhere. Slots and
// places in the queue expire, so a process that dies blocks nothing for long.

import { abortError } from '../domain/errors.js'
import { encode } from '../domain/handoff-record.js'
import type { Clock, Drive } from '../domain/ports.js'
import { uniqueId } from '../util/unique-id.js'
import { type GivingBack, once, sharedFile } from './optimistic-file.js'
import {
  advance,
  crowded,
  decodeTable,
  type Entry,
  emptyTable,
  enter,
  giveBack,
  inProgress,
  lookFor,
  sinceOf,
  stateOf,
  type Table,
  type TurnLimits,
  type Wanted,
} from './slot-table.js'

export type { TurnLimits, Wanted } from './slot-table.js'

export interface Turn {
  /** Resolves when the slot is assigned. */
  come(signal: AbortSignal, onPosition?: (position: number) => void): Promise<void>
  /**
   * Releases the slot, or the place in the queue. Must always be called, and is idempotent. Retries a failing drive for some seconds, and may be called
   * again after it rejects.
   */
  leave(): Promise<void>
}

export interface Turns {
  /** Rejects with `sandbox-limit` when the queue is full, and with `in-progress` when another process has a slot for the same holder. */
  enter(wanted: Wanted): Promise<Turn>
  /** Whether the holder has a slot or a place in the queue. */
  stateOf(holder: string): Promise<'running' | 'waiting' | 'none'>
}

/** The mean poll interval. It is randomised, so that instances do not poll in step. */
const lookEveryMs = 250
/** Waiting callers get an error after this many failed polls in a row. */
const mostFailures = 5

export function makeTurns(drive: Drive, path: string, limits: TurnLimits, clock: Clock): Turns {
  const file = sharedFile<Table>({
    drive,
    path,
    clock,
    decode: decodeTable,
    encode,
    empty: emptyTable,
    crowded: (table) => crowded(table, limits),
  })
  const watchers = new Map<string, Watcher>()
  let watching = false

  /** Polls while a caller of this process waits: renews places, assigns free slots and reports positions. */
  async function watch(): Promise<void> {
    watching = true
    let failures = 0
    while (watchers.size > 0) {
      await clock.sleep(lookEveryMs * (failures + 0.5 + Math.random()), new AbortController().signal)
      const here = [...watchers.values()]
      try {
        const positions = await file.update((table, now) => {
          advance(table, limits, now)
          return here.map(({ entry }) => lookFor(table, entry, now))
        })
        failures = 0
        for (const [index, watcher] of here.entries()) {
          const position = positions[index]
          if (position === undefined) watcher.fail(inProgress())
          else watcher.tell(position)
        }
      } catch (error) {
        failures += 1
        if (failures >= mostFailures) for (const watcher of here) watcher.fail(error)
      }
    }
    watching = false
  }

  function come(entry: Entry, signal: AbortSignal, onPosition: (position: number) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        watchers.delete(entry.word)
        signal.removeEventListener('abort', stop)
        settle()
      }
      const stop = () => end(() => reject(abortError(signal, 'waiting for a sandbox')))
      if (signal.aborted) return stop()
      signal.addEventListener('abort', stop)
      let shown = -1
      watchers.set(entry.word, {
        entry,
        tell(position) {
          if (position === 0) return end(resolve)
          if (position !== shown) onPosition(position)
          shown = position
        },
        fail: (error) => end(() => reject(error)),
      })
      if (!watching) void watch()
    })
  }

  return {
    async enter(wanted) {
      const entry = { wanted, since: sinceOf(wanted, clock.now()), word: uniqueId() }
      let came = false
      const back: GivingBack<Table> = {
        change: (table, now) => giveBack(table, entry, limits, now, came),
        until: wanted.until,
      }
      const first = await file.take((table, now) => enter(table, entry, limits, now), back)
      return {
        come: async (signal, onPosition = () => {}) => {
          if (first > 0) {
            onPosition(first)
            await come(entry, signal, onPosition)
          }
          came = true
        },
        leave: once(() => file.giveBack(back)),
      }
    },
    stateOf: (holder) => file.update((table, now) => stateOf(table, holder, now)),
  }
}

interface Watcher {
  entry: Entry
  /** 0: the slot is assigned. */
  tell(position: number): void
  fail(error: unknown): void
}
