import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { estimateTokens } from '../../../src/handoff/domain/estimate-tokens.js'
import { anyCharacter } from '../../support/any-character.js'
import { codeAndProse, otherTexts } from '../../support/token-samples.js'

/** The true count. Names of reserved tokens count as plain text. */
const count = (text: string) => countTokens(text, { disallowedSpecial: new Set() })
const runs = process.env['LONG'] === '1' ? 3_000 : 60
const ratioOf = (text: string) => estimateTokens(text) / count(text)

/** Consecutive parts of 4,000 characters; the rest belongs to the last part. */
function partsOf(text: string): string[] {
  const parts = Math.max(1, Math.floor(text.length / 4_000))
  return Array.from({ length: parts }, (_, index) =>
    text.slice(index * 4_000, index + 1 === parts ? undefined : (index + 1) * 4_000),
  )
}

describe('the estimate of tokens', () => {
  for (const [kind, text] of Object.entries(codeAndProse)) {
    it(`is between 0.97 and 1.35 of the true count on each part, and at most 1.25 on the whole, of ${kind}`, () => {
      const ratios = partsOf(text).map(ratioOf)
      expect(Math.min(...ratios)).toBeGreaterThan(0.97)
      expect(Math.max(...ratios)).toBeLessThan(1.35)
      expect(ratioOf(text)).toBeLessThan(1.25)
    })
  }

  for (const [kind, text] of Object.entries(otherTexts)) {
    it(`is between 0.97 and 1.45 of the true count on each part of ${kind}`, () => {
      const ratios = partsOf(text).map(ratioOf)
      expect(Math.min(...ratios)).toBeGreaterThan(0.97)
      expect(Math.max(...ratios)).toBeLessThan(1.45)
    })
  }

  it('is between 0.95 and 1.45 of the true count on any mix of these', () => {
    const texts = Object.values({ ...codeAndProse, ...otherTexts })
    const piece = fc
      .tuple(fc.constantFrom(...texts), fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 20, max: 900 }))
      .map(([text, at, length]) => text.substr(Math.floor(at * (text.length - length)), length))
    const mix = fc
      .tuple(fc.array(piece, { minLength: 12, maxLength: 30 }), fc.constantFrom('', ' ', '\n'))
      .map(([pieces, glue]) => pieces.join(glue))
    fc.assert(
      fc.property(mix, (text) => {
        expect(ratioOf(text)).toBeGreaterThan(0.95)
        expect(ratioOf(text)).toBeLessThan(1.45)
      }),
      { numRuns: runs },
    )
  })

  it('is at least half of the true count on texts of any characters, and never more than their bytes', () => {
    const text = fc.array(anyCharacter, { minLength: 200, maxLength: 400 }).map((characters) => characters.join(''))
    fc.assert(
      fc.property(text, (text) => {
        expect(ratioOf(text)).toBeGreaterThan(0.5)
        expect(estimateTokens(text)).toBeLessThanOrEqual(Buffer.byteLength(text))
      }),
      { numRuns: 100 },
    )
  })

  it('of two texts is about the sum of their estimates', () => {
    const text = fc.constantFrom(...Object.values({ ...codeAndProse, ...otherTexts }))
    fc.assert(
      fc.property(text, text, (one, other) => {
        const sum = estimateTokens(one) + estimateTokens(other)
        expect(Math.abs(estimateTokens(`${one}\n${other}`) - sum)).toBeLessThan(4)
      }),
    )
  })

  it('is 0 for no text and small for a few words', () => {
    expect(estimateTokens('')).toBe(0)
    expect(estimateTokens('hello world')).toBe(3)
  })
})
