// What a caller may spend in a day (UTC), in tokens and in money, over all instances. What a question may cost at most is reserved before the
// work and settled after it, so that many at once do not spend together what each alone could.

import { HandoffError } from '../domain/errors.js'
import { decodeVersioned, encode } from '../domain/handoff-record.js'
import type { Clock, Drive } from '../domain/ports.js'
import { budgetPath } from '../domain/run.js'
import * as read from '../util/decode.js'
import { uniqueId } from '../util/unique-id.js'
import { type GivingBack, type Kept, once, type SharedFile, sharedFile } from './optimistic-file.js'
import { sha256 } from './run-store.js'

export interface BudgetLimits {
  tokensPerDay?: number
  /** US dollars. */
  costPerDay?: number
}

export interface Amount {
  tokens: number
  cost: number
}

export interface Budgets {
  /**
   * Rejects with `budget` when it does not fit any more. Settling with nothing gives it back. Settling is idempotent, and the first time says what
   * was spent; a drive that fails is asked for some seconds, and after it rejected it may be called again.
   */
  reserve(caller: string, id: string, amount: Amount, until: number): Promise<(spent?: Amount) => Promise<void>>
}

interface State extends Kept {
  version: 1
  /** `2026-11-18`. */
  day: string
  tokens: number
  cost: number
  reserved: { id: string; tokens: number; cost: number; until: number }[]
}

const shape = read.object({
  version: read.oneOf(1),
  day: read.string(10),
  tokens: read.number,
  cost: read.number,
  reserved: read.array(
    read.object({ id: read.string(200), tokens: read.number, cost: read.number, until: read.count }),
    10_000,
  ),
  // Last, where it is put into a state that had none: what was not changed is encoded to the same bytes.
  revision: read.optional(read.count),
})

const dayOf = (now: number) => new Date(now).toISOString().slice(0, 10)

/** For callers without a limit. */
export const noBudgets: Budgets = { reserve: async () => async () => {} }

export function makeBudgets(drive: Drive, root: string, limits: BudgetLimits, clock: Clock): Budgets {
  if (limits.tokensPerDay === undefined && limits.costPerDay === undefined) return noBudgets
  const files = new Map<string, SharedFile<State>>()
  const fileOf = (caller: string) => {
    const path = budgetPath(root, sha256(caller).slice(0, 32))
    const known = files.get(path) ?? budgetFile(drive, path, clock)
    files.set(path, known)
    return known
  }
  return {
    async reserve(caller, question, wanted, until) {
      // What the model may take by now can be more than a caller has in a day: one that has spent nothing may still ask.
      const amount = {
        tokens: Math.min(wanted.tokens, limits.tokensPerDay ?? Number.POSITIVE_INFINITY),
        cost: Math.min(wanted.cost, limits.costPerDay ?? Number.POSITIVE_INFINITY),
      }
      const file = fileOf(caller)
      // A word of its own: whoever takes the question up later has another.
      const id = `${question} ${uniqueId()}`
      const settling = (spent?: Amount): GivingBack<State> => ({
        change: (state, now) => settle(state, { id, until }, spent, now),
        until,
      })
      await file.take((state, now) => {
        turnDay(state, now)
        // The same again is a change whose writing was delivered twice.
        const others = state.reserved.filter((one) => one.id !== id)
        refuse({ ...state, reserved: others }, amount, limits, now)
        state.reserved = [...others, { id, ...amount, until }]
      }, settling())
      return once((spent?: Amount) => file.giveBack(settling(spent)))
    },
  }
}

function budgetFile(drive: Drive, path: string, clock: Clock): SharedFile<State> {
  return sharedFile<State>({
    drive,
    path,
    clock,
    decode: (bytes) => decodeVersioned(bytes, shape, "the caller's budget"),
    encode,
    empty: () => ({ version: 1, day: dayOf(clock.now()), tokens: 0, cost: 0, reserved: [] }),
    crowded: () =>
      new HandoffError('budget', 'More questions of this caller come at this moment than can be counted.', {
        next: 'Ask again in a moment.',
        retryAfterSeconds: 10,
      }),
  })
}

function turnDay(state: State, now: number): void {
  state.reserved = state.reserved.filter((one) => one.until > now)
  if (state.day === dayOf(now)) return
  Object.assign(state, { day: dayOf(now), tokens: 0, cost: 0 })
}

/** A reservation that is gone before its time was settled already: by this very change, which was delivered twice or whose answer was lost. */
function settle(
  state: State,
  { id, until }: { id: string; until: number },
  spent: Amount | undefined,
  now: number,
): void {
  const isOpen = until <= now || state.reserved.some((one) => one.id === id)
  turnDay(state, now)
  if (!isOpen) return
  state.reserved = state.reserved.filter((one) => one.id !== id)
  state.tokens += spent?.tokens ?? 0
  state.cost = Math.round((state.cost + (spent?.cost ?? 0)) * 1e6) / 1e6
}

function refuse(state: State, amount: Amount, limits: BudgetLimits, now: number): void {
  const over = (spent: Amount) =>
    spent.tokens + amount.tokens > (limits.tokensPerDay ?? Number.POSITIVE_INFINITY) ||
    spent.cost + amount.cost > (limits.costPerDay ?? Number.POSITIVE_INFINITY) + 1e-9
  const reserved = state.reserved.reduce(
    (sum, one) => ({ tokens: sum.tokens + one.tokens, cost: sum.cost + one.cost }),
    {
      tokens: state.tokens,
      cost: state.cost,
    },
  )
  if (!over(reserved)) return
  // Spent, or only reserved by questions that are being answered and will cost less?
  const gone = over(state)
  const midnight = Date.parse(`${dayOf(now)}T00:00:00Z`) + 86_400_000
  throw new HandoffError(
    'budget',
    gone
      ? "The caller's budget for today is spent."
      : "The caller's budget is taken by questions that are being answered.",
    {
      next: gone ? 'Ask again tomorrow (UTC), or have the budget raised.' : 'Ask again when they are answered.',
      retryAfterSeconds: gone ? Math.max(1, Math.ceil((midnight - now) / 1_000)) : 10,
    },
  )
}
