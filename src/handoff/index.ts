// The only inner door: what doors may use of the house.
export { connect, type Wiring } from './connect.js'
export { type AcceptedQuestion, type AskRequest, type AskResult, acceptQuestion, ask } from './hall/ask.js'
export type { House } from './hall/house.js'
export { type Summarised, type SummariseRequest, summarise } from './hall/summarise.js'
export { type ChosenRun, type RunName, whichRun } from './hall/which-run.js'
export { type SummaryOrder, type WrittenSummary, writeSummary } from './hall/write-summary.js'
export type { AnswerRecord, Citation, CompletedAnswer, Cost, Excerpt, Question, Usage } from './library/answer.js'
export { type ErrorCode, HandoffError, isHandoffError } from './library/errors.js'
export type { RunEvent, Step } from './library/events.js'
export type { Handoff } from './library/handoff.js'
export {
  artifact,
  type Commit,
  fullName,
  layout,
  makeRunId,
  parseRepository,
  parseRunId,
  parseSha,
  quote,
  type Repository,
  type RunId,
} from './library/run.js'
export {
  type Environment,
  isLoopback,
  missingSettings,
  parseSettings,
  refuseImpossibleMix,
  type Settings,
  secretsIn,
  settingTable,
} from './library/settings.js'
