// Names of repositories on GitHub have no case. What is summarised under one spelling is found under each, and so is what was stored when a
// directory was named as the repository was spelled.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { layoutAsSpelled, olderLayout } from '../../../src/handoff/domain/run.js'
import {
  answerQuestion,
  layout,
  planPrune,
  prune,
  type SummariseResult,
  summarise,
} from '../../../src/handoff/index.js'
import { listRepositories, listRuns, staleSince } from '../../../src/handoff/workflows/browse.js'
import { type LocalStack, startLocalStack } from '../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../support/repository.js'

const spelled = 'Octo/Tools'
const spellings = [spelled, 'octo/tools', 'OCTO/Tools']
const never = new AbortController().signal
const ref = 'refs/heads/first'
let stack: LocalStack
let repository: TestRepository
let made: SummariseResult

beforeAll(async () => {
  const files = [1, 2].map((count) => ({ 'src/token.ts': `export const refreshToken = () => ${count}\n` }))
  repository = await makeRepository(files, { refs: { [ref]: 0 } })
  stack = await startLocalStack({
    repositories: { [spelled]: repository.directory },
    repeated: { searchFor: 'Where is refreshToken?' },
  })
}, 60_000)

afterEach(() => stack.clouds.drive.remove('/handoff'))

beforeEach(async () => {
  await repository.git('update-ref', ref, repository.commits[0]!)
  made = await summarised(spelled, 0, 'first')
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const summarised = (name: string, index: number, attempt: string) =>
  summarise(
    {
      commit: stack.commit(name, repository.commits[index]!, index === 0 ? ref : 'refs/heads/main'),
      attempt,
      reuseFrom: { refs: [ref] },
    },
    stack.context,
    never,
  )

const asked = (name: string, about: { run: string } | { commit: string } | { ref: string }, text: string) => {
  const { repository: where } = stack.commit(name, repository.head)
  return answerQuestion({ repository: where, name: about, question: { text, asker: 'test' } }, stack.context, never)
}

const paths = () => stack.clouds.drive.tree('/handoff').map(({ path }) => path)
const where = () => stack.commit(spelled, repository.head).repository
const asSpelled = () => layoutAsSpelled('/handoff', where())

test('a repository has one directory, in lower case, and keeps its name where it is shown', () => {
  expect(paths().filter((path) => /Octo|Tools(?!\.git\.tar)/.test(path))).toEqual([])
  expect(made.directory).toBe(layout('/handoff', where()).run(made.run))
  expect(made.directory).toMatch(/\/octo\/tools\/runs\//)
  expect(made.handoff.repository).toBe(spelled)
  expect(made.handoff.artifacts.map(({ path }) => path)).toContain('project/Tools.git.tar')
  expect(olderLayout('/handoff', stack.commit('octo/tools', repository.head).repository)).toBeUndefined()
})

test('it is found under each spelling, by its run, its commit and its branch, and one answer serves all', async () => {
  const ids: string[] = []
  for (const name of spellings) {
    for (const about of [{ run: made.run }, { commit: repository.commits[0]! }, { ref }]) {
      const { record, run } = await asked(name, about, 'Where is refreshToken?')
      expect([name, run.handoff.run, run.handoff.repository]).toEqual([name, made.run, spelled])
      ids.push(record.id)
    }
  }
  expect(new Set(ids).size).toBe(1)
  expect(await summarised('OCTO/tools', 0, 'again')).toMatchObject({ reused: true, run: made.run })
})

/** Keeps the repository as runs were stored before names were in lower case. */
function moveToOlder(): void {
  const { drive } = stack.clouds
  const now = layout('/handoff', where()).repository
  for (const { path, isDirectory } of drive.tree(now))
    if (!isDirectory) drive.write(path.replace(now, asSpelled().repository), drive.readFile(path)!)
  drive.remove(now)
}

test('an old directory is read under each spelling, keeps its answers, and is built on by the next commit', async () => {
  const { drive } = stack.clouds
  const now = layout('/handoff', where()).repository
  moveToOlder()
  for (const name of spellings) {
    const { record, run } = await asked(name, { run: made.run }, 'Where is refreshToken?')
    expect([name, run.directory, record.commit]).toEqual([name, asSpelled().run(made.run), repository.commits[0]])
    expect((await asked(name, { ref }, `Where is refreshToken in ${name}?`)).run.directory).toBe(run.directory)
    const { repository: one } = stack.commit(name, repository.head)
    const { items } = await listRuns(stack.context, one, { limit: 5 }, never)
    expect(items.map(({ run: id }) => id)).toEqual([made.run])
  }
  expect(paths().filter((path) => path.startsWith(now))).toEqual([])
  expect(await summarised(spelled, 0, 'unused')).toMatchObject({ reused: true, directory: asSpelled().run(made.run) })
  const from = drive.requests.length
  const next = await summarised(spelled, 1, 'second')
  expect(next.reused).toBe(false)
  // What was written about the earlier commit is read, so that it need not be written again.
  const read = drive.requests.slice(from).filter(({ method, status }) => method === 'GET' && status === 200)
  expect(read.filter(({ path }) => path.includes(`${asSpelled().run(made.run)}/analysis/notes.json`))).toHaveLength(1)
  expect(next.directory).toBe(layout('/handoff', where()).run(next.run))
  // Both are there now, and each commit has its own.
  for (const name of spellings)
    for (const [index, { run }] of [made, next].entries())
      expect((await asked(name, { commit: repository.commits[index]! }, 'What is it?')).run.handoff.run).toBe(run)
  const { items } = await listRuns(stack.context, where(), { limit: 5 }, never)
  expect(items.map(({ run }) => run).sort()).toEqual([made.run, next.run].sort())
}, 120_000)

test('prune takes up both directories, by the name of the repository and by looking for all', async () => {
  const { context } = stack
  moveToOlder()
  await summarised(spelled, 1, 'second')
  const request = { keepDays: 0, keepRuns: 0, unfinishedHours: 1 }
  const plan = await planPrune({ repository: where(), ...request }, context, never)
  const all = await planPrune(request, context, never)
  const named = (one: typeof plan) =>
    one.repositories.map(({ repository: { owner, name } }) => `${owner}/${name}`).sort()
  expect(named(plan)).toEqual(['Octo/Tools', 'octo/tools'])
  expect(named(all)).toEqual(named(plan))
  expect((await listRepositories(context, where().host, never)).sort()).toEqual(named(plan))
  const outcomes = await prune(plan, context, never)
  expect(outcomes.filter(({ outcome }) => outcome === 'failed')).toEqual([])
})

test('an answer of an old directory is stale once its branch has moved there, under each spelling', async () => {
  const { run } = made
  const { record } = await asked(spelled, { run }, 'Where is refreshToken?')
  await repository.git('update-ref', ref, repository.head)
  await summarise({ commit: stack.commit(spelled, repository.head, ref), attempt: 'after' }, stack.context, never)
  moveToOlder()
  for (const name of spellings) {
    const found = await asked(name, { run }, 'Where is refreshToken?')
    expect([name, found.reused, found.record.id]).toEqual([name, true, record.id])
    const stale = await staleSince(stack.context, undefined, found.run, found.record, never)
    expect([
      name,
      stale?.head,
      stale?.citations.filter(({ verdict }) => verdict === 'changed').map(({ path }) => path),
    ]).toEqual([name, repository.head, ['src/token.ts']])
  }
})
