import { describe, expect, it } from 'vitest'
import { costOf, modelRow, modelTable } from '../../../src/handoff/domain/model-prices.js'

const usage = { inputTokens: 100_000, outputTokens: 2_000 }

describe('what a request costs', () => {
  it('comes from the settings before the table', () => {
    expect(costOf(usage, 'gpt-4o', { input: 1, output: 5 })).toEqual({
      amount: 0.11,
      currency: 'USD',
      source: 'settings',
    })
  })

  it('comes from the dated table for a model it knows', () => {
    expect(costOf(usage, 'gpt-4o')).toEqual({ amount: 0.27, currency: 'USD', source: '2026-08-08' })
  })

  it('is the same for a dated or resold name of the model', () => {
    expect(costOf(usage, 'gpt-4o-2024-08-06')).toEqual(costOf(usage, 'gpt-4o'))
    expect(costOf(usage, 'openai/gpt-4o')).toEqual(costOf(usage, 'gpt-4o'))
    expect(costOf(usage, 'claude-haiku-4-5-20251001')?.amount).toBe(0.11)
    expect(costOf(usage, 'anthropic/claude-opus-5.5')).toEqual(costOf(usage, 'claude-opus-5-5'))
    expect(modelRow('openai/gpt-6-luna')?.contextTokens).toBe(1_050_000)
  })

  it('is unknown for a model in neither, and for a tuned one', () => {
    expect(costOf(usage, 'llama3.3')).toBeUndefined()
    expect(costOf(usage, 'ft:gpt-4o:acme')).toBeUndefined()
    expect(costOf(usage, 'gpt-4o-future')).toBeUndefined()
    expect(costOf(usage, 'offline-extractive')).toBeUndefined()
  })

  it('counts cached input at its own price, or like other input when none is given', () => {
    const cached = { ...usage, cachedInputTokens: 80_000 }
    expect(costOf(cached, 'gpt-4o')?.amount).toBe(0.17)
    expect(costOf(cached, 'any', { input: 1, output: 5 })?.amount).toBe(0.11)
    expect(costOf(cached, 'any', { input: 1, output: 5, cachedInput: 0 })?.amount).toBe(0.03)
    expect(
      costOf({ ...usage, cachedInputTokens: 999_999 }, 'any', { input: 1, output: 0, cachedInput: 0 })?.amount,
    ).toBe(0)
  })

  it('counts input that is written to the cache at its own price', () => {
    const written = { inputTokens: 100_000, outputTokens: 0, cachedInputTokens: 40_000, cacheWriteTokens: 60_000 }
    expect(costOf(written, 'gpt-6-luna')?.amount).toBe(0.0079)
    expect(costOf({ ...written, cachedInputTokens: 0, cacheWriteTokens: 0 }, 'gpt-6-luna')?.amount).toBe(0.01)
    expect(costOf(written, 'gpt-5.4')?.amount).toBe(0.16)
    expect(costOf(written, 'any', { input: 1, output: 0 })?.amount).toBe(0.1)
    expect(costOf({ ...written, cacheWriteTokens: 999_999 }, 'gpt-6-luna')?.amount).toBe(0.0079)
  })

  it('is unknown above the length for which the price holds', () => {
    expect(costOf({ inputTokens: 200_000, outputTokens: 1 }, 'gemini-2.5-pro')).toBeDefined()
    expect(costOf({ inputTokens: 200_001, outputTokens: 1 }, 'gemini-2.5-pro')).toBeUndefined()
  })

  it('is nothing for nothing, and has no binary noise', () => {
    expect(costOf({ inputTokens: 0, outputTokens: 0 }, 'gpt-5')?.amount).toBe(0)
    expect(costOf({ inputTokens: 3, outputTokens: 0 }, 'any', { input: 0.1, output: 0 })?.amount).toBe(0)
    expect(
      costOf({ inputTokens: 1_000_000, outputTokens: 1_000_000 }, 'any', { input: 0.1, output: 0.2 })?.amount,
    ).toBe(0.3)
  })
})

describe('the table of models', () => {
  it('has one row for each model, with a source and a date', () => {
    expect(new Set(modelTable.map((row) => row.model)).size).toBe(modelTable.length)
    for (const { model, source, date, ends = '2999-01-01' } of modelTable) {
      expect(source, model).not.toBe('')
      expect([date, ends].join(' '), model).toMatch(/^\d{4}-\d{2}-\d{2} \d{4}-\d{2}-\d{2}$/)
      expect(ends > date, `${model} had ended when it was looked up`).toBe(true)
    }
  })

  it('has no name that its service shut down before it was looked up', () => {
    for (const gone of ['o3-mini', 'o4-mini', 'gpt-4.1-nano', 'deepseek-chat'])
      expect(modelRow(gone), gone).toBeUndefined()
  })

  it('charges less for cached input, and no more than a quarter more for written input', () => {
    for (const { model, input, cachedInput, cacheWrites = input } of modelTable) {
      expect(cachedInput, model).toBeLessThan(input)
      expect(cacheWrites / input, model).toBeGreaterThanOrEqual(1)
      expect(cacheWrites / input, model).toBeLessThanOrEqual(1.25)
    }
  })
})
