// An example to copy: one commit is summarised, one question is asked, everything on this machine.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerQuestion, type SummariseResult, summarise } from '../src/handoff/index.js'
import { startWorld, type World } from './support/local-clouds.js'
import { makeRepository, type TestRepository } from './support/repository.js'

const name = 'octo/clock'
const deadline = AbortSignal.timeout(60_000)
let repository: TestRepository
let world: World
let run: SummariseResult

beforeAll(async () => {
  // A real git repository from an object of files.
  repository = await makeRepository({
    'README.md': '# Clock\n\nTells the time.\n',
    'src/clock.ts': 'export function tellTime(): string {\n  return new Date().toISOString()\n}\n',
  })
  // Emulators of E2B, drive9 and the model, a git server, and a context that uses them.
  world = await startWorld({ repositories: { [name]: repository.directory } })
  run = await summarise({ commit: world.commit(name, repository.head), attempt: 'first' }, world.context, deadline)
})

// Closing fails the test if a sandbox is alive, a request was unknown, or a secret stands where it must not.
afterAll(async () => {
  await world?.close()
  await repository?.[Symbol.asyncDispose]()
})

const ask = (text: string) =>
  answerQuestion(
    {
      repository: world.commit(name, repository.head).repository,
      cloneUrl: world.remote.cloneUrl(name),
      name: { run: run.run },
      question: { text },
    },
    world.context,
    deadline,
  )

test('an answer cites a line that holds', async () => {
  const { record } = await ask('How does tellTime know the time?')
  expect(record.citations).toContainEqual(expect.objectContaining({ path: 'src/clock.ts', verified: true }))
})

test('a citation of lines that the model was not shown is dropped', async () => {
  // The emulated model replies with this text.
  world.clouds.model.behave(
    { kind: 'say', text: 'It asks a server. [[src/server.ts:1-2 "fetch"]]' },
    { task: 'answer' },
  )
  const { record } = await ask('Which server does it ask?')
  expect(record.citations).toEqual([expect.objectContaining({ path: 'src/server.ts', verified: false })])
  expect(record.unsupported).toBe(1)
})
