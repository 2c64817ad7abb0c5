// The plain form of a commit: ordinary files, for people who mount the directory. Blobs are written as git stores them, without filters or
// changed line ends. `analysis/tree.json` lists each file with its hash, and each path that the drive cannot keep.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { artifact } from '../../domain/run.js'
import { array, count, decodeJson, object, objectId, oneOf, sha256, string } from '../../util/decode.js'
import { mapConcurrent } from '../../util/map-concurrent.js'
import { isTemporaryName, type Mount } from './drive9-mount.js'
import { emit, ProgramError } from './emit-record.js'
import { gitAt, listTree, openBlobReader } from './survey/git-objects.js'
import { looksDeleted, openUntrusted } from './untrusted-file.js'

/** `analysis/tree.json` */
interface TreeTable {
  version: 1
  commit: string
  files: { path: string; bytes: number; sha256: string }[]
  links: { path: string; target: string }[]
  /** Paths that differ from the commit, and what was lost: the exec bit, or the whole entry. */
  lost: { path: string; what: 'exec bit' | 'name' | 'link' | 'submodule' }[]
}

interface Entry {
  mode: string
  blob: string
  path: Buffer
}

/** In the child process: writes every blob to the local disk. */
export async function writePlainFiles(
  gitDirectory: string,
  commit: string,
  directory: string,
  tableFile: string,
): Promise<void> {
  const table: TreeTable = { version: 1, commit, files: [], links: [], lost: [] }
  const entries = await listEntries(gitDirectory, commit)
  const blobs = entries.filter(({ mode }) => mode !== '160000')
  for (const { mode, path } of entries)
    if (mode === '160000') table.lost.push({ path: path.toString(), what: 'submodule' })
  await openBlobReader(gitAt(gitDirectory), 'many').read(
    blobs.map(({ blob }) => blob),
    (index, content) => {
      const entry = blobs[index]!
      if (!content) throw new ProgramError('corrupt', `the clone does not have the file ${entry.path.toString()}`)
      writeEntry(entry, content, directory, table)
    },
  )
  await writeFile(tableFile, `${JSON.stringify(table)}\n`)
}

/** Everything but directories. Paths stay bytes, because the drive keeps UTF-8 names only. */
async function listEntries(gitDirectory: string, commit: string): Promise<Entry[]> {
  const chunks: Buffer[] = []
  await listTree(gitAt(gitDirectory), commit, (chunk) => chunks.push(chunk))
  return splitZero(Buffer.concat(chunks))
    .map(parseEntry)
    .filter(({ mode }) => mode !== '040000')
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

/** Synchronous, because the content is valid during the call only; nothing else runs in this process. */
function writeEntry(entry: Entry, content: Buffer, directory: string, table: TreeTable): void {
  const path = entry.path.toString('utf8')
  if (!isStorableName(path, entry.path)) {
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
  mkdirSync(join(directory, dirname(path)), { recursive: true })
  writeFileSync(join(directory, path), content)
  table.files.push({ path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') })
}

/**
 * Names that the drive can store: UTF-8, composed (NFC), without backslashes and control characters, up to 255 bytes a part. The check of the untrusted
 * account's files must be able to tell them from deleted ones.
 */
function isStorableName(path: string, bytes: Buffer): boolean {
  if (!Buffer.from(path, 'utf8').equals(bytes) || path.normalize('NFC') !== path) return false
  if (/[\\\p{Cc}]/u.test(path) || looksDeleted(path)) return false
  return path
    .split('/')
    .every(
      (part) =>
        part !== '' && part !== '..' && part !== '.' && Buffer.byteLength(part) <= 255 && !isTemporaryName(part),
    )
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

/** The untrusted account wrote the table, so each path of it is checked again. */
async function readTable(file: string): Promise<TreeTable> {
  const handle = await openUntrusted(file, dirname(file))
  try {
    const table = decodeJson((await handle.readFile()).toString('utf8'), treeTable) as TreeTable
    const wrong = [...table.files, ...table.links].find(({ path }) => !isStorableName(path, Buffer.from(path)))
    const leaving = table.links.find(({ path, target }) => !staysInside(path, target))
    if (!wrong && !leaving) return table
    throw new ProgramError('internal', `the table of plain files has a path that leads elsewhere`)
  } finally {
    await handle.close()
  }
}

const treeTable = object({
  version: oneOf(1),
  commit: objectId,
  files: array(object({ path: string(), bytes: count, sha256 })),
  links: array(object({ path: string(), target: string() })),
  lost: array(object({ path: string(), what: oneOf('exec bit', 'name', 'link', 'submodule') })),
})

/** In the parent process: copies the files into the mount, a few at a time, and reports them. */
export async function storePlainFiles(
  directory: string,
  tableFile: string,
  mounted: Mount,
  target: string,
): Promise<void> {
  const table = await readTable(tableFile)
  await mapConcurrent(16, table.files, ({ path }) => mounted.put(join(directory, path), `${target}/${path}`))
  for (const link of table.links) await mounted.link(link.target, `${target}/${link.path}`)
  await mounted.store(tableFile, artifact.treeTable)
  const bytes = table.files.reduce((sum, file) => sum + file.bytes, 0)
  emit({ type: 'stored-tree', path: target, files: table.files.length, bytes, lost: table.lost.length })
}
