// What one question may take of the model at most. A caller's budget reserves this before the work begins.
import type { WantedReply } from '../model-limits.js'
import type { Model } from '../ports.js'
import { type Depth, depthLimits, roundTokens } from './depth.js'

/** Tokens of text that an answer may have. */
export const answerTokens = 2_000
/** Tokens of text that a list of search words may have. */
export const termTokens = 200

/** What else stands in a request: instructions, the summary, the thread, the question. */
const otherTokens = 5_500
/** Instructions, the summary's beginning and the question, when only search words are asked for. */
const termInputTokens = 5_500

/** Instructions, sixty cards and the question, when the model chooses files. */
const chooseInputTokens = 7_000

/** The model that a question is asked of, as far as its cost is concerned. */
export type QuestionModel = Pick<Model, 'name' | 'contextTokens' | 'replyTokens'>

interface MaxQuestionCost {
  calls: number
  inputTokens: number
  outputTokens: number
}

/** All rounds, the search words and the choice of files; for a model that may think, also a second request for each but the first rounds. */
export function maxQuestionCost(model: QuestionModel, depth: Depth): MaxQuestionCost {
  const { rounds, tokens } = depthLimits[depth]
  const sum = { calls: 0, inputTokens: 0, outputTokens: 0 }
  const add = (input: number, wanted: WantedReply) => {
    const output = Math.min(model.replyTokens(wanted), model.contextTokens)
    sum.calls += 1
    sum.outputTokens += output
    sum.inputTokens += Math.min(input, model.contextTokens - output)
  }
  const mayThink = model.replyTokens({ answerTokens }) > answerTokens
  const terms = { answerTokens: termTokens, effort: 'least' } as const
  for (const wide of mayThink ? [false, true] : [false]) {
    for (let round = wide ? rounds : 1; round <= rounds; round += 1) {
      add(otherTokens + Math.min(round * roundTokens, tokens), { answerTokens, wide })
    }
    add(termInputTokens, { ...terms, wide })
    if (depth !== 'quick') add(chooseInputTokens, { ...terms, wide })
  }
  return sum
}
