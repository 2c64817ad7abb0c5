// What differs between two commits: each path, and the numbers of the lines. Only numbers are taken from git's patch; the lines themselves come from
// the files, so that secrets in them are found by the rules for whole files.
import { mostFiles } from '../../../domain/change/change.js'
import { ProgramError } from '../emit-record.js'
import type { SpawnGit } from './git-objects.js'

export interface Hunk {
  /** At the base; `oldCount` 0 says that lines were added after `oldFrom`. */
  oldFrom: number
  oldCount: number
  /** At the head. */
  from: number
  count: number
}

export interface TreeChange {
  path: string
  previousPath?: string
  status: 'added' | 'removed' | 'modified' | 'renamed'
  /** Blob ids; all zeros where there is none. */
  oldBlob: string
  blob: string
  isFile: boolean
  binary: boolean
  hunks: Hunk[]
}

interface TreeComparison {
  changes: TreeChange[]
  /** How many more paths differ. */
  leftOut: number
  /** True if git's patch was longer than what is read, so that some files have no hunks. */
  cut: boolean
}

/** Longer patches are not read to their end. */
const patchBytes = 40_000_000
const rawBytes = 60_000_000

export async function compareTrees(git: SpawnGit, base: string, head: string): Promise<TreeComparison> {
  const options = ['diff-tree', '-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color']
  const raw = await output(git, [...options, '-z', '--raw', '--abbrev=40', base, head], rawBytes)
  const all = parseRaw(raw.text)
  const changes = all.slice(0, mostFiles)
  const patch = await output(git, [...options, '-p', '-U0', base, head], patchBytes)
  const read = applyPatch(patch.text, changes)
  return { changes, leftOut: all.length - changes.length, cut: patch.cut || read < changes.length }
}

/** One character for each byte. */
async function output(git: SpawnGit, words: string[], limit: number): Promise<{ text: string; cut: boolean }> {
  const child = git(words)
  child.stdin.end()
  const pieces: Buffer[] = []
  let size = 0
  child.stdout.on('data', (piece: Buffer) => {
    size += piece.length
    if (size <= limit) pieces.push(piece)
    else child.kill()
  })
  child.stderr.resume()
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  if (code !== 0 && size <= limit) throw new ProgramError('corrupt', 'git could not compare the two commits')
  return { text: Buffer.concat(pieces).toString('latin1'), cut: size > limit }
}

const utf8 = (text: string) => (/[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text)

/** `:<mode> <mode> <id> <id> <status>\0<path>\0`, and a second path after a rename. */
function parseRaw(text: string): TreeChange[] {
  const fields = text.split('\0')
  const changes: TreeChange[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = '', mode = '', oldBlob = '', blob = '', letter = ''] = fields[at]!.slice(1).split(' ')
    const first = utf8(fields[at + 1]!)
    const moved = letter.startsWith('R') || letter.startsWith('C')
    if (moved) at += 1
    const present = letter === 'D' ? oldMode : mode
    changes.push({
      path: moved ? utf8(fields[at + 1]!) : first,
      ...(moved ? { previousPath: first } : {}),
      status: letter === 'A' ? 'added' : letter === 'D' ? 'removed' : letter.startsWith('R') ? 'renamed' : 'modified',
      oldBlob,
      blob,
      isFile: present.startsWith('100'),
      binary: false,
      hunks: [],
    })
  }
  return changes
}

/** The patch has the files in the same order. Returns how many of them it has. */
function applyPatch(text: string, changes: TreeChange[]): number {
  let index = -1
  /** Lines of the hunk that are still to come; they may begin with anything. */
  let lines = 0
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const isHead = lines === 0
    if (!isHead && text[at] !== '\\') lines -= 1
    if (isHead && text.startsWith('diff --git ', at)) index += 1
    else if (isHead) lines = applyHead(text.slice(at, Math.min(end, at + 200)), changes[index])
    at = end + 1
  }
  return index + 1
}

/** A line between hunks. Returns how many lines the hunk has that it begins. */
function applyHead(line: string, change: TreeChange | undefined): number {
  if (change && line.startsWith('Binary files ')) change.binary = true
  const hunk = line.startsWith('@@ ') ? parseHunk(line) : undefined
  if (hunk === undefined) return 0
  change?.hunks.push(hunk)
  return hunk.oldCount + hunk.count
}

function parseHunk(line: string): Hunk | undefined {
  const [, oldFrom, oldCount = '1', from, count = '1'] = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line) ?? []
  if (oldFrom === undefined) return undefined
  return { oldFrom: Number(oldFrom), oldCount: Number(oldCount), from: Number(from), count: Number(count) }
}
