// An answer comes from this job, with its own keys, or from a deployed service. Both sources take the same question and return the same record.
import { type AnswerRequest, answerFound, findAnswer, progressText, type RunPlace } from '../handoff/index.js'
import { cloneUrl, createJobContext, type Job, jobRepository } from './job-context.js'
import { remoteAnswerSource } from './remote-answer-source.js'
import { type AnswerSource, type Inquiry, type OnProgress, tryInOrder } from './runs-for-question.js'

export function openAnswerSource(job: Job): AnswerSource {
  return job.options.endpoint === '' ? localAnswerSource(job) : remoteAnswerSource(job)
}

function localAnswerSource(job: Job): AnswerSource {
  let tell: OnProgress = () => {}
  const { appContext } = createJobContext(job, (event) => {
    const words = progressText(event, job.context.repository)
    if (words !== undefined) tell(words)
  })
  const inOrder = tryInOrder(job)
  return {
    async ask(inquiry, onProgress) {
      tell = onProgress
      const { found, note } = await inOrder(inquiry, onProgress, async (place) => {
        const found = await findAnswer(createRequest(job, inquiry, place), appContext, job.signal)
        return { found, note: place.note }
      })
      const { record, run, reused, corrections = [] } = await answerFound(found, appContext, job.signal)
      const behind = run.behind === undefined ? [] : [`The head ${run.behind.head.slice(0, 7)} has no run yet.`]
      return { record, reused, corrections, notes: [...(note === undefined ? behind : [note])] }
    },
  }
}

function createRequest(job: Job, inquiry: Inquiry, { name }: RunPlace): AnswerRequest {
  return {
    repository: jobRepository(job),
    cloneUrl: cloneUrl(job),
    name,
    question: {
      text: inquiry.text,
      asker: inquiry.asker,
      thread: inquiry.thread,
      ...(inquiry.fresh ? { fresh: true } : {}),
      depth: inquiry.depth,
    },
    labels: { owner: job.owner },
  }
}
