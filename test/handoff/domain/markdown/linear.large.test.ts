// The readers of Markdown take time in proportion to the text. Eight times the text may take 24 times the processor's time; a quadratic reader takes
// 64 times. The processor's time of this thread is counted, so that other work on the machine does not matter.
import { expect, it } from 'vitest'
import { fitMarkdown } from '../../../../src/handoff/domain/markdown/fit.js'
import { parseDocument } from '../../../../src/handoff/domain/markdown/parse-document.js'
import { safeMarkdown } from '../../../../src/handoff/domain/markdown/sanitize.js'
import { cleanModelText } from '../../../../src/handoff/domain/summary/clean-model-text.js'
import { summaryBlocks } from '../../../../src/handoff/domain/summary/summary-blocks.js'
import { processorTime } from '../../../support/processor-time.js'

const short = process.env['LONG'] === '1' ? 24_000 : 6_000
const factor = 8
const mostGrowth = 24
/** Less than this is noise: the clock ticks in fours. */
const leastMs = 8

const repeat = (piece: string) => (length: number) => piece.repeat(Math.ceil(length / piece.length))
const around = (before: string, piece: string, after: string) => (length: number) =>
  before + repeat(piece)(length) + after

const shapes: [string, (length: number) => string][] = [
  ...'* _ ~ [ ![ [a]( ` `a ``a` > - | # < \\ & &# ][]( *a a* **a _a [[ <!-- <!----> <a <? <!A http:// a:1 a.b/ 1. []( [a](< @ a@a a1 x'
    .split(' ')
    .map((piece): [string, (length: number) => string] => [piece, repeat(piece)]),
  ['[a](b "', repeat('[a](b "')],
  ['[[[a](b)](b)](b)', repeat('[[[a](b)](b)](b)')],
  ['brackets around', (length) => `${'['.repeat(length / 4)}a${'](b)'.repeat(length / 4)}`],
  ['*a **b ', repeat('*a **b ')],
  ['> a, lazy', around('> a\n', 'b\n', '')],
  ['- a, lazy', around('- a\n', 'b\n', '')],
  ['> -', repeat('> - ')],
  ['items', repeat('- a\n')],
  ['blank items', repeat('- a\n\n')],
  ['numbered items', repeat('1. a\n')],
  ['deep items', repeat('  - a\n    - b\n')],
  ['rows', around('| a |\n|-|\n', '| a |\n', '')],
  ['tables', repeat('| a |\n|-|\n')],
  ['fences', repeat('```\n')],
  ['comment lines', repeat('<!--\n\n')],
  ['quotes', repeat('> a\n')],
  ['tabs behind a fence', around('```', '\t', '')],
  ['tabs in a fence', around('```\n', '\t', 'x\n```')],
  ['spaces in a fence', around('```\n', ' ', 'x\n```')],
  ['tabs in words', around('a', '\t', 'b')],
  ['spaces in words', around('a', ' ', 'b')],
  ['spaced rule', around('-', ' ', 'x')],
  ['spaced heading', around('# a', ' ', 'b')],
  ['stops behind an address', around('https://a', '.', '')],
  ['closing brackets behind an address', around('https://a', ')', '')],
  ['brackets in an address', around('[a](', '()', ')')],
  ['growing ticks', (length) => Array.from({ length: Math.sqrt(length * 2) }, (_, at) => '`'.repeat(at)).join(' ')],
  ['stacked marks', around('a', '\u0301', '')],
  ['blank lines', around('a', '\n', 'b')],
]

const place = { host: 'github.com', repository: 'o/r' }
const readers: [string, (text: string) => unknown][] = [
  [
    'a document',
    (text) => parseDocument(text, { repository: { host: 'github.com', path: 'o/r' }, citations: ['a:1'] }),
  ],
  ['a summary', (text) => summaryBlocks(text, 'a'.repeat(40), place)],
  ['safe Markdown, cut', (text) => fitMarkdown(safeMarkdown(text, { labels: new Map([['a:1', null]]) }), 2_000)],
  ['a reply of the model', (text) => cleanModelText(text, 1_000_000)],
]

/** Several times where it is more than it should be: a collection of garbage may have fallen into it. */
function growthOf(
  read: (text: string) => unknown,
  shape: (length: number) => string,
  length = short,
  most = 3,
): number {
  const [one, eight] = [shape(length), shape(length * factor)]
  read(one)
  let growth = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < most && growth > mostGrowth; tries++) {
    growth = Math.min(
      growth,
      processorTime(() => read(eight)) /
        Math.max(
          leastMs,
          processorTime(() => read(one)),
        ),
    )
  }
  return growth
}

it.each(readers)('%s is read in linear time', (_, read) => {
  const slow = shapes
    .map(([name, shape]) => [name, growthOf(read, shape)] as const)
    .filter(([, growth]) => growth > mostGrowth)
  expect(slow).toEqual([])
})

it('sees a reader that is quadratic', () => {
  const quadratic = (text: string) => text.replace(/[ \t]+$/gm, '')
  expect(growthOf(quadratic, around('a', '\t', 'b'), 2_500, 1)).toBeGreaterThan(mostGrowth)
})
