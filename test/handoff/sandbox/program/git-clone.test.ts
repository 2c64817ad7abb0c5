// The clone in Sandbox A: one host sees the credential, and the sandbox goes to no other one.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startServer } from '../../../../src/emulators/faulty-server.js'
import { type GitRemote, startGitRemote } from '../../../../src/emulators/git-http-server.js'
import type { SummariseTask } from '../../../../src/handoff/domain/sandbox-protocol.js'
import { clone, fetchBase } from '../../../../src/handoff/sandbox/program/git-clone.js'
import { locateObjects, readObject } from '../../../../src/handoff/sandbox/program/search/stored-objects.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'

const credential = 'a-clone-credential'
let repository: TestRepository
let remote: GitRemote
let work: string

beforeEach(async () => {
  repository = await makeRepository([{ 'a.ts': 'one\n' }, { 'a.ts': 'two\n' }])
  remote = await startGitRemote({
    repositories: { 'octo/tools': repository.directory },
    credentials: { username: 'x-access-token', password: credential },
  })
  work = mkdtempSync(join(tmpdir(), 'clone-'))
})
afterEach(async () => {
  rmSync(work, { recursive: true, force: true })
  await remote.close()
  await repository[Symbol.asyncDispose]()
})

const cloned = (url: string, given = credential) => {
  const task = { clone: { url, sha: repository.head }, repositoryName: 'tools' } as SummariseTask
  return clone(task, work, given, undefined)
}

test('a commit is cloned with the credential, and its base as well', async () => {
  const url = remote.cloneUrl('octo/tools')
  const local = await cloned(url)
  expect(await fetchBase(local, url, repository.commits[0]!, work, credential, undefined)).toBe(true)
  expect(await fetchBase(local, url, 'b'.repeat(40), work, credential, undefined)).toBe(false)
})

test('in the tar all trees stand before all files, and no tag is left', async () => {
  await using deep = await makeRepository(
    Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`dir${at}/file.ts`, `export const value = ${at}\n`])),
  )
  const other = await startGitRemote({ repositories: { 'octo/deep': deep.directory } })
  const task = { clone: { url: other.cloneUrl('octo/deep'), sha: deep.head }, repositoryName: 'deep' } as SummariseTask
  const { tar } = await clone(task, work, '', undefined).finally(() => other.close())
  const { places } = await locateObjects(tar, deep.head)
  const bytes = readFileSync(tar)
  const kinds = [...places.values()]
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, length }) => readObject(bytes.subarray(offset, offset + length)).kind)
  expect(kinds).toEqual(['commit', ...Array(10).fill('tree'), ...Array(9).fill('blob')])
  expect(execFileSync('tar', ['-tf', tar], { encoding: 'utf8' })).not.toMatch(/tags\/./)
})

test('without the credential the clone is refused', async () => {
  await expect(cloned(remote.cloneUrl('octo/tools'), '')).rejects.toMatchObject({ failure: 'clone-refused' })
})

test('a redirect of the git host is not followed, for the commit and for its base', async () => {
  remote.require(undefined)
  const redirecting = await startServer('redirecting', async ({ path }) => ({
    status: 302,
    headers: { location: `${remote.url}${path}` },
    body: '',
  }))
  const url = `${redirecting.url}/octo/tools.git`
  await expect(cloned(url, 'another-credential')).rejects.toMatchObject({ failure: 'clone-failed' })
  const local = { directory: join(work, 'tools.git'), tar: '' }
  expect(await fetchBase(local, url, repository.commits[0]!, work, 'another-credential', undefined)).toBe(false)
  expect(redirecting.requests.length).toBeGreaterThan(1)
  expect(remote.requests).toEqual([])
  await redirecting.close()
})
