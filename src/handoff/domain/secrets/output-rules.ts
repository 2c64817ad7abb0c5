// Patterns of credentials of well-known services, to find keys that handoff does not hold. Keys that it holds are found by their own characters
// (redactor.ts), so a pattern may be strict and leave ordinary code alone.
import { credentials } from './credential-patterns.js'

export interface SecretShape {
  rule: string
  pattern: RegExp
}

/** A key's text lies in lines, or in one line with the line ends written out; a program that only names the header has no such line. */
const keyText = String.raw`(?=[\s\S]{0,300}?[A-Za-z0-9+/]{40})(?:[A-Za-z0-9+/=\s]|\\[nr]|[A-Za-z-]{4,20}: [^\n]{0,80}\n|["'+, ]){40,30000}`

export const secretShapes: readonly SecretShape[] = [
  ...credentials.map(({ rule, begins, inFiles, inWords = inFiles }) => ({
    rule,
    pattern: new RegExp(`(?<![A-Za-z0-9])${begins}${inWords}`, 'g'),
  })),
  { rule: 'clone-password', pattern: /(?<![A-Za-z0-9])x-access-token:[^\s@:/]{10,1000}(?=@)/g },
  {
    rule: 'private-key',
    pattern: new RegExp(
      `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----${keyText}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?`,
      'g',
    ),
  },
]

const anyStart = new RegExp(
  `(?<![A-Za-z0-9])(?:${[...credentials.map(({ begins }) => begins), 'x-access-token:'].join('|')})|-----BEGIN `,
)

/** Whether one of them begins anywhere: one look instead of thirty, where most texts have none. */
export const mayHoldShape = (text: string) => anyStart.test(text)

/** How such credentials begin, and how long they may become: those of a length together. */
const starts: readonly { begins: RegExp; longest: number }[] = [
  startsUpTo(0, 400),
  startsUpTo(400, 1_030, 'x-access-'),
  startsUpTo(1_030, 5_000),
  startsUpTo(5_000, 20_000),
]

function startsUpTo(over: number, longest: number, ...more: string[]): { begins: RegExp; longest: number } {
  const those = credentials.filter((one) => one.longest > over && one.longest <= longest)
  const begins = [...those.map((one) => one.opens ?? one.begins), ...more].join('|')
  return { begins: new RegExp(`(?<![A-Za-z0-9])(?:${begins})`), longest }
}

const longestShape = Math.max(...credentials.map(({ longest }) => longest))
const longestKey = 33_000

/** Where something begins, near the end of a text that goes on later, that may still become a credential; the text's length if nothing does. */
export function openShape(text: string): number {
  return Math.min(openToken(text), openKey(text))
}

function openToken(text: string): number {
  let from = text.length
  while (from > 0 && text.length - from < longestShape && isTokenSign(text.charCodeAt(from - 1))) from--
  const places = starts.map(({ begins, longest }) => {
    // One more character tells whether the first of them begins a word.
    const window = Math.max(0, Math.max(from, text.length - longest) - 1)
    const found = begins.exec(text.slice(window))
    return found ? window + found.index : text.length
  })
  return Math.min(...places)
}

const tokenSigns = new Set(
  [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=+/.%~:-'].map((sign) => sign.charCodeAt(0)),
)
const isTokenSign = (code: number) => tokenSigns.has(code)

/** A private key is open from its header to its footer; the header itself, from its dashes to its dashes. */
function openKey(text: string): number {
  const at = text.lastIndexOf('-----BEGIN ')
  if (at < 0 || text.length - at > longestKey) return text.length
  const rest = text.slice(at)
  const inHeader = /^-----BEGIN [A-Z0-9 ]{0,60}-{0,5}$/.test(rest)
  const inKey = /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(rest) && !/-----END [A-Z0-9 ]{0,60}-----/.test(rest)
  return inHeader || inKey ? at : text.length
}
