// The second story: a question becomes an answer.
//
// The host knows that the run is sealed and that the question is its own (claimed in the ledger) before it pays for a machine. Sandbox B reads
// the directory, finds what bears on the question, and is gone as soon as the model has what it needs. Nothing the model says is believed
// before it was checked against the lines it was shown.
import { claim, complete, type Held, keepLatest, readAnswer, recentAnswers } from '../bench/ledger.js'
import { sha256 } from '../bench/run-directory.js'
import { startWalk, type Walk } from '../bench/walk.js'
import type { AnswerRecord, ClaimedAnswer, CompletedAnswer, Question } from '../library/answer.js'
import { answerFile } from '../library/answer-markdown.js'
import { abortError, HandoffError, isHandoffError } from '../library/errors.js'
import { answerIdOf, nearDuplicate, parseQuestion } from '../library/question.js'
import { layout, type Repository } from '../library/run.js'
import { type Answered, answerFrom } from './answer-from.js'
import type { House } from './house.js'
import { type ChosenRun, type RunName, whichRun } from './which-run.js'

export interface AskRequest {
  repository: Repository
  cloneUrl?: string
  name: RunName
  question: Question
  /** How long this process may hold the question before somebody else may take it. */
  leaseMs?: number
  /** Written on the sandbox too, so that whoever asked can find it again from outside. */
  labels?: Record<string, string>
}

export interface AskResult {
  record: CompletedAnswer
  run: ChosenRun
  /** The answer was in the ledger already. */
  reused: boolean
}

/** A question that was accepted: its id is known and its claim is in the ledger. `answer` does the work and may be left to the background. */
export interface AcceptedQuestion {
  id: string
  run: ChosenRun
  /** Set when there is nothing left to do. */
  done?: CompletedAnswer
  answer(signal: AbortSignal): Promise<AskResult>
}

export async function ask(request: AskRequest, house: House, signal: AbortSignal): Promise<AskResult> {
  const accepted = await acceptQuestion(request, house, signal)
  return accepted.answer(signal)
}

/** Everything up to the claim: cheap, no machine, no model. */
export async function acceptQuestion(
  request: AskRequest,
  house: House,
  signal: AbortSignal,
): Promise<AcceptedQuestion> {
  const { tools } = house
  const text = parseQuestion(request.question.text)
  const question = { ...request.question, text }
  const place = layout(house.root, request.repository)
  const walk = startWalk(tools)
  const run = await walk.step('look up', () => whichRun(request, request.name, house, place, signal))
  const wanted = claimFor(question, run, house, request.leaseMs ?? house.limits.deadlineMs + 30_000)
  const known = question.fresh ? undefined : await readAnswer(tools.drive, run.directory, wanted.id, signal)
  if (known?.status === 'done') return answeredBefore(known, run, house)

  const [claimed, earlier] = await Promise.all([
    walk.step('claim', () => claim(tools.drive, run.directory, wanted, tools.now(), signal)),
    recentAnswers(tools.drive, run.directory, 20, signal),
  ])
  if (claimed.kind === 'answered') return answeredBefore(claimed.record, run, house)
  if (claimed.kind === 'running') throw inProgress(claimed.record, tools.now())
  tools.emit({ type: 'answer-claimed', id: wanted.id })
  return {
    id: wanted.id,
    run,
    answer: (later) =>
      work({ question, house, run, walk, held: claimed.held, earlier, labels: request.labels ?? {} }, later),
  }
}

function answeredBefore(record: CompletedAnswer, run: ChosenRun, house: House): AcceptedQuestion {
  house.tools.emit({ type: 'answer-reused', id: record.id })
  return { id: record.id, run, done: record, answer: async () => ({ record, run, reused: true }) }
}

function inProgress(record: ClaimedAnswer, now: Date): HandoffError {
  const seconds = Math.max(1, Math.min(30, Math.ceil((new Date(record.leaseUntil).getTime() - now.getTime()) / 1_000)))
  return new HandoffError('in-progress', `The same question is being answered (${record.id}).`, {
    next: 'Ask again in a moment; the answer will be there.',
    retryAfterSeconds: Math.min(5, seconds),
  })
}

