// What the mount directory holds, what we knew of it, and the difference: the only way a plain directory tells what was done to it.
//
// A file is known by its inode, size and time of change. A name that is gone and an inode that turned up elsewhere are a rename; that is
// how `mv x.tmp x` becomes one request to the server, or none when `x.tmp` was never uploaded.
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

export interface Found {
  /** Relative to the mount, without a leading slash. */
  path: string
  kind: 'file' | 'directory' | 'symlink'
  inode: bigint
  size: number
  /** Nanoseconds. */
  modified: bigint
  mode: number
}

export interface Known extends Found {
  /** `remote`: as on the server. `pending`: to be uploaded. `conflict`: given up for good. `local`: stays here by the profile. */
  state: 'remote' | 'pending' | 'conflict' | 'local'
  /** The server's revision; 0 when the server has none. */
  revision: number
  /** The error number for why it was given up. */
  refused?: string
  /** Taken back: removed here before it was uploaded. */
  gone?: boolean
}

export type Index = Map<string, Known>

/** Everything below the directory, directories before what is in them. Names that are not UTF-8 come with replacement characters. */
export async function scan(directory: string): Promise<Map<string, Found>> {
  const found = new Map<string, Found>()
  await scanInto(directory, '', found)
  return found
}

async function scanInto(directory: string, prefix: string, found: Map<string, Found>): Promise<void> {
  const names = await readdir(join(directory, prefix)).catch(ifGone([]))
  for (const name of names.sort()) {
    const path = prefix === '' ? name : `${prefix}/${name}`
    const entry = await look(directory, path)
    if (!entry) continue
    found.set(path, entry)
    if (entry.kind === 'directory') await scanInto(directory, path, found)
  }
}

/** Undefined when it is gone, or nothing that the server could keep (a socket, a pipe). */
export async function look(directory: string, path: string): Promise<Found | undefined> {
  const stat = await lstat(join(directory, path), { bigint: true }).catch(ifGone(undefined))
  if (!stat) {
    // A name that is not UTF-8 is listed but cannot be asked for by its text: the server would refuse it, so it is kept as a failure.
    return path.includes('\uFFFD') ? { path, kind: 'file', inode: 0n, size: 0, modified: 0n, mode: 0o644 } : undefined
  }
  const kind = stat.isDirectory() ? 'directory' : stat.isSymbolicLink() ? 'symlink' : 'file'
  if (kind === 'file' && !stat.isFile()) return undefined
  return {
    path,
    kind,
    inode: stat.ino,
    size: kind === 'file' ? Number(stat.size) : 0,
    modified: stat.mtimeNs,
    mode: Number(stat.mode & 0o777n),
  }
}

function ifGone<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return value
    throw error
  }
}

export interface Difference {
  renamed: { from: Known; to: Found }[]
  removed: Known[]
  added: Found[]
  changed: { known: Known; found: Found }[]
  /** Only the mode is another. */
  modes: { known: Known; found: Found }[]
}

export function compare(index: Index, found: Map<string, Found>): Difference {
  const difference: Difference = { renamed: [], removed: [], added: [], changed: [], modes: [] }
  const missing = [...index.values()].filter((known) => found.get(known.path)?.kind !== known.kind)
  const moved = new Set<Known>()
  for (const entry of found.values()) {
    const known = index.get(entry.path)
    const same = known?.kind === entry.kind ? known : undefined
    if (same && sameFile(same, entry)) {
      if (same.mode !== entry.mode && same.kind === 'file') difference.modes.push({ known: same, found: entry })
      continue
    }
    const from = missing.find((candidate) => !moved.has(candidate) && sameFile(candidate, entry))
    if (from) {
      moved.add(from)
      difference.renamed.push({ from, to: entry })
    } else if (same) difference.changed.push({ known: same, found: entry })
    else difference.added.push(entry)
  }
  difference.removed = missing.filter((known) => !moved.has(known))
  return difference
}

function sameFile(known: Known, found: Found): boolean {
  if (known.kind !== found.kind) return false
  if (known.kind === 'directory') return known.path === found.path || known.inode === found.inode
  return known.inode === found.inode && known.size === found.size && known.modified === found.modified
}

/** The paths of the built-in coding-agent profile that never leave the machine, wherever they stand in the tree. */
const codingAgentNames = new Set(
  (
    '.git .hg .svn node_modules .pnpm-store target dist build coverage tmp .tmp .tmp-api-extractor .cache .turbo .gradle ' +
    '.venv __pycache__ .pytest_cache .mypy_cache .ruff_cache'
  ).split(' '),
)

export function localOnly(profile: string, more: string[], except: string[]): (path: string) => boolean {
  const overlay = profile !== 'none' && profile !== 'interactive'
  const kept = more.map(globToPattern)
  const sent = except.map(globToPattern)
  return (path) => {
    if (!overlay || sent.some((pattern) => pattern.test(path))) return false
    const inside = path.split('/').some((name) => codingAgentNames.has(name))
    return inside || /(^|\/)\.(next|vitepress)\/cache(\/|$)/.test(path) || kept.some((pattern) => pattern.test(path))
  }
}

/** `**` stands for any number of folders, `*` for part of a name; a pattern that ends in `/**` also means the folder itself. */
function globToPattern(glob: string): RegExp {
  const text = glob
    .replace(/^\/+/, '')
    .replace(/\/\*\*$/, '(?:/**)')
    .split(/(\*\*\/|\(\?:\/\*\*\)|\*\*|\*)/)
    .map((piece) => {
      if (piece === '**/') return '(?:.*/)?'
      if (piece === '(?:/**)') return '(?:/.*)?'
      if (piece === '**') return '.*'
      return piece === '*' ? '[^/]*' : piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    })
    .join('')
  return new RegExp(`^${text}$`)
}
