// Analyzes one file: is it text, is it generated, what does it define, which names does it use, does it contain a credential.
import { isUtf8 } from 'node:buffer'
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import type { Definition } from '../../../domain/survey.js'
import type { AnalysisDraft, AnalysisTable } from './analysis-table.js'
import {
  decodeText,
  generatedMarkerRange,
  hasGeneratedMarker,
  isLfsPointer,
  isShownAsItIs,
  looksMinified,
} from './decode-text.js'
import type { Visibility } from './definition-visibility.js'
import { findImports } from './find-imports.js'
import type { Entry } from './git-tree.js'
import { grammarForScript, languageForGrammar } from './languages.js'
import { findDefinitions } from './outline.js'
import { trait } from './path-rules.js'
import { localNameBit } from './reference-graph.js'
import { createIdentifierScanner, type FileScan, hashName, type IdentifierScanner } from './scan-identifiers.js'

/** Whether names of this file count. Tests, examples and documentation only use the product and say less about what is central. */
export function isProduct(entry: Entry): boolean {
  return entry.kind === 'source' && (entry.folder.traits & (trait.example | trait.documentation)) === 0
}

/** Two entries with the same blob share an analysis only if these conditions are equal. */
export function analysisKey(entry: Entry): string {
  const asked =
    (entry.maybeLfsPointer ? 'p' : '') +
    (entry.handWritten ? 'h' : '') +
    (isProduct(entry) ? 'i' : '') +
    (entry.kind === 'documentation' ? 'd' : '')
  return `${entry.blob} ${entry.grammar} ${asked}`
}

const nothing = new Int32Array(0)

type Analyzer = (entry: Entry, bytes: Buffer) => number

/** Adds the analysis of a file to the table and returns its index. */
export function createAnalyzer(analyses: AnalysisTable): Analyzer {
  const scanner = createIdentifierScanner()
  return (entry, bytes) => {
    const { draft, scan, visibilities = [] } = analyze(entry, bytes, scanner)
    if (draft.contentKind !== 'text') return analyses.add(draft, nothing, nothing)
    const identifiers = scan ? scan.identifiers.subarray(0, scan.identifierCount) : nothing
    return analyses.add(draft, identifiers, nameHashes(draft.definitions, visibilities))
  }
}

type FileAnalysis = { draft: AnalysisDraft; scan?: FileScan; visibilities?: Visibility[] }

function emptyDraft(nature: AnalysisDraft['contentKind'], grammar = 'none'): AnalysisDraft {
  return {
    contentKind: nature,
    grammar,
    encoding: 'utf-8',
    headline: { line: 0, text: '' },
    secrets: [],
    clean: false,
    definitions: [],
    imports: [],
  }
}

function analyze(entry: Entry, bytes: Buffer, scanner: IdentifierScanner): FileAnalysis {
  if (isLfsPointer(bytes)) return { draft: emptyDraft('lfs-pointer') }
  const content = entry.maybeLfsPointer ? undefined : decodeText(bytes)
  if (!content) return { draft: emptyDraft('binary') }
  const isDocument = entry.kind === 'documentation'
  const text = content.toString('latin1')
  const start = text.slice(0, generatedMarkerRange)
  const grammar = entry.grammar || (grammarForScript(start) ?? 'unknown')
  if (!entry.handWritten && hasGeneratedMarker(start, isDocument)) return { draft: emptyDraft('generated', grammar) }
  const scan = scanner(content, isProduct(entry))
  const machineMade = entry.kind === 'source' || entry.kind === 'test'
  if (machineMade && !entry.handWritten && looksMinified(content.length, scan.lines, scan.longest))
    return { draft: emptyDraft('minified', grammar) }
  const draft = emptyDraft('text', grammar)
  draft.encoding = content.buffer !== bytes.buffer ? 'utf-16' : isUtf8(content) ? 'utf-8' : 'unknown'
  return scan.suspicious ? analyzeRedacted(entry, text, draft, scan, scanner) : analyzeText(entry, text, draft, scan)
}

