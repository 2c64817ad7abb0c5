// Whose turn it is to have a sandbox. All instances of the service share so many; who comes when all are taken waits, and turns go round
// between those who ask, so that one with a hundred questions does not keep out one with a single question.
//
// Everything is in one small file: who has a turn until when, and who waits. Whoever looks gives out the turns that are free, also to those
// who wait in other processes. Nobody has to be trusted to come back: a turn and a place in the queue both run out.
import type { Clock } from '../library/clock.js'
import * as read from '../library/decode.js'
import { abortError, HandoffError } from '../library/errors.js'
import { decodeVersioned, encode } from '../library/handoff.js'
import type { Drive } from '../library/tools.js'
import { type GivingBack, type Kept, longestFightMs, once, sharedFile } from './shared-file.js'
import { uniqueId } from './unique.js'

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
  /** Since when it waits, in milliseconds since 1970, where it was accepted before and put back; now when absent. */
  since?: number
}

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

interface State extends Kept {
  version: 1
  running: Running[]
  waiting: Running[]
  /** How long a turn that somebody came for was kept lately: what an honest estimate rests on. */
  meanMs: number
}

const entry = read.object({
  holder: read.string(200),
  caller: read.string(200),
  since: read.count,
  until: read.count,
  word: read.optional(read.string(64)),
  sandboxes: read.optional(read.count),
})

const shape = read.object({
  version: read.oneOf(1),
  running: read.array(entry, 10_000),
  waiting: read.array(entry, 10_000),
  meanMs: read.number,
  // Last, where it is put into a state that had none: what was not changed is encoded to the same bytes.
  revision: read.optional(read.count),
})

/** A place in the queue lasts so long without a sign of life; a turn that was given out and not taken up, too. */
const waitingMs = 30_000
/** About: instances that were told the same at the same moment do not look at the same moment for ever. */
const lookEveryMs = 250
/** So many looks in a row may fail before those who wait are told. */
const mostFailures = 5

