// Which question it is, and what the ledger knows of it: everything that is read before anything is written. Whoever asks what was asked before
// needs nothing else, so what the work itself needs is loaded only when there is work.

import type { AppContext } from '../../context.js'
import type { AnswerRecord, CompletedAnswer, Question } from '../../domain/answer.js'
import { parseQuestion } from '../../domain/answers/question.js'
import { type HandoffError, isHandoffError } from '../../domain/errors.js'
import type { GitHub } from '../../domain/github.js'
import { type Layout, layout, parseRunId } from '../../domain/run.js'
import { readAnswer } from '../../store/answer-store.js'
import { startTimer } from '../../util/step-timer.js'
import type { AnswerStaleness } from '../pull-request/check-answer.js'
import type { acceptClaim } from './answer-question.js'
import { claimFor, idFor } from './claim.js'
import { type ChosenRun, type RunName, resolveRun, type Where } from './resolve-run.js'

export interface AskRequest extends Where {
  name: RunName
  /** An earlier run: the question is about what changed from it to the run that is named. */
  compareWith?: RunName
  question: Question
  /** Tells, where the run is older than the ref's head, which of the cited lines changed since. */
  github?: () => Promise<GitHub>
  /** Written on the sandbox too, so that whoever asked can find it again from outside. */
  labels?: Record<string, string>
}

export interface AskResult {
  record: CompletedAnswer
  run: ChosenRun
  /** The answer was in the ledger already. */
  reused: boolean
  /** The ref's head has moved on from the run: what that means for what the answer rests on, as far as anybody can tell. */
  stale?: AnswerStaleness
}

/** A question whose id is known; nothing is written yet. */
export interface PreparedQuestion {
  id: string
  run: ChosenRun
  /** The earlier run of a comparison. */
  base?: ChosenRun
  /** What the ledger says of it now; a failed one, and a running one whose lease ran out, may be accepted again. */
  known?: AnswerRecord
  accept(signal: AbortSignal, manner?: Manner): Promise<AcceptedQuestion>
}

/** A question that was accepted: its id is known and its claim is in the ledger. `answer` does the work and may be left to the background. */
export interface AcceptedQuestion {
  id: string
  run: ChosenRun
  acceptedAt: string
  /** Set when there is nothing left to do. */
  done?: CompletedAnswer
  answer(signal: AbortSignal): Promise<AskResult>
}

/** What whoever asks for many has to say about how one question is answered. */
export interface Manner {
  /** Waited for before a machine is started: whose turn it is. */
  turn?: (signal: AbortSignal) => Promise<void>
  /** An error for which it says so leaves the question to whoever looks next, as soon as these milliseconds have passed. */
  handBack?: (error: HandoffError) => Promise<number | undefined>
  /** Told when it ended without an answer for good. */
  onGivenUp?: () => void
}

/** What could not be answered for so long is waited for by nobody. */
export const longestMs = 24 * 60 * 60 * 1_000

/** Only reads: which run, which id, and what the ledger knows. */
export async function prepareQuestion(
  request: AskRequest,
  context: AppContext,
  signal: AbortSignal,
): Promise<PreparedQuestion> {
  const { ports } = context
  const asked = { ...request.question, text: parseQuestion(request.question.text) }
  const place = layout(context.root, request.repository)
  const timer = startTimer(ports)
  const chosen = (name: RunName) => resolveRun(request, name, context, place, signal)
  const looking = timer.step('look up', () =>
    Promise.all([chosen(request.name), request.compareWith && chosen(request.compareWith)]),
  )
  looking.catch(() => undefined)
  const early = lookEarly({ ...request, question: asked }, context, place, signal)
  const [run, base] = await looking
  if (base) (await import('./generate-comparison.js')).refuseSame(base, run)
  const id = early?.id ?? idFor(asked, run.handoff.run, base?.handoff.run, context)
  const record = early?.directory === run.directory ? early.record : undefined
  const known = isUnique(asked) ? undefined : await (record ?? readAnswer(ports.drive, run.directory, id, signal))
  return {
    id,
    run,
    ...(base ? { base } : {}),
    ...(known === undefined ? {} : { known }),
    accept: async (later, manner = {}) => {
      if (known?.status === 'done') return withStaleness(answeredBefore(known, run, context), request, context)
      const question = { ...asked, text: context.redact(asked.text) }
      const wanted = claimFor(question, id, run, base, context)
      const job = { question, context, run, ...(base ? { base } : {}), timer, labels: request.labels ?? {} }
      return withStaleness(await acceptLater(job, wanted, manner, later), request, context)
    },
  }
}

const acceptLater: typeof acceptClaim = async (...parts) => (await import('./answer-question.js')).acceptClaim(...parts)

/** A question that is asked anew each time has an id that nobody can know. */
const isUnique = (question: Question) => question.fresh === true && question.nonce === undefined

/** Who names the run itself need not wait for its pointer: the record is read beside it, and believed only when the run is. */
function lookEarly(
  { name, compareWith, question }: AskRequest,
  context: AppContext,
  place: Layout,
  signal: AbortSignal,
): { id: string; directory: string; record: Promise<AnswerRecord | undefined> } | undefined {
  if (!('run' in name) || compareWith || isUnique(question)) return undefined
  const run = parseRunId(name.run)
  const id = idFor(question, run, undefined, context)
  const record = readAnswer(context.ports.drive, place.run(run), id, signal)
  // Whatever is wrong with the run is what is told.
  record.catch(() => undefined)
  return { id, directory: place.run(run), record }
}

/** Only where the run is behind: an answer about the head itself is as new as can be. */
function withStaleness(accepted: AcceptedQuestion, request: AskRequest, context: AppContext): AcceptedQuestion {
  const head = accepted.run.behind?.head
  if (head === undefined) return accepted
  return {
    ...accepted,
    async answer(signal) {
      const result = await accepted.answer(signal)
      const stale = await staleAt(result.record, head, request, context, signal)
      return stale ? { ...result, stale } : result
    },
  }
}

export function staleAt(
  record: CompletedAnswer,
  head: string,
  { repository, github }: Pick<AskRequest, 'repository' | 'github'>,
  context: AppContext,
  signal: AbortSignal,
): Promise<AnswerStaleness | undefined> {
  return asRemark(async () => {
    const { stalenessOf } = await import('../pull-request/check-answer.js')
    return stalenessOf({ repository, record, head }, context, await github?.(), signal)
  })
}

/** The answer is there: whatever goes wrong on the way to a remark about it costs only the remark. */
export async function asRemark<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch (error) {
    if (isHandoffError(error)) return undefined
    throw error
  }
}

export function answeredBefore(record: CompletedAnswer, run: ChosenRun, context: AppContext): AcceptedQuestion {
  context.ports.emit({ type: 'answer-reused', id: record.id })
  const { id, acceptedAt } = record
  return { id, run, acceptedAt, done: record, answer: async () => ({ record, run, reused: true }) }
}
