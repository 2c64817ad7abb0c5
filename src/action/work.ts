// The work that an event asked for. Loaded only then: from here on the house is there.
import { randomUUID } from 'node:crypto'
import { HandoffError, makeRedactor } from '../handoff/index.js'
import { answerComment } from './ask-comment.js'
import { answerQuestion } from './ask-question.js'
import type { Context } from './context.js'
import type { Decision } from './events.js'
import { type Options, secretValues } from './inputs.js'
import type { Job } from './job.js'
import type { Environment, Runner } from './runner.js'
import type { Saver } from './state.js'
import { summariseCommit } from './summarise.js'

export interface Parts {
  runner: Runner
  saver: Saver
  context: Context
  options: Options
  stop: AbortSignal
  environment: Environment
}

export async function carryOut(parts: Parts, decision: Decision): Promise<void> {
  const job: Job = { ...parts, redact: withoutSecrets(parts.runner), owner: randomUUID() }
  switch (decision.kind) {
    case 'summarise':
      return summariseCommit(job, decision.commit)
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
