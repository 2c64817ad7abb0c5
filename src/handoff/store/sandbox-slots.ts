// Whose turn it is to have a sandbox. All instances of the service share so many; who comes when all are taken waits, and turns go round
// between those who ask, so that one with a hundred questions does not keep out one with a single question.
//
// Everything is in one small file: who has a turn until when, and who waits. Whoever looks gives out the turns that are free, also to those
// who wait in other processes. Nobody has to be trusted to come back: a turn and a place in the queue both run out.

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
  /** Resolves when it is our turn. */
  come(signal: AbortSignal, onPosition?: (position: number) => void): Promise<void>
  /**
   * Idempotent. Always to be called: a turn, or a place in the queue, is given back. A drive that fails is asked for some seconds; after it
   * rejected it may be called again.
   */
  leave(): Promise<void>
}

export interface Turns {
  /** Rejects with `sandbox-limit` when the queue is full or too many want into it, `in-progress` when somebody has a turn for the same. */
  enter(wanted: Wanted): Promise<Turn>
  /** Whether there is a turn for this, or a place in the queue. */
  stateOf(holder: string): Promise<'running' | 'waiting' | 'none'>
}

/** About: instances that were told the same at the same moment do not look at the same moment for ever. */
const lookEveryMs = 250
/** So many looks in a row may fail before those who wait are told. */
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

  /** While anybody here waits: show that we live, give out what is free, see whose turn it is. */
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
  /** 0: our turn. */
  tell(position: number): void
  fail(error: unknown): void
}
