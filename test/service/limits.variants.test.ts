// Limits: no caller gets a sandbox over the limit, each gets an answer or a time to come back, and nothing is left.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { maxQuestionCost } from '../../src/handoff/domain/answers/question-cost.js'
import { replyLimit } from '../../src/handoff/domain/model-limits.js'
import { parseSettings } from '../../src/handoff/domain/settings.js'
import { until } from '../support/until.js'
import { type Answer, call, type Deployment, deploy, name, otherToken, post, sha256, token } from './kit.js'

const long = process.env['LONG'] === '1'
const questions = 200
const sandboxes = long ? 20 : 2
let here: Deployment
let instances: RunningFunctions[]

beforeAll(async () => {
  here = await deploy({
    quickFinds: true,
    sandboxes: { account: { concurrentLimit: sandboxes } },
    environment: {
      HANDOFF_SANDBOXES: String(sandboxes),
      HANDOFF_BEARERS: `a=${sha256(token)}=octo/tools; b=${sha256(otherToken)}=octo/tools`,
      LLM_PRICE_INPUT: '1',
      LLM_PRICE_OUTPUT: '1',
    },
  })
  instances = long ? [here.functions, await here.another(), await here.another()] : [here.functions]
}, 200_000)

afterAll(async () => {
  await here?.close()
})

const ask = (question: string) => ({ repository: name, run: here.run.run, question })

/** At most, of the deployment's model; a million tokens cost one dollar here. */
function tokensOfOneQuestion(): number {
  const { model } = parseSettings(here.environment)
  const most = maxQuestionCost({ ...model, replyTokens: (wanted) => replyLimit(model, wanted) }, 'normal')
  return most.inputTokens + most.outputTokens
}

// `guarantees/load.test.ts` asks a few more questions than there are sandboxes.
test.runIf(long)(
  `${questions} questions at once over three instances against ${sandboxes} sandboxes`,
  async () => {
    const before = here.machines()
    // Each instance has limits of its own. What the account refuses beyond them comes back when it is asked to.
    const askUntilAnswered = async (url: string, question: string): Promise<Answer> => {
      for (;;) {
        const answer = await post(url, ask(question))
        if (answer.status === 200) return answer
        expect([answer.status, answer.body.code]).toEqual([503, 'sandbox-limit'])
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    }
    const answers = await Promise.all(
      Array.from({ length: questions }, (_none, index) =>
        askUntilAnswered(instances[index % 3]!.url, `What is thing number ${index} in src/token.ts?`),
      ),
    )
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(questions)
    expect(here.machines() - before).toBe(questions)
    expect(here.living()).toBe(0)
    const states = await Promise.all(instances.map((instance) => instance.state()))
    for (const { memory } of states) expect(memory).toBeLessThan(400_000_000)
  },
  600_000,
)

test('a list of answers says of each question what it says by itself: one is answered, the next one waits', async () => {
  const narrow = await here.another({ HANDOFF_SANDBOXES: '1' })
  const takeBack = here.stack.clouds.model.rule({ fault: { kind: 'delay', milliseconds: 2_500 } })
  const later = { prefer: 'respond-async' }
  const pending = [
    (await post(narrow.url, ask('Which of them is first?'), later)).body,
    (await post(narrow.url, ask('Which of them has to wait?'), later)).body,
  ]
  const folder = `/api/runs/${here.run.run}/answers?repository=${encodeURIComponent(name)}&limit=100`
  const listed = async () => {
    const { answers } = (await call(narrow.url, folder)).body
    return pending.map(({ id }) => answers.find((one: { id: string }) => one.id === id).status)
  }
  await until('the first one has its turn', async () => (await listed())[0] === 'running')
  const alone = await Promise.all(pending.map(async ({ self }) => (await call(narrow.url, self)).body.status))
  expect({ listed: await listed(), alone }).toEqual({
    listed: ['running', 'queued'],
    alone: ['running', 'queued'],
  })
  takeBack()
  await until('both are answered', async () => (await listed()).join() === 'done,done')
})

test('a full queue says when to come back, and leaves no trace in the answer store', async () => {
  const small = await here.another({ HANDOFF_QUEUE: '0', HANDOFF_SANDBOXES: '1' })
  const { drive } = here.stack.clouds
  const recorded = () =>
    drive
      .tree(`${here.run.directory}/analysis/qa`)
      .flatMap(({ path, isDirectory }) => (isDirectory ? [] : [JSON.parse(drive.readFile(path)!.toString())]))
      .filter(({ question }) => /^What of \w+ here\?$/.test(question))
  const takeBack = here.stack.clouds.model.rule({ fault: { kind: 'delay', milliseconds: 800 } })
  const answers = await Promise.all(
    ['one', 'two', 'three'].map((word) => post(small.url, ask(`What of ${word} here?`))),
  )
  takeBack()
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 503, 503])
  for (const refused of answers.filter(({ status }) => status === 503)) {
    expect(refused.body.code).toBe('sandbox-limit')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect(recorded()).toHaveLength(1)
}, 60_000)

test('a caller with many questions open is asked to wait; another caller is not', async () => {
  const strict = await here.another({ HANDOFF_CALLER_QUESTIONS: '1' })
  const takeBack = here.stack.clouds.model.rule({ fault: { kind: 'delay', milliseconds: 800 } })
  const answers = await Promise.all([
    post(strict.url, ask('What is the first open question?')),
    post(strict.url, ask('What is the second open question?')),
    post(strict.url, ask('What does another caller ask?'), {}, otherToken),
  ])
  takeBack()
  expect(
    answers
      .slice(0, 2)
      .map(({ status }) => status)
      .sort(),
  ).toEqual([200, 503])
  expect(answers[2]!.status).toBe(200)
}, 60_000)

test('a budget in tokens, and one in money, hold over instances; the answer store stays open', async () => {
  // A second question does not fit beside what the first took.
  const most = tokensOfOneQuestion()
  const tokens = { HANDOFF_CALLER_TOKENS: String(most) }
  const [first, second, third] = await Promise.all([
    here.another(tokens),
    here.another(tokens),
    here.another({ HANDOFF_CALLER_COST: String(most / 1_000_000) }),
  ])
  const asked = ask('What is paid for?')
  const paid = await post(first.url, asked)
  expect(paid.status).toBe(200)
  expect(paid.headers.get('ratelimit-policy')).toBe(
    `"questions";q=100;qu="concurrent-requests", "tokens";q=${most};qu="tokens";w=86400`,
  )
  const rest = /^"tokens";r=(\d+);t=(\d+)$/.exec(paid.headers.get('ratelimit') ?? '')
  expect(Number(rest?.[1])).toBeLessThan(most)
  expect(Number(rest?.[2])).toBeLessThanOrEqual(86_400)
  for (const { url } of [second, third]) {
    const refused = await post(url, ask('What is too much?'))
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 429, code: 'budget' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.headers.get('ratelimit')).toMatch(/^"(?:tokens|cost)";r=\d+;t=\d+$/)
    expect((await post(url, asked)).body.reused).toBe(true)
  }
  expect((await post(third.url, ask('What does another ask?'), {}, otherToken)).status).toBe(200)
}, 60_000)
