// A repository made ready for the survey's bench: a bare clone one commit deep, and its work tree.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
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

async function checkOut(
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
