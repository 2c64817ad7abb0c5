// The public interface of the product: everything that entry points may import.

export { makeDrive } from './clients/drive9/client.js'
export { makeSandboxes } from './clients/e2b/client.js'
export { isSignedByE2b, readSandboxEnd } from './clients/e2b/lifecycle-webhook.js'
export { makeGitHub } from './clients/github/client.js'
export type { GitHubSignIn } from './clients/github/user-sign-in.js'
export { makeOidcVerifier, type OidcVerifier } from './clients/github/verify-oidc.js'
export { isSigned } from './clients/github/webhook-signature.js'
export { systemClock } from './clients/system-clock.js'
export type { AppContext, LookupContext, ReadContext } from './context.js'
export { createContext, createCorrectContext } from './create-context.js'
export { createReadContext } from './create-read-context.js'
export type { AnswerRecord, Citation, CompletedAnswer } from './domain/answer.js'
export { type AnswerData, answerData } from './domain/answers/answer-data.js'
export { type AskCommand, parseAskCommand } from './domain/answers/ask-command.js'
export { summaryMarker, writeAnswerMarker } from './domain/answers/comment-marker.js'
export { type Depth, depthNamed, depths } from './domain/answers/depth.js'
export {
  type AskEvent,
  commentEvents,
  readAskEvent,
  type Target as AskTarget,
} from './domain/answers/parse-ask-comment.js'
export { type AnswerPlace, permalink } from './domain/answers/permalinks.js'
export { longestQuestion, parseQuestion } from './domain/answers/question.js'
export { answerMarkdown } from './domain/answers/render-answer.js'
export { type ChangePart, changeParts } from './domain/change/change-parts.js'
export { changeComment, changeSections, changeSize } from './domain/change/render-change.js'
export { type CorrectCommand, parseCorrectCommand, type ShownCorrection } from './domain/corrections/correction.js'
export {
  type CorrectionData,
  correctedComment,
  correctionData,
  correctionsMarkdown,
  placeCorrections,
  showCorrections,
} from './domain/corrections/render-corrections.js'
export { parseDriveSettings } from './domain/drive-settings.js'
export {
  abortError,
  type ErrorCode,
  HandoffError,
  ignoreFailure,
  isErrorCode,
  isHandoffError,
} from './domain/errors.js'
export { type AskLevel, askLevels, type GitHub, type Thread } from './domain/github.js'
export { diagramData, diagramMarkdown } from './domain/graph/diagram-markdown.js'
export { encodeHandoff, type Handoff } from './domain/handoff-record.js'
export { cleanText, cutText } from './domain/markdown/clean-text.js'
export { fitMarkdown } from './domain/markdown/fit.js'
export { safeInline, safeMarkdown, safeTable, safeText } from './domain/markdown/sanitize.js'
export { efforts, replyLimit } from './domain/model-limits.js'
export type { Model } from './domain/ports.js'
export {
  artifact,
  type Commit,
  fullName,
  layout,
  parseRepository,
  parseRunId,
  parseSha,
  quote,
  type Repository,
} from './domain/run.js'
export type { RunEvent, Step } from './domain/run-events.js'
export { makeRedactor } from './domain/secrets/redactor.js'
export {
  missingSettings,
  parseDeadline,
  parseSettings,
  refuseImpossibleMix,
  type Settings,
  secretsIn,
  wantsJournal,
} from './domain/settings.js'
export { knowledgeBundle, llmsText } from './domain/summary/render-context-files.js'
export { summaryBlocks } from './domain/summary/summary-blocks.js'
export { makeBudgets } from './store/caller-budgets.js'
export { mapConcurrent } from './util/map-concurrent.js'
export { retryAfterMs } from './util/retry.js'
export type { Environment } from './util/setting-reader.js'
export { makeAdmission } from './workflows/answer/admission.js'
export { answerFound, answerQuestion } from './workflows/answer/answer-question.js'
export {
  type AnswerRequest,
  type AnswerResult,
  correctionsFor,
  type FoundQuestion,
  findAnswer,
} from './workflows/answer/find-answer.js'
export { type FoundLines, findLines, type LinesRequest } from './workflows/answer/find-lines.js'
export { feedbackOn, giveFeedback } from './workflows/answer/give-feedback.js'
export { answerOrJoin, followAnswer } from './workflows/answer/join-answer.js'
export { failQueued, findQueued, queueAnswer } from './workflows/answer/queue-answer.js'
export { budgetProblem } from './workflows/answer/reserve-budget.js'
export { type ChosenRun, parseRunName, type RunName, resolveRun } from './workflows/answer/resolve-run.js'
export { passesByItself, retryAfterSeconds, wasInterrupted } from './workflows/answer/retry-policy.js'
export { freeAfterSandbox } from './workflows/answer/sandbox-ended.js'
export { withdrawQuestion } from './workflows/answer/withdraw-answer.js'
export {
  type CitedPlace,
  citedFile,
  getAnswer,
  listAnswerPage,
  listRepositories,
  listRuns,
  staleSince,
  summarisedRefs,
  summaryWithCorrections,
} from './workflows/browse.js'
export { planPrune, prune } from './workflows/prune/prune.js'
export type { PruneItem, PrunePlan, PruneRequest, PruneResult } from './workflows/prune/types.js'
export {
  answerComment,
  answerInComment,
  progressText,
  type RunPlace,
  type ThreadQuestion,
} from './workflows/pull-request/answer-in-comment.js'
export {
  type AnswerStaleness,
  checkStaleness,
  checkStalenessByRuns,
  currentCitations,
} from './workflows/pull-request/check-answer.js'
export { checkPermission, isBot, type PermissionCheck } from './workflows/pull-request/check-permission.js'
export { endConversation } from './workflows/pull-request/comment-lifecycle.js'
export { type CorrectContext, correctComment } from './workflows/pull-request/correct.js'
export { markStaleComments } from './workflows/pull-request/mark-comments.js'
export { questionKey } from './workflows/pull-request/status-comment.js'
export { correctionsOf } from './workflows/read-corrections.js'
export { readChange, readDiagram, readStatements, readSummary } from './workflows/read-sealed-files.js'
export { summarise } from './workflows/summarise/summarise-commit.js'
export type { SummariseRequest, SummariseResult } from './workflows/summarise/types.js'
