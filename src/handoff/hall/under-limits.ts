// One question under the limits of the service: turn, budget, claim. Whatever happens then, turn and budget are given back.
import { type AcceptedNote, forgetAccepted, noteAccepted } from '../bench/accepted.js'
import { makeBudgets } from '../bench/budgets.js'
import type { ServicePlace } from '../bench/service-place.js'
import { makeTurns, type Turn } from '../bench/turns.js'
import { cleanupSignal } from '../bench/walk.js'
import type { Clock } from '../library/clock.js'
import { HandoffError, isHandoffError } from '../library/errors.js'
import { costOf } from '../library/prices.js'
import type { Repository } from '../library/run.js'
import type { House } from './house.js'
import type { AcceptedQuestion, AskResult } from './prepare-question.js'
import { findQuestion } from './resume.js'
import {
  type CountedVisit,
  counted,
  graceMs,
  houseFor,
  leaseMarginMs,
  type Service,
  type ServiceLimits,
  type Shared,
  type Taken,
  type Visit,
} from './service.js'

export interface OwnWork {
  /** From now on the question is never dropped: when our time is over it is left to whoever looks next. To be called before a promise is made. */
  promise(post?: AcceptedNote['post']): Promise<void>
  /** Waits for the turn, answers, and gives everything back, on every path. */
  finish(signal: AbortSignal, onPosition?: (position: number) => void): Promise<AskResult>
}

/** What a question may cost at most: three rounds of excerpts, the summary, a conversation, and the replies. */
const mostTokens = { inputTokens: 90_000, outputTokens: 6_200 }

export function share(house: House, place: ServicePlace, limits: ServiceLimits, clock: Clock): Shared {
  const { drive, model } = house.tools
  if (limits.costPerDay !== undefined && costOf(mostTokens, model.name, house.prices) === undefined) {
    throw new HandoffError(
      'missing-setting',
      'Callers have a budget in money, and the price of the model is not known.',
      {
        next: 'Set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT, or give them a budget in tokens alone.',
      },
    )
  }
  return { turns: makeTurns(drive, place.turns, limits, clock), budgets: makeBudgets(drive, place, limits, clock) }
}

/** A question that was left behind is taken up, or what became of it is told; undefined when it failed, or was never asked. */
export async function takeLeft(
  service: Service,
  left: { repository: Repository; run: string; id: string },
  visitor: Visit,
  signal: AbortSignal,
): Promise<Taken | undefined> {
  const visit = counted(visitor)
  const house = houseFor(service, visit)
  const { id } = left
  const leaseMs = house.limits.deadlineMs + leaseMarginMs
  const { run, record, resume } = await findQuestion({ ...left, leaseMs, labels: visit.labels }, house, signal)
  switch (record?.status) {
    case 'done':
      return { kind: 'done', id, run, record }
    case 'running':
      if (Date.parse(record.leaseUntil) > service.clock.now()) return { kind: 'joined', id, run }
      return (
        (await underLimits(service, id, visit, sandboxesFor(record), () => resume(record))) ?? {
          kind: 'joined',
          id,
          run,
        }
      )
    default:
      return undefined
  }
}

/** A comparison has a machine for each of its commits, both at once. */
export const sandboxesFor = ({ compareWith }: { compareWith?: unknown }) => (compareWith === undefined ? 1 : 2)

/** Turn, budget, claim: in this order, because what was not claimed can be refused without a trace. */
export async function underLimits(
  service: Service,
  id: string,
  visit: CountedVisit,
  sandboxes: number,
  accept: () => Promise<AcceptedQuestion | undefined>,
): Promise<Taken | undefined> {
  const { turns, budgets } = await service.shared()
  const until = Math.ceil(visit.workBy + graceMs)
  const releases: (() => Promise<void>)[] = []
  const release = async () => {
    await Promise.all(releases.map((one) => one().catch(() => undefined)))
  }
  try {
    const turn = await turns.enter({ holder: id, caller: visit.caller, until, sandboxes })
    releases.push(turn.leave)
    const settle = await budgets.reserve(visit.caller, id, atMost(service), until)
    releases.push(() => settle())
    const accepted = await accept()
    if (accepted === undefined || accepted.done) {
      await release()
      return accepted?.done && { kind: 'done', id, run: accepted.run, record: accepted.done }
    }
    const { run, acceptedAt } = accepted
    return { kind: 'ours', id, run, acceptedAt, work: ownWork(service, visit, accepted, turn, settle, release) }
  } catch (error) {
    await release()
    if (isHandoffError(error, 'in-progress')) return undefined
    throw error
  }
}

