// One repository that is summarised once for the tests of a file. Each test begins without events, and without a behaviour of the model, of another.
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { type AnswerRequest, type SummariseResult, summarise } from '../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from './local-stack.js'
import { makeRepository, type TestRepository } from './repository.js'

interface Summarised {
  stack: LocalStack
  repository: TestRepository
  run: SummariseResult
  /** A question about the run. */
  question(text: string, more?: Partial<AnswerRequest['question']>): AnswerRequest
}

/** Filled before the first test, so its fields are read inside tests only. */
export function summarisedRepository(
  name: string,
  files: Parameters<typeof makeRepository>[0],
  options: Omit<Parameters<typeof startLocalStack>[0], 'repositories'> = {},
): Summarised {
  const never = new AbortController().signal
  const here = {} as Summarised
  here.question = (text, more) => ({
    repository: here.stack.commit(name, here.repository.head).repository,
    cloneUrl: here.stack.remote.cloneUrl(name),
    name: { run: here.run.run },
    question: { text, asker: 'test', ...more },
  })
  beforeAll(async () => {
    here.repository = await makeRepository(files)
    here.stack = await startLocalStack({ ...options, repositories: { [name]: here.repository.directory } })
    const commit = here.stack.commit(name, here.repository.head, 'refs/heads/main')
    here.run = await summarise({ commit, attempt: 'first' }, here.stack.context, never)
  })
  beforeEach(() => {
    here.stack.events.length = 0
    here.stack.clouds.model.clearBehaviours()
  })
  afterAll(async () => {
    await here.stack?.close()
    await here.repository?.[Symbol.asyncDispose]()
  })
  return here
}
