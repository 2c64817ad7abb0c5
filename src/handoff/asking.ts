// The narrow inner door: what a question over HTTP needs as long as its answer may be in the ledger, and no more, because loading it is most of what
// such an answer costs. Everything else is behind `index.ts`.
export { type Begun, beginRequest } from './bench/request-keys.js'
export { connect } from './connect.js'
export {
  followAnswer,
  makeService,
  type Service,
  staleNow,
  type Taken,
  takeQuestion,
  type Visit,
} from './hall/service.js'
export { type AnswerPlace, answerData } from './library/answers/answer-markdown.js'
export { parseQuestion } from './library/answers/question.js'
export { HandoffError, isHandoffError } from './library/errors.js'
export { layout, parseRepository, parseRunId, parseSha } from './library/run.js'
export { makeRedactor } from './library/secrets/redact.js'
export { parseSettings, secretsIn } from './library/settings.js'
export { systemClock } from './lines/clock.js'
