// The tree of files and directories with their revisions: what drive9 keeps in its database.
//
// Every change happens in one synchronous step, so of twenty conditional writes that arrive at once exactly one finds what it expects.
import { freshId } from '../../faulty-server.js'
import type { Objects, Table, TableLine } from './object-storage.js'
import { segmentsOf } from './paths.js'
import { refuse, storageProblem } from './refusal.js'

interface FileNode {
  kind: 'file'
  id: string
  object: string
  size: number
  revision: number
  modifiedAt: number
  mode: number
  hasMode: boolean
}

interface DirectoryNode {
  kind: 'directory'
  modifiedAt: number
  mode: number
  children: Map<string, TreeNode>
}

export type TreeNode = FileNode | DirectoryNode

export interface Quota {
  files?: number
  bytes?: number
  /** Bytes of one file. */
  fileBytes?: number
}

export interface Tree {
  find(path: string): TreeNode | undefined
  /** Refuses with 409 when the file's revision is not the expected one; 0 means that there must be none. */
  expect(path: string, expectedRevision: number | undefined): void
  /** Refuses with 507 when this many bytes more at this path are over the quota. `reserved` is what open uploads hold. */
  admit(path: string, bytes: number, reserved?: { files: number; bytes: number }): void
  write(path: string, bytes: Uint8Array, settings?: { mode?: number }): FileNode
  makeDirectory(path: string, mode: number): void
  remove(path: string, options: { recursive: boolean; kind: 'file' | 'dir' | '' }): void
  rename(from: string, to: string): void
  changeMode(path: string, mode: number): void
  walk(from?: string): Generator<{ path: string; node: TreeNode }>
  setQuota(quota: Quota): void
}

export function makeTree(objects: Objects, table: Table, now: () => number, limits: Quota): Tree {
  const root: DirectoryNode = { kind: 'directory', modifiedAt: now(), mode: 0o755, children: new Map() }
  let quota = limits
  for (const line of table.lines) replay(root, line)

  const find = (path: string) => lookUp(root, segmentsOf(path))

  function record(line: TableLine): void {
    replay(root, line)
    table.append(line)
  }

  function usage(): { files: number; bytes: number } {
    let files = 0
    let bytes = 0
    for (const { node } of walk(root, '')) {
      if (node.kind === 'directory') continue
      files += 1
      bytes += node.size
    }
    return { files, bytes }
  }

  function parentsMustBeDirectories(path: string): void {
    const segments = segmentsOf(path)
    for (let depth = 1; depth < segments.length; depth += 1) {
      if (lookUp(root, segments.slice(0, depth))?.kind === 'file') refuse(500, storageProblem)
    }
  }

  return {
    find,
    setQuota: (next) => {
      quota = next
    },
    expect(path, expectedRevision) {
      if (expectedRevision === undefined) return
      const node = find(path)
      const revision = node?.kind === 'file' ? node.revision : 0
      if (revision !== expectedRevision) refuse(409, 'revision conflict')
    },
    admit(path, bytes, reserved = { files: 0, bytes: 0 }) {
      const node = find(path)
      if (node?.kind === 'directory') refuse(500, storageProblem)
      if (quota.fileBytes !== undefined && bytes > quota.fileBytes) refuse(507, 'tenant file size quota exceeded')
      if (quota.files === undefined && quota.bytes === undefined) return
      const used = usage()
      const files = used.files + reserved.files + (node ? 0 : 1)
      const total = used.bytes + reserved.bytes + bytes - (node?.size ?? 0)
      if (quota.files !== undefined && files > quota.files) refuse(507, 'tenant file count quota exceeded')
      if (quota.bytes !== undefined && total > quota.bytes) refuse(507, 'tenant storage quota exceeded')
    },
    write(path, bytes, settings = {}) {
      if (path === '/') refuse(400, 'root path is implicit and cannot be mutated as a file node')
      parentsMustBeDirectories(path)
      const old = find(path)
      if (old?.kind === 'directory') refuse(500, storageProblem)
      const node: FileNode = {
        kind: 'file',
        id: old?.id ?? freshId(),
        object: objects.put(bytes),
        size: bytes.length,
        revision: (old?.revision ?? 0) + 1,
        modifiedAt: now(),
        mode: settings.mode ?? old?.mode ?? 0o644,
        hasMode: settings.mode !== undefined || (old?.hasMode ?? false),
      }
      record({ op: 'file', path, node })
      if (old) objects.remove(old.object)
      return node
    },
    makeDirectory(path, mode) {
      const there = find(path)
      // The service keeps a file and a directory of one name side by side, and says nothing. Here the file stays.
      if (there?.kind === 'file') return
      if (there) refuse(409, 'path already exists')
      parentsMustBeDirectories(path)
      record({ op: 'directory', path, mode, at: now() })
    },
    remove(path, { recursive, kind }) {
      const node = find(path)
      if (!node || path === '/') refuse(404, 'not found')
      if ((kind === 'file' && node.kind === 'directory') || (kind === 'dir' && node.kind === 'file')) {
        refuse(404, 'not found')
      }
      if (node.kind === 'directory' && node.children.size > 0 && !recursive) refuse(409, 'directory not empty')
      const gone = [...walk(node, path)].map((entry) => entry.node)
      record({ op: 'remove', path })
      for (const each of gone) if (each.kind === 'file') objects.remove(each.object)
    },
    rename(from, to) {
      const node = find(from)
      if (!node || from === '/') refuse(404, 'not found')
      const target = find(to)
      if (target && (target.kind === 'directory' || node.kind === 'directory')) refuse(409, 'path already exists')
      if (to.startsWith(`${from}/`)) refuse(409, 'path already exists')
      parentsMustBeDirectories(to)
      record({ op: 'rename', from, to, at: now() })
      if (target?.kind === 'file' && from !== to) objects.remove(target.object)
    },
    changeMode(path, mode) {
      if (!find(path)) refuse(404, 'not found')
      record({ op: 'mode', path, mode })
    },
    *walk(from = '/') {
      const start = find(from)
      if (start) yield* walk(start, from === '/' ? '' : from)
    },
  }
}

