// The rules that find credentials in files of a repository. Each rule is one expression whose groups are (what stands before)(the value) and, where the
// shape alone says too little, a test of the value. All expressions are bounded: none of them can be made slow by the text it looks at.
import { credentials } from './credential-patterns.js'

export interface Rule {
  name: string
  pattern: RegExp
  accept?: (value: string, before: string) => boolean
}

const privateKey: Rule = {
  name: 'private-key',
  // Up to the end of the block; a block without an end stops at the first line that is no part of a key.
  pattern:
    /(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)((?:(?!-----)[\s\S]){1,20000}?(?=-----END )|[^\n]{0,400}(?:\n[\t "'+,\\]{0,40}[A-Za-z0-9+/=\\]{16,200}[^\n]{0,20}){1,200})/g,
  // Code that only speaks of keys has no such long run.
  accept: (value) => /[A-Za-z0-9+/]{40}/.test(value) && !value.includes('[redacted:'),
}

/** Known by what stands before it alone. */
const azureKey: Rule = {
  name: 'azure-key',
  pattern: /((?:Account|SharedAccess)Key=)([A-Za-z0-9+/]{40,100}={0,2})/g,
}

export const tokenRules: Rule[] = [
  privateKey,
  ...credentials.map(({ rule: name, begins, inFiles, accept }): Rule => {
    const pattern = new RegExp(`()(?<![A-Za-z0-9_])(${begins}${inFiles})`, 'g')
    return accept ? { name, pattern, accept } : { name, pattern }
  }),
  azureKey,
]

const beginnings = credentials.map(({ begins }) => begins).join('|')
const anyToken = new RegExp(`PRIVATE KEY|(?:Key=|${beginnings})[A-Za-z0-9_+/.-]{15}`)

/** One look for all token rules together: most texts have none of them. */
export function mayHoldToken(text: string): boolean {
  return anyToken.test(text)
}

/** Words that stand where a password would and are none. */
const noPassword = /^(?:pass(?:word|wd)?|pwd|pw|secret|token|user(?:name)?|example|changeme|x+|\*+|\.{3})$/i
const placeholder = /^[$%<{[(*]|\$\{|\{\{|[<>{}]|redacted/

const urlPassword: Rule = {
  name: 'url-password',
  pattern: /(:\/\/[^\s:/@'"`<>]{0,100}:)([^\s/@'"`<>]{3,200})(?=@[A-Za-z0-9[_$%{.-])/g,
  accept: (value) => !noPassword.test(value) && !placeholder.test(value),
}

const secretWord =
  '(?:secret|token|passw(?:or)?d|passphrase|pwd|(?:api|access|auth|private|signing|encryption|account)[_-]?key|credential)'
const valueSign = '[A-Za-z0-9+/=_.~!#%^&*-]'

/** `apiKey: "`, `SECRET_TOKEN=`: what stands before a value. An expression in any case of letters. */
const assigning = `${secretWord}[\\w.-]{0,30}["'\`]?\\]?[ \\t]{0,8}(?::=|=>|[:=])[ \\t]{0,8}["'\`]?`

const assignment: Rule = {
  name: 'assigned-secret',
  pattern: new RegExp(`(${assigning})(${valueSign}{16,512})(?=["'\`]|[ \\t]{0,8}(?:\\r?\\n|$|#|;|,))`, 'gi'),
  accept: (value, before) => looksRandom(value, /["'`]$/.test(before)),
}

/** True if the end of the text may precede a secret value, for example an assignment to a password. */
export function leadsToSecret(text: string): boolean {
  return leading.test(text)
}

const leading = new RegExp(
  `${assigning}${valueSign}{0,60}$|PRIVATE KEY|(?:gl(?:pat|ptt|dt|rt|cbt)-|xox[a-z]-|xapp-|\\bsk-|pypi-|GOCSPX-|ya29\\.|\\bSG\\.|hooks\\.slack\\.com|Key=)[^ \\n]{0,80}$`,
  'i',
)

/** Asked of every text, and last: what a token's rule has replaced is no value any more. */
export const otherRules: Rule[] = [urlPassword, assignment]

/** Many different characters, digits and letters, and not a word, a path, a version or a piece of code. */
function looksRandom(value: string, quoted: boolean): boolean {
  const body = value.replace(/=+$/, '')
  // A name has one number or two in it; chance changes between letters and digits all the time.
  const changes = body.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0
  if (body.length < 16 || changes < (quoted ? 2 : 4)) return false
  if (/^[a-z]+(?:[-_./][a-z0-9]{1,15})+$/i.test(body) && !/\d[a-z]\d|[a-z]\d[a-z]/i.test(body)) return false
  if (/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/.test(body)) return false
  if (/example|placeholder|changeme|your[_-]|xxxx|0123456789|abcdef123|test[_-]/i.test(body)) return false
  return entropy(body) >= (/^[0-9a-f]+$/i.test(body) ? 3 : 3.5)
}

/** Bits a character, by how often each one occurs. */
function entropy(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}
