// When the model is asked for words to search for, and what that finds.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { answerQuestion, type SummariseResult, summarise } from '../../../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'

const name = 'octo/shop'
const never = new AbortController().signal
let repository: TestRepository
let stack: LocalStack
let run: SummariseResult

beforeAll(async () => {
  repository = await makeRepository({
    'README.md': '# Shop\n',
    'AGENTS.md': 'Money is counted in cents.\n',
    'src/billing/charge.ts': 'export function chargeCard(order: Order): Receipt {\n  return gateway.post(order)\n}\n',
    'src/catalogue/list.ts': 'export function listProducts(): Product[] {\n  return store.all()\n}\n',
    'logo.png': Buffer.from([0x89, 0x50, 0, 1]),
  })
  stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  run = await summarise({ commit: stack.commit(name, repository.head), attempt: 'first' }, stack.context, never)
})

beforeEach(() => {
  stack.events.length = 0
  stack.clouds.model.clearBehaviours()
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const ask = (text: string) =>
  answerQuestion(
    {
      repository: stack.commit(name, repository.head).repository,
      cloneUrl: stack.remote.cloneUrl(name),
      name: { run: run.run },
      question: { text },
    },
    stack.context,
    never,
  )
const calls = () => stack.events.flatMap((event) => (event.type === 'model-call' ? [event.purpose] : []))

test('words of the model find what the question says in other words, and are paid with the answer', async () => {
  stack.clouds.model.setBehaviour({ kind: 'say', text: 'charge card receipt' }, { task: 'terms' })
  const { record } = await ask('Where is money taken from people?')
  expect(record.excerpts[0]).toMatchObject({ path: 'src/billing/charge.ts' })
  expect(calls()).toEqual(['terms', 'answer'])
  const sum = stack.events.reduce((all, event) => all + (event.type === 'model-call' ? event.inputTokens : 0), 0)
  expect(record.usage.inputTokens).toBe(sum)
})

test('a question that names code is searched without words of the model', async () => {
  await ask('What does chargeCard return?')
  expect(calls()).toEqual(['answer'])
})

test('what the repository says to agents is quoted to the model', async () => {
  const before = stack.clouds.model.requests.length
  await ask('What does listProducts return?')
  const sent = stack.clouds.model.requests.slice(before).map(({ body }) => String(body))
  expect(sent.join()).toContain('=== notes \\"AGENTS.md\\"\\n| Money is counted in cents.')
})

test('an answer that found nothing says how many files were searched and how many were not', async () => {
  stack.clouds.model.setBehaviour({ kind: 'say', text: 'NOT FOUND\n\nNothing says so.' }, { task: 'answer' })
  const { record } = await ask('Which zeppelins does `landZeppelin` land?')
  expect(record).toMatchObject({ unanswered: true, looked: { files: 4, unsearched: ['binary: 1 file'] } })
})
