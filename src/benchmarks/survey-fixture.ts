// A repository made ready for the survey's bench: a bare clone one commit deep, and its work tree.
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Place {
  name: string
  /** Bare, one commit deep. */
  git: string
  commit: string
  tree: string
  list: string
}

export async function prepare(folder: string, repository: string): Promise<Place> {
  const name = basename(repository === join(dirname(repository), 'repo') ? dirname(repository) : repository)
  const git = join(folder, `${name}.git`)
  await run('git', [
    'clone',
    '--quiet',
    '--bare',
    '--depth',
    '1',
    '--single-branch',
    '--no-tags',
    `file://${repository}`,
    git,
  ])
  const commit = (await run('git', ['-C', git, 'rev-parse', 'HEAD'])).stdout.trim()
  return { name, git, commit, ...(await checkOut(folder, git, commit, name)) }
}

export async function checkOut(
  folder: string,
  git: string,
  commit: string,
  name: string,
): Promise<{ tree: string; list: string }> {
  const tree = join(folder, name)
  await mkdir(tree, { recursive: true })
  await run('sh', ['-c', 'git -C "$1" archive "$2" | tar -x -C "$3"', 'sh', git, commit, tree])
  const list = join(folder, `${name}.list`)
  const { stdout } = await run(
    'git',
    ['-C', git, 'ls-tree', '-r', '-z', '--full-tree', '--format=%(objectmode) %(path)', commit],
    { maxBuffer: 1e9 },
  )
  // Links and submodules are no files; a path that the archive leaves out is not there.
  const files = stdout
    .split('\0')
    .filter((line) => line.startsWith('100'))
    .map((line) => line.slice(7))
  await writeFile(list, files.filter((path) => existsSync(join(tree, path))).join('\0'))
  return { tree, list }
}

async function commitTree(git: string, tree: string): Promise<string> {
  const { stdout } = await run('git', [
    '-C',
    git,
    '-c',
    'user.name=bench',
    '-c',
    'user.email=bench@example.com',
    'commit-tree',
    tree,
    '-m',
    'cut',
  ])
  return stdout.trim()
}

/** Every n-th file, so that all sizes and folders are there in their proportions. */
export async function cut({ git, commit }: Place, count: number): Promise<string> {
  const index = join(git, 'bench-index')
  const { stdout } = await run('git', ['-C', git, 'ls-tree', '-r', '-z', '--full-tree', commit], {
    maxBuffer: 1e9,
    encoding: 'latin1',
  })
  const rows = stdout.split('\0').filter((row) => row !== '')
  const kept = rows.filter(
    (_, place) => Math.floor((place * count) / rows.length) !== Math.floor(((place - 1) * count) / rows.length),
  )
  await rm(index, { force: true })
  await new Promise<void>((resolve, reject) => {
    const child = spawn('git', ['-C', git, 'update-index', '-z', '--index-info'], {
      env: { ...process.env, GIT_INDEX_FILE: index },
    })
    child.once('error', reject)
    child.once('close', () => resolve())
    child.stdin.end(Buffer.from(kept.map((row) => `${row}\0`).join(''), 'latin1'))
  })
  return commitTree(
    git,
    (await run('git', ['-C', git, 'write-tree'], { env: { ...process.env, GIT_INDEX_FILE: index } })).stdout.trim(),
  )
}
