// How deep a question is looked into bounds rounds, tokens and time, and what it may cost is said before it is spent.
import { expect, test } from 'vitest'
import { estimateTokens } from '../../../../src/handoff/domain/estimate-tokens.js'
import { answerQuestion } from '../../../../src/handoff/index.js'
import { summarisedRepository } from '../../../support/summarised-repository.js'

const name = 'octo/account'
const never = new AbortController().signal

/** One file of far more lines than all rounds may show. */
const longFile = Array.from(
  { length: 8_000 },
  (_, index) =>
    `export const entry${index} = { amount: ${index}, currency: 'EUR', remark: 'paid in the month ${index % 12}' }`,
).join('\n')

const here = summarisedRepository(
  name,
  {
    'README.md': '# Account\n',
    'src/account.ts': 'export function closeAccount(year: number): number {\n  return year\n}\n',
    'src/entries.ts': `${longFile}\n`,
  },
  { repeated: {}, settings: { LLM_PRICE_INPUT: '1', LLM_PRICE_OUTPUT: '2' } },
)
const { question } = here
const machines = () => here.stack.clouds.sandboxes.sandboxes.length
const asked = () =>
  here.stack.events.filter((event) => event.type === 'model-call' && event.purpose === 'answer').length
const readFrom = (line: number) => [`read "src/entries.ts" ${line}-${line + 399}`]

/** A model that reads on, as often as it may. */
function readsOn(times: number) {
  for (let round = 0; round < times; round++) {
    here.stack.clouds.model.setBehaviour(
      { kind: 'ask-more', requests: readFrom(1 + 400 * round) },
      { task: 'answer', times: 1, skip: round },
    )
  }
}

test('a deep question has eight rounds in one sandbox', async () => {
  for (let round = 0; round < 7; round++) {
    const requests = [`read "src/entries.ts" ${7_000 + round}-${7_000 + round}`]
    here.stack.clouds.model.setBehaviour({ kind: 'ask-more', requests }, { task: 'answer', times: 1, skip: round })
  }
  const before = machines()
  const { record } = await answerQuestion(
    question('What does closeAccount return?', { depth: 'deep' }),
    here.stack.context,
    never,
  )
  expect(record).toMatchObject({ depth: 'deep', rounds: 8, status: 'done' })
  expect({ machines: machines() - before, asked: asked() }).toEqual({ machines: 1, asked: 8 })
  // What was seen is kept: every line that was asked for was shown at the end.
  const lines = record.excerpts.filter(({ path }) => path === 'src/entries.ts').flatMap(({ from, to }) => [from, to])
  for (let round = 0; round < 7; round++) expect(lines).toContain(7_000 + round)
})

test('a deep question shows sixty thousand tokens and no more', async () => {
  readsOn(5)
  const { record } = await answerQuestion(
    question('Where is closeAccount?', { depth: 'deep' }),
    here.stack.context,
    never,
  )
  expect(record.rounds).toBe(6)
  const lines = longFile.split('\n')
  const entries = record.excerpts.filter(({ path }) => path === 'src/entries.ts')
  const shown = entries.map(({ from, to }) => lines.slice(from - 1, to).map((line, at) => `${from + at}| ${line}\n`))
  const tokens = estimateTokens(shown.flat().join(''))
  expect(tokens).toBeGreaterThan(58_000)
  expect(tokens).toBeLessThan(60_500)
})

test('what a deep question may cost is said before, and what it did cost after', async () => {
  const { record } = await answerQuestion(
    question('Who closes the account?', { depth: 'deep' }),
    here.stack.context,
    never,
  )
  const limit = here.stack.events.findIndex(({ type }) => type === 'answer-limit')
  expect(here.stack.events[limit]).toMatchObject({
    depth: 'deep',
    text: expect.stringMatching(/^A deep answer takes at most \d+ calls .* tokens, \$\d\.\d\d\.$/),
  })
  expect(limit).toBeLessThan(here.stack.events.findIndex(({ type }) => type === 'sandbox-open'))
  const most = here.stack.events[limit] as { cost: number }
  expect(record.cost!.amount).toBeGreaterThan(0)
  expect(record.cost!.amount).toBeLessThan(most.cost)
})

test('a quick question has one round: its request does not offer MORE', async () => {
  const before = here.stack.clouds.model.requests.length
  const { record } = await answerQuestion(
    question('What is closeAccount for?', { depth: 'quick' }),
    here.stack.context,
    never,
  )
  expect(record).toMatchObject({ depth: 'quick', rounds: 1 })
  const requests = here.stack.clouds.model.requests.slice(before).map(({ body }) => body.toString())
  expect(requests.filter((request) => request.includes('MORE is not possible any more'))).toHaveLength(1)
})

test('the same question of another depth is another answer', async () => {
  const text = 'Which year does closeAccount take?'
  const [normal, deep, again] = [
    await answerQuestion(question(text), here.stack.context, never),
    await answerQuestion(question(text, { depth: 'deep' }), here.stack.context, never),
    await answerQuestion(question(text, { depth: 'normal' }), here.stack.context, never),
  ]
  expect([normal.reused, deep.reused, again.reused]).toEqual([false, false, true])
  expect(normal.record.depth).toBeUndefined()
  expect(deep.record.reusedFrom).toBeUndefined()
})

test('a question that names no depth has the one of the settings', async () => {
  const context = here.stack.makeContext({ HANDOFF_DEPTH: 'quick' })
  const { record } = await answerQuestion(question('Is closeAccount exported?'), context, never)
  expect(record.depth).toBe('quick')
  expect(() => here.stack.makeContext({ HANDOFF_DEPTH: 'bottomless' })).toThrow(
    'HANDOFF_DEPTH is not one of quick, normal, deep.',
  )
})

test('a round that begins after the seconds of its depth is the last', async () => {
  readsOn(1)
  let late = 0
  const context = here.stack.makeContext()
  const { clock, emit } = context.ports
  const slow = {
    ...context,
    ports: {
      ...context.ports,
      clock: { ...clock, now: () => clock.now() + late },
      emit(event: Parameters<typeof emit>[0]) {
        // The model took three minutes.
        if (event.type === 'model-call' && event.purpose === 'answer') late += 181_000
        emit(event)
      },
    },
  }
  const before = here.stack.clouds.model.requests.length
  const { record } = await answerQuestion(question('Which month closes the account?', { fresh: true }), slow, never)
  expect(record.rounds).toBe(2)
  const last = here.stack.clouds.model.requests.slice(before).at(-1)!.body.toString()
  expect(last.includes('MORE is not possible any more')).toBe(true)
})