/** Redacted text must not appear as a name in the outline. */
function analyzeRedacted(
  entry: Entry,
  text: string,
  draft: AnalysisDraft,
  scan: FileScan,
  scanner: IdentifierScanner,
): FileAnalysis {
  const redacted = redactSecrets(text)
  if (redacted.places.length === 0) {
    draft.clean = isShownAsItIs(text)
    return analyzeText(entry, text, draft, scan)
  }
  draft.secrets = redacted.places
  return analyzeText(entry, redacted.text, draft, scanner(Buffer.from(redacted.text, 'latin1'), isProduct(entry)))
}

function analyzeText(entry: Entry, text: string, draft: AnalysisDraft, scan: FileScan): FileAnalysis {
  const { definitions, visibilities } = findDefinitions(text, scan, draft.grammar, isProduct(entry))
  draft.definitions = definitions
  draft.imports = findImports(text, draft.grammar, entry.path)
  draft.headline = findHeadline(entry, text, draft.definitions, scan)
  return { draft, scan, visibilities }
}

/** Pairs of hash and quality: how certainly a use of the name means this definition. */
function nameHashes(definitions: Definition[], visibilities: Visibility[]): Int32Array {
  const pairs = new Int32Array(definitions.length * 2)
  let filled = 0
  for (const [index, { name, kind }] of definitions.entries()) {
    const visibility = visibilities[index] ?? 'file'
    if (visibility === 'file') continue
    const plain = name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf(':')) + 1)
    if (plain.length < 4 || builtIn.has(plain) || kind === 'heading' || kind === 'target') continue
    pairs[filled++] = hashName(plain)
    pairs[filled++] = nameQuality(plain) * (kind === 'method' ? 1 : 2) + (visibility === 'folder' ? localNameBit : 0)
  }
  return pairs.subarray(0, filled)
}

/** Built-in names, which never mean a definition of the repository. */
const builtIn = new Set(
  (
    'Error Exception Object String Number Array Promise Function Boolean Symbol Date Buffer main test self this null true false None True False ' +
    'export import from class const function return async await default extends static type interface public private protected package ' +
    'process window document console require module exports string number boolean undefined void object struct else with constructor'
  ).split(' '),
)

/** A common single word is weak evidence; a name of several words is strong. */
function nameQuality(name: string): number {
  const joined = /[a-z\d][A-Z]|[A-Za-z\d]_[A-Za-z\d]/.test(name)
  if (joined) return name.length > 7 ? 16 : 10
  return /^[A-Z]/.test(name) ? 8 : name.length > 7 ? 3 : 1
}

const typeKinds = /^(?:class|interface|struct|trait|enum|type|protocol|contract|message|service|module|object)$/

/** The definition that the file is named after, else its first type, else its first definition, else its first line with text. */
function findHeadline(
  entry: Entry,
  text: string,
  definitions: Definition[],
  scan: FileScan,
): AnalysisDraft['headline'] {
  const base = normalizeName(entry.name.replace(/\.[^.]*$/, ''))
  const found =
    definitions.find(({ name }) => name.length >= base.length && normalizeName(name) === base) ??
    definitions.find(({ kind }) => typeKinds.test(kind)) ??
    definitions[0]
  const line = found?.line ?? firstTextLine(text, scan, languageForGrammar(entry.grammar).family === 'documentation')
  return line === 0 ? { line, text: '' } : { line, text: lineText(text, scan, line).trimEnd() }
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

function firstTextLine(text: string, scan: FileScan, isDocument: boolean): number {
  const last = Math.min(scan.lines, 40)
  for (let line = 1; line <= last; line++) {
    const shown = lineText(text, scan, line).trim()
    if (
      shown.length > 2 &&
      (isDocument || !/^(?:#|\/\/|\/\*|\*|--|;|%|<!--|import|using|package|"""|use )/.test(shown))
    )
      return line
  }
  return 0
}

function lineText(text: string, scan: FileScan, line: number): string {
  const start = scan.lineStarts[line - 1]!
  const end = line < scan.lines ? scan.lineStarts[line]! - 1 : text.length
  const raw = text.slice(start, Math.min(end, start + 160))
  // A copy, because a slice would keep the whole string in memory.
  return Buffer.from(raw, 'latin1').toString('utf8')
}
