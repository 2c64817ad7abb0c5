// Asking from a terminal, about one commit and about what changed between two.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { summarise } from '../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../support/local-stack.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { runProgram } from '../support/run-program.js'

let stack: LocalStack
let repository: TestRepository

beforeAll(async () => {
  repository = await makeRepository([
    { 'src/price.ts': 'export function priceOf(weight: number): number {\n  return weight * 2\n}\n' },
    { 'src/price.ts': 'export function priceOf(weight: number): number {\n  return weight * 3 + 1\n}\n' },
  ])
  stack = await startLocalStack({
    repositories: { 'octo/shop': repository.directory },
    repeated: { searchFor: 'How is priceOf computed from the weight?' },
  })
  const never = new AbortController().signal
  for (const sha of repository.commits) {
    await summarise({ commit: stack.commit('octo/shop', sha, 'refs/heads/main'), attempt: 'one' }, stack.context, never)
  }
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const run = (...words: string[]) =>
  runProgram('src/cli/ask.ts', words, { ...stack.clouds.settings, DRIVE9_ROOT: '/handoff' })

const where = () => [
  '--repository',
  'octo/shop',
  '--host',
  'git.example.org',
  '--clone-url',
  stack.remote.cloneUrl('octo/shop'),
]

test('a question about a branch is answered with its sources', async () => {
  const { code, stdout, stderr } = await run(...where(), 'What does priceOf return?')
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('What does priceOf return?')
  expect(stdout).toContain('src/price.ts')
})

test('a question about two commits names both', async () => {
  const [older, newer] = repository.commits as [string, string]
  const { code, stdout, stderr } = await run(
    ...where(),
    '--of',
    newer,
    '--compare-with',
    older,
    '--json',
    'What changed in priceOf?',
  )
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ status: 'done', commit: newer, compareWith: { commit: older } })
})

test.each([
  [['--repository', 'octo/shop'], 'npm run ask needs "question".'],
  [['What is it?'], 'The repository is missing.'],
  [['--repository', 'octo', 'What?'], 'is not a repository name'],
  [['--nonsense', 'What?'], 'nonsense'],
])('%j ends with one sentence', async (words, sentence) => {
  const { code, stderr } = await run(...(words as string[]))
  expect(code).toBe(1)
  expect(stderr).toContain(sentence)
  expect(stderr).not.toContain('    at ')
})
