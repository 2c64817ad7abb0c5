// A claimed question while this process works on it: the claim's lease is renewed until the question ends.
//
// A lease is short, so a process that dies delays the next one by a minute at most. A holder that cannot renew its lease continues, and completes
// the record only if the claim is still its own.
import type { AppContext } from '../../context.js'
import type { ClaimedAnswer, CompletedAnswer, FailedAnswer, Written } from '../../domain/answer.js'
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import { completeAnswer, giveUpAnswer, type Held, renewLease } from '../../store/answer-store.js'
import type { RecordPlace } from '../../store/run-store.js'
import { cleanupSignal } from '../../util/abort.js'
import type { FoundQuestion } from './find-answer.js'

export const leaseMs = 60_000
/** Two renewals may fail before the lease expires. */
const renewalMs = 20_000

export interface Lease extends AsyncDisposable {
  readonly record: ClaimedAnswer
  /** What the model has written under this claim. The next write of the claim has it. */
  written: Written | undefined
  /** Writes the claim now, so that other processes see what is written. A failure of the drive is left to the next write. */
  show(): void
  /** Ends the question. Returns the record that stands: another process's answer where that was quicker. */
  complete(record: CompletedAnswer | FailedAnswer): Promise<CompletedAnswer | FailedAnswer>
  /** Ends the work without an answer; where a job waits for the question and may go on, it does. */
  giveUp(failed: FailedAnswer, jobGoesOn: boolean): Promise<void>
}

/** The record that claims a question, before any work. */
export function newClaim(
  { question, id, run, base }: FoundQuestion,
  context: AppContext,
  leaseMs: number,
): ClaimedAnswer {
  const { clock, model, uniqueId } = context.ports
  const now = clock.now()
  return {
    version: 1,
    id,
    run: run.handoff.run,
    commit: run.handoff.commit,
    question: context.redact(question.text),
    thread: question.thread,
    asker: question.asker,
    ...(base ? { compareWith: { run: base.handoff.run, commit: base.handoff.commit } } : {}),
    model: model.name,
    ...(question.depth === 'normal' ? {} : { depth: question.depth }),
    acceptedAt: new Date(now).toISOString(),
    status: 'running',
    leaseUntil: new Date(now + leaseMs).toISOString(),
    claim: uniqueId(),
    ...(question.fresh ? { fresh: true } : {}),
  }
}

/** The leases of this process, by the place of their record. */
const leases = new Map<string, (reason: unknown) => void>()

const keyOf = ({ directory, id }: RecordPlace) => `${directory}/${id}`

/** Ends the work at once, where this process holds the question. Another process hears of it when it renews its lease. */
export function endLease(place: RecordPlace, reason: unknown): void {
  leases.get(keyOf(place))?.(reason)
}

/** `lost` is aborted when another process has taken the question over. */
export function holdLease(context: AppContext, place: RecordPlace, claimed: Held, lost: AbortController): Lease {
  const { clock } = context.ports
  const stop = new AbortController()
  const abort = (reason: unknown) => lost.abort(reason)
  leases.set(keyOf(place), abort)
  let held = claimed
  /** One write at a time. */
  let writing: Promise<unknown> = Promise.resolve()

  function write(): Promise<Held | undefined | 'outage'> {
    const turn = writing.then(async () => {
      const leaseUntil = new Date(clock.now() + leaseMs).toISOString()
      const news = { leaseUntil, ...(lease.written ? { written: lease.written } : {}) }
      const renewed = await renewLease(place, held, news, cleanupSignal()).catch(ignoreOutage)
      if (renewed !== undefined && renewed !== 'outage') held = renewed
      return renewed
    })
    // Who asked for the write gets its failure.
    writing = turn.catch(() => undefined)
    return turn
  }

  async function renew(): Promise<void> {
    while (!stop.signal.aborted) {
      await clock.sleep(renewalMs, stop.signal)
      if (!(await write())) return lost.abort(takenOver())
    }
  }

  const renewing = renew().catch((error: unknown) => {
    // The sleep is aborted when the question ends. Anything else is a defect, and the work must hear of it.
    if (!stop.signal.aborted) lost.abort(error)
  })

  /** Nothing is written while a renewal is under way. */
  async function endRenewals(): Promise<void> {
    if (leases.get(keyOf(place)) === abort) leases.delete(keyOf(place))
    stop.abort()
    await renewing
    await writing
  }

  const lease: Lease = {
    record: claimed.record,
    written: undefined,
    show() {
      // The next renewal, or the end, sees what went wrong here.
      if (!stop.signal.aborted) write().catch(() => undefined)
    },
    async complete(record) {
      await endRenewals()
      return completeAnswer(place, held, record, cleanupSignal())
    },
    async giveUp(failed, jobGoesOn) {
      await endRenewals()
      await giveUpAnswer(place, held, failed, { jobGoesOn, now: clock.now() }, cleanupSignal())
    },
    [Symbol.asyncDispose]: endRenewals,
  }
  return lease
}

/** An outage of the drive costs nothing yet: the next renewal comes before the lease expires. */
function ignoreOutage(error: unknown): 'outage' {
  if (isHandoffError(error)) return 'outage'
  throw error
}

const takenOver = () =>
  new HandoffError('in-progress', 'Another process took the question over.', {
    next: 'Ask again; the answer is on its way.',
    retryAfterSeconds: 5,
  })
