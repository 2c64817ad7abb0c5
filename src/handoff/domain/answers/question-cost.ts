// What one question may take of the model at most. A caller's budget reserves this before the work begins.
import type { WantedReply } from '../model-limits.js'
import type { Model } from '../ports.js'

/** Requests for an answer, at most; each one after the first shows more of the repository. */
export const mostRounds = 3
/** Tokens of text that an answer may have. */
export const answerTokens = 2_000
/** Tokens of text that a list of search words may have. */
export const termTokens = 200

/** Numbered lines that one round adds, and what else stands in a request: instructions, the summary, the thread, the question. */
const excerptTokens = 12_000
const otherTokens = 5_500
/** Instructions, the summary's beginning and the question, when only search words are asked for. */
const termInputTokens = 5_500

/** The model that a question is asked of, as far as its cost is concerned. */
export type QuestionModel = Pick<Model, 'name' | 'contextTokens' | 'replyTokens'>

/** Three rounds and the search words; for a model that may think, also one second request for the answer and one for the words. */
export function maxQuestionCost(model: QuestionModel): { inputTokens: number; outputTokens: number } {
  const sum = { inputTokens: 0, outputTokens: 0 }
  const add = (input: number, wanted: WantedReply) => {
    const output = Math.min(model.replyTokens(wanted), model.contextTokens)
    sum.outputTokens += output
    sum.inputTokens += Math.min(input, model.contextTokens - output)
  }
  const mayThink = model.replyTokens({ answerTokens }) > answerTokens
  const terms = { answerTokens: termTokens, effort: 'least' } as const
  for (const wide of mayThink ? [false, true] : [false]) {
    for (let round = wide ? mostRounds : 1; round <= mostRounds; round += 1) {
      add(otherTokens + round * excerptTokens, { answerTokens, wide })
    }
    add(termInputTokens, { ...terms, wide })
  }
  return sum
}