function claimFor(question: Question & { text: string }, run: ChosenRun, house: House, leaseMs: number): ClaimedAnswer {
  const { tools } = house
  const now = tools.now()
  const id = answerIdOf(
    {
      run: run.handoff.run,
      question: question.text,
      model: tools.model.name,
      ...(question.thread === undefined ? {} : { thread: question.thread }),
      ...(question.fresh ? { nonce: tools.uniqueId() } : {}),
    },
    sha256,
  )
  return {
    version: 1,
    id,
    run: run.handoff.run,
    commit: run.handoff.commit,
    question: question.text,
    ...(question.thread === undefined ? {} : { thread: question.thread }),
    ...(question.asker === undefined ? {} : { asker: question.asker }),
    model: tools.model.name,
    acceptedAt: now.toISOString(),
    status: 'running',
    leaseUntil: new Date(now.getTime() + leaseMs).toISOString(),
    claim: tools.uniqueId(),
  }
}

interface Work {
  question: Question & { text: string }
  house: House
  run: ChosenRun
  walk: Walk
  held: Held
  earlier: CompletedAnswer[]
  labels: Record<string, string>
}

async function work(job: Work, signal: AbortSignal): Promise<AskResult> {
  const { house, run } = job
  try {
    const same = job.question.fresh ? undefined : nearlySame(job)
    if (same) return await keep(job, { ...reusedParts(same), reusedFrom: same.id }, signal)
    const answered = await answerFrom(
      { question: job.question, house, run, walk: job.walk, thread: threadOf(job), labels: job.labels },
      signal,
    )
    return await keep(job, answered, signal)
  } catch (error) {
    const told = signal.aborted && !isHandoffError(error) ? abortError(signal, 'answering the question') : error
    await giveUp(job, told)
    throw told
  }
}

/** An earlier question in almost the same words, about the same run, by the same model, outside any thread. */
function nearlySame(job: Work): CompletedAnswer | undefined {
  if (job.question.thread !== undefined) return undefined
  return job.earlier.find(
    (record) =>
      record.thread === undefined &&
      record.reusedFrom === undefined &&
      record.model === job.house.tools.model.name &&
      nearDuplicate(record.question, job.question.text),
  )
}

const threadOf = (job: Work) =>
  job.question.thread === undefined
    ? []
    : job.earlier
        .filter((record) => record.thread === job.question.thread)
        .sort((a, b) => a.acceptedAt.localeCompare(b.acceptedAt))

/** The parts of an answer that are the answer; who asked and when is the new record's own. */
function reusedParts(record: CompletedAnswer): Answered {
  const { text, citations, unsupported, truncated, unanswered, excerpts, searched } = record
  return {
    text,
    citations,
    unsupported,
    truncated,
    unanswered,
    excerpts,
    searched,
    rounds: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
  }
}

async function keep(job: Work, answered: Answered & { reusedFrom?: string }, signal: AbortSignal): Promise<AskResult> {
  const { house, run, walk, held } = job
  const { drive } = house.tools
  const { status: _status, leaseUntil: _lease, claim: _claim, ...head } = held.record
  const record: CompletedAnswer = {
    ...head,
    ...answered,
    status: 'done',
    completedAt: house.tools.now().toISOString(),
    seconds: Object.fromEntries(
      Object.entries(walk.durations()).map(([step, milliseconds]) => [step, milliseconds / 1_000]),
    ),
  }
  const kept = await walk.step('keep', async () => {
    const [stands] = await Promise.all([
      complete(drive, run.directory, held, record, signal),
      keepLatest(drive, run.directory, record.acceptedAt, answerFile(record, run.handoff), signal),
    ])
    return stands
  })
  return {
    record: kept.status === 'done' ? kept : record,
    run,
    reused: record.reusedFrom !== undefined || kept !== (record as AnswerRecord),
  }
}

/** The record says what became of the question, so that the next who asks need not wait for a lease. */
async function giveUp(job: Work, error: unknown): Promise<void> {
  const { house, run, held } = job
  const { status: _status, leaseUntil: _lease, claim: _claim, ...head } = held.record
  const { code, message, next } = isHandoffError(error)
    ? error
    : new HandoffError('cancelled', 'An unexpected error ended the work.')
  const told = { code, message: message.slice(0, 2_000), ...(next === undefined ? {} : { next }) }
  const record = { ...head, status: 'failed' as const, completedAt: house.tools.now().toISOString(), error: told }
  await complete(house.tools.drive, run.directory, held, record, AbortSignal.timeout(5_000)).catch(() => undefined)
}
