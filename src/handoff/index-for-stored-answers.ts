// What a question over HTTP needs as long as its answer may be stored, and no more: loading code is most of what a stored answer costs. Everything
// else is in `index.ts`.

export type { GitHubSignIn, UserTokens } from './clients/github/user-sign-in.js'
export { createLookupContext } from './create-read-context.js'
export { answerBlocks, answerData } from './domain/answers/answer-data.js'
export { type Depth, depthNamed, depths } from './domain/answers/depth.js'
export { normaliseQuestion, parseQuestion } from './domain/answers/question.js'
export { citationLabel } from './domain/citations/citation-label.js'
export { parseLookupSettings } from './domain/drive-settings.js'
export { HandoffError, isHandoffError } from './domain/errors.js'
export { layout, parseRepository, parseRunId, parseSha } from './domain/run.js'
export { orAborted } from './util/abort.js'
export { findAnswer, storedAnswer } from './workflows/answer/find-answer.js'
export { parseRunName } from './workflows/answer/resolve-run.js'

/** Only callers that signed in with GitHub need it. */
export const loadGitHubSignIn = () => import('./clients/github/user-sign-in.js')

/** Only the health check, and lines of the log with text of others, need them. */
export const loadSettings = () => import('./domain/settings.js')
export const loadRedactor = () => import('./domain/secrets/redactor.js')
