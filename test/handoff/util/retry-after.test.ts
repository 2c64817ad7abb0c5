import { expect, test } from 'vitest'
import { retryAfterMs } from '../../../src/handoff/util/retry.js'

const now = Date.parse('2026-01-01T00:00:00Z')

test.each<[string | null | undefined, number | undefined]>([
  ['7', 7_000],
  [' 0 ', 0],
  ['1.5', 1_500],
  ['Thu, 01 Jan 2026 00:00:20 GMT', 20_000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['soon', undefined],
  ['-3x', undefined],
  ['', undefined],
  [null, undefined],
  [undefined, undefined],
])('Retry-After %j is %j ms', (header, expected) => {
  expect(retryAfterMs(header, now)).toBe(expected)
})
