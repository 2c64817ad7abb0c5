// Answers a question that was looked up: at once, in time, or later by a job.
import { storedAnswer } from '../../handoff/index-for-stored-answers.js'
import { limited } from '../../handoff/util/abort.js'
import { logFieldsFor } from '../http/http-function.js'
import { stopper, type Times } from '../http/request-deadline.js'
import type { Answer } from '../http/responses.js'
import type { Job } from '../jobs/job.js'
import type { Found } from './question.js'

export async function answerQuestion(found: Found, signal: AbortSignal): Promise<Answer> {
  const { app, question, context, pull, work } = found
  const stored = question.record?.status === 'done' ? question.record : undefined
  const result = stored
    ? await storedAnswer(question, stored, context, signal)
    : await (await app.product()).answerOrJoin(question, await work(), signal)
  if (pull === undefined) return result
  const { postOnPull } = await import('../post-answer.js')
  return { ...result, comment: await postOnPull(app, await work(), result, pull, signal) }
}

/** The answer, or since when a job waits for the question. */
export type InTime = { answer: Answer } | { acceptedAt: string }

/** Waits until `answerBy`. Then a job is queued for the question, and the work continues as long as the invocation may. */
export async function answerInTime(
  found: Found,
  times: Times,
  client: AbortSignal = found.exchange.limit.client,
): Promise<InTime> {
  const { exchange, question, pull } = found
  if (question.record?.status === 'done' && pull === undefined)
    return noted(found, await answerQuestion(found, exchange.signal))
  const stop = stopper(exchange.limit, client, times)
  const answering = answerQuestion(found, stop.signal)
  exchange.background(answering.then(stop.done, stop.done))
  const first = await Promise.race([answering, stop.late(times.answerBy)])
  if (first !== 'late') return noted(found, first)
  const acceptedAt = await queueLateQuestion(found, times)
  if (acceptedAt === undefined) return noted(found, await answering)
  stop.keepGoing()
  exchange.note({ answer: found.question.id, pending: true })
  exchange.logLater(answering.then(answerNotes))
  return { acceptedAt }
}

function noted({ exchange }: Found, answer: Answer): InTime {
  exchange.note(answerNotes(answer))
  return { answer }
}

/** As below, for a question whose time runs out. If the queue does not take it, it may still be answered in time, and the log tells why. */
export async function queueLateQuestion(found: Found, { workBy }: Times): Promise<string | undefined> {
  try {
    return await queueQuestion(found, (workBy - Date.now()) / 1_000)
  } catch (error) {
    found.exchange.note({ notQueued: logFieldsFor(error) })
    return undefined
  }
}

/** Queues the question. Returns when it was accepted, or undefined when it is already answered. */
export async function queueQuestion(
  { app, question, work, pull, caller, exchange }: Found,
  delaySeconds: number,
): Promise<string | undefined> {
  const [{ queueAnswer }, { sendJob }, context] = await Promise.all([
    app.product(),
    import('../jobs/send-job.js'),
    work(),
  ])
  using soon = limited(exchange.limit.client, 10_000)
  const queued = await queueAnswer(question, context, soon.signal)
  if (queued === undefined && pull === undefined) return undefined
  const acceptedAt = queued?.acceptedAt ?? new Date(context.ports.clock.now()).toISOString()
  const job: Job = {
    kind: 'answer',
    repository: question.request.repository,
    run: question.run.handoff.run,
    id: question.id,
    acceptedAt,
    model: context.ports.model.name,
    caller: caller.name,
    ...(pull === undefined ? {} : { post: { pull } }),
  }
  await sendJob(job, delaySeconds)
  return acceptedAt
}

/** For the log. */
export function answerNotes({ record, reused }: Answer): Record<string, unknown> {
  const { inputTokens, outputTokens } = record.usage
  return { answer: record.id, reused, ...(reused ? {} : { inputTokens, outputTokens }) }
}
