// Markdown of a model or a repository as a tree of nodes, for a client that shows it. Texts are plain characters; an address stands only in a link
// that passed the rules below. The client needs no parser of its own and never parses HTML.
import { allowedAddress } from './allowed-links.js'
import { cleanText, cutText } from './clean-text.js'
import { type Block, parseBlocks } from './parse-blocks.js'
import type { Inline } from './parse-emphasis.js'
import { type InlineRules, parseInlines } from './parse-inlines.js'

export type MarkdownBlock =
  | { kind: 'paragraph'; content: MarkdownInline[] }
  | { kind: 'heading'; level: number; content: MarkdownInline[] }
  | { kind: 'code'; language?: string; text: string }
  | { kind: 'quote'; blocks: MarkdownBlock[] }
  /** Only a numbered list has a `start`. */
  | { kind: 'list'; start?: number; items: MarkdownBlock[][] }
  /** The first row is the head. */
  | { kind: 'table'; rows: MarkdownInline[][][] }
  | { kind: 'rule' }

export type MarkdownInline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong'; content: MarkdownInline[] }
  | { kind: 'emphasis'; content: MarkdownInline[] }
  | { kind: 'link'; url: string; content: MarkdownInline[] }
  /** A verified citation, by its label. */
  | { kind: 'citation'; label: string }

interface DocumentOptions {
  /** The repository that links may lead to. Without it no link stays. */
  repository?: { host: string; path: string }
  /** Labels of the verified citations. */
  citations?: Iterable<string>
  /** Finds places in plain text that become links to their lines. In order, without overlap. */
  findPlaces?: (text: string) => TextPlace[]
}

export interface TextPlace {
  start: number
  end: number
  url: string
}

const longestDocument = 300_000
/** A node is at most a hundred bytes of JSON beside its text, and a response of the platform at most 4.5 MB. */
const mostNodes = 20_000
const restIsMissing = 'The rest is too long to be shown here.'

export function parseDocument(markdown: string, options: DocumentOptions = {}): MarkdownBlock[] {
  const { repository } = options
  const builder: Builder = {
    nodes: 0,
    findPlaces: options.findPlaces,
    rules: {
      link: (url) => (repository === undefined ? null : allowedAddress(url, repository.host, repository.path)),
      labels: new Map(Array.from(options.citations ?? [], (label) => [label, null])),
    },
  }
  const blocks = buildBlocks(builder, parseBlocks(cleanText(cutText(markdown, longestDocument))))
  const isCut = builder.nodes > mostNodes || markdown.length > longestDocument
  return isCut ? [...blocks, { kind: 'paragraph', content: [{ kind: 'text', text: restIsMissing }] }] : blocks
}

interface Builder {
  nodes: number
  rules: InlineRules
  findPlaces: DocumentOptions['findPlaces']
}

function buildBlocks(builder: Builder, blocks: Block[]): MarkdownBlock[] {
  const built: MarkdownBlock[] = []
  for (const block of blocks) {
    if (++builder.nodes > mostNodes) break
    built.push(buildBlock(builder, block))
  }
  return built
}

/** Items for which there is room, each counted as so many nodes. */
function takeWhileRoom<T>(builder: Builder, items: T[], size: number): T[] {
  const taken = items.slice(0, Math.max(0, Math.floor((mostNodes - builder.nodes) / size)))
  builder.nodes += items.length * size
  return taken
}

function buildBlock(builder: Builder, block: Block): MarkdownBlock {
  switch (block.kind) {
    case 'paragraph':
      return { kind: 'paragraph', content: buildInlines(builder, block.text) }
    case 'heading':
      return { kind: 'heading', level: block.level, content: buildInlines(builder, block.text) }
    case 'code': {
      const language = /^[\w+#.-]{1,30}/.exec(block.language)?.[0]
      return { kind: 'code', ...(language === undefined ? {} : { language }), text: block.lines.join('\n') }
    }
    case 'quote':
      return { kind: 'quote', blocks: buildBlocks(builder, block.blocks) }
    case 'list': {
      const items = takeWhileRoom(builder, block.items, 1).map((item) => buildBlocks(builder, item))
      return { kind: 'list', ...(block.ordered ? { start: block.start } : {}), items }
    }
    case 'table': {
      const rows = takeWhileRoom(builder, block.rows, block.rows[0]!.length)
      return { kind: 'table', rows: rows.map((row) => row.map((cell) => buildInlines(builder, cell))) }
    }
    case 'rule':
      return { kind: 'rule' }
  }
}

function buildInlines(builder: Builder, text: string): MarkdownInline[] {
  const inlines = builder.nodes > mostNodes ? [] : parseInlines(text, builder.rules)
  builder.nodes += inlines.length
  if (builder.nodes > mostNodes) return [{ kind: 'text', text }]
  const root: MarkdownInline[] = []
  const open = [root]
  const enter = (node: Extract<MarkdownInline, { content: unknown }>) => {
    open.at(-1)!.push(node)
    open.push(node.content)
  }
  let links = 0
  for (const inline of inlines) {
    switch (inline.kind) {
      case 'text':
        for (const node of links > 0 ? [inline] : linkPlaces(builder, inline.text)) open.at(-1)!.push(node)
        break
      case 'code':
        open.at(-1)!.push(links > 0 ? inline : linkCode(builder, inline.text))
        break
      case 'citation':
        open.at(-1)!.push({ kind: 'citation', label: inline.label })
        break
      case 'link':
        links++
        enter({ kind: 'link', url: inline.url, content: [] })
        break
      case 'link-end':
        links--
        open.pop()
        break
      case 'open':
        for (const kind of kindsOf(inline)) enter({ kind, content: [] })
        break
      case 'close':
        open.length -= kindsOf(inline).length
        break
    }
  }
  return root
}

/** Three marks are both. */
function kindsOf({ mark }: Extract<Inline, { mark: string }>): ('strong' | 'emphasis')[] {
  if (mark.length === 3) return ['strong', 'emphasis']
  return [mark.length === 2 ? 'strong' : 'emphasis']
}

function linkPlaces(builder: Builder, text: string): MarkdownInline[] {
  const places = builder.findPlaces?.(text) ?? []
  const nodes: MarkdownInline[] = []
  let from = 0
  for (const { start, end, url } of places) {
    if (start > from) nodes.push({ kind: 'text', text: text.slice(from, start) })
    nodes.push({ kind: 'link', url, content: [{ kind: 'text', text: text.slice(start, end) }] })
    from = end
  }
  if (from < text.length) nodes.push({ kind: 'text', text: text.slice(from) })
  builder.nodes += nodes.length
  return nodes
}

/** A code span that is a place and nothing else. */
function linkCode(builder: Builder, text: string): MarkdownInline {
  const [place] = builder.findPlaces?.(text) ?? []
  const code: MarkdownInline = { kind: 'code', text }
  return place?.start === 0 && place.end === text.length ? { kind: 'link', url: place.url, content: [code] } : code
}
