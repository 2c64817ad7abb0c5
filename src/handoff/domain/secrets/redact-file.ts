// Finds and redacts credentials in files of a repository. Used by everything that shows lines of a repository.
//
// What stands in place of a value is the same for the same rule and class of length, never the value's hash, and keeps the number of lines:
// a line number means the same before and after. Give it whole files: the middle of a private key is known by how the key begins.
import { mayHoldToken, otherRules, type Rule, tokenRules } from './file-rules.js'

export interface SecretFinding {
  line: number
  rule: string
}

export interface Redacted {
  text: string
  /** In the order of lines. A key of many lines is one place. */
  places: SecretFinding[]
}

/** Redacting twice changes nothing more. */
export function redactSecrets(text: string): Redacted {
  const places: SecretFinding[] = []
  let plain = text
  for (const rule of mayHoldToken(text) ? [...tokenRules, ...otherRules] : otherRules)
    plain = apply(rule, plain, places)
  places.sort((a, b) => a.line - b.line || (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0))
  return { text: plain, places }
}

/** Notes the line at once: later rules may change the length of lines, never their number. */
function apply(rule: Rule, text: string, places: SecretFinding[]): string {
  const lineAt = lineCounter(text)
  return text.replace(rule.pattern, (whole: string, before: string, value: string, offset: number) => {
    if (rule.accept && !rule.accept(value, before)) return whole
    places.push({ line: lineAt(offset + before.length), rule: rule.name })
    return before + hide(rule.name, value)
  })
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
