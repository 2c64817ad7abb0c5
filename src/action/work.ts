// The work that an event asked for. Loaded only then.
import { randomUUID } from 'node:crypto'
import { HandoffError, makeRedactor, parseDeadline } from '../handoff/index.js'
import { answerComment } from './ask-comment.js'
import { answerQuestion } from './ask-question.js'
import { commentOnPull } from './comment.js'
import type { Context } from './context.js'
import type { Decision } from './events.js'
import { type Options, secretValues, settingRecord } from './inputs.js'
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