export function makeTurns(drive: Drive, path: string, limits: TurnLimits, clock: Clock): Turns {
  const file = sharedFile<State>({
    drive,
    path,
    clock,
    decode: (bytes) => decodeVersioned(bytes, shape, 'the table of turns'),
    encode,
    empty: () => ({ version: 1, running: [], waiting: [], meanMs: 15_000 }),
    crowded: (state) => crowded(state, limits),
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
        const positions = await file.update((state, now) => {
          advance(state, limits, now)
          return here.map(({ entry }) => lookFor(state, entry, now))
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
      const back: GivingBack<State> = {
        change: (state, now) => giveBack(state, entry, limits, now, came),
        until: wanted.until,
      }
      const first = await file.take((state, now) => {
        advance(state, limits, now)
        if (!has(state, ({ word }) => word === entry.word)) {
          refuse(state, wanted, limits, now)
          queue(state, entry, now)
          advance(state, limits, now)
        }
        return lookFor(state, entry, now)!
      }, back)
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
    stateOf: (holder) =>
      file.update((state, now) => {
        const isIn = (list: Running[]) => list.some((one) => one.holder === holder && one.until > now)
        return isIn(state.running) ? 'running' : isIn(state.waiting) ? 'waiting' : 'none'
      }),
  }
}

/** One who entered. */
interface Entry {
  wanted: Wanted
  since: number
  word: string
}

interface Watcher {
  entry: Entry
  /** 0: our turn. */
  tell(position: number): void
  fail(error: unknown): void
}

const isOf = ({ wanted, word }: Entry) => {
  return (one: Running) => (one.word === undefined ? one.holder === wanted.holder : one.word === word)
}

const has = ({ running, waiting }: State, wanted: (one: Running) => boolean) =>
  running.some(wanted) || waiting.some(wanted)

/** What is no time, or has not come yet, is now: a table with such a number in it could not be read again. */
const sinceOf = ({ since = Number.NaN }: Wanted, now: number) => (since >= 0 && since < now ? Math.floor(since) : now)

/** Behind those who are there for as long. */
function queue(state: State, { wanted, since, word }: Entry, now: number): void {
  const { holder, caller, sandboxes } = wanted
  const behind = state.waiting.findIndex((one) => one.since > since)
  const place = {
    holder,
    caller,
    since,
    until: now + waitingMs,
    word,
    ...(sandboxes === undefined ? {} : { sandboxes }),
  }
  state.waiting.splice(behind < 0 ? state.waiting.length : behind, 0, place)
}

const taken = (turns: Running[]) => turns.reduce((sum, { sandboxes = 1 }) => sum + sandboxes, 0)

/**
 * Forgets who did not come back, and gives out the turns that are free: to the caller who has the fewest, then to who waits longest. Who wants
 * more than is free is not passed by: smaller ones that came later would keep them waiting for ever.
 */
function advance(state: State, limits: TurnLimits, now: number): void {
  state.running = state.running.filter((one) => one.until > now)
  state.waiting = state.waiting.filter((one) => one.until > now)
  const held = new Map<string, number>()
  for (const { caller } of state.running) held.set(caller, (held.get(caller) ?? 0) + 1)
  while (taken(state.running) < limits.sandboxes && state.waiting.length > 0) {
    let next = state.waiting[0]!
    for (const one of state.waiting) if ((held.get(one.caller) ?? 0) < (held.get(next.caller) ?? 0)) next = one
    if (taken(state.running) + (next.sandboxes ?? 1) > limits.sandboxes) return
    state.waiting.splice(state.waiting.indexOf(next), 1)
    state.running.push({ ...next, since: now })
    held.set(next.caller, (held.get(next.caller) ?? 0) + 1)
  }
}

/**
 * Our place: 0 when it is our turn, which is then kept. Whoever was too slow to show a sign of life comes back to where they stood: they wait,
 * whatever the table says. Undefined when somebody else took the same up meanwhile.
 */
function lookFor(state: State, entry: Entry, now: number): number | undefined {
  const { wanted } = entry
  const ours = isOf(entry)
  const turn = state.running.find(ours)
  if (turn) {
    turn.until = wanted.until
    return 0
  }
  const place = state.waiting.find(ours)
  if (!place && has(state, (one) => one.holder === wanted.holder)) return undefined
  if (!place) queue(state, entry, now)
  else if (place.until < now + waitingMs / 2) place.until = now + waitingMs
  return state.waiting.findIndex(ours) + 1
}

/** Nothing was done in a turn that nobody came for: how long that took says nothing of how long others have to wait. */
function giveBack(state: State, entry: Entry, limits: TurnLimits, now: number, came: boolean): void {
  const ours = isOf(entry)
  if (!has(state, ours)) return
  const turn = state.running.find(ours)
  if (turn && came) state.meanMs = Math.round(0.8 * state.meanMs + 0.2 * Math.max(1, now - turn.since))
  state.running = state.running.filter((one) => !ours(one))
  state.waiting = state.waiting.filter((one) => !ours(one))
  advance(state, limits, now)
}

const inProgress = () =>
  new HandoffError('in-progress', 'The same question is being answered.', {
    next: 'Ask again in a moment; the answer will be there.',
    retryAfterSeconds: 2,
  })

function refuse(state: State, wanted: Wanted, limits: TurnLimits, now: number): void {
  if (has(state, (one) => one.holder === wanted.holder && one.until > now)) throw inProgress()
  const needed = wanted.sandboxes ?? 1
  if (needed > limits.sandboxes) {
    throw new HandoffError('missing-setting', `This needs ${needed} sandboxes at once, and the service may have one.`, {
      next: 'Ask whoever runs it to raise HANDOFF_SANDBOXES.',
    })
  }
  const own = [...state.running, ...state.waiting].filter((one) => one.caller === wanted.caller).length
  const free = limits.sandboxes - taken(state.running)
  if (own >= limits.perCaller) {
    throw new HandoffError('budget', `${own} questions of this caller are being answered; no more are taken.`, {
      next: 'Wait for answers before asking more.',
      // Until one of them ends.
      retryAfterSeconds: secondsOf(state.meanMs),
    })
  }
  if ((free >= needed && state.waiting.length === 0) || state.waiting.length < limits.waiting) return
  throw new HandoffError('sandbox-limit', 'All sandboxes are taken, and so is every place in the queue.', {
    next: 'Ask again when the time in Retry-After has passed.',
    retryAfterSeconds: secondsFor(state.waiting.length + 1, state, limits),
  })
}

/** Not a `conflict`: nothing is wrong with what was asked, and it may be asked again. A crowd that lasted so long is not gone in a moment. */
function crowded(state: State, limits: TurnLimits): HandoffError {
  const queue = secondsFor(state.waiting.length + 1, state, limits)
  return new HandoffError('sandbox-limit', 'More want a sandbox at this moment than can be put into the queue.', {
    next: 'Ask again when the time in Retry-After has passed.',
    retryAfterSeconds: Math.max(queue, longestFightMs / 1_000),
  })
}

function secondsFor(places: number, { meanMs }: State, { sandboxes }: TurnLimits): number {
  return secondsOf((places * meanMs) / sandboxes)
}

const secondsOf = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds / 1_000))
