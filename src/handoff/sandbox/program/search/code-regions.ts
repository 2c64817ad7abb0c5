// Splits a file into regions, which are what the search ranks and shows: a whole function, a class without its methods, a window of a long
// definition, or the lines between definitions.
import type { Definition } from '../../../domain/survey.js'
import { decodeText, hasGeneratedMarker, isLfsPointer } from '../survey/decode-text.js'
import { findDefinitions } from '../survey/outline.js'
import { sizes } from './ranking-weights.js'
import type { SourceFile } from './source-files.js'

export interface CodeRegion {
  from: number
  to: number
  bytes: number
  definition?: Definition
  /** The definition around it. */
  enclosing?: Definition
  score: number
}

export interface FileStructure {
  /** One character per byte. */
  text: string
  lines: number
  /** Where lines begin in the text, and where the text ends. */
  starts: Int32Array
  definitions: Definition[]
  regions: CodeRegion[]
  /** 1 for lines that import. By line number. */
  imports: Uint8Array
}

export function parseStructure(file: SourceFile, bytes: Buffer): FileStructure | undefined {
  const plain = decodeText(bytes)
  if (plain !== bytes) return undefined
  const text = bytes.toString('latin1')
  const starts = lineStarts(bytes)
  const lines = starts.length - 1
  if (bytes.length > 4_000 && bytes.length / lines > 300) return undefined
  if (isLfsPointer(bytes) || hasGeneratedMarker(text.slice(0, 2_000), file.kind === 'documentation')) return undefined
  const scan = { lines, longest: 0, suspicious: false, identifierCount: 0, identifiers: starts, lineStarts: starts }
  const definitions = findDefinitions(text, scan, file.grammar, false).definitions
  const structure: FileStructure = { text, lines, starts, definitions, regions: [], imports: importLines(text, starts) }
  structure.regions = splitIntoRegions(structure)
  return structure
}

function lineStarts(bytes: Buffer): Int32Array {
  const starts = [0]
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) starts.push(at + 1)
  if (starts.at(-1) !== bytes.length) starts.push(bytes.length)
  return Int32Array.from(starts)
}

export function textOfLine({ text, starts }: FileStructure, line: number): string {
  return text.slice(starts[line - 1], starts[line]).replace(/\r?\n$/, '')
}

const importLine =
  /\n[ \t]*(?:import\b|from[ \t]+\S+[ \t]+import\b|#[ \t]*include\b|use[ \t]+[\w:\\]+|using[ \t]+[\w.]+;|require(?:_once|_relative)?\b|(?:const|let|var)[ \t][^\n=]{1,200}=[ \t]*require\(|export[ \t]+(?:\*|\{[^}\n]*\})[ \t]+from\b|package[ \t])[^\n]*/g

/** Imports are searched near the beginning only. */
const importSearchBytes = 8_000

/** Lines that import: they contain many names and explain none. */
function importLines(text: string, starts: Int32Array): Uint8Array {
  const flags = new Uint8Array(starts.length + 1)
  const padded = `\n${text.slice(0, importSearchBytes)}`
  let line = 1
  for (const match of padded.matchAll(importLine)) {
    while (line < starts.length && starts[line]! <= match.index) line++
    flags[line] = 1
    // A list in brackets continues to the closing bracket.
    if (!/[({][ \t]{0,40}(?:#[^\n]{0,400})?\r?$/.test(match[0])) continue
    for (let more = line + 1; more < starts.length && more < line + 300; more++) {
      flags[more] = 1
      if (/[)}]/.test(text.slice(starts[more - 1], starts[more]))) break
    }
  }
  return flags
}

const containerKinds = new Set(
  'class struct interface trait enum impl module namespace object protocol extension record union type mixin package heading'.split(
    ' ',
  ),
)

interface OwnedRange {
  definition: Definition
  enclosing: Definition | undefined
  /** Includes decorators and comments above the definition. */
  from: number
  to: number
}

function splitIntoRegions(structure: FileStructure): CodeRegion[] {
  const ownerByLine: (OwnedRange | undefined)[] = new Array(structure.lines + 2)
  for (const owned of findOwnedRanges(structure)) {
    for (let line = owned.from; line <= owned.to; line++) ownerByLine[line] = owned
  }
  const regions: CodeRegion[] = []
  for (let from = 1; from <= structure.lines; ) {
    const owner = ownerByLine[from]
    let to = from
    while (to < structure.lines && ownerByLine[to + 1] === owner) to++
    addRegions(regions, structure, from, to, owner)
    from = to + 1
  }
  return regions
}

/** Definitions that own lines, outer before inner. A definition inside a function belongs to the function. */
function findOwnedRanges(structure: FileStructure): OwnedRange[] {
  const open: OwnedRange[] = []
  const owned: OwnedRange[] = []
  for (const [index, definition] of structure.definitions.entries()) {
    const to = definition.end ?? guessEnd(structure, index)
    while (open.length > 0 && open.at(-1)!.to < definition.line) open.pop()
    const around = open.at(-1)
    const isContainer = containerKinds.has(definition.kind)
    if (
      (around && !containerKinds.has(around.definition.kind)) ||
      (!isContainer && to === definition.line && isValue(definition))
    )
      continue
    const range = { definition, enclosing: around?.definition, from: firstOwnedLine(structure, definition.line), to }
    owned.push(range)
    open.push(range)
  }
  return owned
}

const isValue = ({ kind }: Definition) => /^(?:constant|variable|export|macro)$/.test(kind)

/** The end is not known: the line before the next definition. */
function guessEnd({ definitions, lines }: FileStructure, index: number): number {
  const { line } = definitions[index]!
  return Math.max(line, Math.min(lines, (definitions[index + 1]?.line ?? lines + 1) - 1, line + sizes.whole - 1))
}

/** Decorators and comments right above a definition belong to it. */
function firstOwnedLine(structure: FileStructure, line: number): number {
  const indent = indentWidth(structure, line)
  let first = line
  while (first > 1 && line - first < 12) {
    const above = textOfLine(structure, first - 1)
    if (!/^\s*(?:@|#\[|\/\/|\/\*\*|\*|#:|# )/.test(above) || indentWidth(structure, first - 1) < indent) break
    first--
  }
  return first
}

function indentWidth({ text, starts }: FileStructure, line: number): number {
  let at = starts[line - 1]!
  let indent = 0
  for (; text[at] === ' ' || text[at] === '\t'; at++) indent += text[at] === ' ' ? 1 : 4
  return indent
}

function addRegions(
  regions: CodeRegion[],
  { starts }: FileStructure,
  from: number,
  to: number,
  owner: OwnedRange | undefined,
): void {
  const add = (first: number, last: number) => {
    const bytes = starts[last]! - starts[first - 1]!
    // Only empty lines.
    if (bytes <= last - first + 1) return
    regions.push({
      from: first,
      to: last,
      bytes,
      ...(owner ? { definition: owner.definition } : {}),
      ...(owner?.enclosing ? { enclosing: owner.enclosing } : {}),
      score: 0,
    })
  }
  if (to - from < sizes.whole) {
    add(from, to)
    return
  }
  for (let first = from; ; first += sizes.stride) {
    const last = Math.min(to, first + sizes.window - 1)
    add(first, last)
    if (last === to) return
  }
}
