// How citations are read, in the ways in which models write them, and where one that has begun ends.
import { expect, test } from 'vitest'
import { citationEnd, findCitations, readCitation } from '../../../../src/handoff/domain/citations/parse-citations.js'

const isKnown = (path: string) => path === 'Makefile' || path === 'src/a.ts'
/** What was taken for a citation, and the places in it. */
const found = (text: string) =>
  findCitations(text, isKnown).map(({ from, to, citations }) => [
    text.slice(from, to),
    ...citations.map((one) => `${one.path}:${one.from}-${one.to}`),
  ])
const places = (count: number) => Array.from({ length: count }, (_, index) => index + 1).join('; ')

test.each<[string, string[][]]>([
  ['[[src/a.ts]]', [['[[src/a.ts]]', 'src/a.ts:0-0']]],
  ['[[src/b.ts]]', []],
  ['[[src/a.ts:1', []],
  ['[[/src/a.ts:1]]', [['[[/src/a.ts:1]]', 'src/a.ts:1-1']]],
  ['[[./src/a.ts:5-3]]', [['[[./src/a.ts:5-3]]', 'src/a.ts:3-5']]],
  ['[[`my file.ts`:2]]', [['[[`my file.ts`:2]]', 'my file.ts:2-2']]],
  ['[[src/a.ts:1; src/b.ts:2]]', [['[[src/a.ts:1; src/b.ts:2]]', 'src/a.ts:1-1', 'src/b.ts:2-2']]],
  ['x [[src/b.ts:1]]', [['[[src/b.ts:1]]', 'src/b.ts:1-1']]],
  [`[[src/a.ts:${places(21)}]]`, []],
])('in %j', (text, expected) => {
  expect(found(text)).toEqual(expected)
})

test('without known files a path alone is no citation', () => {
  expect(readCitation('[[src/a.ts]]', 0)).toBeNull()
  expect(readCitation('[[src/a.ts:1]]', 0)).toMatchObject({ from: 0, to: 14 })
})

test('up to twenty places stand between one pair of brackets', () => {
  expect(found(`[[src/a.ts:${places(20)}]]`)[0]).toHaveLength(21)
})

test.each<[string, string[]]>([
  ['`[[src/a.ts:1]]`', ['`[[src/a.ts:1]]`']],
  ['``[[src/a.ts:1]]``', ['[[src/a.ts:1]]']],
  ['``[[src/a.ts:1]]` `', ['[[src/a.ts:1]]']],
  ['` `[[src/a.ts:1]]``', ['[[src/a.ts:1]]']],
  ['`[[src/a.ts:1]]', ['[[src/a.ts:1]]']],
  ['[[src/a.ts:1]]`', ['[[src/a.ts:1]]']],
  ['`x [[src/b.ts:1]] y`', []],
  ['`x [[src/a.ts:1]] y`', ['[[src/a.ts:1]]']],
  ['`x [src/a.ts:1] y`', []],
  ['`[src/b.ts:1] y`', []],
  ['`a[[src/b.ts:1; src/a.ts:2]]`', ['[[src/b.ts:1; src/a.ts:2]]']],
  ['```\n[[src/b.ts:1]]\n```\n[[src/b.ts:2]]', ['[[src/b.ts:2]]']],
  ['[[src/b.ts:2]] `c`', ['[[src/b.ts:2]]']],
  ['`c`[[src/b.ts:1]]', ['[[src/b.ts:1]]']],
  ['[[src/b.ts:1]]`c`', ['[[src/b.ts:1]]']],
])('in and beside code: %j', (text, expected) => {
  expect(found(text).map(([whole]) => whole)).toEqual(expected)
})

test.each<[string, string[]]>([
  ['[Makefile:3]', ['[Makefile:3]']],
  ['[Other:3]', []],
  ['[src/b.ts:3]', ['[src/b.ts:3]']],
  ['[b.ts:3]', ['[b.ts:3]']],
  ['[b.ts!x:3]', []],
  ['[v1.2:3]', []],
  ['a[src/a.ts:1]', []],
  [')[src/a.ts:1]', []],
  ['b [src/a.ts:1](http://x) c', ['[src/a.ts:1](http://x)']],
])('single brackets: %j', (text, expected) => {
  expect(found(text).map(([whole]) => whole)).toEqual(expected)
})

test.each<[string, string[]]>([
  ['[[a.ts:3 "12| const a"]]', ['const a']],
  ['[[a.ts:3 "x 12| const a"]]', ['x 12| const a']],
  ['[[a.ts:3 "say \\"hi\\""]]', ['say "hi"', 'say \\"hi\\"']],
  ['[[a.ts:3 "a\\\\nb \\"c\\""]]', ['a\\\\nb "c"', 'a\\nb "c"', 'a\\\\nb \\"c\\"']],
])('the quote of %j may be read as', (text, readings) => {
  expect(findCitations(text, isKnown)[0]?.citations[0]?.quotes).toEqual(readings)
})

const long = (length: number) => `[[${'x'.repeat(length - 2)}`

test.each<[string, string, number | undefined]>([
  ['a closed one', '[[a]]', 5],
  ['an open one', '[[a', undefined],
  ['one bracket', '[[a]', undefined],
  ['two brackets apart', '[[a] ]', undefined],
  ['a bracket before two', '[[a]b]]', 7],
  ['four brackets', '[[[[a]]', -1],
  ['brackets inside of a quote', '[[a "b]] c', undefined],
  ['brackets right behind a quote that opens', '[[a "]]" b]]', 7],
  ['an escaped bracket', '[[a\\]]', undefined],
  ['an escaped quotation mark', '[[a\\"]]', 7],
  ['a quote that opens', '[["a]]', undefined],
  ['a quote that is closed', '[["a"]]', 7],
  ['an end of a line', '[[a\n b]]', 8],
  ['an empty line', '[[a\n\nb]]', -1],
  ['a line of spaces', '[[a\n  \nb]]', -1],
  ['words before an empty line', '[[a b\nc\n\nd]]', -1],
  ['two short lines', '[[a\nb\nc]]', 9],
  ['the longest open one', long(1_199), undefined],
  ['one that is too long', long(1_200), -1],
  ['the longest closed one', `${long(1_199)}]]`, 1_201],
  ['one that is closed too late', `${long(1_200)}]]`, -1],
])('the end of %s', (_what, text, end) => {
  expect(citationEnd(text, 0)).toBe(end)
})
