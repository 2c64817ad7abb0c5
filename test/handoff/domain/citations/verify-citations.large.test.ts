import { expect, test } from 'vitest'
import type { Excerpt } from '../../../../src/handoff/domain/answer.js'
import { verifyCitations } from '../../../../src/handoff/domain/citations/verify-citations.js'
import { processorTime } from '../../../support/processor-time.js'

const lines = ['import x from "x"', 'const answer = 42', 'export { answer }']
const shown: Excerpt[] = [{ path: 'src/a.ts', blob: 'b'.repeat(40), from: 1, lines, source: 'code', score: 1 }]

test('checking citations does not stall on long answers full of brackets', () => {
  for (const text of [
    '[['.repeat(100_000),
    '[[src/a.ts:'.repeat(20_000),
    `[[src/a.ts:2 "${'x'.repeat(200_000)}`,
    '[[src/a.ts:2 "answer"]] '.repeat(8_000),
    `One.${' '.repeat(200_000)}[[src/none.ts:2]]`,
    `[[src/a.ts:2]]${' '.repeat(200_000)}[[src/a.ts:2]]`,
    '[src/a.ts:2-3'.repeat(15_000),
    `[[${'a '.repeat(100_000)}:1]]`,
    '`[[src/a.ts:2]]` '.repeat(10_000),
  ]) {
    expect(processorTime(() => verifyCitations(text, shown, (path) => path === 'src/a.ts'))).toBeLessThan(5_000)
  }
})
