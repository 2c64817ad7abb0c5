// `npm run prune` as an operator meets it: first it says what it would do, then it does it.
import { beforeEach, expect, test } from 'vitest'
import { runProgram } from '../support/run-program.js'
import { makeStoredRuns, type StoredRuns, sha } from '../support/stored-runs.js'

let there: StoredRuns

beforeEach(async () => {
  there = await makeStoredRuns()
  there.time.now = Date.now()
  await there.sealed(sha(1), { days: 100 })
  await there.sealed(sha(2), { days: 1, ref: 'refs/heads/main' })
  return () => there[Symbol.asyncDispose]()
})

const command = (...words: string[]) =>
  runProgram('src/cli/prune.ts', words, {
    DRIVE9_API_KEY: there.drive.ownerKey,
    DRIVE9_SERVER: there.drive.url,
    DRIVE9_ROOT: '/handoff',
  })

const one = ['--repository', 'octo/tools', '--host', 'git.example.org', '--no-git']

test('without --yes it says what would go, and why, and nothing goes', async () => {
  const before = there.files()
  const { code, stdout } = await command(...one)
  expect(code).toBe(0)
  expect(stdout).toContain('git.example.org/octo/tools: 1 sealed run stays, 1 sealed run would go: 5 files,')
  expect(stdout).toContain(`sealed run ${sha(1)}-first (sealed 100 days ago; `)
  expect(stdout).toContain('Nothing was done. Run it again with --yes')
  expect(there.files()).toEqual(before)
})

test('with --yes and --json it does it, and says so as data', async () => {
  const { code, stdout } = await command('--json', '--yes', '--no-git')
  expect(code).toBe(0)
  const said = JSON.parse(stdout)
  expect(said).toMatchObject({
    total: { items: 1, files: 5 },
    done: [{ repository: 'git.example.org/octo/tools', kind: 'run', name: `${sha(1)}-first`, outcome: 'removed' }],
  })
  expect(said.repositories[0].kept).toEqual([{ run: `${sha(2)}-first`, why: 'the newest of refs/heads/main' }])
  expect(there.files().some((path) => path.includes(sha(1)))).toBe(false)
  const again = await command(...one)
  expect(again.stdout).toContain('There is nothing to do.')
})

test('what a failed attempt left goes after an hour when nothing else is asked for', async () => {
  const failed = there.attempt(sha(3))
  there.time.now = Date.now()
  const words = [...one, '--keep-days', '365']
  expect((await command(...words)).stdout).toContain('There is nothing to do.')
  const path = `${there.place.run(failed)}/.handoff-marker`
  there.time.now = Date.now() - 2 * 3_600_000
  there.drive.write(path, 'older')
  expect((await command(...words)).stdout).toContain(`attempt ${failed} (never finished; `)
})

test('what makes no sense is refused in a sentence, before anything is asked', async () => {
  const table: [string[], string][] = [
    [['--keep-days', 'many'], '--keep-days is not a whole number.'],
    [['--clone-url', 'https://x/y.git'], '--clone-url is the address of one repository.'],
    [['--all'], "Unknown option '--all'"],
  ]
  const before = there.drive.requests.length
  const said = await Promise.all(table.map(([words]) => command(...words)))
  expect(said.map(({ code, stdout }) => ({ code, stdout }))).toEqual(table.map(() => ({ code: 1, stdout: '' })))
  for (const [index, [, sentence]] of table.entries()) expect(said[index]!.stderr).toContain(sentence)
  expect(there.drive.requests).toHaveLength(before)
})
