// From a question to its answer on the page: reads the stream and draws its steps. After a lost connection it continues the stream, looks for the answer, or
// asks again.
import { announce } from './announce.js'
import type { AnswerParts } from './answer.js'
import { lostConnection, Problem, quickStartMs } from './api-client.js'
import type { Answer, FailedAnswer, ProblemDocument, Question, StatusEvent } from './api-types.js'
import { createDraft, type Draft } from './draft.js'
import { clearProblem, showProblem } from './error-panel.js'
import type { ServerEvent } from './event-source.js'
import { seconds } from './format.js'
import { findRecord } from './recover-answer.js'
import type { RunView } from './run-view.js'
import { createTimeline, type Timeline } from './timeline.js'

type Outcome = Answer | 'stopped' | 'failed' | 'unauthorized'

/** One question on its way to the answer. */
interface Asking {
  question: Question
  view: RunView
  timeline: Timeline
  draft: Draft
  signal: AbortSignal
}

/** Never rejects. */
export async function askQuestion(
  question: Question,
  view: RunView,
  parts: AnswerParts,
  signal: AbortSignal,
): Promise<Outcome> {
  const timeline = createTimeline()
  const draft = createDraft(parts)
  const asking: Asking = { question, view, timeline, draft, signal }
  parts.slot.replaceChildren(timeline.node)
  clearProblem(parts.problem)
  try {
    const answer = await getAnswer(asking)
    draft.end()
    timeline.end(describeEnd(answer))
    announce(`The answer is ready. ${answer.verified ?? ''}`)
    return answer
  } catch (error) {
    draft.end()
    return showFailure(error, asking, parts)
  }
}

function showFailure(error: unknown, { question, view, timeline, signal }: Asking, parts: AnswerParts): Outcome {
  parts.words.setAttribute('aria-busy', 'false')
  if (!signal.aborted) parts.words.replaceChildren()
  timeline.end((total) => `${signal.aborted ? 'Stopped' : 'Not answered'} after ${seconds(total)}`)
  if (signal.aborted) return 'stopped'
  if (error instanceof Problem && error.document.status === 401) return 'unauthorized'
  const lookUp = mayStillCome(error) ? () => view.showStoredAnswers() : undefined
  showProblem(parts.problem, error, { retry: () => view.ask(question, parts.node), asks: true, lookUp })
  return 'failed'
}

const describeEnd = (answer: Answer) => (totalMs: number, sandboxMs: number | undefined) => {
  if (answer.reused) return `Stored answer, read in ${seconds(totalMs)} without a sandbox`
  if (sandboxMs === undefined) return `Answered in ${seconds(totalMs)}`
  return `Answered in ${seconds(totalMs)}. The sandbox lived ${seconds(sandboxMs)} and is gone.`
}

/** The service gave the question up because its caller was disconnected. The question itself was accepted. */
class Abandoned extends Problem {}

/** Asks, and asks once more when the question was abandoned. */
async function getAnswer(asking: Asking): Promise<Answer> {
  try {
    return await askOrRecover(asking)
  } catch (error) {
    if (asking.signal.aborted || !(error instanceof Abandoned)) throw error
  }
  const text = 'The connection was lost; asking again'
  asking.draft.replace()
  asking.timeline.restart(text)
  announce(`${text}.`)
  return await askOrRecover(asking)
}

/** The reason of a signal when the reader stops a question, and does not only leave it. */
export const stopped = Symbol('stopped')

/** Without its reader the service would go on from the first word. A question of another caller stays. */
const takeBack = (id: string, { client, place }: RunView) => client.withdraw(place, id).catch(() => undefined)

/** What the service said of the request so far. */
interface Accepted {
  id?: string | undefined
  requestId?: string | undefined
  /** The id of the last event that has one. The stream continues after it. */
  last?: string | undefined
}

