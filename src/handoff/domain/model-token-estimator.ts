// The estimate of tokens for a model by its name. A model whose vocabulary is not o200k gets a margin.
import { estimateTokens } from './estimate-tokens.js'

type TokenEstimator = (text: string) => number

export function tokenEstimatorFor(model: string): TokenEstimator {
  return usesO200k(model) ? estimateTokens : estimateForOtherVocabulary
}

/** Whether the model's vocabulary is o200k. The name may have a reseller's prefix (`openai/`) or a tuned model's (`ft:`). */
export function usesO200k(model: string): boolean {
  return /(^|[/:])(chatgpt-4o|gpt-4o|gpt-4\.[15]|gpt-5|gpt-oss|o[134])($|[-.:@])/.test(model.toLowerCase())
}

/**
 * Other vocabularies make more tokens of digits (often one of each), of scripts other than Latin and of long runs of blanks. With these additions
 * and a third more, no kind of text had more tokens in cl100k, Llama 3, Qwen 3, DeepSeek, Mistral, Kimi and GLM. No text has more tokens than bytes.
 */
function estimateForOtherVocabulary(text: string): number {
  let extra = 0
  for (const [run] of text.matchAll(/\d+|[\t-\r ]{24,}|[^\x00-\x7f]+/g)) {
    const first = run.charCodeAt(0)
    if (first > 0x7f) extra += run.length
    else extra += first > 0x20 ? (run.length * 2) / 3 : run.length / 4
  }
  return Math.min(Buffer.byteLength(text), Math.ceil(1.3 * (estimateTokens(text) + extra)))
}
