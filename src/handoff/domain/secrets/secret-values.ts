// Secrets that have no form of their own: what a telling name, an Authorization header or an address announces, and whether the value that follows
// looks like a secret.
//
// The lead is group 1 of each expression and the value is group 2. All repetitions are bounded, so the search takes linear time.

interface ValueRule {
  rule: string
  pattern: RegExp
  accept(value: string, lead: string, after: string): boolean
}

const name =
  '(?:secret|token|passw(?:or)?d|passphrase|pwd|credential|authorization|apikey|dsn|' +
  '(?:api|access|account|admin|app|auth|client|deploy|encryption|license|master|private|root|service|session|shared|signing|subscription|webhook|[a-z0-9])[_-]key)'
const rest = '[\\w.-]{0,30}["\'`]?\\]?'
const scheme = '(?:(?:Bearer|Token|Bot|ApiKey|Api-Key|Key|OAuth|SSWS|GenieKey)[ \\t]{1,3})?'
const space = '[ \\t]{0,8}'
const quote = '["\'`]?'
const value = '([A-Za-z0-9+/=_.~!@#$%^&*?:-]{8,512})'

/** `apiKey: "`, `API_KEY=`, `apiKey: string = '`, `setenv("TOKEN", "`, `<password>`. */
const assignment = `${name}${rest}(?:${space}:${space}[A-Za-z]{3,12})?(?:${space}(?::=|\\|\\|=|\\?\\?=|=>|[:=,])${space}|>)${quote}${scheme}`
/** The name and the value of a variable on two lines or in two fields. */
const pair = `${name}${rest},?[ \\t\\r\\n]{0,60}${quote}value${quote}${space}[:=]${space}${quote}`
const call = `(?:${name}|login|authenticate)[\\w.]{0,30}\\(${space}["'\`]`
const flag = `--[a-z-]{0,30}${name}[a-z-]{0,20}[ \\t]{1,3}${quote}`
const header = `\\bBearer[ \\t]{1,3}`

export const valueRules: readonly ValueRule[] = [
  {
    rule: 'azure-key',
    pattern: /((?:Account|SharedAccess)Key=)([A-Za-z0-9+/]{40,100}={0,2})/g,
    accept: () => true,
  },
  {
    rule: 'url-password',
    pattern: /(:\/\/[^\s:/@'"`<>]{0,100}:)([^\s/@'"`<>]{3,200})(?=@[A-Za-z0-9[_$%{.-])/g,
    accept: (value) =>
      !isPlaceholder(value) && !/^(?:user(?:name)?|pass(?:word|wd)?|pwd?|token|secret|test|root|admin)$/i.test(value),
  },
  {
    rule: 'basic-credentials',
    pattern: /(\bBasic[ \t]{1,3})([A-Za-z0-9+/]{8,400}={0,2})/g,
    accept: (value) => /^[\x20-\x7e]{0,120}:[\x20-\x7e]{3,300}$/.test(Buffer.from(value, 'base64').toString('latin1')),
  },
  {
    rule: 'assigned-secret',
    pattern: new RegExp(`(${[assignment, pair, call, flag, header].join('|')})${value}`, 'gi'),
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
