// Daily budgets per caller (UTC), in tokens and in US dollars, shared by all instances. The maximum cost of a question is reserved before the work
// and settled after it, so that concurrent questions cannot exceed the budget together.

import { randomUUID } from 'node:crypto'
import { abortError, HandoffError, isHandoffError } from '../domain/errors.js'
import { decodeVersioned, encode } from '../domain/handoff-record.js'
import type { Clock, Drive } from '../domain/ports.js'
import { budgetPath } from '../domain/run.js'
import * as read from '../util/decode.js'
import { type OptimisticFile, once, optimisticFile, type Release } from './optimistic-file.js'
import { sha256 } from './run-store.js'

export interface BudgetLimits {
  tokensPerDay?: number | undefined
  /** US dollars. */
  costPerDay?: number | undefined
}

interface Amount {
  tokens: number
  cost: number
}

export interface Budgets {
  /**
   * Rejects with `budget` when the amount does not fit. Returns a function that settles the reservation; without an amount it releases it. Settling is
   * idempotent: the first call sets the amount. It retries a failing drive for some seconds, and may be called again after it rejects.
   */
  reserve(
    caller: string,
    id: string,
    amount: Amount,
    until: number,
    signal?: AbortSignal,
  ): Promise<(spent?: Amount) => Promise<void>>
  /** What is left of the caller's day, as this process saw it last. Reads nothing. */
  left(caller: string): { tokens?: number; cost?: number; seconds: number } | undefined
}

const shape = read.object({
  version: read.oneOf(1),
  /** `2026-11-18`. */
  day: read.string(10),
  tokens: read.number,
  cost: read.number,
  reserved: read.array(
    read.object({ id: read.string(200), tokens: read.number, cost: read.number, until: read.count }),
    10_000,
  ),
  // The last field, as in a state that gets one added: an unchanged state must encode to the same bytes.
  revision: read.optional(read.count),
})

type State = read.Decoded<typeof shape>

const dayMs = 86_400_000
const dayOf = (now: number) => new Date(now).toISOString().slice(0, 10)

/** Used when no limit is set. */
export const noBudgets: Budgets = { reserve: async () => async () => {}, left: () => undefined }

export function makeBudgets(drive: Drive, root: string, limits: BudgetLimits, clock: Clock): Budgets {
  if (limits.tokensPerDay === undefined && limits.costPerDay === undefined) return noBudgets
  const files = new Map<string, OptimisticFile<State>>()
  const seen = new Map<string, Pick<State, 'day' | 'tokens' | 'cost'>>()
  const see = (caller: string, state: State) => {
    seen.delete(caller)
    seen.set(caller, { day: state.day, ...takenOf(state) })
    if (seen.size > mostSeen) seen.delete(seen.keys().next().value!)
  }
  const fileOf = (caller: string) => {
    const path = budgetPath(root, sha256(caller).slice(0, 32))
    const known = files.get(path) ?? budgetFile(drive, path, clock)
    files.set(path, known)
    return known
  }
  return {
    async reserve(caller, question, wanted, until, signal) {
      // A question may cost more than a caller's daily budget. A caller that has spent nothing may still ask it.
      const amount = {
        tokens: Math.min(wanted.tokens, limits.tokensPerDay ?? Number.POSITIVE_INFINITY),
        cost: Math.min(wanted.cost, limits.costPerDay ?? Number.POSITIVE_INFINITY),
      }
      const file = fileOf(caller)
      // Unique per reservation, because another process may take over the question.
      const id = `${question} ${randomUUID()}`
      const settling = (spent?: Amount): Release<State> => ({
        change: (state, now) => {
          settle(state, { id, until }, spent, now)
          see(caller, state)
        },
        until,
      })
      await file.acquire((state, now) => {
        // The caller may have left while others wrote the file.
        if (signal?.aborted) throw abortError(signal, 'reserving a budget')
        startDay(state, now)
        // The same id is there if the write was delivered twice.
        const others = state.reserved.filter((one) => one.id !== id)
        see(caller, state)
        checkBudget({ ...state, reserved: others }, amount, limits, now)
        state.reserved = [...others, { id, ...amount, until }]
        see(caller, state)
      }, settling())
      return once((spent?: Amount) => file.release(settling(spent)))
    },
    left(caller) {
      const taken = seen.get(caller)
      const now = clock.now()
      if (taken === undefined || taken.day !== dayOf(now)) return undefined
      const { tokensPerDay, costPerDay } = limits
      return {
        ...(tokensPerDay === undefined ? {} : { tokens: Math.max(0, tokensPerDay - taken.tokens) }),
        ...(costPerDay === undefined ? {} : { cost: Math.max(0, costPerDay - taken.cost) }),
        seconds: Math.max(1, Math.ceil((midnightAfter(taken.day) - now) / 1_000)),
      }
    },
  }
}

