// Words to look for beyond the question's own. The model names them while the sandbox starts, so that they cost no time.
import type { CompletedAnswer, Usage } from '../../domain/answer.js'
import { parseTerms, termsMessages } from '../../domain/answers/answer-prompt.js'
import { isEnglish } from '../../domain/answers/is-english.js'
import { namesCode } from '../../domain/answers/names-code.js'
import { termTokens } from '../../domain/answers/question-cost.js'
import { type Asking, complete } from '../call-model.js'

export interface SearchTerms {
  /** Of the model. */
  words: string[]
  /** Of earlier questions of the thread. */
  earlier: string[]
  usage: Usage
}

interface TermsJob extends Asking {
  question: { text: string }
  /** Earlier answers of the same thread, oldest first. */
  thread: readonly Pick<CompletedAnswer, 'searched'>[]
}

/** The model is not asked where the question names code itself: the search finds that. It chooses from the names in the summary. */
export async function searchTerms(job: TermsJob, reading: Promise<string>, signal: AbortSignal): Promise<SearchTerms> {
  const { question, thread, context } = job
  const earlier = thread.slice(-2).flatMap((record) => record.searched.slice(0, 10))
  const none = { words: [], earlier, usage: { inputTokens: 0, outputTokens: 0 } }
  if (isEnglish(question.text) && namesCode(question.text)) return none
  const messages = termsMessages(question.text, await reading)
  const reply = await complete(job, { purpose: 'terms', messages, answerTokens: termTokens, effort: 'least', signal })
  if (reply.text.trim() === '') context.ports.emit({ type: 'notice', text: noTerms })
  return { words: parseTerms(reply.text), earlier, usage: reply.usage }
}

const noTerms = 'The model named no words to search for; the words of the question alone were searched.'
