// One question under the limits of the service: turn, budget, claim. Whatever happens then, turn and budget are given back.

import type { AppContext } from '../../context.js'
import type { AnswerRecord, FailedAnswer } from '../../domain/answer.js'
import { mostOfQuestion, type QuestionModel } from '../../domain/answers/question-cost.js'
import type { Clock } from '../../domain/clock.js'
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import { costOf, type Prices } from '../../domain/model-prices.js'
import type { Repository } from '../../domain/run.js'
import { type BudgetLimits, makeBudgets } from '../../store/caller-budgets.js'
import {
  type AcceptedNote,
  forgetAbout,
  forgetAccepted,
  isAccepted,
  noteAccepted,
  type PromiseName,
} from '../../store/pending-answers.js'
import { makeTurns, type Turn } from '../../store/sandbox-slots.js'
import type { ServicePlace } from '../../store/service-paths.js'
import { cleanupSignal } from '../../util/step-timer.js'
import {
  type CountedVisit,
  counted,
  type Found,
  graceMs,
  houseFor,
  type Service,
  type ServiceLimits,
  type Shared,
  type Taken,
  type Visit,
  wasGivenUp,
} from './ask-service.js'
import { type AcceptedQuestion, type AskResult, longestMs, type Manner } from './find-answer.js'
import { findQuestion } from './resume-question.js'

export interface OwnWork {
  /** From now on the question is never dropped: when our time is over it is left to whoever looks next. To be called before a promise is made. */
  promise(post?: AcceptedNote['post']): Promise<void>
  /** Waits for the turn, answers, and gives everything back, on every path. */
  finish(signal: AbortSignal, onPosition?: (position: number) => void): Promise<AskResult>
}

/** A machine's lifetime is told in seconds, and counted from when the service hears of it. */
const turnMarginMs = 2_000

export function share(context: AppContext, place: ServicePlace, limits: ServiceLimits, clock: Clock): Shared {
  const { drive, model } = context.ports
  const trouble = troubleWith(limits, model, context.prices)
  if (trouble) throw trouble
  return { turns: makeTurns(drive, place.turns, limits, clock), budgets: makeBudgets(drive, place, limits, clock) }
}

/** A budget that no question fits into, or that nobody can reckon with, would refuse everybody every day. */
export function troubleWith(limits: BudgetLimits, model: QuestionModel, prices?: Prices): HandoffError | undefined {
  const refuse = (message: string, next: string) => new HandoffError('missing-setting', message, { next })
  const most = mostOfQuestion(model)
  const tokens = most.inputTokens + most.outputTokens
  if ((limits.tokensPerDay ?? tokens) < tokens) {
    const enough = `Set it to ${tokens.toLocaleString('en-US')} or more, or to nothing.`
    return refuse('HANDOFF_CALLER_TOKENS is less than one question may take.', enough)
  }
  if (limits.costPerDay === undefined) return undefined
  const cost = costOf(most, model.name, prices)?.amount
  if (cost === undefined) {
    return refuse(
      'Callers have a budget in money (HANDOFF_CALLER_COST), and the price of the model is not known.',
      'Set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT, or give them a budget in tokens alone.',
    )
  }
  if (cost <= limits.costPerDay) return undefined
  const enough = `Set it to ${cost.toFixed(2)} or more, or to nothing.`
  return refuse('HANDOFF_CALLER_COST is less than one question may cost.', enough)
}

/** A question that was left behind is taken up, or what became of it is told; undefined when it failed, or was never asked. */
export async function takeLeft(
  service: Service,
  left: { repository: Repository; run: string; id: string },
  visitor: Visit,
  signal: AbortSignal,
): Promise<Taken | undefined> {
  const visit = counted(visitor)
  const context = houseFor(service, visit)
  const { id } = left
  const { run, record, resume } = await findQuestion({ ...left, labels: visit.labels }, context, signal)
  const found = { id, run }
  if (record?.status === 'done') return { ...found, kind: 'done', record }
  if (record === undefined || (record.status === 'failed' && !isWorthATry(record, service.clock.now())))
    return undefined
  if (record.status === 'running' && Date.parse(record.leaseUntil) > service.clock.now())
    return { ...found, kind: 'joined' }
  const wanted = { found, sandboxes: sandboxesFor(record), since: Date.parse(record.acceptedAt), known: record }
  return underLimits(service, wanted, visit, (manner) => resume(record, manner))
}

const isWorthATry = (record: FailedAnswer, now: number) =>
  wasGivenUp(record) && now - Date.parse(record.acceptedAt) <= longestMs

/** A comparison has a machine for each of its commits, both at once. */
export const sandboxesFor = ({ compareWith }: { compareWith?: unknown }) => (compareWith === undefined ? 1 : 2)

interface WantedTurn {
  found: Found
  sandboxes: number
  /** When the question was accepted, where that was before. */
  since?: number
  /** Its record, when an earlier process failed or lost it. */
  known?: AnswerRecord | undefined
}

