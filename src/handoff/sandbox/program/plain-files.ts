// The plain form: the commit as ordinary files, for people who mount the directory. Blobs are written as git stores them (no filter, no line
// ending is changed), every one with its hash in `analysis/tree.json`; what a drive cannot keep is named there.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { artifact } from '../../domain/run.js'
import { isTemporaryName, type Mount } from './drive9-mount.js'
import { say } from './emit-record.js'
import { placement } from './spawn.js'

/** `analysis/tree.json` */
export interface TreeTable {
  version: 1
  commit: string
  files: { path: string; bytes: number; sha256: string }[]
  links: { path: string; target: string }[]
  /** Paths that are not there as they are in the commit, and what was lost: the exec bit, or the whole entry. */
  lost: { path: string; what: 'exec bit' | 'name' | 'link' | 'submodule' }[]
}

/** In the child: writes every blob to the local disk. */
export async function plantTree(
  gitDirectory: string,
  commit: string,
  directory: string,
  tableFile: string,
): Promise<void> {
  const table: TreeTable = { version: 1, commit, files: [], links: [], lost: [] }
  const listing = await git(gitDirectory, ['ls-tree', '-r', '-z', '--full-tree', commit])
  const entries = splitZero(listing).map(parseEntry)
  const blobs = entries.filter((entry) => entry.mode !== '160000')
  for (const entry of entries)
    if (entry.mode === '160000') table.lost.push({ path: entry.path.toString(), what: 'submodule' })

  let index = 0
  for await (const content of readBlobs(
    gitDirectory,
    blobs.map((entry) => entry.blob),
  )) {
    const entry = blobs[index++]!
    await plant(entry, content, directory, table)
  }
  await writeFile(tableFile, `${JSON.stringify(table)}\n`)
}

async function plant(entry: Entry, content: Buffer, directory: string, table: TreeTable): Promise<void> {
  const path = entry.path.toString('utf8')
  if (!keepable(path, entry.path)) {
    table.lost.push({ path, what: 'name' })
    return
  }
  if (entry.mode === '120000') {
    const target = content.toString('utf8')
    if (staysInside(path, target)) table.links.push({ path, target })
    else table.lost.push({ path, what: 'link' })
    return
  }
  // The drive's scoped tokens cannot keep a mode.
  if (entry.mode === '100755') table.lost.push({ path, what: 'exec bit' })
  await mkdir(join(directory, dirname(path)), { recursive: true })
  await writeFile(join(directory, path), content)
  table.files.push({ path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') })
}

/** Names the drive keeps: UTF-8, composed (NFC), without backslashes and control characters, up to 255 bytes a part. */
function keepable(path: string, bytes: Buffer): boolean {
  if (!Buffer.from(path, 'utf8').equals(bytes) || path.normalize('NFC') !== path) return false
  if (/[\\\p{Cc}]/u.test(path)) return false
  return path
    .split('/')
    .every((part) => part !== '..' && part !== '.' && Buffer.byteLength(part) <= 255 && !isTemporaryName(part))
}

function staysInside(path: string, target: string): boolean {
  const reached = normalize(join('/', dirname(path), target))
  return (
    !target.startsWith('/') &&
    !target.includes('\0') &&
    !join(dirname(path), target).startsWith('..') &&
    reached.startsWith('/')
  )
}

/** In the parent: brings what the child planted into the mount, a few files at a time, and says what there is. */
export async function storeTree(directory: string, tableFile: string, mounted: Mount, target: string): Promise<void> {
  const table = JSON.parse(await readFile(tableFile, 'utf8')) as TreeTable
  const waiting = [...table.files]
  const carry = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift())
      await mounted.put(join(directory, file.path), `${target}/${file.path}`)
  }
  await Promise.all(Array.from({ length: 16 }, carry))
  for (const link of table.links) await mounted.link(link.target, `${target}/${link.path}`)
  await mounted.store(tableFile, artifact.treeTable)
  const bytes = table.files.reduce((sum, file) => sum + file.bytes, 0)
  say({ type: 'stored-tree', path: target, files: table.files.length, bytes, lost: table.lost.length })
}

interface Entry {
  mode: string
  blob: string
  path: Buffer
}

function parseEntry(line: Buffer): Entry {
  const tab = line.indexOf(9)
  const [mode = '', , blob = ''] = line.subarray(0, tab).toString('latin1').split(' ')
  return { mode, blob, path: line.subarray(tab + 1) }
}

function splitZero(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0, start)) {
    parts.push(bytes.subarray(start, end))
    start = end + 1
  }
  return parts
}

async function git(directory: string, args: string[]): Promise<Buffer> {
  const child = spawn('git', ['-C', directory, ...args], {
    ...placement(directory, {}),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout!) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** One `cat-file --batch` for all; blobs come in the order they were asked for. */
async function* readBlobs(directory: string, blobs: string[]): AsyncGenerator<Buffer> {
  if (blobs.length === 0) return
  const child = spawn('git', ['-C', directory, 'cat-file', '--batch', '--buffer'], {
    ...placement(directory, {}),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin!.end(`${blobs.join('\n')}\n`)
  let held: Buffer[] = []
  let size = 0
  let wanted: number | undefined
  for await (const chunk of child.stdout!) {
    held.push(chunk as Buffer)
    size += (chunk as Buffer).length
    while (wanted === undefined || size >= wanted + 1) {
      const all: Buffer = held.length === 1 ? held[0]! : Buffer.concat(held)
      held = [all]
      if (wanted === undefined) {
        const end = all.indexOf(10)
        if (end < 0) break
        wanted = Number(all.subarray(0, end).toString('latin1').split(' ')[2])
        held = [all.subarray(end + 1)]
      } else {
        yield all.subarray(0, wanted)
        held = [all.subarray(wanted + 1)]
        wanted = undefined
      }
      size = held[0]!.length
    }
  }
}
