// Where names are defined. The source is the outline if the run directory has one, otherwise the first words of each line during the scan.
// The second way works for languages that write `def`, `class`, `func` and the like before a name.
import type { Outline } from '../../../domain/survey.js'

export interface DefinitionSite {
  path: string
  line: number
}

/** Returns where the names are defined. */
export type FindDefinitions = (names: ReadonlySet<string>) => Map<string, DefinitionSite[]>

export function definitionsInOutline(outline: Outline): FindDefinitions {
  return (names) => {
    const found = new Map<string, DefinitionSite[]>()
    for (const [path, definitions] of Object.entries(outline.files)) {
      for (const { name, line } of definitions) if (names.has(name)) appendTo(found, name, { path, line })
    }
    return found
  }
}

function appendTo(found: Map<string, DefinitionSite[]>, name: string, site: DefinitionSite): void {
  const list = found.get(name)
  if (list) list.push(site)
  else found.set(name, [site])
}

const isWord = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  isWord[byte] =
    (byte >= 97 && byte <= 122) ||
    (byte >= 65 && byte <= 90) ||
    (byte >= 48 && byte <= 57) ||
    byte === 95 ||
    byte >= 128
      ? 1
      : 0
}

/** The first two letters of the words below; they exclude most lines. */
const wordPrefixes = new Uint8Array(1 << 10)

const modifier = 1
const keyword = 2
const roles = new Map<number, number>()
const addRole = (role: number, words: string) => {
  for (const word of words.split(' ')) {
    roles.set(hashText(word), role)
    wordPrefixes[((word.charCodeAt(0) & 31) << 5) | (word.charCodeAt(1) & 31)] = 1
  }
}
addRole(
  modifier,
  'export default declare abstract public private protected internal static final async pub unsafe extern override virtual inline open ' +
    'data sealed partial const let var val suspend local cdef cpdef readonly mut lazy implicit case',
)
addRole(
  keyword,
  'def class function func fn fun interface struct enum trait module namespace type object protocol sub record union mod defp defmodule macro_rules',
)

const tableSize = 1024
const keys = new Int32Array(tableSize)
const values = new Uint8Array(tableSize)
for (const [hash, role] of roles) {
  let slot = hash & (tableSize - 1)
  while (values[slot] !== 0) slot = (slot + 1) & (tableSize - 1)
  keys[slot] = hash
  values[slot] = role
}

function lookUpRole(hash: number, length: number): number {
  if (length > longestRoleWord) return 0
  for (let slot = hash & (tableSize - 1); values[slot] !== 0; slot = (slot + 1) & (tableSize - 1)) {
    if (keys[slot] === hash) return values[slot]!
  }
  return 0
}

function hashText(text: string): number {
  const bytes = Buffer.from(text, 'utf8')
  return hashBytes(bytes, 0, bytes.length)
}

function hashBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0
  for (let at = from; at < to; at++) hash = Math.imul(hash, 0x01000193) ^ bytes[at]!
  return hash ^ (hash >>> 15)
}

export interface DefinitionIndex {
  /** The following lines belong to this file. */
  beginFile(path: string): void
  /** Reads the line that begins at `at`. The bytes end with a 0. */
  addLine(bytes: Uint8Array, at: number, line: number): void
  find: FindDefinitions
}

/** Words of a line that are tried: modifiers, then a keyword. */
const mostWords = 6
const longestRoleWord = 11

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at] === 32 || bytes[at] === 9) at++
  return at
}

function wordEnd(bytes: Uint8Array, from: number): number {
  let at = from
  while (isWord[bytes[at]!] === 1) at++
  return at
}

function mayStartDefinition(bytes: Uint8Array, at: number): boolean {
  return wordPrefixes[((bytes[at]! & 31) << 5) | (bytes[at + 1]! & 31)] === 1
}

/** `name = …` and `name: …`, but not `name == …`. */
function isAssignment(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 58 || (bytes[at] === 61 && bytes[at + 1] !== 61)
}

/** Keeps three numbers for each definition. */
export function createDefinitionIndex(): DefinitionIndex {
  const paths: string[] = []
  let entries = new Int32Array(1 << 12)
  let count = 0

  const keep = (hash: number, line: number) => {
    if (count + 3 > entries.length) {
      const larger = new Int32Array(entries.length * 2)
      larger.set(entries)
      entries = larger
    }
    entries[count++] = hash
    entries[count++] = paths.length - 1
    entries[count++] = line
  }

  /** The name after a keyword. A receiver in brackets, a star or an exclamation mark may stand before it. */
  const keepName = (bytes: Uint8Array, start: number, line: number) => {
    let at = start
    if (bytes[at] === 40) while (bytes[at] !== 41 && bytes[at] !== 10 && bytes[at] !== 0) at++
    while (bytes[at] === 41 || bytes[at] === 42 || bytes[at] === 33 || bytes[at] === 32) at++
    const end = wordEnd(bytes, at)
    if (end > at) keep(hashBytes(bytes, at, end), line)
  }

  return {
    beginFile(path) {
      paths.push(path)
    },
    addLine(bytes, start, line) {
      let at = skipSpace(bytes, start)
      const isTopLevel = at === start
      if (!isTopLevel && !mayStartDefinition(bytes, at)) return
      for (let words = 0; words < mostWords; words++) {
        const end = wordEnd(bytes, at)
        if (end === at) return
        const hash = hashBytes(bytes, at, end)
        const role = lookUpRole(hash, end - at)
        const next = skipSpace(bytes, end)
        if (role === keyword) keepName(bytes, next, line)
        if (role === 0 && isTopLevel && isAssignment(bytes, next)) keep(hash, line)
        if (role !== modifier || next === end) return
        at = next
      }
    },
    find(names) {
      const byHash = new Map([...names].map((name) => [hashText(name), name]))
      const found = new Map<string, DefinitionSite[]>()
      for (let at = 0; at < count; at += 3) {
        const name = byHash.get(entries[at]!)
        if (name !== undefined) appendTo(found, name, { path: paths[entries[at + 1]!]!, line: entries[at + 2]! })
      }
      return found
    },
  }
}
