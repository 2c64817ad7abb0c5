// The only inner door: what doors may use of the house.
export { type AcceptedNote, acceptedAbout, listAccepted } from './bench/accepted.js'
export { atOnce } from './bench/at-once.js'
export { type Begun, beginRequest, keyLifetimeMs } from './bench/request-keys.js'
export { connect, connectForReading, type Wiring } from './connect.js'
export { questionKey } from './hall/answer-comment.js'
export { acceptQuestion, ask, type CompareRequest, compare } from './hall/ask.js'
export { type Conversation, converse, type Ending, terminal, type Voice } from './hall/conversation.js'
export type { House, ReadContext } from './hall/house.js'
export {
  citedFile,
  listRepositories,
  listRuns,
  oneAnswer,
  type Page,
  pageOfAnswers,
  runSummary,
  staleSince,
} from './hall/look.js'
export { type Marked, type MarkRequest, markStale } from './hall/mark-stale.js'
export { type AskLevel, isBot, type MayAsk, mayAsk } from './hall/may-ask.js'
export type { AcceptedQuestion, AskRequest, AskResult } from './hall/prepare-question.js'
export { planPrune, prune } from './hall/prune.js'
export type { Pruned, PruneItem, PrunePlan, PruneRequest, RepositoryPlan } from './hall/prune-plan.js'
export {
  followAnswer,
  houseFor,
  makeService,
  type Service,
  type ServiceLimits,
  staleNow,
  type Taken,
  takeQuestion,
  type Visit,
} from './hall/service.js'
export { type AnswerStaleness, citedNow, stalenessByRuns, stalenessOf } from './hall/stale-answer.js'
export { type Summarised, type SummariseRequest, summarise } from './hall/summarise.js'
export {
  commentParts,
  progressOf,
  type RunPlace,
  type Talk,
  type TalkQuestion,
  type ToldAnswer,
  talk,
  threadOf,
} from './hall/talk.js'
export {
  type OwnWork,
  promiseAnswer,
  promiseComment,
  promiseKept,
  takeLeft,
  troubleWith,
} from './hall/under-limits.js'
export { type ChosenRun, type RunName, whichRun } from './hall/which-run.js'
export { type SummaryOrder, type WrittenSummary, writeSummary } from './hall/write-summary.js'
export type { AnswerRecord, Citation, CompletedAnswer, Cost, Excerpt, Question, Usage } from './library/answer.js'
export { type AnswerData, type AnswerPlace, answerData, answerMarkdown } from './library/answers/answer-markdown.js'
export { type AskEvent, commentEvents, readAskEvent, type Target as AskTarget } from './library/answers/ask-event.js'
export { longestQuestion, parseAskCommand, parseQuestion } from './library/answers/question.js'
export type { Clock } from './library/clock.js'
export { abortError, type ErrorCode, HandoffError, isHandoffError } from './library/errors.js'
export type { RunEvent, Step } from './library/events.js'
export type { Call, Comment, CommentKey, GitHub, PullFacts, Thread } from './library/github.js'
export { encodeHandoff, type Handoff } from './library/handoff.js'
export { fitMarkdown } from './library/markdown/fit-markdown.js'
export { cutText } from './library/markdown/plain-text.js'
export { safeInline, safeMarkdown, safeTable, safeText } from './library/markdown/safe-markdown.js'
export { efforts, replyLimit } from './library/model-limits.js'
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
export { makeRedactor } from './library/secrets/redact.js'
export {
  type Environment,
  isLoopback,
  missingSettings,
  parseDeadline,
  parseDriveSettings,
  parseSettings,
  refuseImpossibleMix,
  type Settings,
  secretsIn,
} from './library/settings.js'
export { systemClock } from './lines/clock.js'
export { makeDrive } from './lines/drive9.js'
export { makeSandboxes } from './lines/e2b.js'
export { type GitHubOptions, makeGitHub } from './lines/github.js'
export { type ActionsClaims, makeOidcVerifier, type OidcVerifier } from './lines/oidc.js'
export { isSigned } from './lines/signature.js'
