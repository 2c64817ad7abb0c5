// Where names are defined, in every file: from the outline when the run directory has one, else by the first words of each line while the
// files are looked through anyway. The second way knows languages that say `def`, `class`, `func` and the like before a name.
import type { Outline } from '../../../domain/survey.js'

export interface Definer {
  path: string
  line: number
}

/** Where these names are defined, as far as is known. */
export type DefinersOf = (names: ReadonlySet<string>) => Map<string, Definer[]>

export function definersInOutline(outline: Outline): DefinersOf {
  return (names) => {
    const found = new Map<string, Definer[]>()
    for (const [path, definitions] of Object.entries(outline.files)) {
      for (const { name, line } of definitions) if (names.has(name)) put(found, name, { path, line })
    }
    return found
  }
}

function put(found: Map<string, Definer[]>, name: string, definer: Definer): void {
  const list = found.get(name)
  if (list) list.push(definer)
  else found.set(name, [definer])
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

/** How those words begin: two letters tell most lines apart. */
const openings = new Uint8Array(1 << 10)

const modifier = 1
const keyword = 2
const roles = new Map<number, number>()
const give = (role: number, words: string) => {
  for (const word of words.split(' ')) {
    roles.set(hashText(word), role)
    openings[((word.charCodeAt(0) & 31) << 5) | (word.charCodeAt(1) & 31)] = 1
  }
}
give(
  modifier,
  'export default declare abstract public private protected internal static final async pub unsafe extern override virtual inline open ' +
    'data sealed partial const let var val suspend local cdef cpdef readonly mut lazy implicit case',
)
give(
  keyword,
  'def class function func fn fun interface struct enum trait module namespace type object protocol sub record union mod defp defmodule macro_rules',
)

const table = 1024
const keys = new Int32Array(table)
const values = new Uint8Array(table)
for (const [hash, role] of roles) {
  let slot = hash & (table - 1)
  while (values[slot] !== 0) slot = (slot + 1) & (table - 1)
  keys[slot] = hash
  values[slot] = role
}

function roleOf(hash: number, length: number): number {
  if (length > longestRoleWord) return 0
  for (let slot = hash & (table - 1); values[slot] !== 0; slot = (slot + 1) & (table - 1)) {
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

export interface DefinitionNotes {
  /** The files that follow are this one's. */
  begin(path: string): void
  /** A line begins here. The bytes end with a 0. */
  note(bytes: Uint8Array, at: number, line: number): void
  definersOf: DefinersOf
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

function mayOpenDefinition(bytes: Uint8Array, at: number): boolean {
  return openings[((bytes[at]! & 31) << 5) | (bytes[at + 1]! & 31)] === 1
}

/** `name = …` and `name: …`, but not `name == …`. */
function isAssignment(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 58 || (bytes[at] === 61 && bytes[at + 1] !== 61)
}

/** Keeps three numbers for each definition. */
export function createDefinitionNotes(): DefinitionNotes {
  const paths: string[] = []
  let notes = new Int32Array(1 << 12)
  let count = 0

  const keep = (hash: number, line: number) => {
    if (count + 3 > notes.length) {
      const larger = new Int32Array(notes.length * 2)
      larger.set(notes)
      notes = larger
    }
    notes[count++] = hash
    notes[count++] = paths.length - 1
    notes[count++] = line
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
    begin(path) {
      paths.push(path)
    },
    note(bytes, start, line) {
      let at = skipSpace(bytes, start)
      const isTopLevel = at === start
      if (!isTopLevel && !mayOpenDefinition(bytes, at)) return
      for (let words = 0; words < mostWords; words++) {
        const end = wordEnd(bytes, at)
        if (end === at) return
        const hash = hashBytes(bytes, at, end)
        const role = roleOf(hash, end - at)
        const next = skipSpace(bytes, end)
        if (role === keyword) keepName(bytes, next, line)
        if (role === 0 && isTopLevel && isAssignment(bytes, next)) keep(hash, line)
        if (role !== modifier || next === end) return
        at = next
      }
    },
    definersOf(names) {
      const byHash = new Map([...names].map((name) => [hashText(name), name]))
      const found = new Map<string, Definer[]>()
      for (let at = 0; at < count; at += 3) {
        const name = byHash.get(notes[at]!)
        if (name !== undefined) put(found, name, { path: paths[notes[at + 1]!]!, line: notes[at + 2]! })
      }
      return found
    },
  }
}
