// An example to copy: one commit is summarised, one question is asked, everything on this machine.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { answerQuestion, type SummariseResult, summarise } from '../src/handoff/index.js'
import { type LocalStack, startLocalStack } from './support/local-stack.js'
import { makeRepository, type TestRepository } from './support/repository.js'

const name = 'octo/clock'
const deadline = AbortSignal.timeout(300_000)
let repository: TestRepository
let stack: LocalStack
let run: SummariseResult

beforeAll(async () => {
  // A real git repository from an object of files.
  repository = await makeRepository({
    'README.md': '# Clock\n\nTells the time.\n',
    'src/clock.ts': 'export function tellTime(): string {\n  return new Date().toISOString()\n}\n',
  })
  // Emulators of E2B, drive9 and the model, a git server, and a context that uses them.
  stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  run = await summarise({ commit: stack.commit(name, repository.head), attempt: 'first' }, stack.context, deadline)
})

// Closing fails the test if a sandbox is alive, a request was unknown, or a secret stands where it must not.
afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

// Tests run in any order, so each leaves the model as it found it.
afterEach(() => stack.clouds.model.clearBehaviours())

const ask = (text: string) =>
  answerQuestion(
    {
      repository: stack.commit(name, repository.head).repository,
      cloneUrl: stack.remote.cloneUrl(name),
      name: { run: run.run },
      question: { text },
    },
    stack.context,
    deadline,
  )

test('an answer cites a line that holds', async () => {
  const { record } = await ask('How does tellTime know the time?')
  expect(record.citations).toContainEqual(expect.objectContaining({ path: 'src/clock.ts', verified: true }))
})

test('a citation of lines that the model was not shown is dropped', async () => {
  // The emulated model replies with this text.
  stack.clouds.model.setBehaviour(
    { kind: 'say', text: 'It asks a server. [[src/server.ts:1-2 "fetch"]]' },
    { task: 'answer' },
  )
  const { record } = await ask('Which server does it ask?')
  expect(record.citations).toEqual([expect.objectContaining({ path: 'src/server.ts', verified: false })])
  expect(record.unsupported).toBe(1)
})
