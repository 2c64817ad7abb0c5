// Finds and redacts credentials in files of a repository. Used by everything that shows lines of a repository.
//
// What stands in place of a value is the same for the same rule and class of length, never the value's hash, and keeps the number of lines:
// a line number means the same before and after. Give it whole files: the middle of a private key is known by how the key begins.
import { credentialsIn } from './credential-patterns.js'
import { valueRules } from './secret-values.js'

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
const isKeyText = (value: string) => /[A-Za-z0-9+/]{40}/.test(value) && !value.includes('[redacted:')

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
  for (const { rule, pattern, accept } of valueRules) apply(rule, pattern, accept)
  places.sort((a, b) => a.line - b.line || (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0))
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