function ownWork(
  service: Service,
  visit: CountedVisit,
  accepted: AcceptedQuestion,
  turn: Turn,
  settle: (spent?: { tokens: number; cost: number }) => Promise<void>,
  release: () => Promise<void>,
): OwnWork {
  const { drive, model } = service.house.tools
  const { id, run } = accepted
  let promised = false
  return {
    async promise(post) {
      const { host, repository, repositoryId } = run.handoff
      const slash = repository.lastIndexOf('/')
      const note: AcceptedNote = {
        version: 1,
        answer: id,
        run: run.handoff.run,
        until: Math.ceil(visit.workBy + graceMs),
        repository: {
          host,
          owner: repository.slice(0, slash),
          name: repository.slice(slash + 1),
          ...(repositoryId === undefined ? {} : { id: repositoryId }),
        },
        caller: visit.caller,
        model: model.name,
        ...(post === undefined ? {} : { post }),
      }
      // From here on a failure puts the question back: should the note land, somebody goes on with it.
      promised = true
      await noteAccepted(drive, service.place, note, cleanupSignal())
    },
    async finish(signal, onPosition) {
      try {
        const result = await accepted.answer(signal, {
          turn: (until) => turn.come(until, onPosition),
          handBack: (error) => (promised ? waitAfter(error) : undefined),
        })
        await settle(result.reused ? costOfVisit(service, visit) : costOfRecord(result.record)).catch(() => undefined)
        return result
      } catch (error) {
        // The model was paid all the same.
        await settle(costOfVisit(service, visit)).catch(() => undefined)
        // It failed for good: nobody is to look for it again.
        if (promised && !(isHandoffError(error) && waitAfter(error) !== undefined)) {
          await promiseKept(service, id).catch(() => undefined)
        }
        throw error
      } finally {
        await release()
      }
    },
  }
}

/** Promises something whose run is not chosen yet. */
export async function promiseComment(service: Service, note: AcceptedNote, signal: AbortSignal): Promise<void> {
  await noteAccepted(service.house.tools.drive, service.place, note, signal)
}

export async function promiseKept(service: Service, id: string): Promise<void> {
  await forgetAccepted(service.house.tools.drive, service.place, id, cleanupSignal())
}

/** For what passes by itself the question is put back; undefined for what would only happen again. */
function waitAfter(error: HandoffError): number | undefined {
  switch (error.code) {
    case 'timeout':
    case 'cancelled':
      return 0
    // A refused key, or a model that nobody knows, is refused again.
    case 'model':
      return error.retryAfterSeconds === undefined ? undefined : Math.min(error.retryAfterSeconds, 60) * 1_000
    case 'sandbox-limit':
    case 'model-limit':
    case 'sandbox':
    case 'drive':
      return Math.min(error.retryAfterSeconds ?? 5, 60) * 1_000
    default:
      return undefined
  }
}

const costOfRecord = ({ usage, cost }: AskResult['record']) => ({
  tokens: usage.inputTokens + usage.outputTokens,
  cost: cost?.amount ?? 0,
})

/** Nothing for an answer that was there; for one that somebody else gave first, what ours had cost. */
function costOfVisit({ house }: Service, visit: CountedVisit): { tokens: number; cost: number } {
  const used = visit.spent()
  const cost = costOf(used, house.tools.model.name, house.prices)?.amount ?? 0
  return { tokens: used.inputTokens + used.outputTokens, cost }
}

function atMost(service: Service): { tokens: number; cost: number } {
  const { house } = service
  const cost = costOf(mostTokens, house.tools.model.name, house.prices)?.amount ?? 0
  return { tokens: mostTokens.inputTokens + mostTokens.outputTokens, cost }
}
