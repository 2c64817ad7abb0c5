// The table of sandbox slots and the queue for them, and the operations on it. All functions are pure; `sandbox-slots.ts` calls them.

import { HandoffError } from '../domain/errors.js'
import { decodeVersioned } from '../domain/handoff-record.js'
import * as read from '../util/decode.js'
import { type Kept, longestFightMs } from './optimistic-file.js'

export interface TurnLimits {
  /** Sandboxes at once, over all instances. */
  sandboxes: number
  /** Places in the queue. */
  waiting: number
  /** Slots and places in the queue that one caller may have. */
  perCaller: number
}

export interface Wanted {
  /** What the slot is for. A holder has at most one slot at a time. */
  holder: string
  caller: string
  /** When the slot expires, in milliseconds since 1970. */
  until: number
  /** Sandboxes that the slot allows; one when absent. They are assigned together, which rules out deadlocks. */
  sandboxes?: number
  /** When the lease of an earlier process on the same question ended. Entries from before that are ignored. */
  lostAt?: number
  /** When a requeued question was accepted, in milliseconds since 1970; now when absent. */
  since?: number
}

/** One request for a slot. */
export interface Entry {
  wanted: Wanted
  since: number
  word: string
}

interface Running {
  holder: string
  caller: string
  since: number
  until: number
  /**
   * Unique per entry, in the queue and in the slot. It tells the current entry from an earlier one of the same holder, and identifies a write after a
   * lost reply or a second delivery. Older versions wrote none.
   */
  word?: string
  sandboxes?: number
}

export interface Table extends Kept {
  version: 1
  running: Running[]
  waiting: Running[]
  /** The moving average of how long used slots were held. Wait estimates use it. */
  meanMs: number
}

const placeShape = read.object({
  holder: read.string(200),
  caller: read.string(200),
  since: read.count,
  until: read.count,
  word: read.optional(read.string(64)),
  sandboxes: read.optional(read.count),
})

const shape = read.object({
  version: read.oneOf(1),
  running: read.array(placeShape, 10_000),
  waiting: read.array(placeShape, 10_000),
  meanMs: read.number,
  // The last field, as in a state that gets one added: an unchanged state must encode to the same bytes.
  revision: read.optional(read.count),
})

/** How long a place in the queue, or an assigned slot that is not taken up, lasts without renewal. */
const waitingMs = 30_000

export const emptyTable = (): Table => ({ version: 1, running: [], waiting: [], meanMs: 15_000 })

export const decodeTable = (bytes: Uint8Array): Table => decodeVersioned(bytes, shape, 'the table of sandbox slots')

/** Adds the entry and returns its position, as `lookFor` does. Throws if it is not admitted. An entry that is present already is not added again. */
export function enter(table: Table, entry: Entry, limits: TurnLimits, now: number): number {
  advance(table, limits, now)
  if (!has(table, ({ word }) => word === entry.word)) {
    refuse(table, entry.wanted, limits, now)
    queue(table, entry, now)
    advance(table, limits, now)
  }
  return lookFor(table, entry, now)!
}

export function stateOf({ running, waiting }: Table, holder: string, now: number): 'running' | 'waiting' | 'none' {
  const isIn = (list: Running[]) => list.some((one) => one.holder === holder && one.until > now)
  return isIn(running) ? 'running' : isIn(waiting) ? 'waiting' : 'none'
}

const isOf = ({ wanted, word }: Entry) => {
  return (one: Running) => (one.word === undefined ? one.holder === wanted.holder : one.word === word)
}

/** Matches an entry of another process for the same holder. */
const isRivalOf =
  ({ holder, lostAt = 0 }: Wanted, now: number) =>
  (one: Running) =>
    one.holder === holder && one.until > now && one.since >= lostAt

const has = ({ running, waiting }: Table, wanted: (one: Running) => boolean) =>
  running.some(wanted) || waiting.some(wanted)

/** Replaces an invalid or future time by now, because the table could not be decoded with it. */
export const sinceOf = ({ since = Number.NaN }: Wanted, now: number) =>
  since >= 0 && since < now ? Math.floor(since) : now

/** Inserts by waiting time, after entries with the same time. */
function queue(table: Table, { wanted, since, word }: Entry, now: number): void {
  const { holder, caller, sandboxes } = wanted
  const behind = table.waiting.findIndex((one) => one.since > since)
  const place = {
    holder,
    caller,
    since,
    until: now + waitingMs,
    word,
    ...(sandboxes === undefined ? {} : { sandboxes }),
  }
  table.waiting.splice(behind < 0 ? table.waiting.length : behind, 0, place)
}

