// What one request, or one delivery of a job, is given of the product.
import type * as Product from '../handoff/index.js'

/** How much of its time a request, or one delivery of a job, has for what. In milliseconds since 1970. */
export interface RequestTime {
  workBy: number
  /** When an answer must be posted, where it is. */
  postBy: number
  workUntil(time: number): AbortSignal
  /** For work that goes on after the reply. */
  background: (work: Promise<unknown>) => void
}

/** A sandbox ends by itself so long after the work had to be over. */
const graceMs = 5_000

/** The context as one request sees it: events go to the request, and nothing outlives its time. */
export function contextForRequest(
  context: Product.AppContext,
  request: Pick<RequestTime, 'workBy' | 'background'> & {
    emit: (event: Product.RunEvent) => void
    /** Passed on to the model's service. */
    trace?: string
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
    limits: { ...limits, deadlineMs: Math.min(limits.deadlineMs, leftMs), sandboxBy: workBy + graceMs },
  }
}
