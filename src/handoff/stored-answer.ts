// The narrow inner door: what a question over HTTP needs as long as its answer may be in the ledger, and no more, because loading it is most of what
// such an answer costs. Everything else is behind `index.ts`.

export { systemClock } from './clients/system-clock.js'
export { connect } from './create-context.js'
export { parseQuestion } from './domain/answers/question.js'
export { type AnswerPlace, answerData } from './domain/answers/render-answer.js'
export { HandoffError, isHandoffError } from './domain/errors.js'
export { layout, parseRepository, parseRunId, parseSha } from './domain/run.js'
export { makeRedactor } from './domain/secrets/redactor.js'
export { parseSettings, secretsIn } from './domain/settings.js'
export { type Begun, beginRequest } from './store/idempotency-keys.js'
export {
  followAnswer,
  makeService,
  type Service,
  staleNow,
  type Taken,
  takeQuestion,
  type Visit,
} from './workflows/answer/ask-service.js'
