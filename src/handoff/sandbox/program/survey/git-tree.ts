// The list of the commit as entries and folders. Git paths are bytes; they are shown as UTF-8, and kept as bytes if that loses something.
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import type { FileKind, FileRow, SkipReason } from '../../../domain/survey.js'

export interface Folder {
  /** `''` is the top. */
  path: string
  tree: string
  parent: Folder | undefined
  depth: number
  /** What its name and those above it say of the files in it; see classify.ts. */
  traits: number
  /** Below it, itself included. */
  files: number
  bytes: number
  /** Its place among the folders. */
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
  /** Why nobody looks into it; undefined as long as it may be chosen. */
  reason: SkipReason | undefined
  kind: FileKind
  /** How definitions are found in it; `''` until the content tells. */
  grammar: string
  /** It may be the short text that stands for a file kept by LFS; nothing else in it is of interest. */
  maybeLfsPointer: boolean
  /** The attributes say that it is written by hand, whatever it looks like. */
  handWritten: boolean
  state: FileRow['state']
  /** Where its analysis is kept; -1 when it was not looked into. */
  analysis: number
}

export interface Tree {
  entries: Entry[]
  /** Parents before children. The first is the top. */
  folders: Folder[]
  /** Names that looked like credentials and are not repeated. */
  redactedNames: number
}

export interface TreeParser {
  push: (chunk: Buffer) => void
  finish: (rootTree: string) => Tree
}

/** Reads the list while it comes. */
export function createTreeParser(): TreeParser {
  const top = newFolder('', '', undefined, 0)
  const tree: Tree = { entries: [], folders: [top], redactedNames: 0 }
  const folders = new Map<string, Folder>([['', top]])
  const modes = new Map<string, string>()
  let rest = ''
  // Neighbours in the list mostly share their folder.
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

  /** One string for all files of a mode. */
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
    // Nearly every path is shown as it is, and then it is the same piece of the list.
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

/** A dash for a submodule, which has none; what is no number, and less than 0 here, means that git does not have the object. */
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

/** A name that is itself a credential is not repeated. Short names, and names without a number, cannot be one. */
function displayName(raw: string, tree: Tree): string {
  const name = isAscii(raw) ? raw : Buffer.from(raw, 'latin1').toString('utf8')
  if (name.length < 20 || !/\d/.test(name)) return name
  const { text, places } = redactSecrets(name)
  tree.redactedNames += places.length
  return text
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
