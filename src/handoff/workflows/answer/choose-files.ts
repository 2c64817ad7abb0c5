// Where the search is unsure, the model chooses among cards of its first files, and the lines are taken from those.
import type { Usage } from '../../domain/answer.js'
import { chooseMessages, parseChoice } from '../../domain/answers/choose-prompt.js'
import { termTokens } from '../../domain/answers/question-cost.js'
import type { Card } from '../../domain/sandbox-protocol.js'
import { type Asking, complete } from '../call-model.js'

export async function chooseFiles(
  job: Asking & { question: { text: string } },
  cards: readonly Card[],
  signal: AbortSignal,
): Promise<{ paths: string[]; usage: Usage }> {
  const messages = chooseMessages(job.question.text, cards)
  const reply = await complete(job, { purpose: 'choose', messages, answerTokens: termTokens, effort: 'least', signal })
  return { paths: parseChoice(reply.text, cards), usage: reply.usage }
}
