// Creates the context for one request, or for one delivery of a job.
import type * as Product from '../handoff/index.js'
import { beforePosting, divideTime, type TimeLimit } from './http/request-deadline.js'

/** The deadlines of a request, or of one delivery of a job, in milliseconds since 1970. */
export interface RequestTime {
  workBy: number
  /** The deadline for posting an answer. */
  postBy: number
  workUntil(time: number): AbortSignal
  /** For work that goes on after the reply. */
  background: (work: Promise<unknown>) => void
}

/** Of one delivery of a job. Posting has its own reserve. */
export function deliveryTime(
  { deadline, workUntil }: Pick<TimeLimit, 'deadline' | 'workUntil'>,
  background: RequestTime['background'],
): RequestTime {
  const now = Date.now()
  const { workBy } = divideTime(deadline, now)
  return { workBy: beforePosting(workBy, now), postBy: workBy, workUntil, background }
}

/** The sandbox's own timeout exceeds the deadline of the work by this. */
const graceMs = 5_000

/** After so long the caller is asked to come back, or the job is delivered again. */
const longestAccountWaitMs = 20_000

/** Sends events to the request, and bounds all work by its deadlines. */
export function contextForRequest(
  context: Product.AppContext,
  request: Pick<RequestTime, 'workBy' | 'background'> & {
    emit: (event: Product.RunEvent) => void
    /** Sent on to the model service. */
    trace?: string | undefined
  },
): Product.AppContext {
  const { ports, limits } = context
  const { emit, trace, workBy, background } = request
  const { model, clock } = ports
  const traced: Product.Model =
    trace === undefined ? model : { ...model, complete: (call) => model.complete({ ...call, trace }) }
  const leftMs = Math.max(1_000, workBy - clock.now())
  return {
    ...context,
    background,
    ports: { ...ports, emit, model: traced },
    limits: {
      ...limits,
      deadlineMs: Math.min(limits.deadlineMs, leftMs),
      sandboxBy: workBy + graceMs,
      accountWaitMs: Math.min(longestAccountWaitMs, leftMs / 2),
    },
  }
}
