// Proves what a sandbox shows of a commit. The sandbox sends git objects; git names an object by the hash of its bytes, so a chain of objects from the
// commit's own id to a file is a proof that needs no trust in the sandbox. An object that was changed has another name and is never reached.
import { createHash } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import type { Excerpt } from './answer.js'
import { sourceLines } from './source-lines.js'

export type ObjectKind = 'commit' | 'tree' | 'blob'

/** The bytes of an object, deflated, in base64. */
export interface PackedObject {
  kind: ObjectKind
  data: string
}

/** No object that a search shows is larger; a larger one is an attack. */
const largestObject = 16_000_000

interface TreeEntry {
  mode: string
  id: string
}

interface ProvenCommit {
  /** Whether the lines of the excerpt stand in the commit as they are shown. */
  holds(excerpt: Excerpt): boolean
  /** The id of the file at a path; undefined if the objects do not lead to one. */
  blobAt(path: string): string | undefined
  /** The names in a directory; directories end with a slash. Undefined if the objects do not lead there. */
  names(directory: string): Set<string> | undefined
}

export function proveCommit(commit: string, packed: readonly PackedObject[]): ProvenCommit {
  const objects = new Map<string, Buffer>()
  for (const { kind, data } of packed) {
    const bytes = unpack(data)
    if (bytes) objects.set(`${kind} ${idOf(kind, bytes)}`, bytes)
  }
  const trees = new Map<string, Map<string, TreeEntry>>()
  const lines = new Map<string, string[]>()

  const treeOf = (id: string): Map<string, TreeEntry> | undefined => {
    const bytes = objects.get(`tree ${id}`)
    if (!bytes) return undefined
    const known = trees.get(id) ?? parseTree(bytes)
    trees.set(id, known)
    return known
  }

  const directory = (path: string): Map<string, TreeEntry> | undefined => {
    const root = /^tree ([0-9a-f]{40})\n/.exec(objects.get(`commit ${commit}`)?.toString('latin1', 0, 46) ?? '')?.[1]
    let tree = treeOf(root ?? '')
    for (const name of path === '' ? [] : path.split('/')) {
      const entry = tree?.get(name)
      tree = entry?.mode === '40000' ? treeOf(entry.id) : undefined
    }
    return tree
  }

  const linesOf = (id: string): string[] | undefined => {
    const bytes = objects.get(`blob ${id}`)
    if (!bytes) return undefined
    const known = lines.get(id) ?? sourceLines(bytes)
    lines.set(id, known)
    return known
  }

  const blobAt = (path: string): string | undefined => {
    const slash = path.lastIndexOf('/')
    const entry = directory(path.slice(0, Math.max(0, slash)))?.get(path.slice(slash + 1))
    return entry?.mode.startsWith('100') ? entry.id : undefined
  }

  return {
    blobAt,
    holds({ path, blob, from, lines: shown, source }) {
      if (source !== 'code' || blobAt(path) !== blob) return false
      const all = linesOf(blob)
      return all !== undefined && from >= 1 && shown.every((line, index) => line === all[from - 1 + index])
    },
    names(path) {
      const tree = directory(path)
      return tree && new Set([...tree].map(([name, { mode }]) => (mode === '40000' ? `${name}/` : name)))
    },
  }
}

function unpack(data: string): Buffer | undefined {
  try {
    return inflateRawSync(Buffer.from(data, 'base64'), { maxOutputLength: largestObject })
  } catch {
    return undefined
  }
}

function idOf(kind: ObjectKind, bytes: Buffer): string {
  return createHash('sha1').update(`${kind} ${bytes.length}\0`).update(bytes).digest('hex')
}

/** `<mode> <name>\0<20 bytes>` for each entry. */
function parseTree(bytes: Buffer): Map<string, TreeEntry> {
  const entries = new Map<string, TreeEntry>()
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(32, at)
    const end = bytes.indexOf(0, space)
    if (end < 0 || end + 21 > bytes.length) break
    const id = bytes.toString('hex', end + 1, end + 21)
    entries.set(bytes.toString('utf8', space + 1, end), { mode: bytes.toString('latin1', at, space), id })
    at = end + 21
  }
  return entries
}
