// What a real CommonMark parser sees in a text: everything on which GitHub would act is a finding. Tests ask for none.
import { type Node, Parser } from 'commonmark'

const sentinel = 'The text after it stands alone'

/** Things that GitHub links, notifies or runs when they stand in text outside code. */
const active: [string, RegExp][] = [
  ['mention', /@[A-Za-z0-9]/],
  ['issue', /#\d/],
  ['issue', /(?<![A-Za-z0-9])GH-\d/i],
  ['commit', /(?<![A-Za-z0-9])[0-9a-f]{7,40}(?![A-Za-z0-9])/i],
  ['address', /:\/\/|(?<![A-Za-z0-9])www\.|mailto:/i],
  ['closing keyword', /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+(?:[\w./-]*#|GH-)\d/i],
]

export function findings(markdown: string, host?: string): string[] {
  const found: string[] = []
  const tree = new Parser().parse(`${markdown}\n\n${sentinel}\n`)
  const codeLines = new Set<number>()
  const walker = tree.walker()
  for (let event = walker.next(); event; event = walker.next()) {
    const { node, entering } = event
    if (!entering) continue
    if (['html_block', 'html_inline', 'image'].includes(node.type))
      found.push(`${node.type}: ${node.literal ?? node.destination}`)
    if (node.type === 'code_block')
      for (let line = node.sourcepos[0][0]; line <= node.sourcepos[1][0]; line++) codeLines.add(line)
    if (node.type === 'link') found.push(...linkFindings(node, host))
    if (node.type === 'text' && node.prev?.type !== 'text') found.push(...textFindings(runOfText(node)))
  }
  if (tree.lastChild?.type !== 'paragraph' || tree.lastChild.firstChild?.literal !== sentinel)
    found.push('something was left open')
  markdown.split('\n').forEach((line, index) => {
    if (line.startsWith('/')) found.push(`slash command: ${line}`)
    if (codeLines.has(index + 1)) return
    if (/^(?:\s|>|[-*+]\s|\d+[.)]\s)*(?:\/[a-z]|::)/.test(line)) found.push(`command: ${line}`)
    found.push(...gfmFindings(line))
  })
  if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Cf}/u.test(markdown))
    found.push('an invisible character')
  if (!markdown.isWellFormed()) found.push('half a character')
  return found
}

/** The literal text of every code block and code span. */
export function codeIn(markdown: string): string[] {
  const code: string[] = []
  const walker = new Parser().parse(markdown).walker()
  for (let event = walker.next(); event; event = walker.next()) {
    if (event.entering && /^code/.test(event.node.type)) code.push(event.node.literal ?? '')
  }
  return code
}

/** All words as a reader sees them, without marks and line ends. */
export function wordsIn(markdown: string): string {
  let words = ''
  const walker = new Parser().parse(markdown).walker()
  for (let event = walker.next(); event; event = walker.next()) {
    if (event.entering) words += event.node.literal ?? (/break|paragraph|item|heading/.test(event.node.type) ? ' ' : '')
  }
  return words.replace(/\s+/g, ' ').trim()
}

function runOfText(first: Node): string {
  let text = ''
  for (let node: Node | null = first; node?.type === 'text'; node = node.next) text += node.literal
  return text
}

function textFindings(text: string): string[] {
  return active.filter(([, expression]) => expression.test(text)).map(([name]) => `${name}: ${text.slice(0, 200)}`)
}

function linkFindings(node: Node, host: string | undefined): string[] {
  const address = node.destination ?? ''
  const inside =
    host !== undefined && URL.canParse(address) && new URL(address).host === host && /^https?:/.test(address)
  return inside && !/\/(?:issues|pull|commit|discussions)\//.test(address.split('/blob/')[0]!)
    ? []
    : [`link: ${address}`]
}

/** What only GitHub's own Markdown knows: footnotes, task boxes, alerts, strikes. Code spans are taken out first. */
function gfmFindings(line: string): string[] {
  const text = line.replace(/(`+)(?!`).*?[^`]\1(?!`)/g, '')
  return [/(?<!\\)\[[\^!]/, /^\s*[-*+]\s+\[[ x]\]\s/i, /(?<!\\)~/, /</, /(?<!\\)\$/]
    .filter((expression) => expression.test(text))
    .map((expression) => `${expression}: ${line.slice(0, 200)}`)
}
