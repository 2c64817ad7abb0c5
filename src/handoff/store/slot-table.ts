// The table of turns: who has one until when, who waits, and what each step changes in it. All of it is pure; `turns.ts` says when it happens.

import { HandoffError } from '../domain/errors.js'
import { decodeVersioned } from '../domain/handoff-record.js'
import * as read from '../util/decode.js'
import { type Kept, longestFightMs } from './optimistic-file.js'

export interface TurnLimits {
  /** Sandboxes at once, over all instances. */
  sandboxes: number
  /** Places in the queue. */
  waiting: number
  /** Turns and places that one caller may have. */
  perCaller: number
}

export interface Wanted {
  /** What the turn is for; nobody else can have one for the same at the same time. */
  holder: string
  caller: string
  /** How long it may be kept, in milliseconds since 1970. */
  until: number
  /** Sandboxes at once that it stands for; one when absent. They are given out together, so nobody holds one and waits for the other. */
  sandboxes?: number
  /** When the lease of an earlier process on the same question ended: what that process entered before then stands in nobody's way. */
  lostAt?: number
  /** Since when it waits, in milliseconds since 1970, where it was accepted before and put back; now when absent. */
  since?: number
}

/** One who entered. */
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
   * Of the one who entered, and kept from the queue through the turn: who had a turn before for the same is known by it from who has it now, and a
   * write whose answer was lost, or that was delivered twice, from everybody else's. Older versions wrote none.
   */
  word?: string
  sandboxes?: number
}

export interface Table extends Kept {
  version: 1
  running: Running[]
  waiting: Running[]
  /** How long a turn that somebody came for was kept lately: what an honest estimate rests on. */
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
  // Last, where it is put into a state that had none: what was not changed is encoded to the same bytes.
  revision: read.optional(read.count),
})

/** A place in the queue lasts so long without a sign of life; a turn that was given out and not taken up, too. */
const waitingMs = 30_000

export const emptyTable = (): Table => ({ version: 1, running: [], waiting: [], meanMs: 15_000 })

export const decodeTable = (bytes: Uint8Array): Table => decodeVersioned(bytes, shape, 'the table of turns')

/** Our place, as `lookFor` says it; throws what keeps us out. Who is there already, by a write whose answer was lost, does not enter again. */
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

/** Another process that is at the same question now. */
const isRivalOf =
  ({ holder, lostAt = 0 }: Wanted, now: number) =>
  (one: Running) =>
    one.holder === holder && one.until > now && one.since >= lostAt

const has = ({ running, waiting }: Table, wanted: (one: Running) => boolean) =>
  running.some(wanted) || waiting.some(wanted)

/** What is no time, or has not come yet, is now: a table with such a number in it could not be read again. */
export const sinceOf = ({ since = Number.NaN }: Wanted, now: number) =>
  since >= 0 && since < now ? Math.floor(since) : now

/** Behind those who are there for as long. */
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
 * Forgets who did not come back, and gives out the turns that are free: to the caller who has the fewest, then to who waits longest. Who wants
 * more than is free is not passed by: smaller ones that came later would keep them waiting for ever.
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
 * Our place: 0 when it is our turn, which is then kept. Whoever was too slow to show a sign of life comes back to where they stood: they wait,
 * whatever the table says. Undefined when somebody else took the same up meanwhile.
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

/** Nothing was done in a turn that nobody came for: how long that took says nothing of how long others have to wait. */
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
      next: 'Ask whoever runs it to raise HANDOFF_SANDBOXES.',
    })
  }
  const own = [...table.running, ...table.waiting].filter((one) => one.caller === wanted.caller).length
  const free = limits.sandboxes - taken(table.running)
  if (own >= limits.perCaller) {
    throw new HandoffError('budget', `${own} questions of this caller are being answered; no more are taken.`, {
      next: 'Wait for answers before asking more.',
      // Until one of them ends.
      retryAfterSeconds: secondsOf(table.meanMs),
    })
  }
  if ((free >= needed && table.waiting.length === 0) || table.waiting.length < limits.waiting) return
  throw new HandoffError('sandbox-limit', 'All sandboxes are taken, and so is every place in the queue.', {
    next: 'Ask again when the time in Retry-After has passed.',
    retryAfterSeconds: secondsFor(table.waiting.length + 1, table, limits),
  })
}

/** Not a `conflict`: nothing is wrong with what was asked, and it may be asked again. A crowd that lasted so long is not gone in a moment. */
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
