// The list of the commit as entries and folders. Git paths are bytes; they are shown as UTF-8, and kept as bytes if that loses something.
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import type { FileKind, FileRow, SkipReason } from '../../../domain/survey.js'

export interface Folder {
  /** `''` is the top. */
  path: string
  tree: string
  parent: Folder | undefined
  depth: number
  /** Trait bits from its name and its parents' names; see path-rules.ts. */
  traits: number
  /** All files below it. */
  files: number
  bytes: number
  /** Its index in `Tree.folders`. */
  index: number
}

export interface Entry {
  path: string
  pathBase64: string | undefined
  name: string
  folder: Folder
  mode: string
  blob: string
  size: number
  /** Why it is not read; undefined while it may be chosen. */
  reason: SkipReason | undefined
  kind: FileKind
  /** Its grammar; `''` until the content decides. */
  grammar: string
  /** It may be an LFS pointer; nothing else in it matters. */
  maybeLfsPointer: boolean
  /** The attributes say that it is not generated. */
  handWritten: boolean
  state: FileRow['state']
  /** The index of its analysis; -1 if it was not analyzed. */
  analysis: number
}

export interface Tree {
  entries: Entry[]
  /** Parents before children; the first is the top folder. */
  folders: Folder[]
  /** How many names look like credentials and are redacted. */
  redactedNames: number
}

interface TreeParser {
  push: (chunk: Buffer) => void
  finish: (rootTree: string) => Tree
}

/** Parses the list as a stream. */
export function createTreeParser(): TreeParser {
  const top = newFolder('', '', undefined, 0)
  const tree: Tree = { entries: [], folders: [top], redactedNames: 0 }
  const folders = new Map<string, Folder>([['', top]])
  const modes = new Map<string, string>()
  let rest = ''
  // Consecutive entries mostly share their folder.
  let lastFolder = top
  let lastRaw = ''

  const folderOf = (raw: string, slash: number): Folder => {
    if (slash < 0) return top
    if (slash !== lastRaw.length || !raw.startsWith(lastRaw)) {
      lastRaw = raw.slice(0, slash)
      lastFolder = folders.get(lastRaw) ?? top
    }
    return lastFolder
  }

  /** Shares one string among all files of a mode. */
  const modeAt = (text: string, start: number): string => {
    const mode = text.slice(start, start + 6)
    const known = modes.get(mode)
    if (known === undefined) modes.set(mode, mode)
    return known ?? mode
  }

  const add = (text: string, start: number, tab: number, end: number) => {
    const raw = text.slice(tab + 1, end)
    const slash = raw.lastIndexOf('/')
    const folder = folderOf(raw, slash)
    const rawName = slash < 0 ? raw : raw.slice(slash + 1)
    const name = displayName(rawName, tree)
    // Nearly every path is shown unchanged and then shares the string of the list.
    const asIs = name === rawName && (folder === top || folder.path === lastRaw)
    const path = asIs ? raw : folder === top ? name : `${folder.path}/${name}`
    const idStart = text.indexOf(' ', start + 7) + 1
    const idEnd = text.indexOf(' ', idStart)
    const id = text.slice(idStart, idEnd)
    if (text[start + 7] === 't') {
      const child = newFolder(path, id, folder, tree.folders.length)
      folders.set(raw, child)
      tree.folders.push(child)
      return
    }
    const size = parseSize(text, idEnd, tab)
    const entry = newEntry(modeAt(text, start), id, Math.max(0, size), path, name, folder)
    if (size < 0) entry.reason = 'missing'
    if (!asIs && !path.includes('[redacted:') && isLossy(raw))
      entry.pathBase64 = Buffer.from(raw, 'latin1').toString('base64')
    tree.entries.push(entry)
  }

  return {
    push(chunk) {
      const text = rest + chunk.toString('latin1')
      let start = 0
      for (let end = text.indexOf('\0'); end >= 0; end = text.indexOf('\0', start)) {
        add(text, start, text.indexOf('\t', start), end)
        start = end + 1
      }
      rest = text.slice(start)
    },
    finish(rootTree) {
      top.tree = rootTree
      sumFolders(tree)
      return tree
    },
  }
}

function newFolder(path: string, tree: string, parent: Folder | undefined, index: number): Folder {
  return { path, tree, parent, depth: parent ? parent.depth + 1 : 0, traits: 0, files: 0, bytes: 0, index }
}

/** A submodule has a dash (0). Anything else that is no number returns -1: git does not have the object. */
function parseSize(text: string, from: number, to: number): number {
  let size = 0
  for (let index = from; index < to; index++) {
    const code = text.charCodeAt(index)
    if (code === 32) continue
    if (code < 48 || code > 57) return code === 45 ? 0 : -1
    size = size * 10 + code - 48
  }
  return size
}

function newEntry(mode: string, blob: string, size: number, path: string, name: string, folder: Folder): Entry {
  return {
    path,
    pathBase64: undefined,
    name,
    folder,
    mode,
    blob,
    size,
    reason: undefined,
    kind: 'source',
    grammar: '',
    maybeLfsPointer: false,
    handWritten: false,
    state: 'skipped',
    analysis: -1,
  }
}

function isAscii(raw: string): boolean {
  return !/[\x80-\xff]/.test(raw)
}

function displayName(raw: string, tree: Tree): string {
  const name = isAscii(raw) ? raw : Buffer.from(raw, 'latin1').toString('utf8')
  const { text, places } = redactName(name)
  tree.redactedNames += places
  return text
}

/** Redacts a name that is a credential. Short names and names without a digit are none. */
export function redactName(name: string): { text: string; places: number } {
  if (name.length < 20 || !/\d/.test(name)) return { text: name, places: 0 }
  const { text, places } = redactSecrets(name)
  return { text, places: places.length }
}

function isLossy(raw: string): boolean {
  const bytes = Buffer.from(raw, 'latin1')
  return !Buffer.from(bytes.toString('utf8'), 'utf8').equals(bytes)
}

function sumFolders({ entries, folders }: Tree): void {
  for (const { folder, size } of entries) {
    folder.files++
    folder.bytes += size
  }
  for (let index = folders.length - 1; index > 0; index--) {
    const { parent, files, bytes } = folders[index]!
    if (!parent) continue
    parent.files += files
    parent.bytes += bytes
  }
}
