// The outline of one file: what is defined in it, on which line, and to which line where that can be seen at a glance.
import type { Definition } from '../../../domain/survey.js'
import { type Grammar, grammarOf } from './definition-patterns.js'
import { isReserved, kindOfKeyword } from './grammar-words.js'
import type { Scan } from './scan-identifiers.js'

/** More in one file is a table of something. */
const definitionLimit = 2_000
const longestName = 120
/** How far the end of a definition is looked for. */
const reach = 60_000
/** How far the end of a head is looked for. */
const longestHead = 2_000

/** Who else may mean a definition by its name: everybody, the files of its folder, or nobody outside of its file. */
export type Audience = 'all' | 'folder' | 'file'

export interface Found {
  definitions: Definition[]
  /** One for each definition. */
  audiences: Audience[]
}

/** `text` has one character a byte and is what was scanned. Who the audience is is only asked of the product. */
export function findDefinitions(text: string, scan: Scan, language: string, product = true): Found {
  const found: Found = { definitions: [], audiences: [] }
  const grammar = grammarOf(language)
  if (!grammar) return found
  const audienceOf = product ? audiencesIn(language, text) : () => 'file' as const
  const lines = lineFinder(scan)
  const take = (match: RegExpExecArray, lineStart: number) => {
    const pair = pairOf(match)
    if (isReserved(language, pair.keyword, pair.name)) return
    if (language === 'javascript' && isCall(match[0], text, lineStart, lines)) return
    add(grammar, { ...pair, shape: match[0] }, lineStart, text, lines, found, audienceOf)
  }
  // The first line has no line end before it.
  takeFirst(grammar, text, (match) => take(match, 0))
  const { pattern } = grammar
  pattern.lastIndex = 0
  for (
    let match = pattern.exec(text);
    match && found.definitions.length < definitionLimit;
    match = pattern.exec(text)
  ) {
    take(match, match.index + 1)
  }
  if (grammar.groups) addGroups(grammar, grammar.groups, text, lines, found, audienceOf)
  if (grammar.ends === 'heading')
    found.definitions = endHeadings(outsideFences(found.definitions, text, lines), text, scan)
  return found
}

/** By the rules of the language, as far as one line shows them. */
function audiencesIn(language: string, text: string): (shape: string, name: string) => Audience {
  if (language === 'go') {
    // Nobody can import a program.
    const isProgram = /^package main\s/m.test(text.slice(0, 8_000))
    return (_, name) => (/^[A-Z]/.test(name) && !isProgram ? 'all' : 'folder')
  }
  if (language === 'python') return (_, name) => (name.startsWith('_') ? 'folder' : 'all')
  if (language === 'rust') return (shape) => (/\bpub\b|macro_rules|trait/.test(shape) ? 'all' : 'folder')
  if (language === 'c' || language === 'objc') return (shape) => (/\bstatic\b/.test(shape) ? 'file' : 'all')
  return language === 'javascript' ? moduleAudience(text) : () => 'all'
}

/** A script without exports is nobody's library. */
function moduleAudience(text: string): (shape: string, name: string) => Audience {
  let listed: Set<string> | undefined
  return (shape, name) => {
    if (/\bexports?\b/.test(shape)) return 'all'
    listed ??= exportedNames(text)
    return listed.has(name) ? 'all' : 'file'
  }
}

/** `export default name`, `export { a, b as c }`, `module.exports = { a }`. */
function exportedNames(text: string): Set<string> {
  const names = new Set<string>()
  for (const word of ['\nexport ', '\nmodule.exports']) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      const list = /^\s*(?:default\s+|=\s*|type\s+)?(?:\{([^}]{0,4000})|([\w$]+))/.exec(
        text.slice(at + word.length, at + word.length + 4_200),
      )
      for (const name of (list?.[1] ?? list?.[2] ?? '').match(/[\w$]+/g) ?? []) names.add(name)
    }
  }
  return names
}

function takeFirst(grammar: Grammar, text: string, take: (match: RegExpExecArray) => void): void {
  grammar.pattern.lastIndex = 0
  const match = grammar.pattern.exec(`\n${text.slice(0, 500)}\n`)
  if (match?.index === 0) take(match)
}

interface Lines {
  at: (offset: number) => number
  start: (line: number) => number
  last: number
}

