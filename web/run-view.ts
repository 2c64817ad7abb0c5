// What the parts of a run's page share.
import type { ApiClient } from './api-client.js'
import type { Question, RunAddress } from './api-types.js'
import type { CheckLink } from './links.js'
import type { Place } from './page-address.js'

export interface RunView {
  client: ApiClient
  place: RunAddress
  link: CheckLink
  /** Ends when the reader leaves the run. */
  signal: AbortSignal
  /** Handles an error that means that the token is not valid any more. */
  handleSignOut(error: unknown): boolean
  goTo(place: Place): void
  /** Asks; the new answer replaces `earlier`. */
  ask(question: Question, earlier?: Element): void
  showStoredAnswers(): void
}