/** Callers whose budgets a process remembers. */
const mostSeen = 1_000

/** Spent, or reserved by running questions. */
const takenOf = (state: State): Amount =>
  state.reserved.reduce((sum, one) => ({ tokens: sum.tokens + one.tokens, cost: sum.cost + one.cost }), {
    tokens: state.tokens,
    cost: state.cost,
  })

const midnightAfter = (day: string) => Date.parse(`${day}T00:00:00Z`) + dayMs

function budgetFile(drive: Drive, path: string, clock: Clock): OptimisticFile<State> {
  const empty = (): State => ({ version: 1, day: dayOf(clock.now()), tokens: 0, cost: 0, reserved: [] })
  return optimisticFile<State>({
    drive,
    path,
    clock,
    decode: (bytes) => decodeBudget(bytes, path) ?? empty(),
    encode,
    empty,
    contentionError: () =>
      new HandoffError('budget', 'This caller asks too many questions at the same time.', {
        next: 'Ask again in a moment.',
        retryAfterSeconds: 10,
      }),
  })
}

/** Undefined if the bytes are damaged: the caller's day begins again, because no other deployment could read them either. */
function decodeBudget(bytes: Uint8Array, path: string): State | undefined {
  try {
    return decodeVersioned(bytes, shape, "the caller's budget")
  } catch (error) {
    if (isHandoffError(error, 'corrupt')) return undefined
    if (!isHandoffError(error, 'unknown-version')) throw error
    const next = `Update this deployment, or remove ${path} from drive9.`
    throw new HandoffError('unknown-version', error.message, { next })
  }
}

/**
 * The clocks of two processes may stand on both sides of midnight, so a day never goes back. A day later than tomorrow was written by a clock
 * that was wrong.
 */
function startDay(state: State, now: number): void {
  state.reserved = state.reserved.filter((one) => one.until > now)
  if (state.day >= dayOf(now) && state.day <= dayOf(now + dayMs)) return
  Object.assign(state, { day: dayOf(now), tokens: 0, cost: 0 })
}

/** A reservation that is missing before it expires was settled by an earlier delivery of the same change. */
function settle(
  state: State,
  { id, until }: { id: string; until: number },
  spent: Amount | undefined,
  now: number,
): void {
  const isOpen = until <= now || state.reserved.some((one) => one.id === id)
  startDay(state, now)
  if (!isOpen) return
  state.reserved = state.reserved.filter((one) => one.id !== id)
  state.tokens += spent?.tokens ?? 0
  state.cost = Math.round((state.cost + (spent?.cost ?? 0)) * 1e6) / 1e6
}

function checkBudget(state: State, amount: Amount, limits: BudgetLimits, now: number): void {
  const over = (spent: Amount) =>
    spent.tokens + amount.tokens > (limits.tokensPerDay ?? Number.POSITIVE_INFINITY) ||
    spent.cost + amount.cost > (limits.costPerDay ?? Number.POSITIVE_INFINITY) + 1e-9
  if (!over(takenOf(state))) return
  // The budget may be spent, or only reserved by running questions that will cost less.
  const gone = over(state)
  throw new HandoffError(
    'budget',
    gone
      ? "The caller's budget for today is spent."
      : "The caller's budget is taken by questions that are being answered.",
    {
      next: gone ? 'Ask again tomorrow (UTC), or have the budget raised.' : 'Ask again when they are answered.',
      retryAfterSeconds: gone ? Math.max(1, Math.ceil((midnightAfter(state.day) - now) / 1_000)) : 10,
    },
  )
}
