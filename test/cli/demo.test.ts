// The demo as a stranger runs it: in a process of its own, on a repository of theirs, to the end.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGitRemote } from '../../src/emulators/git-http-server.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { root, startProgram } from '../support/run-program.js'

const execute = promisify(execFile)
let repository: TestRepository
let temporary: string

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), 'demo-'))
  repository = await makeRepository({
    'README.md': '# Clocks\n\nTells the time in every zone.\n',
    "src/it's a clock.ts":
      'export function tellTime(zone: string): string {\n  return new Date().toLocaleString("en", { timeZone: zone })\n}\n',
  })
})

afterAll(async () => {
  await repository?.[Symbol.asyncDispose]()
  rmSync(temporary, { recursive: true, force: true })
})

const start = (words: string[], environment: Record<string, string> = {}) =>
  startProgram('src/cli/demo.ts', words, { TMPDIR: temporary, ...environment })

test('one JSON document with everything, and citations that exist in that repository', async () => {
  const { code, stdout, stderr } = await start([repository.directory, 'How does tellTime know the zone?', '--json'])
    .ended
  expect(code, stderr).toBe(0)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({
    commit: repository.head,
    question: 'How does tellTime know the zone?',
    handoff: { version: 1, commit: repository.head },
  })
  expect(report.sandboxes.map(({ role }: { role: string }) => role)).toEqual(['summarise', 'ask'])
  const [a, b] = report.sandboxes
  expect(a.killed <= b.created).toBe(true)
  expect(b.killed).toEqual(expect.any(String))
  expect(report.citations.length).toBeGreaterThan(0)
  for (const { path, from, to } of report.citations) {
    const lines = (await repository.git('show', `${report.commit}:${path}`)).split('\n')
    expect(from).toBeGreaterThan(0)
    expect(to).toBeLessThanOrEqual(lines.length)
  }
  expect(Object.keys(report)).toEqual(expect.arrayContaining(['run', 'runDirectory', 'summary', 'answer', 'timings']))
})

test('plain lines where there is no terminal, and A is gone before B is there', async () => {
  const { code, stdout } = await start([repository.directory, 'How does tellTime know the zone?'], { NO_COLOR: '1' })
    .ended
  expect(code).toBe(0)
  expect(stdout).not.toContain('\u001b')
  expect(stdout.split('\n').filter((line) => line.startsWith('  model'))[0]).toContain('offline-extractive')
  const order = [
    '▲ Sandbox A',
    '▼ Sandbox A',
    '▲ Sandbox B',
    '▼ Sandbox B',
    'Answer',
    'Sources',
    'Run directory',
    'Time and tokens',
  ].map((text) => stdout.indexOf(text))
  expect(order).toEqual([...order].sort((x, y) => x - y))
})

test.each([
  [['/nowhere/at/all'], 'There is nothing at /nowhere/at/all.'],
  [['https://user:secret@example.org/a/b'], 'carries a credential'],
  [['.', '--', '--'.repeat(3_000)], 'at most 4,000 are taken'],
  [['--verbose'], "Unknown option '--verbose'"],
])('%j ends with one sentence and what to do', async (words, sentence) => {
  const { code, stdout, stderr } = await start(words as string[]).ended
  expect(code).toBe(1)
  expect(stderr).toContain(sentence)
  expect(stderr).not.toContain('secret@')
  expect(stderr).not.toContain('    at ')
  expect(stdout).not.toContain('Sandbox A ')
})

// That each of them ends is what is looked at: a server that was started would keep the process.
test.each<[Record<string, string>, string]>([
  [{ LLM_API_KEY: 'x', LLM_BASE_URL: 'http://127.0.0.1:1/v1' }, 'LLM_MODEL'],
  [{ LLM_MODEL: 'offline-none' }, 'There is no local model offline-none.'],
  [{ DRIVE9_API_KEY: 'x', DRIVE9_SERVER: 'foo' }, 'DRIVE9_SERVER is not an http(s) address'],
  [{ E2B_API_KEY: 'e2b_none', E2B_API_URL: '' }, 'cannot reach drive9 on this machine'],
])('with the settings %j it ends with the reason', async (environment, reason) => {
  const { code, stderr } = await start([repository.directory], environment).ended
  expect(code).toBe(1)
  expect(stderr).toContain(reason)
  expect(stderr).not.toContain('    at ')
})

/** Some machines do not let a process make a user namespace. */
const canUnshare = spawnSync('unshare', ['--user', '--map-root-user', 'true']).status === 0

test.skipIf(!canUnshare)('root of a user namespace with a single uid, as agents have it, gets through', async () => {
  const { stdout } = await execute(
    'unshare',
    ['--user', '--map-root-user', process.execPath, '--import', './src/build/ts-loader.mjs', 'src/cli/demo.ts'].concat(
      repository.directory,
      'How does tellTime know the zone?',
      '--json',
    ),
    { cwd: root, env: { PATH: process.env['PATH'], CI: 'true', TMPDIR: temporary } },
  )
  expect(JSON.parse(stdout).citations.length).toBeGreaterThan(0)
})

test('a repository that wants a credential is read with HANDOFF_CLONE_TOKEN', async () => {
  const password = 'clone-secret-5a1c07de93b2'
  const credentials = { username: 'x-access-token', password }
  await using remote = await startGitRemote({ repositories: { 'octo/clocks': repository.directory }, credentials })
  const words = [remote.cloneUrl('octo/clocks'), 'How does tellTime know the zone?']
  const { code, stdout, stderr } = await start(words, { HANDOFF_CLONE_TOKEN: password }).ended
  expect(code, stdout).toBe(0)
  expect(stdout + stderr).not.toContain(password)
})
