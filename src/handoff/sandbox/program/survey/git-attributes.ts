// What .gitattributes says of files: generated, vendored, documentation, binary, stored by LFS. Every folder may have one. The nearest file wins, and in
// one file the last line that matches.
import { type Pattern, parsePattern, patternMatches } from './gitignore-patterns.js'

export interface FileAttributes {
  generated?: boolean
  vendored?: boolean
  documentation?: boolean
  binary?: boolean
  lfs?: boolean
}

interface Rule {
  pattern: Pattern
  /** The code of the character that must come first, or last if the pattern is `*` and a suffix; -1 if any may. */
  edgeCode: number
  /** Undefined unsets the attribute. */
  values: [keyof FileAttributes, boolean | undefined][]
}

export interface AttributesFile {
  /** `''` for the top. */
  directory: string
  text: string
}

const knownAttributes: Record<string, keyof FileAttributes> = {
  'linguist-generated': 'generated',
  'linguist-vendored': 'vendored',
  'linguist-documentation': 'documentation',
  binary: 'binary',
  filter: 'lfs',
}

/** Limit of all rules; the rest is not read. */
const ruleLimit = 5_000

/** Returns the attributes of a file. */
export type AttributeLookup = (path: string, directory: string) => FileAttributes

export function parseAttributes(files: readonly AttributesFile[]): AttributeLookup {
  const rules = new Map<string, Rule[]>()
  let room = ruleLimit
  for (const file of files) {
    const parsed = file.text
      .split('\n')
      .map(parseRule)
      .filter((rule) => rule !== undefined)
    if (parsed.length > 0 && room > 0) rules.set(file.directory, parsed.slice(0, room))
    room -= parsed.length
  }
  const chains = new Map<string, Chain>()
  return (path, directory) => {
    if (rules.size === 0) return noAttributes
    let chain = chains.get(directory)
    if (!chain) {
      chain = ruleChain(rules, directory)
      chains.set(directory, chain)
    }
    if (chain.length === 0) return noAttributes
    const name = path.slice(path.lastIndexOf('/') + 1)
    let found: FileAttributes | undefined
    for (const link of chain)
      found = applyRules(link.rules, link.start === 0 ? path : path.slice(link.start), name, found)
    return found ?? noAttributes
  }
}

/** Most files have no attributes. */
const noAttributes: FileAttributes = Object.freeze({})

/** The attribute files that apply to a directory, from the top down: the nearest wins. `start` is where its own paths begin. */
type Chain = { rules: Rule[]; start: number }[]

function ruleChain(rules: Map<string, Rule[]>, directory: string): Chain {
  const chain: Chain = []
  const top = rules.get('')
  if (top) chain.push({ rules: top, start: 0 })
  for (let end = directory.indexOf('/'); directory !== ''; end = directory.indexOf('/', end + 1)) {
    const here = rules.get(end < 0 ? directory : directory.slice(0, end))
    if (here) chain.push({ rules: here, start: (end < 0 ? directory.length : end) + 1 })
    if (end < 0) break
  }
  return chain
}

function applyRules(
  rules: Rule[],
  path: string,
  name: string,
  found: FileAttributes | undefined,
): FileAttributes | undefined {
  let result = found
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index]!
    const { suffix, anchored } = rule.pattern
    // This check excludes nearly every rule, and there are many files.
    const edgeCode = suffix === undefined ? (anchored ? path : name).charCodeAt(0) : name.charCodeAt(name.length - 1)
    if (rule.edgeCode >= 0 && rule.edgeCode !== edgeCode) continue
    if (!patternMatches(rule.pattern, path, name, false)) continue
    result ??= {}
    for (const [attribute, value] of rule.values) {
      if (value === undefined) delete result[attribute]
      else result[attribute] = value
    }
  }
  return result
}

function parseRule(line: string): Rule | undefined {
  const text = line.trim()
  if (text === '' || text.startsWith('#') || text.startsWith('[attr]')) return undefined
  const quoted = /^"((?:[^"\\]|\\.)*)"(.*)/.exec(text)
  const [glob, rest] = quoted ? [quoted[1]!, quoted[2]!] : [text.split(/\s/, 1)[0]!, text.replace(/^\S+\s*/, '')]
  const values = rest
    .split(/\s+/)
    .map(parseValue)
    .filter((value) => value !== undefined)
  // A pattern cannot be negated here, and one that ends in a slash matches nothing.
  const pattern = glob.startsWith('!') ? undefined : parsePattern(glob)
  if (pattern === undefined || values.length === 0) return undefined
  const { prefix, suffix } = pattern
  const edgeCode = suffix === undefined ? prefix.charCodeAt(0) : suffix.charCodeAt(suffix.length - 1)
  return { pattern, edgeCode: Number.isNaN(edgeCode) ? -1 : edgeCode, values }
}

/** `name`, `-name`, `!name`, `name=value`. */
function parseValue(word: string): Rule['values'][number] | undefined {
  const [, sign, name, value] = /^([-!]?)([^=]+)(?:=(.*))?$/.exec(word) ?? []
  const known = name === undefined || !Object.hasOwn(knownAttributes, name) ? undefined : knownAttributes[name]
  if (known === undefined) return undefined
  if (sign === '!') return [known, undefined]
  if (known === 'lfs') return [known, sign === '' && value === 'lfs']
  return [known, sign === '' && value !== 'false']
}
