// The page declares what it reads of the service's responses. The compiler compares it with what the service sends.
import type {
  answerView,
  failedView,
  listedAnswerView,
  pendingView,
  runView,
} from '../../src/service/http/responses.js'
import type { Answer, FailedAnswer, ListedAnswer, PendingAnswer, Run } from '../../web/api-types.js'

/** An error of the compiler where the first type is not the second. */
type Is<Sent extends Read, Read> = Sent

export type Compared = [
  Is<Awaited<ReturnType<typeof answerView>>, Answer>,
  Is<ReturnType<typeof listedAnswerView>, ListedAnswer>,
  Is<ReturnType<typeof failedView>, FailedAnswer>,
  Is<ReturnType<typeof pendingView>, PendingAnswer>,
  Is<ReturnType<typeof runView>, Run>,
]
