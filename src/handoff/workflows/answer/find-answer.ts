// Which run a question is about, which answer it has, whether that answer is there, and what its caller gets then. Only reads: an answer that is stored
// needs nothing else, so what the work needs is loaded only when there is work.

import type { LookupContext, ReadContext } from '../../context.js'
import type { AnswerRecord, CompletedAnswer, Question, SettledQuestion } from '../../domain/answer.js'
import { answerIdOf, parseQuestion } from '../../domain/answers/question.js'
import type { Correction, ShownCorrection } from '../../domain/corrections/correction.js'
import { ignoreFailure } from '../../domain/errors.js'
import type { GitHub } from '../../domain/github.js'
import { layout, parseRunId } from '../../domain/run.js'
import { type RecordPlace, readAnswer, sha256 } from '../../store/run-store.js'
import { awaitedLater } from '../../util/abort.js'
import { type StepTimer, startTimer } from '../../util/step-timer.js'
import type { AnswerStaleness } from '../pull-request/check-answer.js'
import { correctionsOf, readCorrections } from '../read-corrections.js'
import { type ChosenRun, type RunName, repositoryOf, resolveRun, type Where } from './resolve-run.js'

export interface AnswerRequest extends Where {
  name: RunName
  /** An earlier run: the question is about what changed from it to the run that is named. */
  compareWith?: RunName | undefined
  question: Question
  /** Earlier questions of a conversation, the oldest first. They name the thread of this one. */
  after?: readonly string[] | undefined
  /** Tells, where the run is older than the ref's head, which of the cited lines have changed since. */
  github?: (() => Promise<GitHub>) | undefined
  /** Written on the sandbox, so that the caller can find it again from outside. */
  labels?: Record<string, string> | undefined
  /** Who pays: budgets and the order of waiting questions are per caller. */
  caller?: string | undefined
}

export interface AnswerResult {
  record: CompletedAnswer
  run: ChosenRun
  /** The answer was stored already. */
  reused: boolean
  /** The ref's head has moved on from the run: what that means for the answer, as far as it is known. */
  stale?: AnswerStaleness | undefined
  /** What people said about this answer. */
  corrections?: readonly ShownCorrection[]
}

/** A question with its run and answer id. Finding it writes nothing. */
export interface FoundQuestion {
  request: AnswerRequest
  question: SettledQuestion
  id: string
  run: ChosenRun
  /** The earlier run of a comparison. */
  base?: ChosenRun | undefined
  record?: AnswerRecord | undefined
  /** What people corrected, where its lines are there. Read beside the answer. */
  corrections: Correction[]
  timer: StepTimer
}

export const placeOf = ({ id, run }: Pick<FoundQuestion, 'id' | 'run'>, { ports }: LookupContext): RecordPlace => ({
  drive: ports.drive,
  directory: run.directory,
  id,
})

export async function findAnswer(
  request: AnswerRequest,
  context: LookupContext,
  signal: AbortSignal,
): Promise<FoundQuestion> {
  const { text, depth = context.limits.depth ?? 'normal' } = request.question
  const asked = { ...request.question, text: parseQuestion(text), depth }
  const timer = startTimer(context.ports)
  const resolve = (name: RunName) => resolveRun(request, name, context, signal)
  const resolving = awaitedLater(
    timer.step('look up', () =>
      Promise.all([resolve(request.name), request.compareWith && resolve(request.compareWith)]),
    ),
  )
  const early = readEarly(request, asked, context, signal)
  const corrected = awaitedLater(readCorrections(context, request.repository, signal))
  const [run, base] = await resolving
  const question = inThread(asked, request, run.handoff.run, context)
  if (base) (await import('./generate-comparison.js')).refuseSame(base, run)
  const id = early?.id ?? answerId(question, run.handoff.run, base?.handoff.run, context)
  // The run may be in a directory of an older spelling.
  const read = early?.directory === run.directory ? early.record : undefined
  const [record, corrections] = await Promise.all([
    isUnique(question) ? undefined : (read ?? readAnswer(placeOf({ id, run }, context), signal)),
    correctionsOf(context, run, signal, corrected),
  ])
  return { request, question, id, run, base, record, corrections, timer }
}

/** A question that follows others is in the thread that they make. */
function inThread(
  question: SettledQuestion,
  { after = [] }: AnswerRequest,
  run: string,
  { ports }: LookupContext,
): SettledQuestion {
  if (after.length === 0) return question
  const earlier = { run, model: ports.model.name, depth: question.depth }
  const thread = after.reduce<string | undefined>(
    (before, text) => answerIdOf({ ...earlier, question: text, thread: before }, sha256),
    undefined,
  )
  return { ...question, thread }
}

/** A question that is asked anew each time has an id that nothing can be stored under yet. */
const isUnique = (question: Question) => question.fresh === true && question.nonce === undefined

/** A caller that names the run need not wait for its pointer: the record is read beside it, and believed only when the run is. */
function readEarly(
  request: AnswerRequest,
  asked: SettledQuestion,
  context: LookupContext,
  signal: AbortSignal,
): { id: string; directory: string; record: Promise<AnswerRecord | undefined> } | undefined {
  const { name, compareWith } = request
  if (!('run' in name) || compareWith || isUnique(asked)) return undefined
  const run = parseRunId(name.run)
  const id = answerId(inThread(asked, request, run, context), run, undefined, context)
  const directory = layout(context.root, request.repository).run(run)
  // Where the run is wrong too, its error is the one that is reported.
  const record = awaitedLater(readAnswer({ drive: context.ports.drive, directory, id }, signal))
  return { id, directory, record }
}

/**
 * The id of an answer is a hash of the run, the question as it was asked, the model and the thread. A comparison has the earlier run in it. A
 * `fresh` question has a nonce. A caller's own nonce stands for all but the run: a repeated request finds its answer, and so does another question
 * under the same name, which is refused then.
 */
function answerId(question: SettledQuestion, run: string, base: string | undefined, { ports }: LookupContext): string {
  if (question.fresh && question.nonce !== undefined) {
    return answerIdOf({ run, question: '', model: '', nonce: question.nonce }, sha256)
  }
  return answerIdOf(
    {
      // No run id holds a space.
      run: base ? `${run} since ${base}` : run,
      question: question.text,
      model: ports.model.name,
      depth: question.depth,
      thread: question.thread,
      ...(question.fresh ? { nonce: ports.uniqueId() } : {}),
    },
    sha256,
  )
}

// ── an answer that is stored ─────────────────────────────────────────────────────────────────────────────────────────────────────

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

/** Undefined where there is nothing to say, or where it cannot be found out: that costs the remark and not the answer. */
export async function stalenessAt(
  head: string | undefined,
  record: CompletedAnswer,
  run: ChosenRun,
  github: AnswerRequest['github'],
  context: ReadContext,
  signal: AbortSignal,
): Promise<AnswerStaleness | undefined> {
  if (head === undefined) return undefined
  const { checkStaleness } = await import('../pull-request/check-answer.js')
  try {
    return await checkStaleness({ repository: repositoryOf(run), record, head }, context, await github?.(), signal)
  } catch (error) {
    return ignoreFailure(error)
  }
}

/** Of this answer, and of the one whose words it repeats. */
export function correctionsFor(
  { id, reusedFrom }: Pick<CompletedAnswer, 'id' | 'reusedFrom'>,
  corrections: readonly Correction[],
): Correction[] {
  return corrections.filter(({ answer }) => answer !== undefined && (answer === id || answer === reusedFrom))
}
