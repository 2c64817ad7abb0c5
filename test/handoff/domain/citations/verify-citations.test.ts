import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Excerpt } from '../../../../src/handoff/domain/answer.js'
import { citationRatio } from '../../../../src/handoff/domain/citations/citation-label.js'
import { digestLines } from '../../../../src/handoff/domain/citations/digest-lines.js'
import { verifyCitations } from '../../../../src/handoff/domain/citations/verify-citations.js'

const runs = process.env['LONG'] ? 10_000 : 200

const cases = JSON.parse(readFileSync(new URL('../../../corpus/citations.json', import.meta.url), 'utf8')) as {
  name: string
  text: string
  shows: string
  problems: string[]
}[]

function excerpt(path: string, from: number, lines: string[], source: Excerpt['source'] = 'code'): Excerpt {
  return { path, blob: 'b'.repeat(40), from, lines, source, score: 1 }
}

const shown: Excerpt[] = [
  excerpt('src/a.ts', 1, [
    'import x from "x"',
    'const answer = 42',
    'export { answer }',
    'say("hello")',
    'if [[ -f x ]]; then',
  ]),
  excerpt('src/b.ts', 10, [
    'function first() {',
    '  const beta = 2',
    ...Array.from({ length: 20 }, () => 'filler line'),
  ]),
  // Overlaps what was shown before: together they are one piece.
  excerpt(
    'src/b.ts',
    30,
    Array.from({ length: 11 }, () => 'filler line'),
  ),
  excerpt('app/[id]/page.tsx', 1, ['export default function Page() {}']),
  excerpt('analysis/code-summary.md', 1, ['The summary says so'], 'summary'),
]
const paths = new Set(['src/a.ts', 'src/b.ts', 'app/[id]/page.tsx', 'src/other.ts'])
const check = (text: string) => verifyCitations(text, shown, (path) => paths.has(path))

