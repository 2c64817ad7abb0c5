// Patterns of .gitignore and .gitattributes, for those files, for .handoffignore and for the globs of the settings.
//
// No pattern becomes a regular expression, because patterns may come from the repository and `*a*a*a*a*` must stay fast. Matching goes back to the
// last star of a segment only, and to the last `**` of a path.
import { trimEndOf } from '../../../util/text.js'

export interface Pattern {
  negated: boolean
  directoryOnly: boolean
  /** False for a pattern without a slash, which matches a name at any depth. */
  anchored: boolean
  segments: string[]
  /** Set if the whole pattern is a name, or `*` and a suffix. Most are, and these match fast. */
  literal: string | undefined
  suffix: string | undefined
  /** The literal beginning of its path; most patterns fail on it. */
  prefix: string
}

/** A backslash keeps the first space after it. */
function withoutTrailingSpaces(line: string): string {
  const bare = trimEndOf(line, (sign) => sign === ' ' || sign === '\t')
  return bare.endsWith('\\') ? line.slice(0, bare.length + 1) : bare
}

/** Undefined for an empty line, a comment, and a pattern that cannot match. */
export function parsePattern(line: string): Pattern | undefined {
  let text = withoutTrailingSpaces(line.replace(/\r$/, ''))
  if (text === '' || text.startsWith('#')) return undefined
  const negated = text.startsWith('!')
  if (negated) text = text.slice(1)
  const directoryOnly = text.endsWith('/')
  if (directoryOnly) text = text.slice(0, -1)
  // A word without a slash matches at any depth anyway.
  if (/^\*\*\/[^/]+$/.test(text)) text = text.slice(3)
  const anchored = text.includes('/')
  const segments = text.split('/').filter((segment, index) => segment !== '' || index > 0)
  if (segments.length === 0 || segments.includes('')) return undefined
  const only = segments.length === 1 ? segments[0]! : undefined
  return {
    negated,
    directoryOnly,
    anchored,
    segments,
    literal: literalOrNone(only),
    suffix: only?.startsWith('*') ? literalOrNone(only.slice(1)) : undefined,
    prefix: /^[^*?[\\]*/.exec(segments.join('/'))![0],
  }
}

function literalOrNone(word: string | undefined): string | undefined {
  return word !== undefined && !/[*?[\\]/.test(word) ? word : undefined
}

/** Whether the pattern matches this path itself, not a parent. The path is relative to the file of the pattern; the name is its last part. */
export function patternMatches(pattern: Pattern, path: string, name: string, isDirectory: boolean): boolean {
  if (pattern.directoryOnly && !isDirectory) return false
  if (pattern.anchored) return path.startsWith(pattern.prefix) && matchSegments(pattern.segments, path.split('/'))
  if (pattern.literal !== undefined) return name === pattern.literal
  if (pattern.suffix !== undefined) return name.endsWith(pattern.suffix)
  if (!name.startsWith(pattern.prefix)) return false
  return matchSegment(pattern.segments[0]!, name)
}

/** `**` matches any number of segments; at the end at least one. */
function matchSegments(pattern: string[], path: string[]): boolean {
  let at = 0
  let star = -1
  let resume = 0
  for (let index = 0; index < path.length; ) {
    const segment = pattern[at]
    if (segment === '**') {
      if (at === pattern.length - 1) return true
      star = at++
      resume = index
    } else if (segment !== undefined && matchSegment(segment, path[index]!)) {
      at++
      index++
    } else if (star >= 0) {
      at = star + 1
      index = ++resume
    } else return false
  }
  return at === pattern.length
}

/** `*`, `?`, `[a-z]`, `[!a-z]` and `\` within one segment. */
export function matchSegment(pattern: string, name: string): boolean {
  let at = 0
  let star = -1
  let resume = 0
  for (let index = 0; index < name.length; ) {
    const next = at < pattern.length ? matchCharacter(pattern, at, name[index]!) : undefined
    if (pattern[at] === '*') {
      star = at++
      resume = index
    } else if (next !== undefined) {
      at = next
      index++
    } else if (star >= 0) {
      at = star + 1
      index = ++resume
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

/** The offset in the pattern after this character; undefined if it does not match. */
function matchCharacter(pattern: string, at: number, character: string): number | undefined {
  const symbol = pattern[at]
  if (symbol === '?') return at + 1
  if (symbol === '[') return matchBracket(pattern, at, character)
  if (symbol === '\\') return pattern[at + 1] === character ? at + 2 : undefined
  return symbol === character ? at + 1 : undefined
}

function matchBracket(pattern: string, at: number, character: string): number | undefined {
  const negated = pattern[at + 1] === '!' || pattern[at + 1] === '^'
  let index = at + (negated ? 2 : 1)
  let found = false
  for (let first = true; index < pattern.length && (first || pattern[index] !== ']'); first = false) {
    const low = pattern[index] === '\\' ? pattern[++index]! : pattern[index]!
    const isRange = pattern[index + 1] === '-' && index + 2 < pattern.length && pattern[index + 2] !== ']'
    const high = isRange ? pattern[index + 2]! : low
    if (character >= low && character <= high) found = true
    index += isRange ? 3 : 1
  }
  // An unclosed bracket matches nothing.
  if (index >= pattern.length) return undefined
  return found === negated ? undefined : index + 1
}

/** Limit of patterns; each one is tried against every path. */
export const patternLimit = 2_000

export function parsePatterns(lines: readonly string[]): Pattern[] {
  return lines.map(parsePattern).filter((pattern) => pattern !== undefined)
}

/**
 * Whether a list of patterns selects a file: the last match decides, and a file in a selected directory cannot be unselected, as in .gitignore.
 * Patterns beyond the limit are ignored.
 */
export function createPathMatcher(all: Pattern[]): (path: string) => boolean {
  const patterns = all.slice(0, patternLimit)
  const directories = new Map<string, boolean>([['', false]])
  const decide = (path: string, isDirectory: boolean) => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    for (let index = patterns.length - 1; index >= 0; index--) {
      const pattern = patterns[index]!
      if (patternMatches(pattern, path, name, isDirectory)) return !pattern.negated
    }
    return false
  }
  const taken = (directory: string): boolean => {
    const known = directories.get(directory)
    if (known !== undefined) return known
    // From the top down and without recursion, because directories may be nested by the thousands.
    let result = false
    for (let end = directory.indexOf('/'); ; end = directory.indexOf('/', end + 1)) {
      const part = end < 0 ? directory : directory.slice(0, end)
      result = directories.get(part) ?? (result || decide(part, true))
      directories.set(part, result)
      if (end < 0 || result) break
    }
    directories.set(directory, result)
    return result
  }
  return (path) => taken(path.slice(0, Math.max(0, path.lastIndexOf('/')))) || decide(path, false)
}
