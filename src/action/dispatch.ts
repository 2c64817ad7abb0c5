// Runs the work that an event asks for. Loaded only when there is work.
import { randomUUID } from 'node:crypto'
import { HandoffError, makeRedactor, parseDeadline } from '../handoff/index.js'
import { answerComment } from './answer-comment.js'
import { answerQuestion } from './answer-input.js'
import { commentOnPull } from './comment.js'
import type { Context } from './event-context.js'
import { type Options, readSettings, secretValues } from './inputs.js'
import type { Job } from './job-context.js'
import type { Route } from './route-event.js'
import type { Environment, Runner } from './runner.js'
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
