// The rules for names and for lines of dot-files take time in proportion to what they read, whatever a repository is called.
import { describe, expect, test } from 'vitest'
import { parseAttributes } from '../../../../../src/handoff/sandbox/program/survey/git-attributes.js'
import {
  createPathMatcher,
  matchSegment,
  parsePatterns,
} from '../../../../../src/handoff/sandbox/program/survey/gitignore-patterns.js'
import {
  isGeneratedName,
  isManifest,
  isMinifiedName,
  kindForName,
} from '../../../../../src/handoff/sandbox/program/survey/path-rules.js'
import { processorTime } from '../../../../support/processor-time.js'

test.each([
  ['requirements.txt', true],
  ['requirements-dev.txt', true],
  ['constraints_a_b.txt', true],
  ['constraints.in', true],
  ['constraint.txt', false],
  ['requirements.lock', false],
])('%s is configuration: %s', (name, isConfiguration) => {
  expect(kindForName(name)?.kind === 'configuration').toBe(isConfiguration)
})

/** Of an exponential expression 40 pieces take hours. */
const hostileNames = ['_a', '-a', '.a', 'a_', 'test_', '.min', '0', ' '].flatMap((piece) =>
  ['constraints', 'requirements', 'test', ''].map((start) => `${start}${piece.repeat(120)}!`),
)

describe('time', () => {
  test('of names', () => {
    const judge = (name: string) =>
      [kindForName(name), isManifest(name), isGeneratedName(name), isMinifiedName(name, '.js')].length
    expect(processorTime(() => hostileNames.map(judge))).toBeLessThan(1_000)
  })

  test('of rules', () => {
    const pattern = `${'*a'.repeat(1_000)}b`
    expect(processorTime(() => matchSegment(pattern, 'a'.repeat(255)))).toBeLessThan(1_000)
    const lines = ['**/'.repeat(600), `${'*'.repeat(2_000)}x`, `[${'a-'.repeat(900)}`, '\\'.repeat(2_000)]
    const matches = createPathMatcher(parsePatterns(lines))
    expect(processorTime(() => matches(`${'a/'.repeat(120)}${'a'.repeat(255)}`))).toBeLessThan(1_000)
    const text = `${' '.repeat(50_000)}x\n${'a '.repeat(2_000)}\n${'"'.repeat(50_000)}\n`
    expect(processorTime(() => parseAttributes([{ directory: '', text }])('a/b', 'a'))).toBeLessThan(1_000)
  })
})
