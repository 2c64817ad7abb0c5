// The work that an event asked for. Loaded only then.
import { randomUUID } from 'node:crypto'
import { HandoffError, makeRedactor, parseDeadline } from '../handoff/index.js'
import { answerComment } from './answer-comment.js'
import { answerQuestion } from './answer-input.js'
import { commentOnPull } from './comment.js'
import type { Context } from './event-context.js'
import { type Options, secretValues, settingRecord } from './inputs.js'
import type { Job } from './job-context.js'
import type { Decision } from './route-event.js'
import type { Environment, Runner } from './runner.js'
import type { Saver } from './saved-state.js'
import { summariseCommit } from './summarise-commit.js'

export interface Parts {
  runner: Runner
  saver: Saver
  context: Context
  options: Options
  stop: AbortSignal
  environment: Environment
}

export async function carryOut(parts: Parts, decision: Decision): Promise<void> {
  const deadline = AbortSignal.timeout(parseDeadline(settingRecord(parts.runner)))
  const job: Job = {
    ...parts,
    signal: AbortSignal.any([parts.stop, deadline]),
    redact: withoutSecrets(parts.runner),
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

export function withoutSecrets(runner: Runner): (text: string) => string {
  return makeRedactor(secretValues(runner))
}
