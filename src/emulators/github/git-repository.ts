// Reads a real git repository, as GitHub reads its own: branches, and what lies between two commits.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { json, type Reply } from '../faulty-server.js'
import { notFound, type RequestContext } from './request-context.js'

const run = promisify(execFile)

async function git(directory: string, ...arguments_: string[]): Promise<string> {
  const { stdout } = await run('git', ['-C', directory, ...arguments_], { maxBuffer: 64 * 1024 * 1024 })
  return stdout
}

export async function readRef(directory: string, ref: string): Promise<string | null> {
  try {
    return (await git(directory, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`)).trim()
  } catch {
    return null
  }
}

const filesShown = 300

export async function compareReply({ repository, parameters }: RequestContext): Promise<Reply> {
  const [baseName = '', headName = ''] = (parameters['rest'] ?? '').split('...')
  const { directory } = repository
  if (directory === undefined) return notFound()
  const base = await commitOf(directory, baseName)
  const head = await commitOf(directory, headName)
  if (base === null || head === null) return notFound()
  const mergeBase = (await git(directory, 'merge-base', base, head).catch(() => '')).trim()
  if (mergeBase === '') return notFound()
  const [behind = 0, ahead = 0] = await distances(directory, base, head)
  return json(200, {
    status: statusOf(ahead, behind),
    ahead_by: ahead,
    behind_by: behind,
    base_commit: { sha: base },
    merge_base_commit: { sha: mergeBase },
    total_commits: ahead,
    files: (await filesBetween(directory, mergeBase, head)).slice(0, filesShown),
  })
}

async function commitOf(directory: string, name: string): Promise<string | null> {
  const branch = /^[0-9a-f]{40}$/.test(name) ? null : await readRef(directory, `refs/heads/${name}`)
  return branch ?? (await readRef(directory, name))
}

async function distances(directory: string, base: string, head: string): Promise<number[]> {
  return (await git(directory, 'rev-list', '--left-right', '--count', `${base}...${head}`))
    .trim()
    .split('\t')
    .map(Number)
}

function statusOf(ahead: number, behind: number): string {
  if (ahead === 0) return behind === 0 ? 'identical' : 'behind'
  return behind === 0 ? 'ahead' : 'diverged'
}

const words: Record<string, string> = { A: 'added', M: 'modified', D: 'removed', R: 'renamed', T: 'changed' }

interface FileRow {
  filename: string
  previous_filename?: string
  status: string
  sha: string
  changes: number
  patch?: string
}

async function filesBetween(directory: string, from: string, to: string): Promise<FileRow[]> {
  const raw = await git(directory, 'diff', '--raw', '-z', '-M', '--abbrev=40', from, to)
  const patches = await patchesBetween(directory, from, to)
  const fields = raw.split('\0')
  const files: FileRow[] = []
  for (let at = 0; fields[at]?.startsWith(':'); ) {
    const [, , oldBlob = '', newBlob = '', letter = ''] = fields[at]!.split(' ')
    const renamed = letter.startsWith('R')
    const first = fields[at + 1]!
    const patch = patches.shift()
    // A file that became a link, or the other way round, is shown as one that went and one that came.
    if (letter === 'T') patches.shift()
    files.push({
      filename: renamed ? fields[at + 2]! : first,
      ...(renamed ? { previous_filename: first } : {}),
      status: words[letter[0] ?? ''] ?? 'changed',
      sha: letter === 'D' ? oldBlob : newBlob,
      changes: (patch ?? '').split('\n').filter((line) => /^[-+]/.test(line)).length,
      ...(patch ? { patch } : {}),
    })
    at += renamed ? 3 : 2
  }
  return files
}

/** The hunks of each file, in the order of `--raw`; empty for binary files. */
async function patchesBetween(directory: string, from: string, to: string): Promise<string[]> {
  const text = await git(directory, 'diff', '-M', '--no-color', '--no-ext-diff', from, to)
  return text
    .split(/^diff --git .*\n/m)
    .slice(1)
    .map((part) => part.slice(Math.max(0, part.search(/^@@ /m))))
    .map((part) => (part.startsWith('@@ ') ? part.replace(/\n$/, '') : ''))
}