describe('citations', () => {
  it.each(cases)('$name', ({ text, shows, problems }) => {
    const checked = check(text)
    expect(checked.text).toBe(shows)
    expect(checked.citations.flatMap((citation) => citation.problem ?? [])).toEqual(problems)
    expect(checked.unsupported).toBe(shows.split('(unsupported)').length - 1)
  })

  it('keeps the blob and the digest of the lines that hold, so that a later commit can find them', () => {
    const [held, lost] = check('So [[src/a.ts:2-3 "answer"]]. And so [[src/a.ts:99 "no"]].').citations
    const digest = digestLines(['const answer = 42', 'export { answer }'])
    expect(held).toMatchObject({ verified: true, blob: 'b'.repeat(40), digest })
    expect(lost).not.toHaveProperty('digest')
    expect(lost).not.toHaveProperty('blob')
  })

  it('says where a citation was moved', () => {
    expect(check('So. [[src/b.ts:14 "const beta = 2"]]').citations).toMatchObject([
      { path: 'src/b.ts', from: 11, to: 11, quote: 'const beta = 2', verified: true, moved: true },
    ])
    expect(check('So. [[src/a.ts:2-3 "answer"]]').citations[0]).not.toHaveProperty('moved')
  })

  it('moves a range by as little as puts the quote inside', () => {
    expect(check('So. [[src/b.ts:14-16 "const beta = 2"]]').citations[0]).toMatchObject({ from: 11, to: 13 })
  })

  const numbered = (path: string, from: number, to: number) =>
    excerpt(
      path,
      from,
      Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index} of ${path}`),
    )
  const pieces = [
    numbered('src/long.ts', 10, 40),
    numbered('src/long.ts', 60, 70),
    numbered('vendor/src/long.ts', 1, 9),
    excerpt('src/twice.ts', 1, ['one', 'repeated', 'two', 'repeated', 'import { x }', 'const answer = 42']),
  ]
  const place = (text: string) =>
    verifyCitations(`So. ${text}`, pieces, () => false).citations.map(
      ({ path, from, to, moved, problem }) => problem ?? `${path}:${from}-${to}${moved ? ' moved' : ''}`,
    )

  it.each<[string, string, string]>([
    ['a path that was shown is that path', '[[src/long.ts:12 "line 12"]]', 'src/long.ts:12-12'],
    ['the end of one path is that path', '[[twice.ts:1 "one"]]', 'src/twice.ts:1-1'],
    ['the end of a path without a quote is nothing', '[[twice.ts:1]]', 'no-such-path'],
    ['the end of two paths is nothing', '[[long.ts:12 "line 12"]]', 'no-such-path'],
    ['lines before what was shown are left out', '[[src/long.ts:8-12]]', 'src/long.ts:10-12 moved'],
    ['lines behind what was shown are left out', '[[src/long.ts:38-42]]', 'src/long.ts:38-40 moved'],
    ['one line behind what was shown is nothing', '[[src/long.ts:42]]', 'no-such-lines'],
    ['one line before what was shown is nothing', '[[src/long.ts:8]]', 'no-such-lines'],
    ['the last shown line stays', '[[src/long.ts:40-42]]', 'src/long.ts:40-40 moved'],
    ['a short quote in the last line', '[[src/twice.ts:6 "42"]]', 'src/twice.ts:6-6'],
    ['a quote that the first line does not have', '[[src/long.ts:10 "nowhere"]]', 'quote-not-found'],
    ['five lines too many are left out', '[[src/long.ts:35-45]]', 'src/long.ts:35-40 moved'],
    ['six lines too many are too many', '[[src/long.ts:35-46]]', 'no-such-lines'],
    ['with a quote inside, any number is left out', '[[src/long.ts:35-55 "line 36"]]', 'src/long.ts:35-40 moved'],
    ['line 0 is no line', '[[src/twice.ts:0-3]]', 'no-such-lines'],
    ['lines that were not shown hold nothing', '[[src/long.ts:50]]', 'no-such-lines'],
    ['a quote in shown lines that do not have it', '[[src/long.ts:12 "nowhere"]]', 'quote-not-found'],
    ['a quote of five letters moves nothing', '[[src/twice.ts:3 "const"]]', 'quote-not-found'],
    ['a quote of six letters moves the range', '[[src/twice.ts:3 "import"]]', 'src/twice.ts:5-5 moved'],
    ['a quote without a line, in two places', '[[src/twice.ts "repeated"]]', 'no-such-lines'],
    ['a quote without a line, in one place', '[[src/twice.ts "const answer"]]', 'src/twice.ts:6-6 moved'],
    ['dots at both ends are left out', '[[src/twice.ts:6 "…answer = …"]]', 'src/twice.ts:6-6'],
    ['dots inside are part of the quote', '[[src/twice.ts:6 "const … answer = 42"]]', 'quote-not-found'],
    ['dots alone are no quote', '[[src/twice.ts:6 "…"]]', 'quote-not-found'],
    ['a range moves down by as little', '[[src/long.ts:15-17 "line 20"]]', 'src/long.ts:18-20 moved'],
    ['a range moves up by as little', '[[src/long.ts:22-24 "line 20"]]', 'src/long.ts:20-22 moved'],
    [
      'a range is its quote, when it is shorter',
      '[[src/long.ts:18 "line 15 of src/long.ts\nline 16"]]',
      'src/long.ts:15-16 moved',
    ],
    [
      'a range is its quote, when it moves down and is shorter',
      '[[src/long.ts:14-15 "line 15 of src/long.ts\nline 16 of src/long.ts\nline 17"]]',
      'src/long.ts:15-17 moved',
    ],
    [
      'a range that would leave what was shown is its quote',
      '[[src/long.ts:36-42 "line 35"]]',
      'src/long.ts:35-35 moved',
    ],
  ])('%s', (_what, text, expected) => {
    expect(place(text.replaceAll('\\n', '\n'))).toEqual([expected])
  })

  it.each<[string, string, string]>([
    ['without brackets', 'See src/a', 'See src/a'],
    ['with an open citation', 'See [[src/a.ts:2', 'See'],
    ['with open brackets of a program', 'Run [[ -f a.sh', 'Run [[ -f a.sh'],
    ['with an open macro', 'Call [[macro', 'Call [[macro'],
  ])('a text that ends %s', (_what, text, expected) => {
    expect(check(text).text).toBe(expected)
  })

  it.each<[string, string, number]>([
    ['one of two holds, the first', 'This [[src/a.ts:2]] and this [[src/none.ts:1]].', 0],
    ['one of two holds, the second', 'This [[src/none.ts:1]] and this [[src/a.ts:2]].', 0],
    ['with a dot in a number before', 'In 1.2 that [[src/none.ts:1]] and this [[src/a.ts:2]].', 0],
    ['neither holds', 'This [[src/none.ts:1]] and this [[src/none.ts:2]].', 1],
    ['two sentences, one of which holds', 'This [[src/none.ts:1]]. And this [[src/a.ts:2]].', 1],
  ])('a sentence with two citations: %s', (_what, text, unsupported) => {
    expect(check(text).unsupported).toBe(unsupported)
  })

  it('leaves no space where a citation was removed, and one before a label', () => {
    expect(check('This \t[[src/none.ts:1]], and this[[src/a.ts:2]].').text).toBe('This, and this [src/a.ts:2].')
  })

  it('computes the ratio', () => {
    const { citations } = check('One. [[src/a.ts:2 "answer"]] Two. [[src/none.ts:2]] Three. [[src/a.ts:2 "42"]]')
    expect(citationRatio(citations)).toBe('1 of 2 citations verified')
    expect(citationRatio(citations.slice(0, 1))).toBe('1 of 1 citation verified')
    expect(citationRatio([])).toBe('no citations')
  })

  it('counts no more than a record holds, and shows none that it does not count', () => {
    const long = [
      excerpt(
        'src/long.ts',
        1,
        Array.from({ length: 3_000 }, (_, index) => `line ${index + 1}`),
      ),
    ]
    const text = Array.from({ length: 1_200 }, (_, index) => `One. [[src/long.ts:${index + 1}]]`).join(' Two. ')
    const checked = verifyCitations(text, long, () => false)
    expect(checked.citations).toHaveLength(1_000)
    expect(checked.text.match(/\[src\/long\.ts:\d+\]/g)).toHaveLength(1_000)
    expect(checked.text).not.toContain('[[')
    expect(checked.unsupported).toBe(200)
    const again = verifyCitations(`${text} Three. [[src/long.ts:1]]`, long, () => false)
    expect(again.text.endsWith('Three. [src/long.ts:1]')).toBe(true)
  })

  it('verifies nothing that does not stand in what was shown', () => {
    const path = fc.constantFrom(
      'src/a.ts',
      'src/b.ts',
      'src/other.ts',
      'src/none.ts',
      '../x',
      'a.ts',
      'app/[id]/page.tsx',
    )
    const number = fc.integer({ min: 0, max: 60 })
    const quote = fc.constantFrom(
      undefined,
      'answer',
      'const beta = 2',
      'filler line',
      'nowhere',
      '}',
      '\\"hello\\"',
      'x\n y',
    )
    const written = fc
      .tuple(path, number, number, quote)
      .map(([name, from, to, words]) => `[[${name}:${from}-${to}${words === undefined ? '' : ` "${words}"`}]]`)
    const words = fc.constantFrom('A sentence. ', 'and ', '\n- ', '\n\n', '`', '```\n', '. ', ']]', '[[', '"', 'é')
    const lines = new Map<string, Map<number, string>>()
    for (const { path, from, lines: text, source } of shown) {
      const known = lines.get(path) ?? new Map<number, string>()
      if (source === 'code') for (const [index, line] of text.entries()) known.set(from + index, line)
      lines.set(path, known)
    }
    fc.assert(
      fc.property(fc.array(fc.oneof(written, words), { maxLength: 12, size: 'max' }), (parts) => {
        const checked = check(parts.join(''))
        for (const { path, from, to, quote, verified } of checked.citations.filter((one) => one.verified)) {
          const text = Array.from({ length: to - from + 1 }, (_, index) => lines.get(path)!.get(from + index))
          expect(verified && text.every((line) => line !== undefined)).toBe(true)
          expect(squeezed(text.join(''))).toContain(squeezed(quote ?? ''))
          expect(checked.text).toContain(`[${path}:${from === to ? from : `${from}-${to}`}]`)
        }
        expect(checked.text.split('(unsupported)').length - 1).toBe(checked.unsupported)
      }),
      { numRuns: runs },
    )
  })
})

const squeezed = (text: string) => text.replaceAll('\\"', '"').replace(/\s/g, '')
