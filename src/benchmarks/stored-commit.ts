// A commit as Sandbox A stores it, without a sandbox, and the source that Sandbox B searches.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Outline } from '../handoff/domain/survey.js'
import { pack } from '../handoff/sandbox/program/git-clone.js'
import type { CommitSource } from '../handoff/sandbox/program/search/commit-source.js'
import { makeIndex } from '../handoff/sandbox/program/search/make-index.js'
import type { StoredFile } from '../handoff/sandbox/program/search/stored-file.js'
import type { Place } from '../handoff/sandbox/program/search/stored-objects.js'
import { openStoredSource } from '../handoff/sandbox/program/search/stored-source.js'

const execute = promisify(execFile)

export interface StoredCommit {
  table: Buffer
  pages: Buffer
  tar: Buffer
  /** Processor time that the index took. */
  indexMs: number
}

export async function storeCommit(repository: string, commit: string, outline: Outline): Promise<StoredCommit> {
  const work = await mkdtemp(join(tmpdir(), 'stored-'))
  try {
    const git = (...words: string[]) => execute('git', ['-C', work, ...words])
    const directory = join(work, 'tools.git')
    const serve = 'git -c uploadpack.allowAnySHA1InWant=true upload-pack'
    await git('init', '--quiet', '--bare', '--initial-branch=main', directory)
    const fetch = ['fetch', '--quiet', '--depth=1', '--no-tags', `--upload-pack=${serve}`, `file://${repository}`]
    await git('-C', directory, ...fetch, `${commit}:refs/heads/main`)
    const tar = await pack(work, 'tools', undefined)
    const before = process.cpuUsage()
    const index = await makeIndex({ directory, commit, tar, readOutline: async () => outline })
    const { user, system } = process.cpuUsage(before)
    return { ...index, tar: await readFile(tar), indexMs: (user + system) / 1e3 }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** `read` has the ranges of the tar that were read. */
export async function openStored(
  { table, pages, tar }: StoredCommit,
  commit: string,
): Promise<{ source: CommitSource; read: Place[] }> {
  const read: Place[] = []
  const rangesOf = (bytes: Buffer, note?: Place[]): StoredFile => ({
    async read(place) {
      note?.push(place)
      return bytes.subarray(place.offset, place.offset + place.length)
    },
  })
  return {
    source: await openStoredSource(
      { table: Promise.resolve(table), pages: rangesOf(pages), tar: rangesOf(tar, read) },
      commit,
    ),
    read,
  }
}
