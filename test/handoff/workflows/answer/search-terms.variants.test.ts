// When the model is asked for words to search for, and what that finds.
import { expect, test } from 'vitest'
import { answerQuestion } from '../../../../src/handoff/index.js'
import { summarisedRepository } from '../../../support/summarised-repository.js'

const name = 'octo/shop'
const never = new AbortController().signal

const here = summarisedRepository(name, {
  'README.md': '# Shop\n',
  'AGENTS.md': 'Money is counted in cents.\n',
  'src/billing/charge.ts': 'export function chargeCard(order: Order): Receipt {\n  return gateway.post(order)\n}\n',
  'src/catalogue/list.ts': 'export function listProducts(): Product[] {\n  return store.all()\n}\n',
  'logo.png': Buffer.from([0x89, 0x50, 0, 1]),
})

const ask = (text: string) => answerQuestion(here.question(text), here.stack.context, never)
const calls = () => here.stack.events.flatMap((event) => (event.type === 'model-call' ? [event.purpose] : []))

test('words of the model find what the question says in other words, and are paid with the answer', async () => {
  here.stack.clouds.model.setBehaviour({ kind: 'say', text: 'charge card receipt' }, { task: 'terms' })
  const { record } = await ask('Where is money taken from people?')
  expect(record.excerpts[0]).toMatchObject({ path: 'src/billing/charge.ts' })
  expect(calls()).toEqual(['terms', 'answer'])
  const sum = here.stack.events.reduce((all, event) => all + (event.type === 'model-call' ? event.inputTokens : 0), 0)
  expect(record.usage.inputTokens).toBe(sum)
})

test('a question that names code is searched without words of the model', async () => {
  await ask('What does chargeCard return?')
  expect(calls()).toEqual(['answer'])
})

test('what the repository says to agents is quoted to the model', async () => {
  const before = here.stack.clouds.model.requests.length
  await ask('What does listProducts return?')
  const sent = here.stack.clouds.model.requests.slice(before).map(({ body }) => String(body))
  expect(sent.join()).toContain('=== notes \\"AGENTS.md\\"\\n| Money is counted in cents.')
})

test('an answer that found nothing says how many files were searched and how many were not', async () => {
  here.stack.clouds.model.setBehaviour({ kind: 'say', text: 'NOT FOUND\n\nNothing says so.' }, { task: 'answer' })
  const { record } = await ask('Which zeppelins does `landZeppelin` land?')
  expect(record).toMatchObject({ unanswered: true, looked: { files: 4, unsearched: ['binary: 1 file'] } })
})
