// Branches whose names are too long for a file: their commits are summarised, found by their branch, asked about and pruned like any other.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerQuestion, layout, planPrune, summarise } from '../../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../support/repository.js'

const name = 'octo/long'
const branches = [
  'b'.repeat(240),
  '機能/ユーザー登録画面のバリデーション修正対応',
  '🚀'.repeat(30),
  `${'feature-'.repeat(28)}one`,
  `${'feature-'.repeat(28)}two`,
].map((branch) => `refs/heads/${branch}`)
let stack: LocalStack
let repository: TestRepository

beforeAll(async () => {
  const refs = Object.fromEntries(branches.map((ref) => [ref, 0]))
  repository = await makeRepository({ 'src/token.ts': 'export const refreshToken = () => 1\n' }, { refs })
  stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  // The first one makes the run of the commit; the others point their branches at it.
  for (const [index, ref] of branches.entries()) {
    const commit = stack.commit(name, repository.head, ref)
    const made = await summarise({ commit, attempt: `long-${index}` }, stack.context, never)
    expect(made).toMatchObject({ reused: index > 0, refMoved: true })
  }
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const never = new AbortController().signal

test.each(branches)('%s is asked about', async (ref) => {
  const { repository: asked, cloneUrl } = stack.commit(name, repository.head, ref)
  const question = { text: 'Where is refreshToken?', asker: 'test' }
  const answer = await answerQuestion({ repository: asked, cloneUrl, name: { ref }, question }, stack.context, never)
  expect(answer.record.commit).toBe(repository.head)
})

test('each branch has a file of its own, which says whose it is', () => {
  const place = layout('/handoff', stack.commit(name, repository.head).repository)
  const files = branches.map((ref) => JSON.parse(stack.clouds.drive.readFile(place.ref(ref))!.toString()))
  expect(files).toEqual(branches.map((ref) => ({ version: 1, commit: repository.head, ref })))
})

test('prune knows a long branch by the name in its file, and removes the file of one that is gone', async () => {
  const { repository: asked } = stack.commit(name, repository.head)
  const request = { keepDays: 90, keepRuns: 50, unfinishedHours: 24 }
  const cloneUrl = () => stack.commit(name, repository.head).cloneUrl
  const gone = async () => {
    const plan = await planPrune({ repository: asked, cloneUrl, ...request }, stack.context, never)
    return plan.repositories.flatMap(({ items }) => items.map(({ name: ref }) => ref))
  }
  expect(await gone()).toEqual([])
  await repository.git('update-ref', '-d', branches[0]!)
  expect(await gone()).toEqual([branches[0]])
  await repository.git('update-ref', branches[0]!, repository.head)
})
