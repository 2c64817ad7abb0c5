import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type MarkdownBlock,
  type MarkdownInline,
  parseDocument,
} from '../../../../src/handoff/domain/markdown/parse-document.js'
import { safeMarkdown } from '../../../../src/handoff/domain/markdown/sanitize.js'
import { attacks, hostileMarkdown } from './hostile-markdown.js'
import { wordsIn } from './markdown-tree.js'

const runs = process.env['LONG'] ? 10_000 : 300
const repository = { host: 'github.com', path: 'o/r' }
const text = (words: string): MarkdownInline => ({ kind: 'text', text: words })

describe('the tree of a document', () => {
  it('has a node for each block', () => {
    const markdown =
      '# One\n\nTwo *three* **four** ***five***\n\n> six\n\n- seven\n- eight\n\n3. nine\n\n```ts\nten()\n```\n\n| a | b |\n|---|---|\n| c | `d` |\n\n---'
    expect(parseDocument(markdown)).toEqual([
      { kind: 'heading', level: 1, content: [text('One')] },
      {
        kind: 'paragraph',
        content: [
          text('Two '),
          { kind: 'emphasis', content: [text('three')] },
          text(' '),
          { kind: 'strong', content: [text('four')] },
          text(' '),
          { kind: 'strong', content: [{ kind: 'emphasis', content: [text('five')] }] },
        ],
      },
      { kind: 'quote', blocks: [{ kind: 'paragraph', content: [text('six')] }] },
      {
        kind: 'list',
        items: [[{ kind: 'paragraph', content: [text('seven')] }], [{ kind: 'paragraph', content: [text('eight')] }]],
      },
      { kind: 'list', start: 3, items: [[{ kind: 'paragraph', content: [text('nine')] }]] },
      { kind: 'code', language: 'ts', text: 'ten()' },
      {
        kind: 'table',
        rows: [
          [[text('a')], [text('b')]],
          [[text('c')], [{ kind: 'code', text: 'd' }]],
        ],
      },
      { kind: 'rule' },
    ])
  })

  it('links to the own repository only, and names verified citations', () => {
    const inside = 'https://github.com/o/r/blob/abc/x.ts#L1'
    const content = parseDocument(
      `[in](${inside}) [out](https://github.com/o/r-evil/blob/abc/x) [a.ts:1] [b.ts:1] [in [a.ts:1]](${inside})`,
      { repository, citations: ['a.ts:1'] },
    )
    expect(content).toEqual([
      {
        kind: 'paragraph',
        content: [
          { kind: 'link', url: inside, content: [text('in')] },
          text(' out ('),
          { kind: 'code', text: 'https://github.com/o/r-evil/blob/abc/x' },
          text(') '),
          { kind: 'citation', label: 'a.ts:1' },
          text(' [b.ts:1] '),
          { kind: 'link', url: inside, content: [text('in '), { kind: 'code', text: 'a.ts:1' }] },
        ],
      },
    ])
  })

  it('links places that the caller finds, in words and as code, but not inside a link', () => {
    const findPlaces = (words: string) =>
      [...words.matchAll(/a\.ts/g)].map(({ index }) => ({ start: index, end: index + 4, url: 'https://x/a' }))
    const link = (node: MarkdownInline): MarkdownInline => ({ kind: 'link', url: 'https://x/a', content: [node] })
    const [block] = parseDocument('see a.ts, `a.ts` and `in a.ts`, [a.ts](https://github.com/o/r)', {
      repository,
      findPlaces,
    })
    expect(block).toEqual({
      kind: 'paragraph',
      content: [
        text('see '),
        link(text('a.ts')),
        text(', '),
        link({ kind: 'code', text: 'a.ts' }),
        text(' and '),
        { kind: 'code', text: 'in a.ts' },
        text(', '),
        { kind: 'link', url: 'https://github.com/o/r', content: [text('a.ts')] },
      ],
    })
  })
})

describe('hostile text', () => {
  const addresses = (markdown: string) => linksIn(parseDocument(markdown, { repository }))
  const allowed = /^https:\/\/github\.com\/o\/r(?:$|\/)/

  it.each(attacks)('leads nowhere else: $name', ({ text: markdown }) => {
    expect(addresses(markdown).filter((url) => !allowed.test(url))).toEqual([])
    expect(linksIn(parseDocument(markdown))).toEqual([])
  })

  it('leads nowhere else, whatever is put together, and says the same words as a comment', () => {
    let links = 0
    fc.assert(
      fc.property(hostileMarkdown, (parts) => {
        const markdown = parts.join('')
        const found = addresses(markdown)
        links += found.length
        expect(found.filter((url) => !allowed.test(url))).toEqual([])
        const blocks = parseDocument(markdown)
        expect(letters(wordsOf(blocks))).toBe(letters(wordsIn(safeMarkdown(markdown))))
      }),
      { numRuns: runs },
    )
    expect(links, 'the generator makes links too').toBeGreaterThan(0)
  })
})

const letters = (words: string) => words.replace(/[^a-z0-9]/gi, '')

function* nodesOf(blocks: MarkdownBlock[]): Generator<MarkdownBlock | MarkdownInline> {
  for (const block of blocks) {
    yield block
    if (block.kind === 'quote') yield* nodesOf(block.blocks)
    if (block.kind === 'list') yield* nodesOf(block.items.flat())
    if (block.kind === 'table') yield* inlinesOf(block.rows.flat(2))
    if ('content' in block) yield* inlinesOf(block.content)
  }
}

function* inlinesOf(content: MarkdownInline[]): Generator<MarkdownInline> {
  for (const inline of content) {
    yield inline
    if ('content' in inline) yield* inlinesOf(inline.content)
  }
}

const linksIn = (blocks: MarkdownBlock[]) =>
  [...nodesOf(blocks)].flatMap((node) => (node.kind === 'link' ? [node.url] : []))

const wordsOf = (blocks: MarkdownBlock[]) =>
  [...nodesOf(blocks)].map((node) => ('text' in node ? node.text : '')).join(' ')
