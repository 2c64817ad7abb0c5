import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commonDirectory, groupNeighbours, splitIntoLeaves } from '../../../../src/handoff/domain/summary/partition.js'
import { processorTime } from '../../../support/processor-time.js'

const items = fc
  .uniqueArray(
    fc
      .array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 5 })
      .map((parts) => `${parts.join('/')}.ts`),
    { maxLength: 60 },
  )
  .chain((paths) =>
    fc.tuple(
      ...paths.sort().map((path) => fc.record({ path: fc.constant(path), tokens: fc.integer({ min: 1, max: 150 }) })),
    ),
  )

describe('leaves', () => {
  it('hold every file once, in order, within the bound unless one file is larger', () => {
    fc.assert(
      fc.property(items, (all) => {
        const leaves = splitIntoLeaves(all, 100)
        expect(leaves.flatMap((leaf) => leaf.items)).toEqual(all)
        for (const { items: members, directory } of leaves) {
          const tokens = members.reduce((sum, item) => sum + item.tokens, 0)
          expect(members.length > 1 && tokens > 100).toBe(false)
          expect(members.every(({ path }) => directory === '' || path.startsWith(`${directory}/`))).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('are whole directories where they fit', () => {
    const all = ['core/a.ts', 'core/b.ts', 'web/a.ts', 'web/deep/b.ts'].map((path) => ({ path, tokens: 40 }))
    expect(splitIntoLeaves(all, 100).map((leaf) => leaf.directory)).toEqual(['core', 'web'])
  })

  it('of three hundred small directories are few, and of a huge one many', () => {
    const small = Array.from({ length: 300 }, (_, index) => ({
      path: `playground/p${String(index).padStart(3, '0')}/a.ts`,
      tokens: 10,
    }))
    expect(splitIntoLeaves(small, 1_000)).toHaveLength(3)
    const huge = Array.from({ length: 20_000 }, (_, index) => ({ path: `data/f${index}.ts`, tokens: 10 })).sort(
      (a, b) => (a.path < b.path ? -1 : 1),
    )
    expect(processorTime(() => expect(splitIntoLeaves(huge, 1_000).length).toBe(200))).toBeLessThan(3_000)
  })
})

describe('joins', () => {
  it('take neighbours, each once, never more than they may', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('', 'a', 'a/b', 'a/b/c', 'd'), { maxLength: 50 }),
        fc.integer({ min: 2, max: 10 }),
        (names, most) => {
          const groups = groupNeighbours(names, most)
          expect(groups === undefined).toBe(names.length <= most)
          if (!groups) return
          expect(groups.flatMap(([from, to]) => names.slice(from, to))).toEqual(names)
          for (const [from, to] of groups) expect(to - from).toBeLessThanOrEqual(most)
          expect(groups.length).toBeLessThan(names.length)
        },
      ),
    )
  })

  it('end where the directories do', () => {
    expect(groupNeighbours(['a/1', 'a/2', 'a/3', 'b/1', 'b/2'], 4)).toEqual([
      [0, 3],
      [3, 5],
    ])
  })
})

it('the directory of several files is the deepest that holds them all', () => {
  expect(commonDirectory(['a/b/c.ts', 'a/b/d/e.ts'])).toBe('a/b')
  expect(commonDirectory(['a/b.ts', 'ab/c.ts'])).toBe('')
  expect(commonDirectory([])).toBe('')
})
