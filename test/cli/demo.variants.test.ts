// The demo with other settings, as another user, and on a repository that wants a credential.
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
    'src/clock.ts': 'export const tellTime = (zone: string) => new Date().toLocaleString("en", { timeZone: zone })\n',
  })
})

afterAll(async () => {
  await repository?.[Symbol.asyncDispose]()
  rmSync(temporary, { recursive: true, force: true })
})

const start = (words: string[], environment: Record<string, string> = {}) =>
  startProgram('src/cli/demo.ts', words, { TMPDIR: temporary, ...environment })

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
