// Shows the nodes into which the service parsed Markdown of a model. Each kind of node has one element; a kind that is not known shows nothing.
import type { MarkdownBlock, MarkdownInline } from '../src/handoff/domain/markdown/parse-document.js'
import { renderCode } from './code-lines.js'
import { copyButton } from './copy-button.js'
import { type Child, element, outsideLink } from './dom.js'
import { withoutBidi } from './format.js'
import type { CheckLink } from './links.js'

interface BlockOptions {
  /** Added to the level of each heading. */
  shift: number
  /** Is given each heading of a section. */
  onHeading?: (heading: HTMLElement, level: number) => void
  link: CheckLink
  /** Creates the node for a citation; undefined shows its label as text. */
  citation?: (label: string) => Node | undefined
}

export function renderBlocks(blocks: MarkdownBlock[], options: BlockOptions): Child[] {
  return blocks.map((block) => renderBlock(block, options))
}

function renderBlock(block: MarkdownBlock, options: BlockOptions): Child {
  switch (block.kind) {
    case 'paragraph':
      return element('p', {}, renderInlines(block.content, options))
    case 'heading': {
      const level = Math.max(1, Math.min(6, Math.trunc(block.level + options.shift) || 6)) as 1 | 2 | 3 | 4 | 5 | 6
      const heading = element(`h${level}`, {}, renderInlines(block.content, options))
      options.onHeading?.(heading, level)
      return heading
    }
    case 'code':
      return renderCodeBlock(block)
    case 'quote':
      return element('blockquote', {}, renderBlocks(block.blocks, options))
    case 'list':
      return renderList(block, options)
    case 'table':
      return renderTable(block.rows, options)
    case 'rule':
      return element('hr')
    default:
      return undefined
  }
}

function renderCodeBlock({ language, text }: Extract<MarkdownBlock, { kind: 'code' }>): Child {
  const label = element('span', { class: 'language' })
  const code = renderCode(text, { language }, label)
  const caption = element(
    'figcaption',
    {},
    label,
    copyButton('Copy', () => text),
  )
  return element('figure', {}, caption, element('pre', { tabindex: '0', role: 'group', 'aria-label': 'Code' }, code))
}

function renderList({ start, items }: Extract<MarkdownBlock, { kind: 'list' }>, options: BlockOptions): Child {
  const entries = items.map((item) => element('li', {}, renderItem(item, options)))
  if (start === undefined) return element('ul', {}, entries)
  return element('ol', start === 1 ? {} : { start: Number(start) }, entries)
}

/** An item with one paragraph needs no paragraph. */
function renderItem(item: MarkdownBlock[], options: BlockOptions): Child[] {
  const [first, ...rest] = item
  if (first?.kind !== 'paragraph' || rest.some(({ kind }) => kind === 'paragraph')) return renderBlocks(item, options)
  return [...renderInlines(first.content, options), ...renderBlocks(rest, options)]
}

function renderTable([head = [], ...body]: MarkdownInline[][][], options: BlockOptions): Child {
  const heads = head.map((cell) => {
    const words = renderInlines(cell, options)
    // A head without words is no head.
    return words.length === 0 ? element('td') : element('th', { scope: 'col' }, words)
  })
  const rows = body.map((row) =>
    element(
      'tr',
      {},
      row.map((cell) => element('td', {}, renderInlines(cell, options))),
    ),
  )
  const table = element('table', {}, element('thead', {}, element('tr', {}, heads)), element('tbody', {}, rows))
  return element('div', { class: 'table', tabindex: '0', role: 'group', 'aria-label': 'Table' }, table)
}

function renderInlines(inlines: MarkdownInline[], options: BlockOptions): Child[] {
  return inlines.map((inline) => renderInline(inline, options))
}

function renderInline(inline: MarkdownInline, options: BlockOptions): Child {
  switch (inline.kind) {
    case 'text':
      return withoutBidi(inline.text)
    case 'code':
      return element('code', {}, withoutBidi(inline.text))
    case 'strong':
      return element('strong', {}, renderInlines(inline.content, options))
    case 'emphasis':
      return element('em', {}, renderInlines(inline.content, options))
    case 'link': {
      const url = options.link(inline.url)
      const words = renderInlines(inline.content, options)
      return url === undefined ? element('span', {}, words) : outsideLink(url, {}, ...words)
    }
    case 'citation':
      return options.citation?.(inline.label) ?? element('code', {}, withoutBidi(inline.label))
    default:
      return undefined
  }
}
