// What the parts of a run's page share.
import type { ApiClient } from './api-client.js'
import type { Answer, Citation, Question, RunAddress } from './api-types.js'
import type { CheckLink } from './links.js'

export interface RunView {
  client: ApiClient
  place: RunAddress
  link: CheckLink
  /** Ends when the reader leaves the run. */
  signal: AbortSignal
  /** Tells screen readers. */
  announce(text: string): void
  /** Handles an error that means that the token is not valid any more. */
  handleSignOut(error: unknown): boolean
  openCitation(citation: Citation, answer: Answer): void
  ask(question: string): void
  /** Asks again; the new answer replaces `earlier`. */
  askAgain(question: Question, earlier?: Element): void
  showStoredAnswers(): void
}
