// Questions under limits: what the ask service does around the second story. Whoever asks gets a stored answer at once, joins who asked the
// same a moment ago, or has a turn and a budget reserved before the claim is written (under-limits.ts).
//
// All limits stand in the directory, so they hold over as many instances as there are. What only work needs is loaded when there is work.

import type { AppContext } from '../../context.js'
import type { CompletedAnswer, FailedAnswer } from '../../domain/answer.js'
import type { Clock } from '../../domain/clock.js'
import { type ErrorCode, HandoffError } from '../../domain/errors.js'
import type { PricedUsage } from '../../domain/model-prices.js'
import type { ModelRequest } from '../../domain/ports.js'
import type { RunEvent } from '../../domain/run-events.js'
import { readAnswer } from '../../store/answer-store.js'
import type { BudgetLimits, Budgets } from '../../store/caller-budgets.js'
import type { TurnLimits, Turns } from '../../store/sandbox-slots.js'
import { type ServicePlace, servicePlace } from '../../store/service-paths.js'
import type { AnswerStaleness } from '../pull-request/check-answer.js'
import type { OwnWork } from './admission.js'
import { type AskRequest, prepareQuestion, staleAt } from './find-answer.js'
import type { ChosenRun } from './resolve-run.js'

export interface ServiceLimits extends TurnLimits, BudgetLimits {}

export interface Service {
  context: AppContext
  place: ServicePlace
  limits: ServiceLimits
  clock: Clock
  /** The same for all who ask here, and loaded when the first question has to be worked on. */
  shared(): Promise<Shared>
}

export interface Shared {
  turns: Turns
  budgets: Budgets
}

/** One request's view: when its time is over, and who is told what happens. */
export interface Visit {
  caller: string
  /** When work must have ended, in milliseconds since 1970; then there is still time to clean up. */
  workBy: number
  emit: (event: RunEvent) => void
  labels: Record<string, string>
  /** Passed on to the model's service. */
  trace?: string
  /** For what whoever waits need not wait for, and what has to end all the same; without it they wait. */
  background?: (work: Promise<unknown>) => void
}

export type Taken =
  /** It is in the ledger. */
  | (Found & { kind: 'done'; record: CompletedAnswer })
  /** Somebody else is answering it now. */
  | (Found & { kind: 'joined' })
  | (Found & { kind: 'ours'; acceptedAt: string; work: OwnWork })

export interface Found {
  id: string
  run: ChosenRun
  /** The earlier run of a comparison. */
  base?: ChosenRun
}

/** A sandbox dies by itself so long after the work had to be over. */
export const graceMs = 5_000

export function makeService(context: AppContext, limits: ServiceLimits, clock: Clock): Service {
  const place = servicePlace(context.root)
  let sharing: Promise<Shared> | undefined
  const share = async () => (await import('./admission.js')).share(context, place, limits, clock)
  return { context, place, limits, clock, shared: () => (sharing ??= share()) }
}

/** The house as one request sees it: events go to the request, its trace goes on, and nothing outlives its time. */
export function houseFor(service: Service, visit: Visit): AppContext {
  const { context, clock } = service
  const leftMs = Math.max(1_000, visit.workBy - clock.now())
  const deadlineMs = Math.min(context.limits.deadlineMs, leftMs)
  const { model } = context.ports
  const { trace } = visit
  const traced =
    trace === undefined ? model : { ...model, complete: (call: ModelRequest) => model.complete({ ...call, trace }) }
  return {
    ...context,
    ...(visit.background ? { background: visit.background } : {}),
    ports: { ...context.ports, emit: visit.emit, model: traced },
    limits: { ...context.limits, deadlineMs, sandboxBy: visit.workBy + graceMs },
  }
}

/** What a visit has cost so far, also where nothing came of it. */
export interface CountedVisit extends Visit {
  /** By its models. */
  spent(): PricedUsage
  /** Machines that were opened and whose end nobody has seen. */
  living(): number
}

export function counted(visit: Visit): CountedVisit {
  const sum = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }
  let living = 0
  return {
    ...visit,
    emit(event) {
      if (event.type === 'model-call') {
        sum.inputTokens += event.inputTokens
        sum.outputTokens += event.outputTokens
        sum.cachedInputTokens += event.cachedInputTokens ?? 0
        sum.cacheWriteTokens += event.cacheWriteTokens ?? 0
      }
      if (event.type === 'sandbox-open') living += 1
      if (event.type === 'sandbox-gone') living -= 1
      visit.emit(event)
    },
    spent: () => sum,
    living: () => living,
  }
}

export async function takeQuestion(
  service: Service,
  request: AskRequest,
  visitor: Visit,
  signal: AbortSignal,
): Promise<Taken> {
  const visit = counted(visitor)
  const context = houseFor(service, visit)
  const prepared = await prepareQuestion({ ...request, labels: visit.labels }, context, signal)
  const { id, run, base, known } = prepared
  const found: Found = { id, run, ...(base ? { base } : {}) }
  if (known?.status === 'done') {
    visit.emit({ type: 'answer-reused', id })
    return { ...found, kind: 'done', record: known }
  }
  if (known?.status === 'running' && Date.parse(known.leaseUntil) > service.clock.now())
    return { ...found, kind: 'joined' }
  const { underLimits, sandboxesFor } = await import('./admission.js')
  const wanted = { found, sandboxes: sandboxesFor(request), known }
  const taking = underLimits(service, wanted, visit, (manner) => prepared.accept(signal, manner))
  // What a machine is asked for with takes a while to load, and nothing else happens then: so it waits until the drive is being asked for the limits.
  const warming = service.clock.sleep(1, signal).then(() => context.ports.sandboxes.warm?.())
  warming.catch(() => undefined)
  return taking
}

/** Whether an answer is still true where the ref's head has moved on; undefined when it has not, or when nobody can tell. */
export async function staleNow(
  service: Service,
  request: Pick<AskRequest, 'repository' | 'github'>,
  run: ChosenRun,
  record: CompletedAnswer,
  signal: AbortSignal,
): Promise<AnswerStaleness | undefined> {
  const head = run.behind?.head
  return head === undefined ? undefined : staleAt(record, head, request, service.context, signal)
}

/** Looks until somebody else's answer is there, or `signal` is aborted. Undefined: nobody is at it any more, and it may be asked again. */
export async function followAnswer(
  service: Service,
  directory: string,
  id: string,
  signal: AbortSignal,
): Promise<CompletedAnswer | undefined> {
  for (let wait = 150; ; wait = Math.min(wait * 1.5, 1_000)) {
    const record = await readAnswer(service.context.ports.drive, directory, id, signal)
    if (record?.status === 'done') return record
    if (record?.status === 'failed' && wasGivenUp(record)) return undefined
    if (record?.status === 'failed') throw failureOf(record)
    if (record === undefined || Date.parse(record.leaseUntil) <= service.clock.now()) return undefined
    await service.clock.sleep(wait, signal)
  }
}

/** Not for its own sake: by somebody who left or ran out of time, and did not know that others wait. */
export const wasGivenUp = ({ error }: FailedAnswer) => error.code === 'cancelled' || error.code === 'timeout'

function failureOf({ error }: FailedAnswer): HandoffError {
  const { code, message, next } = error
  return new HandoffError(code as ErrorCode, message, next === undefined ? {} : { next })
}
