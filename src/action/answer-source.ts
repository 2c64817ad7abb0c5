// Two ways to an answer: by this job, with the keys it has, or through a deployed service that has them. Both take the same question and give the
// same record.
import { type AnswerRequest, answerFound, findAnswer, progressOf, type RunPlace } from '../handoff/index.js'
import { type Answers, type Inquiry, type OnProgress, placesInOrder } from './inquiry.js'
import { cloneUrlOf, type Job, openHouse, repositoryOf } from './job-context.js'
import { endpointAnswers } from './remote-answer-source.js'

export function openAnswers(job: Job): Answers {
  return job.options.endpoint === '' ? ownAnswers(job) : endpointAnswers(job)
}

function ownAnswers(job: Job): Answers {
  let tell: OnProgress = () => {}
  const { appContext } = openHouse(job, (event) => {
    const words = progressOf(event, job.context.repository)
    if (words !== undefined) tell(words)
  })
  const inOrder = placesInOrder(job)
  return {
    async ask(inquiry, onProgress) {
      tell = onProgress
      const { found, note } = await inOrder(inquiry, onProgress, async (place) => {
        const found = await findAnswer(requestAt(job, inquiry, place), appContext, job.signal)
        return { found, note: place.note }
      })
      const { record, run, reused } = await answerFound(found, appContext, job.signal)
      const behind = run.behind === undefined ? [] : [`The head ${run.behind.head.slice(0, 7)} has no run yet.`]
      return { record, reused, notes: [...(note === undefined ? behind : [note])] }
    },
  }
}

function requestAt(job: Job, inquiry: Inquiry, { name }: RunPlace): AnswerRequest {
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