async function askOrRecover(asking: Asking): Promise<Answer> {
  const accepted: Accepted = {}
  try {
    return await readStream(asking.view.client.ask(asking.question, asking.signal), asking, accepted)
  } catch (error) {
    if (!asking.signal.aborted && accepted.id !== undefined && mayStillCome(error))
      return await recover(accepted.id, accepted, error, asking)
    throw withRequestId(error, accepted)
  } finally {
    if (asking.signal.reason === stopped && accepted.id !== undefined) void takeBack(accepted.id, asking.view)
  }
}

/** A lost connection does not say which request it was. */
const withRequestId = (error: unknown, { requestId }: Accepted) =>
  error instanceof Problem ? new Problem({ requestId, ...error.document }) : error

async function readStream(
  events: AsyncIterable<ServerEvent>,
  asking: Asking,
  accepted: Accepted,
  onSign = () => {},
): Promise<Answer> {
  for await (const [name, data, id] of events) {
    if (name === 'answer') return data as Answer
    if (name === 'error') throw new Problem(data as ProblemDocument)
    onSign()
    if (name === 'token') showWords(String((data as { text: string }).text), asking)
    if (name === 'status') handleStatus(data as StatusEvent, accepted, asking)
    accepted.last = id ?? accepted.last
  }
  throw lostConnection()
}

function showWords(text: string, { draft, timeline }: Asking): void {
  const spoken = timeline.endSearch() ?? (draft.hasText() ? undefined : 'The answer is being written.')
  if (spoken) announce(spoken)
  draft.append(text)
}

function handleStatus(event: StatusEvent, accepted: Accepted, { timeline, draft }: Asking): void {
  if (event.state === 'restarted') draft.replace()
  if (event.state === 'looking') accepted.requestId = event.requestId
  if (event.state === 'accepted' || event.state === 'joined') accepted.id = event.id
  const spoken = timeline.handleStatus(event)
  if (spoken) announce(spoken)
}

/** The question is stored: when only the connection or the function's time ended, the answer may still come. */
const mayStillCome = (error: unknown): error is Problem =>
  error instanceof Problem && (error.document.code === 'connection' || error.document.self !== undefined)

async function recover(id: string, accepted: Accepted, reason: Problem, asking: Asking): Promise<Answer> {
  const { view, timeline, draft, signal } = asking
  const isQueued = reason.document.self !== undefined
  const headline = isQueued
    ? 'The time of this request is over; waiting for the answer'
    : 'The connection was lost; looking for the answer'
  const lose = () => {
    draft.hold()
    timeline.startSearch(headline)
  }
  lose()
  announce(`${headline}.`)
  const record = await findRecord(async (onSign) => {
    try {
      return await readStream(view.client.follow(view.place, id, accepted.last, signal), asking, accepted, onSign)
    } catch {
      // The record says what became of the question, and reading it fails for the same reason.
      signal.throwIfAborted()
      lose()
      return view.client.answer(view.place, id, AbortSignal.any([signal, AbortSignal.timeout(quickStartMs)]))
    }
  }, signal)
  // Read from the store, but made for this question.
  if (record?.status === 'done') return { ...record, reused: record.reusedFrom !== undefined }
  if (record) throw failureOf(record, accepted, isQueued)
  throw isQueued ? reason : new Problem({ ...noAnswerCame, requestId: accepted.requestId })
}

function failureOf({ error: { code, message, next } }: FailedAnswer, { requestId }: Accepted, isQueued: boolean) {
  const document: ProblemDocument = { title: 'The question was not answered', code, requestId }
  if (isQueued || !['cancelled', 'timeout'].includes(code)) return new Problem({ ...document, detail: message, next })
  return new Abandoned({
    ...document,
    detail: `The connection was lost, twice. ${message}`,
    next: next ?? 'Check whether your connection is stable, then try again.',
  })
}

const noAnswerCame: ProblemDocument = {
  title: 'The connection was lost',
  detail: 'No answer to this question appeared in the next two minutes.',
  next: 'Check whether you are online, then try again. An answer that comes later is among the earlier ones.',
  code: 'connection',
}
