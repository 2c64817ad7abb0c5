// Which run a question is about, which answer it has, and whether that answer is there. Only reads: an answer that is stored needs nothing else,
// so what the work needs is loaded only when there is work.

import type { AppContext, LookupContext } from '../../context.js'
import type { AnswerRecord, ClaimedAnswer, CompletedAnswer, Question, SettledQuestion } from '../../domain/answer.js'
import { answerIdOf, parseQuestion } from '../../domain/answers/question.js'
import type { Correction, ShownCorrection } from '../../domain/corrections/correction.js'
import type { GitHub } from '../../domain/github.js'
import { layout, parseRunId } from '../../domain/run.js'
import { type RecordPlace, readAnswer, sha256 } from '../../store/run-store.js'
import { awaitedLater } from '../../util/abort.js'
import { type StepTimer, startTimer } from '../../util/step-timer.js'
import type { AnswerStaleness } from '../pull-request/check-answer.js'
import { correctionsOf, readCorrections } from '../read-corrections.js'
import { type ChosenRun, type RunName, resolveRun, type Where } from './resolve-run.js'
import { threadAfter } from './thread.js'

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

/** The budgets and the order of waiting questions have a name for every caller. */
export const payerOf = ({ request, id, question }: FoundQuestion) => ({
  caller: request.caller ?? 'local',
  id,
  depth: question.depth,
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

/** The question of a record that a job goes on with. */
export async function findQueued(
  job: Where & { run: string; id: string; labels?: Record<string, string> | undefined; caller?: string | undefined },
  context: LookupContext,
  signal: AbortSignal,
): Promise<FoundQuestion | undefined> {
  const { run: name, id, labels, caller, ...where } = job
  const timer = startTimer(context.ports)
  const resolve = (run: string) => timer.step('look up', () => resolveRun(where, { run }, context, signal))
  const run = await resolve(name)
  const [record, corrections] = await Promise.all([
    readAnswer(placeOf({ id, run }, context), signal),
    correctionsOf(context, run, signal),
  ])
  if (record === undefined) return undefined
  const base = record.compareWith && (await resolve(record.compareWith.run))
  const question = questionOf(record)
  const request = {
    ...where,
    name: { run: name },
    question,
    labels,
    caller,
  }
  return { request, question, id, run, base, record, corrections, timer }
}

function questionOf(record: AnswerRecord): SettledQuestion {
  const { question, thread, asker, depth = 'normal' } = record
  return {
    text: question,
    depth,
    thread,
    asker,
    ...(record.status === 'running' && record.fresh ? { fresh: true } : {}),
  }
}

function inThread(
  question: SettledQuestion,
  { after = [] }: AnswerRequest,
  run: string,
  { ports }: LookupContext,
): SettledQuestion {
  const thread = threadAfter(after, { run, model: ports.model.name, depth: question.depth })
  return thread === undefined ? question : { ...question, thread }
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

/** The record that claims a question, before any work. */
export function newClaim(
  { question, id, run, base }: FoundQuestion,
  context: AppContext,
  leaseMs: number,
): ClaimedAnswer {
  const { clock, model, uniqueId } = context.ports
  const now = clock.now()
  return {
    version: 1,
    id,
    run: run.handoff.run,
    commit: run.handoff.commit,
    question: context.redact(question.text),
    thread: question.thread,
    asker: question.asker,
    ...(base ? { compareWith: { run: base.handoff.run, commit: base.handoff.commit } } : {}),
    model: model.name,
    ...(question.depth === 'normal' ? {} : { depth: question.depth }),
    acceptedAt: new Date(now).toISOString(),
    status: 'running',
    leaseUntil: new Date(now + leaseMs).toISOString(),
    claim: uniqueId(),
    ...(question.fresh ? { fresh: true } : {}),
  }
}
