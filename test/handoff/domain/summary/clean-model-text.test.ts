import { HtmlRenderer, Parser } from 'commonmark'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanModelText } from '../../../../src/handoff/domain/summary/clean-model-text.js'

/** Everything that a renderer would pass through as HTML, link or image. */
function activeNodes(markdown: string): string[] {
  const found: string[] = []
  const walker = new Parser().parse(markdown).walker()
  for (let event = walker.next(); event; event = walker.next()) {
    if (event.entering && ['html_inline', 'html_block', 'link', 'image'].includes(event.node.type))
      found.push(event.node.type)
  }
  return found
}

const piece = fc.constantFrom(
  ...[
    '`',
    '``',
    '```',
    '~~~',
    '\n',
    '\n\n',
    '    ',
    '  ',
    '- ',
    '1. ',
    '> ',
    '\\',
    '<',
    '<b>',
    '</b>',
    '<!--',
    '-->',
    '<img src=x onerror=y>',
  ],
  ...[
    '<script>',
    '[a](http://b)',
    '![a](b)',
    '[a]: http://b',
    '[a]',
    '](',
    ')',
    '*',
    '_',
    '#',
    '<http://a.b>',
    'a',
    'word',
    '\t',
    '|',
    '&lt;',
    '~~~ `',
  ],
)

describe('cleaned text', () => {
  it('has no HTML, link or image for any renderer, and is clean already', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const clean = cleanModelText(pieces.join(''))
        expect(activeNodes(clean)).toEqual([])
        expect(cleanModelText(clean)).toBe(clean)
      }),
      { numRuns: process.env['LONG'] ? 100_000 : 1_000 },
    )
  })

  it('keeps words, lists, code spans and fences', () => {
    const text = 'A *word* and `code<T>`.\n\n- one\n- two\n\n```ts\nconst a: Map<string> = 1\n```'
    expect(cleanModelText(text)).toBe(text)
    expect(new HtmlRenderer().render(new Parser().parse(cleanModelText('Promise<string> is')))).toBe(
      '<p>Promise&lt;string&gt; is</p>\n',
    )
  })

  it('has no control characters, and no more than it may', () => {
    expect(cleanModelText('a\u0000b\u001b[31mc\r\nd\u202e')).toBe('ab[31mc\nd')
    expect(cleanModelText('x'.repeat(100), 10)).toBe('x'.repeat(10))
  })
})
