// A question and the runs that may answer it, in the order in which they are tried. Both answer sources use it.
import {
  type CompletedAnswer,
  type Depth,
  HandoffError,
  isHandoffError,
  type RunPlace,
  type ShownCorrection,
  systemClock,
} from '../handoff/index.js'
import type { Job } from './job-context.js'

export interface Inquiry {
  text: string
  thread?: string
  fresh?: boolean
  depth?: Depth | undefined
  asker: string
  /** Runs that may answer, best first, each with the note to show when it is used. */
  places: RunPlace[]
}

export interface Reply {
  record: CompletedAnswer
  reused: boolean
  notes: string[]
  corrections?: readonly ShownCorrection[]
}

export type OnProgress = (text: string) => void

export interface AnswerSource {
  ask(inquiry: Inquiry, onProgress: OnProgress): Promise<Reply>
}

const betweenLooksMs = 3_000

type Ask<T> = (place: RunPlace) => Promise<T>

/**
 * Returns a function that tries the runs in order. While the first run is being made, it waits up to the time that the workflow allows. That time
 * starts now, and a retry does not restart it.
 */
export function tryInOrder(job: Pick<Job, 'options' | 'signal'>) {
  const until = Date.now() + job.options.waitSeconds * 1_000

  async function waitFor<T>(place: RunPlace, onProgress: OnProgress, ask: Ask<T>): Promise<T> {
    for (;;) {
      try {
        return await ask(place)
      } catch (error) {
        if (!isBeingMade(error) || Date.now() >= until) throw error
      }
      onProgress('Waiting for the summary of the head commit…')
      await systemClock.sleep(Math.min(betweenLooksMs, Math.max(100, until - Date.now())), job.signal)
    }
  }

  return async <T>(inquiry: Inquiry, onProgress: OnProgress, ask: Ask<T>): Promise<T> => {
    let absent: unknown
    for (const [index, place] of inquiry.places.entries()) {
      try {
        return await (index === 0 ? waitFor(place, onProgress, ask) : ask(place))
      } catch (error) {
        if (!isHandoffError(error, 'not-found') && !isHandoffError(error, 'not-sealed')) throw error
        absent = error
      }
    }
    throw inquiry.places.length > 1 ? noRun(absent) : absent
  }
}

/** A run in progress sets a retry time. A run that never started, or that failed, sets none. */
const isBeingMade = (error: unknown) => isHandoffError(error, 'not-sealed') && error.retryAfterSeconds !== undefined

function noRun(cause: unknown): HandoffError {
  return new HandoffError('not-found', 'Neither the head commit nor the base branch has a summary yet.', {
    next: 'Run the workflow that summarises the base branch, then ask again.',
    cause,
  })
}