/** Turn, budget, claim: in this order, because what was not claimed can be refused without a trace. */
export async function underLimits(
  service: Service,
  { found, sandboxes, since, known }: WantedTurn,
  visit: CountedVisit,
  accept: (manner: Manner) => Promise<AcceptedQuestion | undefined>,
): Promise<Taken> {
  const { turns, budgets } = await service.shared()
  const { id } = found
  const { caller } = visit
  // As long as a machine of ours may live, whatever becomes of us.
  const until = Math.ceil(visit.workBy + graceMs + turnMarginMs)
  const releases: (() => Promise<void>)[] = []
  const release = async () => {
    await Promise.all(releases.map((one) => one().catch(() => undefined)))
  }
  try {
    const turn = await turns.enter({
      holder: id,
      caller,
      until,
      sandboxes,
      ...(since === undefined ? {} : { since }),
      ...(known?.status === 'running' ? { lostAt: Date.parse(known.leaseUntil) } : {}),
    })
    // A machine that nobody could end still takes its place.
    releases.push(async () => {
      if (visit.living() === 0) await turn.leave()
    })
    const settle = await budgets.reserve(caller, id, atMost(service), until)
    releases.push(() => settle())
    const hold: Hold = { promised: false, ended: false, onPosition: () => {} }
    const accepted = await accept(mannerOf(service, id, turn, hold))
    if (accepted && !accepted.done) {
      const work = ownWork({ service, visit, accepted, hold, settle, release })
      return { ...found, run: accepted.run, kind: 'ours', acceptedAt: accepted.acceptedAt, work }
    }
    await release()
    return accepted?.done
      ? { ...found, run: accepted.run, kind: 'done', record: accepted.done }
      : { ...found, kind: 'joined' }
  } catch (error) {
    await release()
    if (isHandoffError(error, 'in-progress')) return { ...found, kind: 'joined' }
    throw error
  }
}

/** What becomes of a question while it is ours. */
interface Hold {
  /** We promised somebody an answer. */
  promised: boolean
  /** It failed for good. */
  ended: boolean
  onPosition: (position: number) => void
}

function mannerOf(service: Service, id: string, turn: Turn, hold: Hold): Manner {
  return {
    turn: (signal) => turn.come(signal, (position) => hold.onPosition(position)),
    handBack: async (error) => {
      const wait = waitAfter(error)
      if (wait === undefined || hold.promised) return wait
      return (await somebodyWaits(service, id)) ? wait : undefined
    },
    onGivenUp: () => {
      hold.ended = true
    },
  }
}

/** Another may have promised it: who was here before us, or who joined us. When nobody can tell, it is not given up for them. */
function somebodyWaits(service: Service, id: string): Promise<boolean> {
  return isAccepted(service.context.ports.drive, service.place, id, AbortSignal.timeout(5_000)).catch(() => true)
}

interface Owned {
  service: Service
  visit: CountedVisit
  accepted: AcceptedQuestion
  hold: Hold
  settle: (spent?: { tokens: number; cost: number }) => Promise<void>
  release: () => Promise<void>
}

function ownWork({ service, visit, accepted, hold, settle, release }: Owned): OwnWork {
  const { id, run } = accepted
  let promising: Promise<void> | undefined
  /** Side by side: whoever waits for the answer waits for this. */
  const giveBack = async (spent: { tokens: number; cost: number }) => {
    // The first time says what was spent; what is given back with everything else changes nothing of that.
    const settled = settle(spent).catch(() => undefined)
    await Promise.all([settled, release()])
  }
  /** Nobody is to look for it again, whoever was promised it. */
  const takeBack = async () => {
    await promising?.catch(() => undefined)
    await forgetAbout(service.context.ports.drive, service.place, id, cleanupSignal()).catch(() => undefined)
  }
  return {
    async promise(post) {
      // From here on a failure puts the question back: should the note land, somebody goes on with it.
      hold.promised = true
      promising = promiseAnswer(service, visit, { id, run }, post)
      await promising
    },
    async finish(signal, onPosition = () => {}) {
      hold.onPosition = onPosition
      try {
        const result = await accepted.answer(signal)
        await giveBack(result.reused ? costOfVisit(service, visit) : costOfRecord(result.record))
        return result
      } catch (error) {
        // The model was paid all the same.
        await giveBack(costOfVisit(service, visit))
        // Who left, or ran out of time, and promised nothing has found no promise. One that was made since is kept by who made it.
        const left = isHandoffError(error, 'cancelled') || isHandoffError(error, 'timeout')
        if (hold.ended && (hold.promised || !left)) await takeBack()
        throw error
      }
    },
  }
}

/** Whoever comes goes on with the question until it is answered, and posts the answer where that was promised. */
export async function promiseAnswer(
  service: Service,
  visit: Visit,
  { id, run }: Found,
  post?: AcceptedNote['post'],
): Promise<void> {
  const { drive, model } = service.context.ports
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
}

/** Promises something whose run is not chosen yet. */
export async function promiseComment(service: Service, note: AcceptedNote, signal: AbortSignal): Promise<void> {
  await noteAccepted(service.context.ports.drive, service.place, note, signal)
}

export async function promiseKept(service: Service, promise: PromiseName): Promise<void> {
  await forgetAccepted(service.context.ports.drive, service.place, promise, cleanupSignal())
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
function costOfVisit({ context }: Service, visit: CountedVisit): { tokens: number; cost: number } {
  const used = visit.spent()
  const cost = costOf(used, context.ports.model.name, context.prices)?.amount ?? 0
  return { tokens: used.inputTokens + used.outputTokens, cost }
}

/** What the model has taught since may be more than a caller has in a day: who has spent nothing may still ask. */
function atMost({ context, limits }: Service): { tokens: number; cost: number } {
  const { model } = context.ports
  const most = mostOfQuestion(model)
  const cost = costOf(most, model.name, context.prices)?.amount ?? 0
  return {
    tokens: Math.min(most.inputTokens + most.outputTokens, limits.tokensPerDay ?? Number.POSITIVE_INFINITY),
    cost: Math.min(cost, limits.costPerDay ?? Number.POSITIVE_INFINITY),
  }
}
