// What becomes of long and twisted texts: no result is too long, and none is unsafe.
import { describe, expect, it } from 'vitest'
import { fitMarkdown } from '../../../../src/handoff/domain/markdown/fit.js'
import { parseDocument } from '../../../../src/handoff/domain/markdown/parse-document.js'
import { safeMarkdown } from '../../../../src/handoff/domain/markdown/sanitize.js'
import { findings } from './markdown-tree.js'

const host = 'github.com'
const repository = { host, path: 'o/r' }

it('a comment that is too long holds for answers of 200,000 characters', () => {
  const paragraph = `A sentence about \`code\` that mentions @octocat and #1. ${'word '.repeat(40)}`
  const answers = [
    Array.from({ length: 800 }, () => paragraph)
      .join('\n\n')
      .slice(0, 200_000),
    paragraph.repeat(800).slice(0, 200_000),
    `\`\`\`ts\n${'const a = 1 // @octocat\n'.repeat(9_000)}`.slice(0, 200_000),
    '/close '.repeat(30_000).slice(0, 200_000),
    'x'.repeat(200_000),
    '中'.repeat(200_000),
  ]
  // The others differ in nothing that cutting looks at; the long mode has them all.
  for (const answer of process.env['LONG'] ? answers : answers.slice(0, 3)) {
    const cut = fitMarkdown(safeMarkdown(answer, { host }), 60_000)
    expect(cut.length).toBeLessThanOrEqual(60_000)
    expect(findings(cut, host)).toEqual([])
  }
})

it.each([
  ['long words', 'word '.repeat(100_000)],
  ['many emphases', '*a* '.repeat(50_000)],
  ['many rules', '***\n'.repeat(60_000)],
  ['many empty items', '- \n'.repeat(60_000)],
  ['wide rows', `${'|a'.repeat(40)}\n${'|-'.repeat(40)}\n${'|\n'.repeat(60_000)}`],
  ['many headings', '#\n'.repeat(60_000)],
  ['nested lists', '- - - - - - - - a\n'.repeat(15_000)],
])(
  'the tree of a document stays below the size of a response, and says that something is missing: %s',
  (_, markdown) => {
    const blocks = parseDocument(markdown, { repository })
    expect(JSON.stringify(blocks).length).toBeLessThan(2_500_000)
    expect(blocks.at(-1)).toEqual({
      kind: 'paragraph',
      content: [{ kind: 'text', text: 'The rest is too long to be shown here.' }],
    })
  },
)

describe('long and twisted texts', () => {
  const twisted: [string, string][] = [
    ['brackets', '['.repeat(200_000)],
    ['images', '!['.repeat(100_000)],
    ['links', '[a]('.repeat(50_000)],
    ['nested links', `${'['.repeat(20_000)}a${'](b)'.repeat(20_000)}`],
    ['stars', '*a '.repeat(70_000)],
    ['mixed stars', '**a *b _c '.repeat(20_000)],
    ['backticks', Array.from({ length: 600 }, (_, index) => '`'.repeat(index)).join(' ')],
    ['quotes', '>'.repeat(200_000)],
    ['lists', '- '.repeat(100_000)],
    ['spaces', `a${' '.repeat(200_000)}b`],
    ['spaced heading', `# a${' '.repeat(200_000)}b`],
    ['spaced row', `a|b\n-${' '.repeat(200_000)}x`],
    ['spaced rule', `-${' '.repeat(200_000)}x`],
    ['comments', '<!--'.repeat(50_000)],
    ['comment lines', '<!--\n\n'.repeat(40_000)],
    ['tags', '<a '.repeat(70_000)],
    ['entities', '&#64;'.repeat(40_000)],
    ['delimiters', `x${'"\'.,)'.repeat(40_000)}@a`],
    ['titles', '[a](b "'.repeat(30_000)],
    ['blank lines', '\n'.repeat(200_000)],
    ['one word', 'x'.repeat(200_000)],
    ['marks', `a${'\u0301'.repeat(200_000)}`],
  ]
  it.each(twisted)('become at most eight times as long: %s', (_, text) => {
    expect(safeMarkdown(text, { host }).length).toBeLessThan(text.length * 8 + 100)
  })
})
