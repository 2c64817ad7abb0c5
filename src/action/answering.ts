// Two ways to an answer: by ourselves, with the keys this job has, or through a deployed service that has them. Both take the same question
// and give the same record, so that nobody else need know which it was.
import {
  type AskRequest,
  acceptQuestion,
  type CompletedAnswer,
  HandoffError,
  type House,
  isHandoffError,
  progressOf,
  type RunName,
  type RunPlace,
  systemClock,
} from '../handoff/index.js'
import { endpointAnswers } from './endpoint.js'
import { cloneUrlOf, type Job, openHouse, repositoryOf } from './job.js'

export interface Inquiry {
  text: string
  thread?: string
  fresh?: boolean
  asker: string
  /** Where the answer may come from, best first, each with what is to be said when it is the one. */
  places: Place[]
}

export type Place = RunPlace

export interface Reply {
  record: CompletedAnswer
  reused: boolean
  notes: string[]
}

export interface Answers {
  signal: AbortSignal
  ask(inquiry: Inquiry, onProgress: (text: string) => void): Promise<Reply>
}

export function openAnswers(job: Job): Answers {
  return job.options.endpoint === '' ? ownAnswers(job) : endpointAnswers(job)
}

function ownAnswers(job: Job): Answers {
  let tell: (text: string) => void = () => {}
  const { house, signal } = openHouse(job, (event) => {
    const words = progressOf(event, job.context.repository)
    if (words !== undefined) tell(words)
  })
  return {
    signal,
    async ask(inquiry, onProgress) {
      tell = onProgress
      const { accepted, note } = await acceptAt(job, house, inquiry, onProgress, signal)
      const { record, run, reused } = await accepted.answer(signal)
      const behind = run.behind === undefined ? [] : [`The head ${run.behind.head.slice(0, 7)} has no run yet.`]
      return { record, reused, notes: [...(note === undefined ? behind : [note])] }
    },
  }
}

/** Tries the places in their order. A run that is not there yet is waited for where the workflow says so. */
async function acceptAt(
  job: Job,
  house: House,
  inquiry: Inquiry,
  onProgress: (text: string) => void,
  signal: AbortSignal,
) {
  const until = Date.now() + job.options.waitSeconds * 1_000
  for (;;) {
    const { places } = inquiry
    for (const [index, { name, note }] of places.entries()) {
      try {
        return { accepted: await acceptQuestion(requestAt(job, inquiry, name), house, signal), note }
      } catch (error) {
        if (!isAbsent(error)) throw error
        const wait = index === 0 && Date.now() < until
        if (!wait && index < places.length - 1) continue
        if (!wait) throw noRun(inquiry, error)
        break
      }
    }
    onProgress('Waiting for the summary of the head commit…')
    await systemClock.sleep(Math.min(3_000, Math.max(100, until - Date.now())), signal)
  }
}

const isAbsent = (error: unknown) => isHandoffError(error, 'not-found') || isHandoffError(error, 'not-sealed')

function noRun({ places }: Inquiry, error: unknown): unknown {
  if (places.length < 2 || !isHandoffError(error)) return error
  return new HandoffError('not-found', 'Neither the head commit nor the base branch has a summary yet.', {
    next: 'Run the workflow that summarises the base branch, then ask again.',
    cause: error,
  })
}

function requestAt(job: Job, inquiry: Inquiry, name: RunName): AskRequest {
  return {
    repository: repositoryOf(job),
    cloneUrl: cloneUrlOf(job),
    name,
    question: {
      text: inquiry.text,
      asker: inquiry.asker,
      ...(inquiry.thread === undefined ? {} : { thread: inquiry.thread }),
      ...(inquiry.fresh ? { fresh: true } : {}),
    },
    labels: { owner: job.owner },
  }
}
