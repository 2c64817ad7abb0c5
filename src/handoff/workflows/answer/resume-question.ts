// A question that an instance left behind, because its time was over or because it died, goes on in another.

import type { AppContext } from '../../context.js'
import type { AnswerRecord, ClaimedAnswer, FailedAnswer } from '../../domain/answer.js'
import { isHandoffError } from '../../domain/errors.js'
import { layout, type Repository } from '../../domain/run.js'
import { leaseEnd, readAnswer } from '../../store/answer-store.js'
import { startTimer } from '../../util/step-timer.js'
import { type AcceptedQuestion, acceptClaim } from './answer-question.js'
import type { Manner } from './find-answer.js'
import { type ChosenRun, resolveRun } from './resolve-run.js'

export interface LeftQuestion {
  repository: Repository
  run: string
  id: string
  labels?: Record<string, string>
}

export interface FoundQuestion {
  run: ChosenRun
  record: AnswerRecord | undefined
  /** Takes it up under its old id, at the record that was found. Undefined when somebody was quicker. */
  resume(record: ClaimedAnswer | FailedAnswer, manner?: Manner): Promise<AcceptedQuestion | undefined>
}

/** What became of a question. */
export async function findQuestion(
  left: LeftQuestion,
  context: AppContext,
  signal: AbortSignal,
): Promise<FoundQuestion> {
  const { ports } = context
  const timer = startTimer(ports)
  const place = layout(context.root, left.repository)
  const look = (run: string) => timer.step('look up', () => resolveRun(left, { run }, context, place, signal))
  const run = await look(left.run)
  const record = await readAnswer(ports.drive, run.directory, left.id, signal)
  return {
    run,
    record,
    async resume(before, manner = {}) {
      const base = before.compareWith && (await look(before.compareWith.run))
      const { tries = 0, ...claimed } = claimedAgain(before)
      const leaseUntil = leaseEnd(ports.now(), context.limits.sandboxBy)
      const wanted = { ...claimed, leaseUntil, claim: ports.uniqueId(), tries: tries + 1 }
      const job = {
        question: questionOf(wanted),
        context,
        run,
        ...(base ? { base } : {}),
        timer,
        labels: left.labels ?? {},
      }
      return acceptClaim(job, wanted, manner, signal).catch((error) => {
        if (isHandoffError(error, 'in-progress')) return undefined
        throw error
      })
    },
  }
}

/** What was given up while somebody still waits for it is a claim again. */
function claimedAgain(before: ClaimedAnswer | FailedAnswer): Omit<ClaimedAnswer, 'leaseUntil' | 'claim'> {
  if (before.status === 'running') return before
  const { error: _error, completedAt: _completedAt, ...head } = before
  return { ...head, status: 'running' }
}

const questionOf = ({ question, thread, fresh }: Pick<ClaimedAnswer, 'question' | 'thread' | 'fresh'>) => ({
  text: question,
  ...(thread === undefined ? {} : { thread }),
  ...(fresh ? { fresh: true } : {}),
})
