// What a question over HTTP needs as long as its answer may be stored, and no more: loading code is most of what a stored answer costs. Everything
// else is in `index.ts`.

export type { GitHubSignIn, UserTokens } from './clients/github/user-sign-in.js'
export { createContext } from './create-context.js'
export { type Depth, depthNamed, depths } from './domain/answers/depth.js'
export { normaliseQuestion, parseQuestion } from './domain/answers/question.js'
export { answerBlocks, answerData } from './domain/answers/render-answer.js'
export { citationLabel } from './domain/citations/citation-label.js'
export { correctionData, showCorrections } from './domain/corrections/render-corrections.js'
export { HandoffError, isHandoffError } from './domain/errors.js'
export { layout, parseRepository, parseRunId, parseSha } from './domain/run.js'
export { makeRedactor } from './domain/secrets/redactor.js'
export { missingSettings, parseSettings, secretsIn, wrongSettings } from './domain/settings.js'
export { makeBudgets } from './store/caller-budgets.js'
export { orAborted } from './util/abort.js'
export { lazy } from './util/lazy.js'
export { makeAdmission } from './workflows/answer/admission.js'
export { findAnswer } from './workflows/answer/find-answer.js'
export { storedAnswer } from './workflows/answer/report-answer.js'
export { parseRunName } from './workflows/answer/resolve-run.js'

/** Only callers that signed in with GitHub need it. */
export const loadGitHubSignIn = () => import('./clients/github/user-sign-in.js')
