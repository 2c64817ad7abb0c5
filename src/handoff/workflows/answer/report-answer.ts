// What a caller receives with an answer that was stored before, or that is about an older commit.
import type { LookupContext, ReadContext } from '../../context.js'
import type { CompletedAnswer } from '../../domain/answer.js'
import type { Correction } from '../../domain/corrections/correction.js'
import { isHandoffError } from '../../domain/errors.js'
import type { AnswerStaleness } from '../pull-request/check-answer.js'
import type { AnswerRequest, AnswerResult, FoundQuestion } from './find-answer.js'
import { type ChosenRun, repositoryOf } from './resolve-run.js'

/** Undefined where there is nothing to say, or where it cannot be found out: that costs the remark and not the answer. */
export function stalenessAt(
  head: string | undefined,
  record: CompletedAnswer,
  run: ChosenRun,
  github: AnswerRequest['github'],
  context: ReadContext,
  signal: AbortSignal,
): Promise<AnswerStaleness | undefined> {
  return optionally(async () => {
    if (head === undefined) return undefined
    const { checkStaleness: stalenessOf } = await import('../pull-request/check-answer.js')
    return stalenessOf({ repository: repositoryOf(run), record, head }, context, await github?.(), signal)
  })
}

/** A failure of an outside service is no failure of the answer. */
export async function optionally<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch (error) {
    if (isHandoffError(error)) return undefined
    throw error
  }
}

export async function storedAnswer(
  { id, run, request, corrections }: FoundQuestion,
  record: CompletedAnswer,
  context: LookupContext,
  signal: AbortSignal,
): Promise<AnswerResult> {
  context.ports.emit({ type: 'answer-reused', id })
  const stale = await stalenessAt(run.behind?.head, record, run, request.github, context, signal)
  return { record, run, reused: true, stale, corrections: correctionsFor(record, corrections) }
}

/** Of this answer, and of the one whose words it repeats. */
export function correctionsFor(
  { id, reusedFrom }: Pick<CompletedAnswer, 'id' | 'reusedFrom'>,
  corrections: readonly Correction[],
): Correction[] {
  return corrections.filter(({ answer }) => answer !== undefined && (answer === id || answer === reusedFrom))
}
