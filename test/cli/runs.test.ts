// Listing and reading runs from a terminal, and the line that mounts one.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerQuestion, layout, type SummariseResult, summarise } from '../../src/handoff/index.js'
import { changeCorrections } from '../../src/handoff/store/correction-store.js'
import { madeByTest } from '../support/call-log.js'
import { type LocalStack, startLocalStack } from '../support/local-stack.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { runProgram } from '../support/run-program.js'

const shop = 'octo/shop'
const never = new AbortController().signal
let stack: LocalStack
let repository: TestRepository
let runs: SummariseResult[]
let answer: string

beforeAll(async () => {
  repository = await makeRepository([
    { 'src/price.ts': 'export function priceOf(weight: number): number {\n  return weight * 2\n}\n' },
    {
      'src/price.ts': 'export function priceOf(weight: number): number {\n  return weight * 2\n}\n',
      'pay/charge.ts': 'export function charge(price: number): number {\n  return price\n}\n',
    },
  ])
  // drive9 says in whole seconds when a file was written, so each run has a second of its own.
  let ahead = 0
  const clouds = { drive: { now: () => Date.now() + ahead } }
  stack = await startLocalStack({ repositories: { [shop]: repository.directory }, clouds })
  runs = []
  for (const sha of repository.commits) {
    ahead += 2_000
    runs.push(
      await summarise({ commit: stack.commit(shop, sha, 'refs/heads/main'), attempt: 'one' }, stack.context, never),
    )
  }
  const { record } = await answerQuestion(
    {
      repository: stack.commit(shop, repository.head).repository,
      cloneUrl: stack.remote.cloneUrl(shop),
      name: { run: runs[1]!.run },
      question: { text: 'What does charge do?' },
    },
    stack.context,
    never,
  )
  answer = record.id
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

/** Drive9's settings and no other: these commands need no sandbox and no model. */
const settings = () => {
  const { DRIVE9_API_KEY = '', DRIVE9_SERVER = '' } = stack.clouds.settings
  return { DRIVE9_API_KEY, DRIVE9_SERVER, DRIVE9_ROOT: '/handoff' }
}
const where = () => ['--host', 'git.example.org', '--clone-url', stack.remote.cloneUrl(shop)]
const run = async (command: string, ...words: string[]) => {
  const { code, stdout, stderr } = await runProgram(`src/cli/${command}.ts`, [...where(), ...words], settings())
  expect(code, stderr).toBe(0)
  return { stdout, stderr }
}

test('runs are listed, the newest first, in pages', async () => {
  const [older, newer] = runs as [SummariseResult, SummariseResult]
  const first = await run('runs', shop, '--limit', '1')
  expect(first.stdout).toContain(newer.run)
  expect(first.stdout).not.toContain(older.run)
  const cursor = /More with --after (\S+)/.exec(first.stdout)![1]!
  const second = await run('runs', shop, '--limit', '1', '--after', cursor)
  expect(second.stdout).toMatch(new RegExp(`^\\S+ \\S+  ${older.run}  main  1 files`))
  expect(second.stdout).not.toContain('--after')
})

test('a branch names its newest run, whose summary is printed', async () => {
  const { stdout } = await run('runs', shop, 'main')
  expect(stdout).toContain(`# octo/shop at ${repository.head}`)
  expect(stdout).toContain('`pay/charge.ts` exports `charge`.')
})

test('a correction stands at its statement, in a summary and between two runs', async () => {
  const { commit, sections } = runs[0]!.statements!
  const [place] = sections.flatMap(({ statements }) => statements).flatMap(({ citations }) => citations)
  const text = `${place!.path}:${place!.from} It is times four.`
  const correction = { id: 'issue-1', at: '2026-11-19T10:00:00.000Z', by: 'wanda', text, commit, places: [place!] }
  const list = layout('/handoff', stack.commit(shop, commit).repository)
  const { drive } = stack.context.ports
  await changeCorrections(drive, list, (found) => (found.length > 0 ? found : [correction]), never)
  try {
    const { stdout } = await run('runs', shop, 'main')
    expect(stdout).toMatch(/`src\/price\.ts:[\d-]+` \(\*\*Correction\*\* by `wanda`, 2026-11-19: .*times four\.\)/)
    const between = await run('runs', shop, 'main', '--since', commit)
    expect(between.stdout).toMatch(
      /^= .*\n {4}correction by wanda, 2026-11-19: src\/price\.ts:\d+ It is times four\.$/m,
    )
  } finally {
    await changeCorrections(drive, list, (found) => (found.length === 0 ? found : []), never)
  }
})

test('what the summary says anew since an earlier run is printed with a plus', async () => {
  const { stdout } = await run('runs', shop, 'main', '--since', repository.commits[0]!)
  expect(stdout).toMatch(/^\+ `pay\/charge\.ts` exports `charge`\.$/m)
  expect(stdout).toMatch(/^[1-9]\d* statements are the same\.$/m)
  expect(stdout).not.toMatch(/^[+-] .*src\/price\.ts/m)
  const back = await run('runs', shop, repository.commits[0]!, '--since', 'main')
  expect(back.stdout).toMatch(/^- `pay\/charge\.ts` exports `charge`\.$/m)
})

test('answers are listed, and one is printed with its sources', async () => {
  const list = await run('runs', shop, 'main', '--answers')
  expect(list.stdout).toMatch(new RegExp(`${answer}  done     What does charge do\\?`))
  const one = await run('runs', shop, 'main', '--answer', answer)
  expect(one.stdout).toContain('pay/charge.ts')
  const { stdout } = await run('runs', shop, 'main', '--answer', answer, '--json')
  expect(JSON.parse(stdout)).toMatchObject({ id: answer, status: 'done' })
})

test.each([
  [['octo/none'], 'No run is here.'],
  [['octo/shop', '--answers'], 'The run is missing.'],
  [['octo/shop', 'main', '--answer', '0'.repeat(32)], 'has no answer'],
  [['octo/shop', '--limit', '0'], '--limit is not a number'],
  [['octo/shop', 'elsewhere'], 'elsewhere'],
])('%j ends with one sentence', async (words, sentence) => {
  const { stdout, stderr } = await runProgram('src/cli/runs.ts', [...where(), ...words], settings())
  expect(stdout + stderr).toContain(sentence)
  expect(stderr).not.toContain('    at ')
})

test('without a key the command says which setting is missing', async () => {
  const { code, stderr } = await runProgram('src/cli/runs.ts', [shop], {})
  expect(code).toBe(1)
  expect(stderr).toContain('DRIVE9_API_KEY')
})

test('the line that mounts a run carries a token that reads this run and nothing else', async () => {
  const { stdout, stderr } = await run('mount', shop, 'main', "my run's directory", '--hours', '2')
  const directory = runs[1]!.directory
  expect(stdout).toContain(
    ` --read-only --server ${stack.clouds.settings['DRIVE9_SERVER']} :${directory} 'my run'\\''s directory'`,
  )
  const token = /DRIVE9_API_KEY=(\S+)/.exec(stdout)![1]!
  expect(token).not.toBe(stack.clouds.settings['DRIVE9_API_KEY'])
  expect(stderr).not.toContain(token)
  const ask = (path: string, method = 'GET') =>
    fetch(`${stack.clouds.settings['DRIVE9_SERVER']}/v1/fs${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, [madeByTest]: '1' },
      ...(method === 'PUT' ? { body: 'x' } : {}),
    }).then(({ status }) => status)
  expect(await ask(`${directory}/README.md`)).toBe(200)
  expect(await ask(`${runs[0]!.directory}/README.md`)).toBe(403)
  expect(await ask(`${directory}/README.md`, 'PUT')).toBe(403)
})
