// The outline of one file: what it defines, on which line, and on which line that ends if the layout shows it.
import type { Definition } from '../../../domain/survey.js'
import { closingPattern, createLineIndex, findEnd, type LineIndex, readIndent } from './definition-end.js'
import { type Grammar, grammarForLanguage } from './definition-patterns.js'
import { type Visibility, visibilityRules } from './definition-visibility.js'
import { definitionKind, isReservedWord } from './grammar-words.js'
import type { FileScan } from './scan-identifiers.js'

/** A file with more definitions is data. */
const definitionLimit = 2_000
const longestName = 120
/** Characters in which the end of a function head is searched. */
const longestHead = 2_000

interface OutlineResult {
  definitions: Definition[]
  /** One for each definition. */
  visibilities: Visibility[]
}

/** `text` has one character per byte and is the scanned text. Visibility matters for the product only. */
export function findDefinitions(text: string, scan: FileScan, language: string, product = true): OutlineResult {
  const found: OutlineResult = { definitions: [], visibilities: [] }
  const grammar = grammarForLanguage(language)
  if (!grammar) return found
  const visibilityOf = product ? visibilityRules(language, text) : () => 'file' as const
  const lines = createLineIndex(scan)
  const take = (match: RegExpExecArray, lineStart: number) => {
    const pair = keywordAndName(match)
    if (isReservedWord(language, pair.keyword, pair.name)) return
    if (language === 'javascript' && isFunctionCall(match[0], text, lineStart, lines)) return
    addDefinition(grammar, { ...pair, shape: match[0] }, lineStart, text, lines, found, visibilityOf)
  }
  // The first line has no line end before it.
  matchFirstLine(grammar, text, (match) => take(match, 0))
  const { pattern } = grammar
  pattern.lastIndex = 0
  const groups: number[] = []
  for (
    let match = pattern.exec(text);
    match && found.definitions.length < definitionLimit;
    match = pattern.exec(text)
  ) {
    if (grammar.groups && keywordAndName(match).name === '') groups.push(match.index)
    else take(match, match.index + 1)
  }
  if (grammar.groups && groups.length > 0)
    addGroupMembers(grammar, grammar.groups, groups, text, lines, found, visibilityOf)
  if (grammar.ends === 'heading')
    found.definitions = endHeadings(removeFencedHeadings(found.definitions, text, lines), text, scan)
  return found
}

function matchFirstLine(grammar: Grammar, text: string, take: (match: RegExpExecArray) => void): void {
  grammar.first.lastIndex = 0
  const match = grammar.first.exec(`\n${text.slice(0, 500)}\n`)
  if (match) take(match)
}

interface KeywordAndName {
  keyword: string
  name: string
}

/** The first pair of keyword and name that matched. */
function keywordAndName(match: RegExpExecArray): KeywordAndName {
  let pair = 1
  while (pair < match.length && match[pair + 1] === undefined) pair += 2
  return { keyword: match[pair] ?? '', name: match[pair + 1]?.trim() ?? '' }
}

/** A head that ends with its bracket is a call, unless a body follows the closing bracket. */
function isFunctionCall(shape: string, text: string, lineStart: number, lines: LineIndex): boolean {
  if (!/^\n[ \t][^\n]*\([ \t]*\r?$/.test(shape)) return false
  const after = lines.start(lines.at(lineStart) + 1) - 1
  const rest = text.slice(after, after + longestHead)
  const end = rest.search(closingPattern('bracket', readIndent(text, lineStart)))
  return (
    end < 0 ||
    !/^\n[ \t]{0,80}\)(?:[ \t]{0,8}:[^\n=]{1,200})?[ \t]{0,8}\{[ \t]{0,8}\r?\n/.test(rest.slice(end, end + 400))
  )
}

/** `type ( … )`: each line with one tab of indentation defines a name. */
function addGroupMembers(
  grammar: Grammar,
  { close, member }: NonNullable<Grammar['groups']>,
  groups: readonly number[],
  text: string,
  lines: LineIndex,
  found: OutlineResult,
  visibilityOf: (shape: string, name: string) => Visibility,
): void {
  const added: OutlineResult = { definitions: [], visibilities: [] }
  let end = 0
  for (const group of groups) {
    if (group < end) continue
    end = text.indexOf(close, group)
    if (end < 0) break
    for (const match of text.slice(group, end).matchAll(member)) {
      if (found.definitions.length + added.definitions.length >= definitionLimit) break
      const pair = { keyword: 'type', name: match[1] ?? '', shape: match[0] }
      addDefinition(grammar, pair, group + match.index + 1, text, lines, added, visibilityOf)
    }
  }
  if (added.definitions.length === 0) return
  const all = [found, added].flatMap(({ definitions, visibilities }) =>
    definitions.map((definition, index) => ({ definition, visibility: visibilities[index]! })),
  )
  // Of two on one line, the one of the group wins.
  const byLine = new Map(all.map((one) => [one.definition.line, one]))
  const sorted = [...byLine.values()].sort((a, b) => a.definition.line - b.definition.line)
  found.definitions = sorted.map(({ definition }) => definition)
  found.visibilities = sorted.map(({ visibility }) => visibility)
}

function addDefinition(
  grammar: Grammar,
  { keyword, name, shape }: KeywordAndName & { shape: string },
  lineStart: number,
  text: string,
  lines: LineIndex,
  found: OutlineResult,
  visibilityOf: (shape: string, name: string) => Visibility,
): void {
  if (name === '' || /_H(?:PP|XX)?_?$/.test(name)) return
  const line = lines.at(lineStart)
  const indent = readIndent(text, lineStart)
  let kind = definitionKind(keyword, grammar.bare)
  if (kind === 'function' && ((grammar.methods && indent !== '') || /func[ \t]*\(/.test(shape))) kind = 'method'
  // Some languages write the clauses of one function one after the other.
  const previous = found.definitions.at(-1)
  if (
    previous?.name === name &&
    previous.kind === kind &&
    grammar.ends !== 'heading' &&
    grammar.bare === 'function' &&
    !grammar.methods
  )
    return
  // A plain value has no block in a language whose blocks end in a word.
  const flat = grammar.ends === 'end' && keyword === '' && !shape.includes('function')
  const end = flat ? undefined : findEnd(grammar, text, line, indent, lines)
  found.definitions.push(
    end === undefined ? { name: decodeName(name), kind, line } : { name: decodeName(name), kind, line, end },
  )
  found.visibilities.push(visibilityOf(shape, name))
}

function decodeName(name: string): string {
  const short = name.slice(0, longestName)
  return /[\x80-\xff]/.test(short) ? Buffer.from(short, 'latin1').toString('utf8') : short
}

/** A heading inside a code block is a comment. */
function removeFencedHeadings(found: Definition[], text: string, lines: LineIndex): Definition[] {
  const fences = [...text.matchAll(/(?:^|\n)[ \t]{0,3}(?:```|\x7e\x7e\x7e)/g)].map((match) => lines.at(match.index + 1))
  if (fences.length === 0) return found
  let passed = 0
  return found.filter((definition) => {
    while (passed < fences.length && fences[passed]! < definition.line) passed++
    return passed % 2 === 0
  })
}

/** A section ends before the next heading of the same or a higher level. */
function endHeadings(found: Definition[], text: string, scan: FileScan): Definition[] {
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