/** Lines are counted from 1. */
function lineFinder(scan: Scan): Lines {
  const starts = scan.lineStarts
  return {
    at(offset) {
      let low = 0
      let high = scan.lines - 1
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (starts[middle]! <= offset) low = middle
        else high = middle - 1
      }
      return low + 1
    },
    start: (line) => starts[line - 1] ?? 0,
    last: scan.lines,
  }
}

interface Pair {
  keyword: string
  name: string
}

/** The first pair that has a name. */
function pairOf(match: RegExpExecArray): Pair {
  let pair = 1
  while (pair < match.length && match[pair + 1] === undefined) pair += 2
  return { keyword: match[pair] ?? '', name: match[pair + 1]?.trim() ?? '' }
}

/** A head that ends with its bracket is a call, unless a body follows where the bracket is closed. */
function isCall(shape: string, text: string, lineStart: number, lines: Lines): boolean {
  if (!/^\n[ \t][^\n]*\([ \t]*\r?$/.test(shape)) return false
  const after = lines.start(lines.at(lineStart) + 1) - 1
  const rest = text.slice(after, after + longestHead)
  const end = rest.search(closing('bracket', indentAt(text, lineStart)))
  return end < 0 || !/^\n[ \t]*\)(?:[ \t]*:[^\n=]{1,200})?[ \t]*\{[ \t]*\r?\n/.test(rest.slice(end, end + 400))
}

/** `type ( … )`: each line that is one tab in defines a name. */
function addGroups(
  grammar: Grammar,
  { open, close, member }: NonNullable<Grammar['groups']>,
  text: string,
  lines: Lines,
  found: Found,
  audienceOf: (shape: string, name: string) => Audience,
): void {
  const added: Found = { definitions: [], audiences: [] }
  open.lastIndex = 0
  for (let group = open.exec(text); group; group = open.exec(text)) {
    const end = text.indexOf(close, group.index)
    if (end < 0) break
    for (const match of text.slice(group.index, end).matchAll(member)) {
      if (found.definitions.length + added.definitions.length >= definitionLimit) break
      const pair = { keyword: 'type', name: match[1] ?? '', shape: match[0] }
      add(grammar, pair, group.index + match.index + 1, text, lines, added, audienceOf)
    }
    open.lastIndex = end
  }
  if (added.definitions.length === 0) return
  const all = [found, added].flatMap(({ definitions, audiences }) =>
    definitions.map((definition, index) => ({ definition, audience: audiences[index]! })),
  )
  // The later of two on one line is the group's own.
  const byLine = new Map(all.map((one) => [one.definition.line, one]))
  const sorted = [...byLine.values()].sort((a, b) => a.definition.line - b.definition.line)
  found.definitions = sorted.map(({ definition }) => definition)
  found.audiences = sorted.map(({ audience }) => audience)
}

function add(
  grammar: Grammar,
  { keyword, name, shape }: Pair & { shape: string },
  lineStart: number,
  text: string,
  lines: Lines,
  found: Found,
  audienceOf: (shape: string, name: string) => Audience,
): void {
  if (name === '' || /_H(?:PP|XX)?_?$/.test(name)) return
  const line = lines.at(lineStart)
  const indent = indentAt(text, lineStart)
  let kind = kindOfKeyword(keyword, grammar.bare)
  if (kind === 'function' && ((grammar.methods && indent !== '') || /func[ \t]*\(/.test(shape))) kind = 'method'
  // Clauses of one function stand one after the other in some languages.
  const previous = found.definitions.at(-1)
  if (
    previous?.name === name &&
    previous.kind === kind &&
    grammar.ends !== 'heading' &&
    grammar.bare === 'function' &&
    !grammar.methods
  )
    return
  // A plain value in a language whose blocks end in a word has no block.
  const flat = grammar.ends === 'end' && keyword === '' && !shape.includes('function')
  const end = flat ? undefined : endOf(grammar, text, line, indent, lines)
  found.definitions.push(
    end === undefined ? { name: readable(name), kind, line } : { name: readable(name), kind, line, end },
  )
  found.audiences.push(audienceOf(shape, name))
}

function readable(name: string): string {
  const short = name.slice(0, longestName)
  return /[\x80-\xff]/.test(short) ? Buffer.from(short, 'latin1').toString('utf8') : short
}

function indentAt(text: string, lineStart: number): string {
  let end = lineStart
  while (end < lineStart + 80 && (text[end] === ' ' || text[end] === '\t')) end++
  return text.slice(lineStart, end)
}

function endOf(grammar: Grammar, text: string, line: number, indent: string, lines: Lines): number | undefined {
  if (grammar.ends === 'bracket') return endOfBracket(text, line, indent, lines)
  if (grammar.ends === 'indent') return endOfIndent(text, line, indent, lines)
  if (grammar.ends === 'end') return lineAfter(text, lines.start(line), closing('end', indent), lines)
  return undefined
}

const closings = new Map<string, RegExp>()

function closing(kind: 'bracket' | 'end' | 'indent', indent: string): RegExp {
  const key = kind + indent
  let pattern = closings.get(key)
  if (!pattern) {
    if (closings.size > 500) closings.clear()
    const source = {
      bracket: `\\n${indent}[)}\\]]`,
      end: `\\n${indent}end\\b`,
      indent: `\\n[ \\t]{0,${indent.length}}[^\\s#)}\\]]`,
    }[kind]
    pattern = new RegExp(source)
    closings.set(key, pattern)
  }
  return pattern
}

/** The line of the first match after an offset. */
function lineAfter(text: string, offset: number, pattern: RegExp, lines: Lines): number | undefined {
  const index = text.slice(offset, offset + reach).search(pattern)
  return index < 0 ? undefined : lines.at(offset + index + 1)
}

/** Brackets by layout: what is opened at the end of a line is closed at the start of one that is as far in. */
function endOfBracket(text: string, first: number, indent: string, lines: Lines): number | undefined {
  let line = first
  for (let turn = 0; turn < 4; turn++) {
    const start = lines.start(line)
    const after = line < lines.last ? lines.start(line + 1) : text.length
    const shown = text.slice(start, Math.min(after, start + 2_000)).trimEnd()
    const last = shown.at(-1) ?? ''
    if (!'{(['.includes(last)) {
      if (turn > 0 || ';}'.includes(last)) return line
      // The bracket may stand alone on a later line, after what belongs to the first.
      const next = lineAfter(text, after - 1, closing('indent', indent), lines)
      if (next === undefined || !text.startsWith(`${indent}{`, lines.start(next))) return undefined
      line = next
      continue
    }
    const end = lineAfter(text, after - 1, closing('bracket', indent), lines)
    if (end === undefined) return undefined
    line = end
  }
  return line
}

/** Up to the next line that is not further in, without the empty lines and comments before it. */
function endOfIndent(text: string, line: number, indent: string, lines: Lines): number | undefined {
  if (line >= lines.last) return line
  const after = lines.start(line + 1) - 1
  const rest = text.slice(after, after + reach)
  const index = rest.search(closing('indent', indent))
  if (index < 0 && rest.length === reach) return undefined
  let end = index < 0 ? lines.last : lines.at(after + index + 1) - 1
  while (end > line && /^\s*(?:#[^\n]*)?\s*$/.test(text.slice(lines.start(end), lines.start(end + 1) || text.length)))
    end--
  return end
}

/** What looks like a heading inside a block of code is a comment. */
function outsideFences(found: Definition[], text: string, lines: Lines): Definition[] {
  const fences = [...text.matchAll(/(?:^|\n)[ \t]{0,3}(?:```|\x7e\x7e\x7e)/g)].map((match) => lines.at(match.index + 1))
  if (fences.length === 0) return found
  let passed = 0
  return found.filter((definition) => {
    while (passed < fences.length && fences[passed]! < definition.line) passed++
    return passed % 2 === 0
  })
}

/** A section ends before the next heading that stands as high or higher. */
function endHeadings(found: Definition[], text: string, scan: Scan): Definition[] {
  const level = (line: number) =>
    /^[#=*]*/.exec(text.slice(scan.lineStarts[line - 1], scan.lineStarts[line - 1]! + 8))![0].length
  const open: { definition: Definition; level: number }[] = []
  for (const definition of found) {
    const own = level(definition.line)
    while (open.length > 0 && open.at(-1)!.level >= own) open.pop()!.definition.end = definition.line - 1
    open.push({ definition, level: own })
  }
  for (const { definition } of open) definition.end = scan.lines
  return found
}
