import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GitRemote, startGitRemote } from '../../src/emulators/git-http-server.js'
import { makeRepository, type TestRepository } from '../support/repository.js'

const execute = promisify(execFile)
const env = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' }
const big = Buffer.alloc(300_000, 'line of text that git sends in more than one piece\n')

let scratch: string
let repository: TestRepository
let remote: GitRemote

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'git-remote-'))
  repository = await makeRepository([
    { 'read me.md': 'first\n', 'new\nline': 'kept', 'run.sh': { executable: '#!/bin/sh\n' } },
    { 'read me.md': 'second\n', big, link: { symlink: 'read me.md' }, sub: { submodule: '1'.repeat(40) } },
    [[new Uint8Array([0xff, 0xfe]), 'a name that is not UTF-8']],
  ])
  remote = await startGitRemote({ repositories: { 'owner/name': repository.directory } })
})

afterAll(async () => {
  await remote.close()
  await repository[Symbol.asyncDispose]()
  await rm(scratch, { recursive: true, force: true })
})

const git = (...words: string[]) => execute('git', words, { env, cwd: scratch })
const complaint = (done: Promise<unknown>) =>
  done.then(
    () => 'it worked',
    (error: { stderr: string }) => error.stderr,
  )

test('a repository is made with what no work tree would take', async () => {
  const listed = await repository.git('ls-tree', '-r', '-z', 'HEAD')
  expect(listed.split('\0').map((line) => line.split(/[ \t]/).slice(0, 2).join(' '))).toContain('160000 commit')
  expect(listed).toMatch(/120000 blob \w+\tlink/)
  expect(listed).toMatch(/100755 blob \w+\trun\.sh/)
  expect(listed).toContain('\tnew\nline')
  expect(await repository.git('ls-tree', 'HEAD')).toContain('"\\377\\376"')
  expect(await repository.git('show', `${repository.commits[0]}:read me.md`)).toBe('first')
  expect(repository.commits).toHaveLength(3)
  expect(repository.head).toBe(await repository.git('rev-parse', 'main'))
})

test('a commit is added to it, and a repository without commits is possible', async () => {
  await using other = await makeRepository([], { branch: 'trunk' })
  expect(other.head).toBe('')
  const first = await other.commit({ a: '1', b: '2' })
  const second = await other.commit({ a: null }, 'Take a away')
  expect(other.commits).toEqual([first, second])
  expect(await other.git('ls-tree', '--name-only', 'trunk')).toBe('b')
  expect(await other.git('log', '--format=%s', 'trunk')).toBe('Take a away\nCommit 1')
})

test('it is cloned, whole', async () => {
  await git('clone', '--quiet', '--bare', remote.cloneUrl('owner/name'), 'whole.git')
  const { stdout } = await git('-C', 'whole.git', 'rev-parse', 'HEAD')
  expect(stdout.trim()).toBe(repository.head)
})

test('one commit is fetched by its id, shallow, though no ref points to it', async () => {
  await git('init', '--quiet', '--bare', 'one.git')
  await git('-C', 'one.git', 'fetch', '--quiet', '--depth=1', remote.cloneUrl('owner/name'), repository.commits[1]!)
  const { stdout } = await git('-C', 'one.git', 'rev-list', 'FETCH_HEAD')
  expect(stdout.trim()).toBe(repository.commits[1])
})

test('where it may not be asked for by id, it is not given', async () => {
  await using strict = await startGitRemote({
    repositories: { 'owner/name': repository.directory },
    anyCommit: false,
    version2: false,
  })
  await git('init', '--quiet', '--bare', 'strict.git')
  const fetched = git(
    '-C',
    'strict.git',
    'fetch',
    '--quiet',
    '--depth=1',
    strict.cloneUrl('owner/name'),
    repository.commits[0]!,
  )
  expect(await complaint(fetched)).toMatch(/unadvertised object|not our ref/)
})

test('a work tree is served too, and a directory put later', async () => {
  await git('clone', '--quiet', '--no-checkout', repository.directory, 'tree')
  remote.serve('group/sub/tree', join(scratch, 'tree'))
  const { stdout } = await git('ls-remote', remote.cloneUrl('group/sub/tree'), 'HEAD')
  expect(stdout).toContain(repository.head)
})

test('a credential is asked for, and only the right one opens', async () => {
  await using closed = await startGitRemote({
    repositories: { 'owner/name': repository.directory },
    credentials: { username: 'x-access-token', password: 'right' },
  })
  const url = new URL(closed.cloneUrl('owner/name'))
  expect(await complaint(git('ls-remote', url.href))).toMatch(/could not read Username|Authentication failed/)
  url.username = 'x-access-token'
  url.password = 'wrong'
  expect(await complaint(git('ls-remote', url.href))).toContain('Authentication failed')
  url.password = 'right'
  expect((await git('ls-remote', url.href)).stdout).toContain(repository.head)
  expect(closed.requests.map((request) => request.status)).toContain(401)
  closed.require(undefined)
  expect((await git('ls-remote', closed.cloneUrl('owner/name'))).stdout).toContain(repository.head)
})

test('a push is refused, and what is not there is not found', async () => {
  await git('clone', '--quiet', '--bare', remote.cloneUrl('owner/name'), 'pushed.git')
  const pushed = git('-C', 'pushed.git', 'push', remote.cloneUrl('owner/name'), 'HEAD:refs/heads/new')
  expect(await complaint(pushed)).toContain('403')
  expect(await complaint(git('ls-remote', remote.cloneUrl('owner/none')))).toContain('not found')
  expect((await fetch(`${remote.url}/owner/name.git/config`)).status).toBe(404)
  expect((await fetch(`${remote.url}/owner/name.git/../../name.git/HEAD`)).status).toBe(404)
  expect(await repository.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main')
})

test('serving writes nothing into what is served', async () => {
  const config = await readFile(join(repository.directory, 'config'), 'utf8')
  expect(config).not.toMatch(/uploadpack|http\./i)
})

test('faults are made by rule, and requests are recorded', async () => {
  const undo = remote.rule({ path: /upload-pack/, times: 1, fault: { kind: 'answer', status: 503 } })
  expect(await complaint(git('ls-remote', remote.cloneUrl('owner/name')))).toContain('503')
  undo()
  expect((await git('ls-remote', remote.cloneUrl('owner/name'))).stdout).toContain(repository.head)
  expect(remote.requests.at(-1)?.headers['git-protocol']).toBe('version=2')
  const cut = remote.rule({ path: /git-upload-pack$/, times: 2, fault: { kind: 'cut', bytes: 1_000 } })
  expect(await complaint(git('clone', '--quiet', '--bare', remote.cloneUrl('owner/name'), 'cut.git'))).not.toBe(
    'it worked',
  )
  cut()
})
