// What the demo takes for a repository: a path, an address, a name on GitHub; and what it says where git finds none.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClouds } from '../../src/cli/resolve-clouds.js'
import { namesTarget, readTarget, resolveTarget } from '../../src/cli/resolve-repository.js'
import { startGitRemote } from '../../src/emulators/git-http-server.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { startProgram } from '../support/run-program.js'

let repository: TestRepository
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'target-'))
  repository = await makeRepository([{ 'README.md': '# One\n' }, { 'README.md': '# Two\n' }], {
    refs: { 'refs/heads/feature/clock': 0 },
    tags: { 'v1.0': 0 },
  })
})

afterAll(async () => {
  await repository?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const demo = (words: string[], environment: Record<string, string> = {}) =>
  startProgram('src/cli/demo.ts', words, environment).ended

test.each([
  ['git is not installed', { PATH: '/nonexistent' }, 'There is no git on this machine.', 'Install git'],
  [
    'the repository belongs to another user',
    { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' },
    'belongs to another user',
    'git config --global --add safe.directory ',
  ],
])('where %s the demo says so and how to go on', async (_, environment, sentence, next) => {
  const { code, stderr } = await demo([repository.directory], environment)
  expect(code).toBe(1)
  expect(stderr).toContain(sentence)
  expect(stderr).toContain(next)
  expect(stderr).not.toContain('is not a git repository')
})

test('another failure of git is reported in its own words; a folder without a repository is called that', async () => {
  const broken = await makeRepository({ 'a.txt': 'a\n' })
  writeFileSync(join(broken.directory, 'config'), 'nonsense [\n')
  await expect(readTarget(broken.directory)).rejects.toThrow(/git cannot read .*bad config line 1/)
  await broken[Symbol.asyncDispose]()
  await expect(readTarget(folder)).rejects.toThrow('is not a git repository')
})

test('a git that is killed is no repository without a commit', async () => {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const script = '#!/bin/sh\ncase "$*" in *--verify*) kill -9 $$ ;; esac\nPATH=${PATH#*:} exec git "$@"\n'
  writeFileSync(join(bin, 'git'), script, { mode: 0o755 })
  const { stderr } = await demo([repository.directory], { PATH: `${bin}:${process.env['PATH']}` })
  expect(stderr).toContain(`git cannot read ${repository.directory}: “SIGKILL”`)
})

test.each([
  ['owner/name', 'https://github.com/owner/name.git', undefined],
  ['git@github.com:owner/name.git', 'https://github.com/owner/name.git', undefined],
  ['git@git.example.org:/group/name', 'https://git.example.org/group/name.git', undefined],
  ['https://github.com/owner/name/', 'https://github.com/owner/name.git', undefined],
  ['https://github.com/owner/name/tree/main', 'https://github.com/owner/name.git', 'main'],
  ['https://github.com/owner/name/tree/a%20b/c/', 'https://github.com/owner/name.git', 'a b/c'],
  ['https://gitlab.com/group/sub/name/-/tree/main', 'https://gitlab.com/group/sub/name.git', 'main'],
  ['https://github.com/owner/tree', 'https://github.com/owner/tree.git', undefined],
])('%s is the repository %s', async (text, url, at) => {
  expect(await readTarget(text)).toMatchObject({ kind: 'url', url, ...(at === undefined ? {} : { at }) })
})

test('a single argument with words is a question; a name, an address or a path is not', () => {
  expect(['How does it start?', 'what is this', 'これは何ですか？', 'Why?'].map(namesTarget)).toEqual([
    false,
    false,
    false,
    false,
  ])
  expect(
    ['owner/name', './my clone', folder, 'https://x.org/a b', 'git@x.org:a/b', 'nowhere'].map(namesTarget),
  ).toEqual(Array(6).fill(true))
})

test('the demo takes a question alone as one about this repository', async () => {
  const { code, stderr } = await demo([`What does it do? ${'x'.repeat(4_000)}`])
  expect(code).toBe(1)
  expect(stderr).toContain('at most 4,000 are taken')
})

test('the branch, tag or commit in an address is the one that is read', async () => {
  await using remote = await startGitRemote({ repositories: { 'octo/clocks': repository.directory } })
  await using clouds = await openClouds({})
  const signal = new AbortController().signal
  const base = `${remote.url}/octo/clocks`
  const at = async (path: string) => (await resolveTarget(`${base}${path}`, clouds, signal)).commit
  const [first, second] = repository.commits
  expect(await at('')).toMatchObject({ sha: second, cloneUrl: `${base}.git` })
  expect(await at('/tree/main')).toMatchObject({ sha: second, ref: 'refs/heads/main' })
  expect(await at('/tree/feature/clock/src')).toMatchObject({ sha: first, ref: 'refs/heads/feature/clock' })
  expect(await at('/tree/v1.0')).toMatchObject({ sha: first })
  expect(await at(`/commit/${first}`)).toMatchObject({ sha: first })
  await expect(at('/tree/none')).rejects.toThrow('has no branch or tag called “none”')
})
