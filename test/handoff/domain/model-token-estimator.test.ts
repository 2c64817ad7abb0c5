import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base'
import { describe, expect, it } from 'vitest'
import { estimateTokens, tokenEstimatorFor, usesO200k } from '../../../src/handoff/domain/estimate-tokens.js'
import { codeAndProse, otherTexts } from '../../support/token-samples.js'

const llama = tokenEstimatorFor('llama3.3')

it('recognises the models whose vocabulary is o200k, with the prefixes of resellers and tuned models', () => {
  const names = ['gpt-4o', 'gpt-4o-mini-2024-07-18', 'openai/gpt-5.1', 'o3-mini', 'ft:gpt-4o:acme::1', 'gpt-oss:20b']
  expect([...names, 'gpt-4.1', 'chatgpt-4o-latest'].filter((name) => !usesO200k(name))).toEqual([])
  const others = [
    'gpt-4',
    'gpt-4-turbo',
    'gpt-3.5-turbo',
    'llama3.3',
    'solar-o3x',
    'claude-opus-5',
    'qwen3',
    'not-gpt-4o',
  ]
  expect(others.filter(usesO200k)).toEqual([])
})

it('estimates without a margin for these models', () => {
  expect(tokenEstimatorFor('gpt-4o')).toBe(estimateTokens)
})

describe('the estimate for another vocabulary', () => {
  const kinds = Object.entries({ ...codeAndProse, ...otherTexts })

  it.each(kinds)('is never below the count of an older vocabulary: %s', (_, text) => {
    expect(llama(text)).toBeGreaterThanOrEqual(countTokens(text, { disallowedSpecial: new Set() }))
  })

  it.each(Object.entries(codeAndProse))('is at most twice the count of an older vocabulary: %s', (_, text) => {
    expect(llama(text)).toBeLessThanOrEqual(2 * countTokens(text, { disallowedSpecial: new Set() }))
  })

  it.each(kinds)('is never more than the bytes: %s', (_, text) => {
    expect(llama(text)).toBeLessThanOrEqual(Buffer.byteLength(text))
  })

  it('leaves room for one token in each digit', () => {
    expect(llama('1234567890'.repeat(50))).toBe(500)
  })
})
