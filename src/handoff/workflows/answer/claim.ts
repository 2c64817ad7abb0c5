// What the ledger is told before the work: the claim of a question, under an id that is made of what is asked and of whom.

import type { AppContext } from '../../context.js'
import type { ClaimedAnswer, Question } from '../../domain/answer.js'
import { answerIdOf } from '../../domain/answers/question.js'
import { HandoffError } from '../../domain/errors.js'
import { leaseEnd } from '../../store/answer-store.js'
import { sha256 } from '../../store/run-store.js'
import type { ChosenRun } from './resolve-run.js'

/** Somebody else holds the question. */
export function inProgress(record: ClaimedAnswer, now: Date): HandoffError {
  const seconds = Math.max(1, Math.min(30, Math.ceil((new Date(record.leaseUntil).getTime() - now.getTime()) / 1_000)))
  return new HandoffError('in-progress', `The same question is being answered (${record.id}).`, {
    next: 'Ask again in a moment; the answer will be there.',
    retryAfterSeconds: Math.min(5, seconds),
  })
}

/**
 * The id of a question's answer, which is known before anything is read; a comparison has the earlier run in it. It is a hash of what was asked as
 * it was asked: looking for the secrets that may stand in it takes longer than looking whether there is an answer.
 */
export function idFor(
  question: Question & { text: string },
  run: string,
  base: string | undefined,
  { ports }: AppContext,
): string {
  return answerIdOf(
    {
      // No run id holds a space.
      run: base ? `${run} since ${base}` : run,
      question: question.text,
      model: ports.model.name,
      ...(question.thread === undefined ? {} : { thread: question.thread }),
      ...(question.fresh ? { nonce: question.nonce ?? ports.uniqueId() } : {}),
    },
    sha256,
  )
}

export function claimFor(
  question: Question & { text: string },
  id: string,
  run: ChosenRun,
  base: ChosenRun | undefined,
  { ports, limits }: AppContext,
): ClaimedAnswer {
  const now = ports.now()
  return {
    version: 1,
    id,
    run: run.handoff.run,
    commit: run.handoff.commit,
    question: question.text,
    ...(question.thread === undefined ? {} : { thread: question.thread }),
    ...(question.asker === undefined ? {} : { asker: question.asker }),
    ...(base ? { compareWith: { run: base.handoff.run, commit: base.handoff.commit } } : {}),
    model: ports.model.name,
    acceptedAt: now.toISOString(),
    status: 'running',
    leaseUntil: leaseEnd(now, limits.sandboxBy),
    claim: ports.uniqueId(),
    ...(question.fresh ? { fresh: true } : {}),
  }
}
