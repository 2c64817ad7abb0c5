// The commits that the evaluation asks about, with what the survey says of them.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Outline } from '../handoff/domain/survey.js'
import { HandoffError } from '../handoff/index.js'
import type { CommitSource } from '../handoff/sandbox/program/search/commit-source.js'
import { survey } from '../handoff/sandbox/program/survey/index.js'
import type { Question } from './search-quality-types.js'
import { openStored, storeCommit } from './stored-commit.js'

const execute = promisify(execFile)

function gitDirectoryOf(folder: string, repository: string): string {
  const [owner = '', name = ''] = repository.split('/')
  const places = [name, `${owner}+${name}`].flatMap((folderName) =>
    ['', '.git', 'repo', 'repo/.git'].map((inner) => join(folder, folderName, inner)),
  )
  const found = places.find((place) => existsSync(join(place, 'HEAD')) && existsSync(join(place, 'objects')))
  if (found) return found
  throw new HandoffError('not-found', `There is no clone of ${repository} in ${folder}.`, {
    next: `Put one there as ${name} or ${owner}+${name}.`,
  })
}

export interface Ground {
  gitDirectory: string
  commit: string
  /** What Sandbox B searches. */
  source: CommitSource
}

/** Questions of one commit follow one another, so one is enough. */
let last: { key: string; ground: Ground } | undefined

export async function openGround(
  repositories: string,
  repository: string,
  prefix: string,
  cache: string | undefined,
): Promise<Ground> {
  const key = `${repositories} ${repository}@${prefix}`
  if (last?.key === key) return last.ground
  const gitDirectory = gitDirectoryOf(repositories, repository)
  const { stdout } = await execute('git', ['-C', gitDirectory, 'rev-parse', '--verify', `${prefix}^{commit}`])
  const commit = stdout.trim()
  const stored = await storeCommit(gitDirectory, commit, await outlineOf(gitDirectory, commit, cache))
  const { source } = await openStored(stored, commit)
  const ground = { gitDirectory, commit, source }
  last = { key, ground }
  return ground
}

async function outlineOf(gitDirectory: string, commit: string, cache: string | undefined): Promise<Outline> {
  const kept = cache && join(cache, `${createHash('sha256').update(`${gitDirectory}@${commit}`).digest('hex')}.json`)
  if (kept && existsSync(kept)) return JSON.parse(await readFile(kept, 'utf8'))
  const { outline } = await survey({ gitDirectory, commit, limits: { textBytes: 1_000, include: [], exclude: [] } })
  if (kept) await mkdir(cache!, { recursive: true }).then(() => writeFile(kept, JSON.stringify(outline)))
  return outline
}

export async function readLines<T>(file: string): Promise<T[]> {
  return (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as T)
}

/** The questions of a file, or so many of them, evenly spaced. */
export async function readQuestions(
  { repository: wanted, sample }: { repository?: string | undefined; sample?: string | undefined },
  file: string,
): Promise<Question[]> {
  if (sample !== undefined && !/^\d{1,6}$/.test(sample)) {
    throw new HandoffError('invalid-input', '--sample is not a whole number.', {
      next: 'Write for instance --sample 50.',
    })
  }
  const all = (await readLines<Question>(file)).filter(
    ({ repository }) => !wanted || repository === wanted || repository.endsWith(`/${wanted}`),
  )
  const count = Math.min(all.length, Number(sample ?? all.length))
  return Array.from({ length: count }, (_, index) => all[Math.floor((index * all.length) / count)]!)
}