const taken = (turns: Running[]) => turns.reduce((sum, { sandboxes = 1 }) => sum + sandboxes, 0)

/**
 * Removes expired entries and assigns free slots: first to the caller with the fewest, then to the longest wait. An entry that needs more than is
 * free is not skipped, because smaller ones would then starve it.
 */
export function advance(table: Table, limits: TurnLimits, now: number): void {
  table.running = table.running.filter((one) => one.until > now)
  table.waiting = table.waiting.filter((one) => one.until > now)
  const held = new Map<string, number>()
  for (const { caller } of table.running) held.set(caller, (held.get(caller) ?? 0) + 1)
  while (taken(table.running) < limits.sandboxes && table.waiting.length > 0) {
    let next = table.waiting[0]!
    for (const one of table.waiting) if ((held.get(one.caller) ?? 0) < (held.get(next.caller) ?? 0)) next = one
    if (taken(table.running) + (next.sandboxes ?? 1) > limits.sandboxes) return
    table.waiting.splice(table.waiting.indexOf(next), 1)
    table.running.push({ ...next, since: now })
    held.set(next.caller, (held.get(next.caller) ?? 0) + 1)
  }
}

/**
 * Returns the position: 0 when the slot is assigned, which is then renewed. An expired entry returns to its old place in the queue. Undefined when
 * another process has taken over the holder.
 */
export function lookFor(table: Table, entry: Entry, now: number): number | undefined {
  const { wanted } = entry
  const ours = isOf(entry)
  const turn = table.running.find(ours)
  if (turn) {
    turn.until = wanted.until
    return 0
  }
  const place = table.waiting.find(ours)
  if (!place && has(table, isRivalOf(wanted, now))) return undefined
  if (!place) queue(table, entry, now)
  else if (place.until < now + waitingMs / 2) place.until = now + waitingMs
  return table.waiting.findIndex(ours) + 1
}

/** Removes the entry. A slot that was never used does not count in the mean. */
export function giveBack(table: Table, entry: Entry, limits: TurnLimits, now: number, came: boolean): void {
  const ours = isOf(entry)
  if (!has(table, ours)) return
  const turn = table.running.find(ours)
  if (turn && came) table.meanMs = Math.round(0.8 * table.meanMs + 0.2 * Math.max(1, now - turn.since))
  table.running = table.running.filter((one) => !ours(one))
  table.waiting = table.waiting.filter((one) => !ours(one))
  advance(table, limits, now)
}

export const inProgress = () =>
  new HandoffError('in-progress', 'The same question is being answered.', {
    next: 'Ask again in a moment; the answer will be there.',
    retryAfterSeconds: 2,
  })

function refuse(table: Table, wanted: Wanted, limits: TurnLimits, now: number): void {
  if (has(table, isRivalOf(wanted, now))) throw inProgress()
  const needed = wanted.sandboxes ?? 1
  if (needed > limits.sandboxes) {
    throw new HandoffError('missing-setting', `This needs ${needed} sandboxes at once, and the service may have one.`, {
      next: 'Ask the operator of the service to raise HANDOFF_SANDBOXES.',
    })
  }
  const own = [...table.running, ...table.waiting].filter((one) => one.caller === wanted.caller).length
  const free = limits.sandboxes - taken(table.running)
  if (own >= limits.perCaller) {
    throw new HandoffError('budget', `${own} questions of this caller are being answered; no more are taken.`, {
      next: 'Wait for answers before asking more.',
      // The mean time until one of them ends.
      retryAfterSeconds: secondsOf(table.meanMs),
    })
  }
  if ((free >= needed && table.waiting.length === 0) || table.waiting.length < limits.waiting) return
  throw new HandoffError('sandbox-limit', 'All sandboxes are taken, and so is every place in the queue.', {
    next: 'Ask again when the time in Retry-After has passed.',
    retryAfterSeconds: secondsFor(table.waiting.length + 1, table, limits),
  })
}

/** The error for too many conflicts on the table. It is retryable, and the wait is at least the time already spent on retries. */
export function crowded(table: Table, limits: TurnLimits): HandoffError {
  const queue = secondsFor(table.waiting.length + 1, table, limits)
  return new HandoffError('sandbox-limit', 'More want a sandbox at this moment than can be put into the queue.', {
    next: 'Ask again when the time in Retry-After has passed.',
    retryAfterSeconds: Math.max(queue, longestFightMs / 1_000),
  })
}

function secondsFor(places: number, { meanMs }: Table, { sandboxes }: TurnLimits): number {
  return secondsOf((places * meanMs) / sandboxes)
}

const secondsOf = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds / 1_000))
