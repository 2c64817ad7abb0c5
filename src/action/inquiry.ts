// A question with the places where its answer may come from, and the order in which they are tried: the same whether the job answers itself or
// asks a deployed service.
import { type CompletedAnswer, HandoffError, isHandoffError, type RunPlace, systemClock } from '../handoff/index.js'
import type { Job } from './job-context.js'

export interface Inquiry {
  text: string
  thread?: string
  fresh?: boolean
  asker: string
  /** Where the answer may come from, best first, each with what is to be said when it is the one. */
  places: RunPlace[]
}

export interface Reply {
  record: CompletedAnswer
  reused: boolean
  notes: string[]
}

export type OnProgress = (text: string) => void

export interface AnswerSource {
  ask(inquiry: Inquiry, onProgress: OnProgress): Promise<Reply>
}

const betweenLooksMs = 3_000

/**
 * Returns a function that tries the places in their order. The run of the first one is waited for while it is being made, for as long as the
 * workflow says; that time begins now and is not begun again by another try.
 */
export function tryInOrder(job: Pick<Job, 'options' | 'signal'>) {
  const until = Date.now() + job.options.waitSeconds * 1_000
  return async <T>(inquiry: Inquiry, onProgress: OnProgress, attempt: (place: RunPlace) => Promise<T>): Promise<T> => {
    let absent: unknown
    for (const [index, place] of inquiry.places.entries()) {
      for (;;) {
        try {
          return await attempt(place)
        } catch (error) {
          if (!isHandoffError(error, 'not-found') && !isHandoffError(error, 'not-sealed')) throw error
          absent = error
          if (index > 0 || !isBeingMade(error) || Date.now() >= until) break
        }
        onProgress('Waiting for the summary of the head commit…')
        await systemClock.sleep(Math.min(betweenLooksMs, Math.max(100, until - Date.now())), job.signal)
      }
    }
    throw inquiry.places.length > 1 ? noRun(absent) : absent
  }
}

/** A run that has begun says when to look again; one that never began, or that failed, does not. */
const isBeingMade = (error: unknown) => isHandoffError(error, 'not-sealed') && error.retryAfterSeconds !== undefined

function noRun(cause: unknown): HandoffError {
  return new HandoffError('not-found', 'Neither the head commit nor the base branch has a summary yet.', {
    next: 'Run the workflow that summarises the base branch, then ask again.',
    cause,
  })
}
