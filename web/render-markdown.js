// Markdown of a model becomes nodes: paragraphs, headings, lists, quotes, tables, code. It is somebody else's text, so nothing in it can be
// markup: there is no HTML, no image, no form; a link goes only where `options.link` allows. What is not understood is shown as it is.
import { element, fill } from './dom.js'
import { inlines } from './render-inlines.js'
import { withoutTurns } from './format.js'

/** Deeper nesting is shown as text. */
const deepest = 8
const longest = 500_000

/**
 * `options.shift` is added to the level of every heading. `options.link(url)` returns the address to go to or undefined; `options.place(text)`
 * and `options.places` are explained in `inlines.js`.
 */
export function markdown(text, options = {}) {
  const made = document.createDocumentFragment()
  const lines = withoutTurns(text.slice(0, longest)).replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n')
  return fill(made, blocks(lines, options, 0))
}

function blocks(lines, options, depth) {
  const made = []
  let at = 0
  while (at < lines.length) {
    if (lines[at].trim() === '') {
      at += 1
      continue
    }
    const block = readers.reduce((found, read) => found ?? read(lines, at, options, depth), undefined)
    made.push(block.node)
    at = block.next
  }
  return made
}

const readers = [readFence, readHeading, readRule, readQuote, readList, readTable, readParagraph]

const fenceStart = /^ {0,3}(`{3,}|~{3,})([^`]*)$/
const listStart = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)(.*)$/

function readFence(lines, at) {
  const start = fenceStart.exec(lines[at])
  if (!start) return undefined
  const [, fence, language] = start
  let end = at + 1
  while (end < lines.length && !closes(lines[end], fence)) end += 1
  const name = /^[\w+#.-]{1,30}/.exec(language.trim())?.[0]
  const code = element('code', {}, lines.slice(at + 1, end).join('\n'))
  const label = name ? `Code, ${name}` : 'Code'
  return { node: element('pre', { tabindex: '0', role: 'region', 'aria-label': label }, code), next: end + 1 }
}

function closes(line, fence) {
  const bare = line.trim()
  return bare.length >= fence.length && bare === fence[0].repeat(bare.length)
}

function readHeading(lines, at, options) {
  const start = /^ {0,3}(#{1,6})(?: (.*))?$/.exec(lines[at])
  if (!start) return undefined
  const text = (start[2] ?? '').trim().replace(/(^| )#{1,6}$/, '')
  const level = Math.min(6, start[1].length + (options.shift ?? 0))
  return { node: element(`h${level}`, {}, inlines(text, options)), next: at + 1 }
}

function isRule(line) {
  const bare = line.replaceAll(' ', '')
  return bare.length >= 3 && '-*_'.includes(bare[0]) && bare === bare[0].repeat(bare.length)
}

function readRule(lines, at) {
  return isRule(lines[at]) ? { node: element('hr'), next: at + 1 } : undefined
}

function readQuote(lines, at, options, depth) {
  if (depth >= deepest || !isQuoted(lines[at])) return undefined
  let end = at
  while (end < lines.length && isQuoted(lines[end])) end += 1
  const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ''))
  return { node: element('blockquote', {}, blocks(inner, options, depth + 1)), next: end }
}

const isQuoted = (line) => /^ {0,3}>/.test(line)

function readList(lines, at, options, depth) {
  const first = depth < deepest && !isRule(lines[at]) && listStart.exec(lines[at])
  if (!first) return undefined
  const ordered = /\d/.test(first[2])
  const items = []
  let next = at
  while (next < lines.length) {
    const start = listStart.exec(lines[next])
    if (!start || isRule(lines[next]) || /\d/.test(start[2]) !== ordered) break
    const item = readItem(lines, next, start)
    items.push(element('li', {}, tight(blocks(item.lines, options, depth + 1))))
    next = item.next
  }
  const start = ordered ? Number.parseInt(first[2], 10) : 1
  return { node: element(ordered ? 'ol' : 'ul', start === 1 ? {} : { start }, items), next }
}

/** An item's lines without its marker; lines that are indented as far, or go on with its paragraph, belong to it. */
function readItem(lines, at, start) {
  const width = start[1].length + start[2].length + Math.min(4, Math.max(1, start[3].length))
  const item = [start[4]]
  let next = at + 1
  while (next < lines.length) {
    const line = lines[next]
    const indented = line.startsWith(' '.repeat(Math.min(width, 2))) && line.trim() !== ''
    const blankInside = line.trim() === '' && lines[next + 1]?.startsWith('  ') && lines[next + 1].trim() !== ''
    const goesOn = line.trim() !== '' && lines[next - 1].trim() !== '' && !startsBlock(lines, next)
    if (!indented && !blankInside && !goesOn) break
    item.push(indented ? outdent(line, width) : line)
    next += 1
  }
  while (next < lines.length && lines[next].trim() === '') next += 1
  return { lines: item, next }
}

function outdent(line, width) {
  const spaces = line.length - line.trimStart().length
  return line.slice(Math.min(spaces, width))
}

/** An item of one paragraph needs no paragraph. */
function tight(nodes) {
  const [first] = nodes
  const rest = nodes.slice(1)
  return first?.localName === 'p' && !rest.some((node) => node.localName === 'p')
    ? Array.from(first.childNodes).concat(rest)
    : nodes
}

function readTable(lines, at, options) {
  if (!startsTable(lines, at)) return undefined
  const head = cellsOf(lines[at])
  let end = at + 2
  while (end < lines.length && lines[end].trim() !== '' && lines[end].includes('|')) end += 1
  const row = (cells, name) => element('tr', {}, ...head.map((_, index) => cell(name, cells[index] ?? '', options)))
  const body = lines.slice(at + 2, end).map((line) => row(cellsOf(line), 'td'))
  const table = element('table', {}, element('thead', {}, row(head, 'th')), element('tbody', {}, body))
  return {
    node: element('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': 'Table' }, table),
    next: end,
  }
}

function startsTable(lines, at) {
  const line = lines[at + 1]?.trim()
  return lines[at].includes('|') && line?.includes('|') === true && line.includes('-') && /^[|:\- ]+$/.test(line)
}

const cell = (name, text, options) =>
  element(name, name === 'th' ? { scope: 'col' } : {}, inlines(text.trim(), options))

function cellsOf(line) {
  const bare = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return bare
    .split(/(?<!\\)\|/)
    .slice(0, 30)
    .map((text) => text.replaceAll('\\|', '|'))
}

function readParagraph(lines, at, options) {
  let end = at + 1
  while (end < lines.length && lines[end].trim() !== '' && !startsBlock(lines, end)) end += 1
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join('\n')
  return { node: element('p', {}, inlines(text, options)), next: end }
}

function startsBlock(lines, at) {
  const line = lines[at]
  return (
    fenceStart.test(line) ||
    /^ {0,3}#{1,6}( |$)/.test(line) ||
    isQuoted(line) ||
    isRule(line) ||
    (listStart.test(line) && line.trim().length > 1) ||
    startsTable(lines, at)
  )
}
