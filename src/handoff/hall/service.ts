// Questions under limits: what the ask service does around the second story. Whoever asks gets a stored answer at once, joins who asked the
// same a moment ago, or has a turn and a budget reserved before the claim is written. Whatever happens then, turn and budget are given back.
//
// All limits stand in the directory, so they hold over as many instances as there are.
import { type AcceptedNote, forgetAccepted, noteAccepted } from '../bench/accepted.js'
import { type BudgetLimits, type Budgets, makeBudgets } from '../bench/budgets.js'
import { readAnswer } from '../bench/ledger.js'
import { type ServicePlace, servicePlace } from '../bench/service-place.js'
import { makeTurns, type Turn, type TurnLimits, type Turns } from '../bench/turns.js'
import { cleanupSignal } from '../bench/walk.js'
import type { CompletedAnswer, FailedAnswer } from '../library/answer.js'
import type { Clock } from '../library/clock.js'
import { type ErrorCode, HandoffError, isHandoffError } from '../library/errors.js'
import type { RunEvent } from '../library/events.js'
import { costOf } from '../library/prices.js'
import type { Repository } from '../library/run.js'
import { type AcceptedQuestion, type AskRequest, type AskResult, prepareQuestion } from './ask.js'
import type { House } from './house.js'
import { resumeQuestion } from './resume.js'
import type { ChosenRun } from './which-run.js'

export interface ServiceLimits extends TurnLimits, BudgetLimits {}

export interface Service {
  house: House
  place: ServicePlace
  turns: Turns
  budgets: Budgets
  clock: Clock
}

/** One request's view: when its time is over, and who is told what happens. */
export interface Visit {
  caller: string
  /** When work must have ended, in milliseconds since 1970; then there is still time to clean up. */
  workBy: number
  emit: (event: RunEvent) => void
  labels: Record<string, string>
}

export type Taken =
  /** It is in the ledger. */
  | { kind: 'done'; id: string; run: ChosenRun; record: CompletedAnswer }
  /** Somebody else is answering it now. */
  | { kind: 'joined'; id: string; run: ChosenRun }
  | { kind: 'ours'; id: string; run: ChosenRun; acceptedAt: string; work: OwnWork }

export interface OwnWork {
  /** From now on the question is never dropped: when our time is over it is left to whoever looks next. To be called before a promise is made. */
  promise(post?: AcceptedNote['post']): Promise<void>
  /** Waits for the turn, answers, and gives everything back, on every path. */
  finish(signal: AbortSignal, onPosition?: (position: number) => void): Promise<AskResult>
}

/** What a question may cost at most: three rounds of excerpts, the summary, a conversation, and the replies. */
const mostTokens = { inputTokens: 90_000, outputTokens: 6_200 }
/** A sandbox dies by itself so long after the work had to be over. */
const graceMs = 5_000
const leaseMarginMs = 5_000

export function makeService(house: House, limits: ServiceLimits, clock: Clock): Service {
  const place = servicePlace(house.root)
  const { drive } = house.tools
  if (limits.costPerDay !== undefined && costOf(mostTokens, house.tools.model.name, house.prices) === undefined) {
    throw new HandoffError(
      'missing-setting',
      'Callers have a budget in money, and the price of the model is not known.',
      {
        next: 'Set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT, or give them a budget in tokens alone.',
      },
    )
  }
  return {
    house,
    place,
    turns: makeTurns(drive, place.turns, limits, clock),
    budgets: makeBudgets(drive, place, limits, clock),
    clock,
  }
}

/** The house as one request sees it: events go to the request, and nothing outlives its time. */
export function houseFor(service: Service, visit: Visit): House {
  const { house, clock } = service
  const leftMs = Math.max(1_000, visit.workBy - clock.now())
  const deadlineMs = Math.min(house.limits.deadlineMs, leftMs)
  return {
    ...house,
    tools: { ...house.tools, emit: visit.emit },
    limits: { ...house.limits, deadlineMs, sandboxMs: deadlineMs + graceMs },
  }
}

