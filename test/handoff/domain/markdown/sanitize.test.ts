import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { safeInline, safeMarkdown, safeTable, safeText } from '../../../../src/handoff/domain/markdown/sanitize.js'
import { attacks, hostileMarkdown } from './hostile-markdown.js'
import { codeIn, findings, wordsIn } from './markdown-tree.js'

const runs = process.env['LONG'] ? 10_000 : 200
const host = 'github.com'

describe('safe Markdown', () => {
  it.each(attacks)('lets nothing act: $name', ({ text }) => {
    expect(findings(safeMarkdown(text, { host }), host)).toEqual([])
    expect(findings(safeMarkdown(text))).toEqual([])
    expect(findings(safeText(text))).toEqual([])
    expect(findings(safeInline(text))).toEqual([])
  })

  it('lets nothing act, whatever is put together', () => {
    fc.assert(
      fc.property(hostileMarkdown, (parts) => {
        const written = safeMarkdown(parts.join(''), { host })
        expect(findings(written, host)).toEqual([])
      }),
      { numRuns: runs },
    )
  })

  it('lets nothing act in plain text, whatever is put together', () => {
    fc.assert(
      fc.property(hostileMarkdown, (parts) => {
        expect(findings(safeText(parts.join('')))).toEqual([])
        expect(findings(safeInline(parts.join('')))).toEqual([])
        expect(
          findings(
            safeTable([
              ['a', 'b'],
              [parts.join(''), 'c'],
            ]),
          ),
        ).toEqual([])
      }),
      { numRuns: runs },
    )
  })

  it('writes no quote and no item without words', () => {
    expect(safeMarkdown('a\n\n>\n\nb')).toBe('a\n\nb')
    expect(safeMarkdown('- >\n- b')).toBe('- b')
  })

  it('means the same when it is made safe again', () => {
    fc.assert(
      fc.property(hostileMarkdown, (parts) => {
        const once = safeMarkdown(parts.join(''), { host })
        expect(wordsIn(safeMarkdown(once, { host }))).toBe(wordsIn(once))
      }),
      { numRuns: runs },
    )
  })

  it('keeps the code of code blocks, letter by letter', () => {
    const line = fc.string({ unit: 'grapheme-ascii', maxLength: 30 })
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        const code = `${lines.join('\n').replaceAll('~', '-')}\n`
        const written = safeMarkdown(`text\n\n~~~ts\n${code}~~~\n\nmore`)
        expect(codeIn(written)[0]).toBe(code)
        expect(findings(written)).toEqual([])
      }),
      { numRuns: runs },
    )
  })

  it('shows plain text as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 80 }), (text) => {
        expect(wordsIn(safeText(text)).replace(/\s/g, '')).toBe(text.replace(/\s/g, ''))
      }),
      { numRuns: runs },
    )
  })
})

describe('what people write stays what it was', () => {
  const same = [
    'A paragraph with **strong**, *emphasis* and `code`.',
    '### Heading\n\nText.',
    '- one\n- two\n  - inner\n- three',
    '1. one\n2. two\n3. three',
    '> quoted\n> on two lines',
    '```ts\nconst a: Map<string, number> = new Map()\n```',
    '- item\n\n  ```sh\n  echo "$HOME" && ls\n  ```',
    '[`src/a.ts`](https://github.com/o/r/blob/abc/src/a.ts#L1-L2)',
    'snake_case_name and C# and a + b = c, 50 % of it!',
    '| a | b |\n| --- | --- |\n| 1 | `x` |',
    '***',
  ]
  it.each(same)('%s', (text) => expect(safeMarkdown(text, { host })).toBe(text))

  it('caps headings below ours', () => {
    expect(safeMarkdown('# One\n\n## Two\n\nThree\n---\n\n#### Four')).toBe(
      '### One\n\n### Two\n\n### Three\n\n#### Four',
    )
  })

  it('shows generic types as words and drops tags of HTML', () => {
    expect(wordsIn(safeMarkdown('a Map<string, number> in <b>bold</b>'))).toBe('a Map<string, number> in bold')
  })

  it('shows a link that may not stay as its words and its address', () => {
    expect(safeMarkdown('see [the page](https://evil.example/x)', { host })).toBe(
      'see the page (`https://evil.example/x`)',
    )
    expect(safeMarkdown('see [the page](javascript:alert)', { host })).toBe('see the page')
  })

  it('links checked places with the address that was made for them, whatever their names', () => {
    const labels = new Map([
      ['src/[id]/a_b*.ts:1-2', 'https://github.com/o/r/blob/abc/src/%5Bid%5D/a_b%2A.ts#L1-L2'],
      ['src/`x`.ts:3', null],
    ])
    const written = safeMarkdown('So. [src/[id]/a_b*.ts:1-2] And. [src/`x`.ts:3]', { host, labels })
    expect(written).toBe(
      'So. [`src/[id]/a_b*.ts:1-2`](https://github.com/o/r/blob/abc/src/%5Bid%5D/a_b%2A.ts#L1-L2) And. ``src/`x`.ts:3``',
    )
  })

  it.each<[string, string]>([
    ['```mermaid\ngraph\n```', '```\ngraph\n```'],
    ['```xmermaid\ng\n```', '```xmermaid\ng\n```'],
    ['```Suggestion\ng\n```', '```\ng\n```'],
    ['```c++\ng\n```', '```c++\ng\n```'],
    ['```js{1}\ng\n```', '```\ng\n```'],
    ['```1js\ng\n```', '```\ng\n```'],
    ['- a\n\n  ```\n  /ask\n  ```', '- a\n\n  ```\n  /ask\n  ```'],
    ['- a\n-\n- b', '- a\n- b'],
    ['One:\n- a\n- b', 'One:\n\n- a\n- b'],
    ['- One:\n  1. a\n  2. b', '- One:\n  1. a\n  2. b'],
    ['- One:\n\n  3. a\n  4. b', '- One:\n\n  3. a\n  4. b'],
    ['- One\n\n  Two', '- One\n\n  Two'],
    ['> One:\n> - a', '> One:\n> - a'],
    ['One\n\n#\n\nTwo', 'One\n\nTwo'],
    ['wow!**b**', 'wow!**b**'],
    ['wow![src/a.ts:1]', 'wow\\![`src/a.ts:1`](https://github.com/octo/tools/blob/main/src/a.ts)'],
    ['a`b`[src/b.ts:1]', 'a`b` `src/b.ts:1`'],
  ])('writes %j as %j', (markdown, written) => {
    const labels = new Map([
      ['src/a.ts:1', 'https://github.com/octo/tools/blob/main/src/a.ts'],
      ['src/b.ts:1', null],
    ])
    expect(safeMarkdown(markdown, { host: 'github.com', labels })).toBe(written)
  })

  it('keeps a bar inside the cell it stands in', () => {
    expect(safeMarkdown('| a |\n|---|\n| `x \\| y` z\\|w |')).toBe('| a |\n| --- |\n| `x \\| y` z\\|w |')
  })

  it('moves a code block one column in when one of its lines begins with a slash', () => {
    const written = safeMarkdown('```ts\n// a comment\nf()\n```')
    expect(written).toBe(' ```ts\n // a comment\n f()\n ```')
    expect(codeIn(written)).toEqual(['// a comment\nf()\n'])
  })
})
