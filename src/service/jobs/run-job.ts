// One delivery of a job. A delivery that fails for a reason that passes is repeated by the queue; any other failure, and the last delivery, ends the
// job: the record of the question says why, and so does the comment on GitHub.
//
// | failure                                   | next delivery after                      | on the pull request         |
// | ----------------------------------------- | ---------------------------------------- | --------------------------- |
// | time ran out, the process stopped         | 1 s, doubled each time up to 5 min       | the comment says "stopped"  |
// | no sandbox, model busy, drive or git down | what they say, or 5 to 20 s, doubled     | the comment says why        |
// | another process holds the question        | 5 s, doubled: its lease may expire       | nothing                     |
// | a defect of the service                   | 60 s                                     | nothing                     |
// | anything else; 30 deliveries; 24 hours    | none                                     | the comment says why        |
import * as product from '../../handoff/index.js'
import type { App } from '../app.js'
import { contextForRequest, type RequestTime } from '../context-for-request.js'
import { logFieldsFor } from '../http/http-function.js'
import { postOnPull } from '../post-answer.js'
import { answerComment, carryOutCorrection } from './comment-job.js'
import { type AnswerJob, type Job, openJob } from './job.js'

interface Delivery {
  count: number
  time: RequestTime
}

/** For the log. */
type JobNotes = Record<string, unknown>

interface JobOutcome {
  notes: JobNotes
  /** Seconds until the job is to be delivered again. */
  retryAfterSeconds?: number
}

const maximumDeliveries = 30
const longestRetrySeconds = 300
const defectRetrySeconds = 60

/** Does not reject. A defect of ours is tried again too: the next deployment may not have it. */
export async function runJob(message: unknown, delivery: Delivery, app: App): Promise<JobOutcome> {
  const job = openJob(message, app.ownerKey)
  if (job === undefined) return { notes: { ignored: 'The message was not sent by this deployment.' } }
  try {
    return await attempt(job, delivery, app)
  } catch (error) {
    return {
      notes: logFieldsFor(error),
      ...(delivery.count < maximumDeliveries ? { retryAfterSeconds: defectRetrySeconds } : {}),
    }
  }
}

async function attempt(job: Job, delivery: Delivery, app: App): Promise<JobOutcome> {
  try {
    return { notes: await run(job, delivery, app) }
  } catch (error) {
    const wait = product.retryAfterSeconds(error)
    if (wait !== undefined && delivery.count < maximumDeliveries) {
      const retryAfterSeconds = Math.min(longestRetrySeconds, wait * 2 ** Math.min(8, delivery.count - 1))
      return { notes: { ...logFieldsFor(error), retryAfterSeconds }, retryAfterSeconds }
    }
    if (!product.isHandoffError(error) && delivery.count < maximumDeliveries) throw error
    await finishJob(job, error, delivery, app)
    return { notes: { ...logFieldsFor(error), givenUp: true } }
  }
}

function run(job: Job, delivery: Delivery, app: App): Promise<JobNotes> {
  switch (job.kind) {
    case 'answer':
      return answerQueued(job, delivery, app)
    case 'comment':
      return answerComment(job, delivery.time, app)
    case 'correct':
      return carryOutCorrection(job, delivery.time, app)
  }
}

async function answerQueued(job: AnswerJob, { time }: Delivery, app: App): Promise<JobNotes> {
  if (!app.settings.models.includes(job.model)) throw modelNotOffered(job.model)
  const { found, context } = await find(job, time, app)
  // Its run was pruned or replaced.
  if (found === undefined) return { gone: true }
  if (found.record?.status === 'failed' && !product.wasInterrupted(found.record)) return { failed: true }
  const answer = await product.answerFound(found, context, time.workUntil(time.workBy))
  if (job.post) await postOnPull(app, context, answer, job.post.pull, time.workUntil(time.postBy))
  return { answer: job.id, reused: answer.reused }
}

/** The id of the answer, and what it costs, depend on the model that was asked for. */
const modelNotOffered = (model: string) =>
  new product.HandoffError(
    'model',
    `The model ${product.quote(model)}, which was asked for, is not offered any more.`,
    {
      next: 'Ask again, with a model that is.',
    },
  )

async function find(job: AnswerJob, time: RequestTime, app: App) {
  const context = contextForRequest(await app.context(job.model), { ...time, emit: () => {} })
  const { repository, run, id, caller } = job
  const wanted = { repository, run, id, caller, strict: true, labels: { request: 'job' } }
  return { context, found: await product.findQueued(wanted, context, time.workUntil(time.workBy)) }
}

/** A comment has said how it ended by itself. */
async function finishJob(job: Job, error: unknown, { time }: Delivery, app: App): Promise<void> {
  if (job.kind !== 'answer') return
  const known = await find(job, time, app).catch(product.ignoreFailure)
  if (known?.found) await product.failQueued(known.found, error, known.context)
}