export async function takeQuestion(
  service: Service,
  request: AskRequest,
  visit: Visit,
  signal: AbortSignal,
): Promise<Taken> {
  const house = houseFor(service, visit)
  const leaseMs = house.limits.deadlineMs + leaseMarginMs
  const prepared = await prepareQuestion({ ...request, leaseMs, labels: visit.labels }, house, signal)
  const { id, run, known } = prepared
  if (known?.status === 'done') {
    visit.emit({ type: 'answer-reused', id })
    return { kind: 'done', id, run, record: known }
  }
  if (known?.status === 'running' && Date.parse(known.leaseUntil) > service.clock.now())
    return { kind: 'joined', id, run }
  const taken = await underLimits(service, id, visit, () => prepared.accept(signal))
  return taken ?? { kind: 'joined', id, run }
}

/** The same for a question that was left behind; undefined when there is nothing to do. */
export async function takeLeft(
  service: Service,
  left: { repository: Repository; run: string; id: string },
  visit: Visit,
  signal: AbortSignal,
): Promise<Taken | undefined> {
  const house = houseFor(service, visit)
  const leaseMs = house.limits.deadlineMs + leaseMarginMs
  const resume = () => resumeQuestion({ ...left, leaseMs, labels: visit.labels }, house, signal)
  return underLimits(service, left.id, visit, resume)
}

/** Turn, budget, claim: in this order, because what was not claimed can be refused without a trace. */
async function underLimits(
  service: Service,
  id: string,
  visit: Visit,
  accept: () => Promise<AcceptedQuestion | undefined>,
): Promise<Taken | undefined> {
  const { turns, budgets } = service
  const until = Math.ceil(visit.workBy + graceMs)
  const releases: (() => Promise<void>)[] = []
  const release = async () => {
    await Promise.all(releases.map((one) => one().catch(() => undefined)))
  }
  try {
    const turn = await turns.enter({ holder: id, caller: visit.caller, until })
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
  visit: Visit,
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
      await noteAccepted(drive, service.place, note, cleanupSignal())
      promised = true
    },
    async finish(signal, onPosition) {
      try {
        const result = await accepted.answer(signal, {
          turn: (until) => turn.come(until, onPosition),
          handBack: (error) => (promised ? waitAfter(error) : undefined),
        })
        const { inputTokens, outputTokens } = result.record.usage
        if (!result.reused)
          await settle({ tokens: inputTokens + outputTokens, cost: result.record.cost?.amount ?? 0 }).catch(
            () => undefined,
          )
        return result
      } catch (error) {
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
    case 'sandbox-limit':
    case 'model-limit':
    case 'sandbox':
    case 'drive':
    case 'model':
      return Math.min(error.retryAfterSeconds ?? 5, 60) * 1_000
    default:
      return undefined
  }
}

function atMost(service: Service): { tokens: number; cost: number } {
  const { house } = service
  const cost = costOf(mostTokens, house.tools.model.name, house.prices)?.amount ?? 0
  return { tokens: mostTokens.inputTokens + mostTokens.outputTokens, cost }
}

/** Looks until somebody else's answer is there, or `signal` is aborted. Undefined: nobody is at it any more, and it may be asked again. */
export async function followAnswer(
  service: Service,
  directory: string,
  id: string,
  signal: AbortSignal,
): Promise<CompletedAnswer | undefined> {
  for (let wait = 150; ; wait = Math.min(wait * 1.5, 1_000)) {
    const record = await readAnswer(service.house.tools.drive, directory, id, signal)
    if (record?.status === 'done') return record
    if (record?.status === 'failed' && ['cancelled', 'timeout'].includes(record.error.code)) return undefined
    if (record?.status === 'failed') throw failureOf(record)
    if (record === undefined || Date.parse(record.leaseUntil) <= service.clock.now()) return undefined
    await service.clock.sleep(wait, signal)
  }
}

function failureOf({ error }: FailedAnswer): HandoffError {
  const { code, message, next } = error
  return new HandoffError(code as ErrorCode, message, next === undefined ? {} : { next })
}
