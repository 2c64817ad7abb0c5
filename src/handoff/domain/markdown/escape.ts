// The smallest piece of safe Markdown: plain words, written such that every renderer shows exactly these words and nothing happens.
//
// GitHub acts on more than Markdown: after rendering, `@name`, `#1`, `owner/name#1`, `GH-1`, commit ids, mail and web addresses in the text
// become links, notifications and cross references. It never acts inside code. So a run of characters that holds one of these is written as
// a code span: people can still read and copy it, and no invisible character is needed to break it.
import { cleanLine, cleanText } from './clean-text.js'

/** What GitHub (or a bot that reads comments) may act on, inside one run of characters without a space. */
const active =
  /@[a-z0-9_-]|#\d|(?<![a-z0-9])gh-\d|(?<![a-z0-9])[0-9a-f]{7,}(?![a-z0-9])|:\/\/|(?<![a-z0-9])www\.|mailto:|xmpp:/i

/** Runs this long are addresses, keys and such; in a code span they can be cut anywhere without becoming something else. */
const longestRun = 200

const openers = '([{"\'<'
const closers = ')]}"\'>.,;:!?'

function isActive(run: string): boolean {
  return run.length > longestRun || active.test(run)
}

/** Plain words as Markdown. Line ends stay; `sealLines` must be called on what becomes a block. */
export function textMarkdown(text: string): string {
  return text.replace(/[\x21-\x7e]+/g, (run) => (isActive(run) ? sealedRun(run) : escapeRun(run)))
}

function sealedRun(run: string): string {
  let from = 0
  let to = run.length
  while (openers.includes(run[from] ?? ' ')) from++
  while (closers.includes(run[to - 1] ?? ' ')) to--
  const core = run.slice(from, to)
  // A core that is harmless without its edges means that the edges were part of what is not.
  if (!isActive(core)) return codeSpan(run)
  return escapeRun(run.slice(0, from)) + codeSpan(core) + escapeRun(run.slice(to))
}

const entities: Record<string, string> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '`': '&#96;' }

/** Backticks, `<` and `&` become entities, so that the written text holds none outside code: no span, tag or entity can begin by accident. */
function escapeRun(run: string): string {
  return run
    .replace(/[\\*[\]~|$]|(?<![A-Za-z0-9])#/g, '\\$&')
    .replace(/(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, '\\_')
    .replace(/[<>&`]/g, (character) => entities[character]!)
}

/** Text in a code span, whatever it holds; on one line. */
export function codeSpan(text: string): string {
  const content = shortenTicks(cleanLine(text))
  if (content.trim() === '') return ''
  const ticks = '`'.repeat(longestTicks(content) + 1)
  const pad = /^`|`$|^ .* $/.test(content) ? ' ' : ''
  return `${ticks}${pad}${content}${pad}${ticks}`
}

/** Longer runs of backticks are shortened, so that the fence around them stays short. */
export function shortenTicks(text: string): string {
  return text.replace(/`{100,}/g, '`'.repeat(99))
}

export function longestTicks(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}

/** Makes sure that no line of a paragraph begins a block, a slash command or a workflow command, and that none ends in a hard break. */
export function sealLines(markdown: string): string {
  return markdown
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replace(/^[-+=/:]/, '\\$&')
        .replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2'),
    )
    .filter((line) => line !== '')
    .join('\n')
}

/** Untrusted text without any effect of its Markdown. Empty lines separate paragraphs. */
export function safeText(text: string): string {
  return cleanText(text)
    .split(/\n\s*\n/)
    .map((paragraph) => sealLines(textMarkdown(paragraph)))
    .filter((paragraph) => paragraph !== '')
    .join('\n\n')
}

/** The same on one line, for a heading, a list or a sentence of ours. */
export function safeInline(text: string): string {
  return sealLines(textMarkdown(cleanText(text).replace(/\s+/g, ' ')))
}
