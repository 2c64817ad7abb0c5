// Runs the work that an event asks for. Loaded only when there is work.
import { randomUUID } from 'node:crypto'
import {
  HandoffError,
  isHandoffError,
  makeRedactor,
  parseDeadline,
  parseRunName,
  type RunPlace,
  systemClock,
} from '../handoff/index.js'
import { answerComment } from './answer-comment.js'
import { openAnswerSource } from './answer-source.js'
import { commentOnPull } from './comment.js'
import { writeCorrection } from './correct-comment.js'
import type { Context } from './event-context.js'
import { type Options, readSettings, secretValues } from './inputs.js'
import type { Job } from './job-context.js'
import { tellAnswer } from './publish-answer.js'
import type { CommitRequest, Route } from './route-event.js'
import type { Environment, Runner } from './runner.js'
import type { Inquiry, Reply } from './runs-for-question.js'
import type { StateWriter } from './saved-state.js'
import { summariseCommit } from './summarise-commit.js'

interface JobParts {
  runner: Runner
  saver: StateWriter
  context: Context
  options: Options
  stop: AbortSignal
  environment: Environment
}

export async function dispatch(parts: JobParts, decision: Route): Promise<void> {
  const deadline = AbortSignal.timeout(parseDeadline(readSettings(parts.runner)))
  const job: Job = {
    ...parts,
    signal: AbortSignal.any([parts.stop, deadline]),
    redact: secretRedactor(parts.runner),
    owner: randomUUID(),
  }
  switch (decision.kind) {
    case 'summarise':
      return summariseCommit(job, decision.commit)
    case 'comment':
      return commentOnPull(job, decision.commit)
    case 'answer':
      return answerComment(job, decision.asked)
    case 'correct':
      return writeCorrection(job, decision.correction)
    case 'ask':
      return answerQuestion(job, decision.commit)
    case 'refuse':
      throw new HandoffError('forbidden', decision.why, { next: decision.next })
    case 'nothing':
      return
  }
}

export function secretRedactor(runner: Runner): (text: string) => string {
  return makeRedactor(secretValues(runner))
}

// `mode: ask` with a question, in any workflow: the answer becomes outputs and the job summary, and no comment is written.

async function answerQuestion(job: Job, wanted: CommitRequest): Promise<void> {
  const { runner, options, context } = job
  runner.printUntrusted('The question', options.question)
  const inquiry: Inquiry = {
    text: options.question,
    fresh: options.fresh,
    depth: options.depth,
    asker: `github:${context.actor}`,
    places: options.run === '' ? listSources(wanted) : [{ name: parseRunName(options.run) }],
  }
  await tellAnswer(job, await waitForAnswer(job, inquiry))
}

/** While another job answers the same question, waits for that answer. */
async function waitForAnswer(job: Job, inquiry: Inquiry): Promise<Reply> {
  const answers = openAnswerSource(job)
  for (;;) {
    try {
      return await answers.ask(inquiry, () => {})
    } catch (error) {
      if (!isHandoffError(error, 'in-progress') || job.signal.aborted) throw error
      job.runner.info(error.message)
      await systemClock.sleep((error.retryAfterSeconds ?? 3) * 1_000, job.signal)
    }
  }
}

function listSources({ sha, ref, baseRef }: CommitRequest): RunPlace[] {
  const branch = baseRef ?? ref
  const note = `The commit ${sha.slice(0, 7)} has no summary yet, so this is answered from the newest one of ${branch}.`
  const onBranch = branch?.startsWith('refs/heads/') ? [{ name: { ref: branch }, note }] : []
  return [{ name: { commit: sha } }, ...onBranch]
}