function lookUp(root: DirectoryNode, segments: string[]): TreeNode | undefined {
  let node: TreeNode = root
  for (const segment of segments) {
    if (node.kind === 'file') return undefined
    const next: TreeNode | undefined = node.children.get(segment)
    if (!next) return undefined
    node = next
  }
  return node
}

/** Everything from a node down, directories before what is in them, names in order. */
function* walk(node: TreeNode, path: string): Generator<{ path: string; node: TreeNode }> {
  if (path !== '') yield { path, node }
  if (node.kind === 'file') return
  for (const [name, child] of [...node.children].sort(([a], [b]) => (a < b ? -1 : 1))) {
    yield* walk(child, `${path}/${name}`)
  }
}

/** Does what one line of the table says; the checks were made before the line was written. */
function replay(root: DirectoryNode, line: TableLine): void {
  const path = String(line['path'] ?? '')
  if (line.op === 'file') place(root, path, line['node'] as FileNode)
  else if (line.op === 'directory') ensureDirectory(root, segmentsOf(path), Number(line['at']), Number(line['mode']))
  else if (line.op === 'remove') detach(root, path)
  else if (line.op === 'rename') {
    const node = detach(root, String(line['from']))
    if (node) place(root, String(line['to']), node, Number(line['at']))
  } else if (line.op === 'mode') {
    const node = lookUp(root, segmentsOf(path))
    if (node?.kind === 'file') Object.assign(node, { mode: Number(line['mode']), hasMode: true })
    else if (node) node.mode = Number(line['mode'])
  }
}

function place(root: DirectoryNode, path: string, node: TreeNode, at = node.modifiedAt): void {
  const segments = segmentsOf(path)
  const name = segments.pop() ?? ''
  ensureDirectory(root, segments, at, 0o755).children.set(name, node)
}

function detach(root: DirectoryNode, path: string): TreeNode | undefined {
  const segments = segmentsOf(path)
  const name = segments.pop() ?? ''
  const parent = lookUp(root, segments)
  if (parent?.kind !== 'directory') return undefined
  const node = parent.children.get(name)
  parent.children.delete(name)
  return node
}

function ensureDirectory(root: DirectoryNode, segments: string[], at: number, mode: number): DirectoryNode {
  let directory = root
  segments.forEach((segment, depth) => {
    let next = directory.children.get(segment)
    if (next?.kind !== 'directory') {
      next = {
        kind: 'directory',
        modifiedAt: at,
        mode: depth === segments.length - 1 ? mode : 0o755,
        children: new Map(),
      }
      directory.children.set(segment, next)
    }
    directory = next
  })
  return directory
}
