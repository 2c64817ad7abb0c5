// Finds and redacts credentials in files of a repository. Used by everything that shows lines of a repository.
//
// What stands in place of a value is the same for the same rule and class of length, never the value's hash, and keeps the number of lines:
// a line number means the same before and after. Give it whole files: the middle of a private key is known by how the key begins.
import { credentialsIn } from './credential-patterns.js'

interface SecretFinding {
  line: number
  rule: string
}

interface Redacted {
  text: string
  /** In the order of lines. A key of many lines is one place. */
  places: SecretFinding[]
}

/** Up to the end of the block; a block without an end stops at the first line that is no part of a key. */
const privateKey =
  /(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)((?:(?!-----)[\s\S]){1,20000}?(?=-----END )|[^\n]{0,400}(?:\n[\t "'+,\\]{0,40}[A-Za-z0-9+/=\\]{16,200}[^\n]{0,20}){1,200})/g
/** Code that only names the header has no such long run. */
const isKeyText = (value: string) => /[A-Za-z0-9+/]{40}/.test(value)

/** Redacting twice changes nothing more. */
export function redactSecrets(text: string): Redacted {
  const places: SecretFinding[] = []
  let plain = text
  const apply = (rule: string, pattern: RegExp, accept?: (value: string, lead: string, after: string) => boolean) => {
    const lineAt = lineCounter(plain)
    plain = plain.replace(pattern, (whole: string, ...groups: unknown[]) => {
      const offset = groups.findIndex((group) => typeof group === 'number')
      const [lead, value] = offset === 2 ? (groups as [string, string]) : ['', whole]
      const at = groups[offset] as number
      if (accept && !accept(value, lead, plain.slice(at + whole.length, at + whole.length + 12))) return whole
      places.push({ line: lineAt(at + lead.length), rule })
      return lead + hide(rule, value)
    })
  }
  if (text.includes('PRIVATE KEY')) apply('private-key', privateKey, isKeyText)
  for (const { rule, pattern } of credentialsIn(text)) apply(rule, pattern)
  for (const { rule, anchor, pattern, accept } of valueRules) if (plain.includes(anchor)) apply(rule, pattern, accept)
  places.sort((a, b) => a.line - b.line)
  return { text: plain, places }
}

/** Lines stay lines. */
function hide(rule: string, value: string): string {
  return value.replace(/[^\r\n]+/g, (part) => `[redacted:${rule}:${lengthClass(part.length)}]`)
}

/** The next power of two, so that the true length stays unknown. */
function lengthClass(length: number): number {
  return Math.min(4_096, 2 ** Math.max(3, Math.ceil(Math.log2(length))))
}

/** Offsets must come in rising order, as `replace` gives them. */
function lineCounter(text: string): (offset: number) => number {
  let line = 1
  let next = text.indexOf('\n')
  return (offset) => {
    for (; next >= 0 && next < offset; next = text.indexOf('\n', next + 1)) line++
    return line
  }
}

// Secrets that have no form of their own: what a telling name, an Authorization header or an address announces, and whether the value that follows
// looks like a secret.
//
// The lead is group 1 of each expression and the value is group 2. All repetitions are bounded, so the search takes linear time.

interface ValueRule {
  rule: string
  /** A text without it is not searched. */
  anchor: string
  pattern: RegExp
  accept(value: string, lead: string, after: string): boolean
}

const name = '(?:secret|token|passw(?:or)?d|passphrase|pwd|credential|authorization|apikey|dsn|(?<=[a-z0-9])[_-]key)'
const rest = '[\\w.-]{0,30}["\'`]?\\]?'
const scheme = '(?:(?:Bearer|Token|Bot|ApiKey|Api-Key|Key|OAuth|SSWS|GenieKey)[ \\t]{1,3})?'
const space = '[ \\t]{0,8}'
const quote = '["\'`]?'
const value = '([A-Za-z0-9+/=_.~!@#$%^&*?:-]{8,512})'

// What follows the name. The name stands once in the expression, before all of these: so the search tries little where no name is.
/** `apiKey: "`, `API_KEY=`, `apiKey: string = '`, `setenv("TOKEN", "`, `<password>`. */
const assignment = `${rest}(?:${space}:${space}[A-Za-z]{3,12})?(?:${space}(?::=|\\|\\|=|\\?\\?=|=>|[:=,])${space}|>)${quote}${scheme}`
/** The name and the value of a variable on two lines or in two fields. */
const pair = `${rest},?[ \\t\\r\\n]{0,60}${quote}value${quote}${space}[:=]${space}${quote}`
const call = `[\\w.]{0,30}\\(${space}["'\`]`
const flag = `(?<=--[a-z-]{0,42}${name})[a-z-]{0,20}[ \\t]{1,3}${quote}`
const lead = `${name}(?:${assignment}|${pair}|${call}|${flag})|(?:login|authenticate)${call}|\\bBearer[ \\t]{1,3}`

const valueRules: readonly ValueRule[] = [
  {
    rule: 'azure-key',
    anchor: 'Key=',
    pattern: /((?:Account|SharedAccess)Key=)([A-Za-z0-9+/]{40,100}={0,2})/g,
    accept: () => true,
  },
  {
    rule: 'url-password',
    anchor: '://',
    pattern: /(:\/\/[^\s:/@'"`<>]{0,100}:)([^\s/@'"`<>]{3,200})(?=@[A-Za-z0-9[_$%{.-])/g,
    accept: (value) =>
      !isPlaceholder(value) && !/^(?:user(?:name)?|pass(?:word|wd)?|pwd?|token|secret|test|root|admin)$/i.test(value),
  },
  {
    rule: 'basic-credentials',
    anchor: 'Basic',
    pattern: /(\bBasic[ \t]{1,3})([A-Za-z0-9+/]{8,400}={0,2})/g,
    accept: (value) => /^[\x20-\x7e]{0,120}:[\x20-\x7e]{3,300}$/.test(Buffer.from(value, 'base64').toString('latin1')),
  },
  {
    rule: 'assigned-secret',
    anchor: '',
    pattern: new RegExp(`(${lead})${value}`, 'gi'),
    accept: (value, lead, after) =>
      looksRandom(value) || (/passw|pwd|passphrase/i.test(lead) && isPassword(value, lead, after)),
  },
]

const isPlaceholder = (value: string) =>
  /^[$%<{[(*]|\$\{|\{\{|[<>{}]|redacted|example|placeholder|change[_-]?me|your[_-]|xxxx|\*\*\*|0123456789|123456789|abcdef|test[_-]|dummy|sample/i.test(
    value,
  )

/** Parts that read like words: names, paths and sentences consist of them, random values do not. */
const wordPart = /[A-Z]?[a-z]{3,}|[A-Z]{4,}/g

function looksRandom(value: string): boolean {
  const body = value.replace(/[=.:?!]{1,3}$/, '')
  if (body.length < 16 || isPlaceholder(body)) return false
  const changes = body.match(/[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])/g)?.length ?? 0
  if (changes < 2) return false
  const words = (body.match(wordPart) ?? []).filter(isPronounceable)
  const inWords = words.reduce((sum, word) => sum + word.length, 0)
  return inWords / body.length < 0.5 && entropy(body) >= (/^[0-9a-f-]+$/i.test(body) ? 2.8 : 3.3)
}

const isPronounceable = (word: string) => /[aeiouy]/i.test(word) && !/[bcdfghjklmnpqrstvwxz]{4}/i.test(word)

/** A short value beside the name of a password: in quotes or to the end of its line, and of three classes of characters. */
function isPassword(value: string, lead: string, after: string): boolean {
  if (isPlaceholder(value)) return false
  const isClosed = /["'`]$/.test(lead) ? /^["'`]/.test(after) : /^(?:<\/|[ \t]{0,8}(?:\r?\n|$))/.test(after)
  const classes = [/[a-z]/, /[A-Z]/, /[0-9]/, /[^A-Za-z0-9_.]/].filter((part) => part.test(value)).length
  return isClosed && classes >= 3 && /[0-9]/.test(value)
}

/** Bits a character, by how often each one occurs. */
function entropy(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}
