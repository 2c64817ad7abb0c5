import { expect, test } from 'vitest'
import type { Citation, Excerpt } from '../../../../src/handoff/domain/answer.js'
import { citedLines, covers } from '../../../../src/handoff/domain/citations/cited-lines.js'

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_none, index) => `line ${from + index}`)
const excerpt = (path: string, from: number, to: number): Excerpt => ({
  path,
  blob: 'a'.repeat(40),
  from,
  lines: lines(from, to),
  source: 'code',
  score: 1,
})
const cite = (path: string, from: number, to: number, verified = true): Citation => ({ path, from, to, verified })

test('the lines that are cited and some around them, no further than what was shown', () => {
  const [found] = citedLines([cite('a.ts', 20, 22)], [excerpt('a.ts', 15, 100)])
  expect(found).toEqual({ path: 'a.ts', blob: 'a'.repeat(40), from: 15, lines: lines(15, 30) })
})

test('what is not verified and what was not shown is not there; what is there already is not there twice', () => {
  const excerpts = [excerpt('a.ts', 1, 40)]
  expect(citedLines([cite('a.ts', 3, 4, false), cite('b.ts', 1, 2), cite('a.ts', 39, 41)], excerpts)).toEqual([])
  expect(citedLines([cite('a.ts', 10, 12), cite('a.ts', 11, 14)], excerpts)).toHaveLength(1)
})

test('a summary is no code, a line has an end, and so has all of it', () => {
  expect(citedLines([cite('a.ts', 1, 1)], [{ ...excerpt('a.ts', 1, 3), source: 'summary' }])).toEqual([])
  const [wide] = citedLines([cite('a.ts', 1, 1)], [{ ...excerpt('a.ts', 1, 1), lines: ['x'.repeat(9_000)] }])
  expect(wide!.lines[0]).toHaveLength(2_000)
  const many = Array.from({ length: 100 }, (_none, index) => ({
    ...excerpt(`${index}.ts`, 1, 1),
    lines: ['x'.repeat(2_000)],
  }))
  expect(
    citedLines(
      many.map(({ path }) => cite(path, 1, 1)),
      many,
    ),
  ).toHaveLength(50)
})

test('a piece covers a place only when all of its lines are in it', () => {
  const piece = { path: 'a.ts', from: 5, lines: lines(5, 9) }
  expect([
    covers(piece, cite('a.ts', 5, 9)),
    covers(piece, cite('a.ts', 4, 5)),
    covers(piece, cite('a.ts', 9, 10)),
    covers(piece, cite('b.ts', 5, 5)),
  ]).toEqual([true, false, false, false])
})

test('of two compared commits, a piece covers places of its own', () => {
  const [first, second] = ['1'.repeat(40), '2'.repeat(40)]
  const piece = { path: 'a.ts', commit: first, from: 5, lines: lines(5, 9) }
  const place = cite('a.ts', 5, 6)
  const seen = [place, { ...place, commit: first }, { ...place, commit: second }].map((one) => covers(piece, one))
  expect(seen).toEqual([true, true, false])
  expect(covers({ ...piece, commit: second, path: 'b.ts' }, { ...place, commit: second })).toBe(false)
})

test('no more than two hundred pieces are kept', () => {
  const many = Array.from({ length: 201 }, (_none, index) => excerpt(`${index}.ts`, 1, 1))
  const cited = citedLines(
    many.map(({ path }) => cite(path, 1, 1)),
    many,
  )
  expect(cited).toHaveLength(200)
})
