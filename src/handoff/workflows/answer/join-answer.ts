// Many callers, one answer: a caller that asks what is being answered waits for that answer.
import type { AppContext, LookupContext } from '../../context.js'
import type { AnswerRecord, CompletedAnswer } from '../../domain/answer.js'
import { isHandoffError } from '../../domain/errors.js'
import { isHeld } from '../../store/answer-store.js'
import { readAnswer } from '../../store/run-store.js'
import { getAnswer } from '../browse.js'
import { answerFound } from './answer-question.js'
import { type AnswerResult, type FoundQuestion, placeOf, storedAnswer } from './find-answer.js'
import type { ChosenRun } from './resolve-run.js'
import { failureOf, inProgress, wasInterrupted } from './retry-policy.js'

const firstPauseMs = 150
const longestPauseMs = 1_000

/** Answers the question, or waits for the process that does. When that process gives up, this one answers. */
export async function answerOrJoin(
  found: FoundQuestion,
  context: AppContext,
  signal: AbortSignal,
): Promise<AnswerResult> {
  const { clock, emit } = context.ports
  for (let asked = found, pause = firstPauseMs; ; pause = Math.min(1.5 * pause, longestPauseMs)) {
    try {
      return await answerFound(asked, context, signal)
    } catch (error) {
      if (signal.aborted || !isHandoffError(error, 'in-progress')) throw error
    }
    emit({ type: 'answer-joined', id: found.id })
    const record = await waitForAnswer(found, context, signal)
    if (record) return storedAnswer(found, record, context, signal)
    // The other process left the question. The record that was read before says nothing any more.
    const { record: _old, ...fresh } = asked
    asked = fresh
    await clock.sleep(pause, signal)
  }
}

/** Undefined when no process is answering the question any more. */
async function waitForAnswer(
  found: FoundQuestion,
  context: LookupContext,
  signal: AbortSignal,
): Promise<CompletedAnswer | undefined> {
  const { clock, emit } = context.ports
  for (let pause = firstPauseMs; ; pause = Math.min(1.5 * pause, longestPauseMs)) {
    const record = await readAnswer(placeOf(found, context), signal)
    showWritten(record, emit)
    if (record?.status === 'done') return record
    if (record?.status === 'failed' && !wasInterrupted(record)) throw failureOf(record)
    if (record?.status !== 'running' || !isHeld(record, clock.now())) return undefined
    await clock.sleep(pause, signal)
  }
}

function showWritten(record: AnswerRecord | undefined, emit: LookupContext['ports']['emit']): void {
  const written = record !== undefined && 'written' in record ? record.written : undefined
  if (written) emit({ type: 'answer-written', ...written })
}

/** A holder that renews its lease late still holds the question for the reader. */
const lateMs = 30_000

/** Follows the answer to a question that any process is answering. Starts no work and writes nothing. */
export async function followAnswer(
  place: { run: ChosenRun; id: string },
  context: LookupContext,
  signal: AbortSignal,
): Promise<CompletedAnswer> {
  const { clock, emit } = context.ports
  for (let pause = firstPauseMs; ; pause = Math.min(1.5 * pause, longestPauseMs)) {
    const record = await getAnswer(context, place.run, place.id, signal)
    showWritten(record, emit)
    if (record.status === 'done') return record
    if (record.status === 'failed') throw failureOf(record)
    if (!record.queued && !isHeld(record, clock.now() - lateMs)) throw inProgress(record)
    await clock.sleep(pause, signal)
  }
}
