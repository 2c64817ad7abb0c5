// Both stories with models as they are: they think before they write, take little at once, have a cache, or are not there at all.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startServer } from '../../../src/emulators/faulty-server.js'
import { type AnswerRequest, answerQuestion, summarise } from '../../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../../support/local-stack.js'
import { refusal } from '../../support/refusal.js'
import { makeRepository, type TestRepository } from '../../support/repository.js'
import { tokenFiles } from '../../support/token-files.js'

const name = 'octo/tools'
const never = new AbortController().signal
const luna = { LLM_MODEL: 'offline/gpt-6-luna' }
let stack: LocalStack
let repository: TestRepository

const commit = (index: number, ref = 'refs/heads/main') => stack.commit(name, repository.commits[index]!, ref)

beforeAll(async () => {
  const many = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      `src/token/part${index}.ts`,
      `/** Refreshes token ${index} before it expires. */\n${`export const token${index} = refreshToken(now) // a token that is refreshed in time\n`.repeat(40)}`,
    ]),
  )
  repository = await makeRepository([
    { ...tokenFiles, ...many },
    { 'src/token/part1.ts': `${many['src/token/part1.ts']}export const added = refreshToken()\n` },
  ])
  stack = await startLocalStack({
    repositories: { [name]: repository.directory },
    repeated: { searchFor: 'How is the token refreshed?' },
  })
  await summarise({ commit: commit(0, 'refs/heads/old'), attempt: 'first' }, stack.context, never)
  await summarise({ commit: commit(1), attempt: 'first' }, stack.context, never)
}, 60_000)

beforeEach(() => {
  stack.events.length = 0
  stack.clouds.model.clearBehaviours()
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const question = (text: string, more: Partial<AnswerRequest['question']> = {}): AnswerRequest => ({
  repository: commit(1).repository,
  cloneUrl: stack.remote.cloneUrl(name),
  name: { commit: repository.commits[1]! },
  question: { text, asker: 'test', fresh: true, ...more },
})
const machines = () => stack.clouds.sandboxes.sandboxes.length
const notices = () => stack.events.flatMap((event) => (event.type === 'notice' ? [event.text] : []))
/** The largest that a request and the limit of its reply were together, as the local model counts, since then. */
function largest(since: number) {
  const sent = stack.clouds.model.prompts.slice(since)
  expect(sent.length).toBeGreaterThan(0)
  return Math.max(...sent.map(({ inputTokens, maxTokens }) => inputTokens + (maxTokens ?? 0)))
}

describe('a model that thinks before it writes', () => {
  test('summarises and answers', async () => {
    const context = stack.makeContext(luna)
    const made = await summarise({ commit: commit(1), attempt: 'thinking', force: true }, context, never)
    expect(made.handoff.partial).toBeUndefined()
    expect(made.handoff.usage.outputTokens).toBeGreaterThan(1_500)
    const { record } = await answerQuestion(question('How is the token refreshed?'), context, never)
    expect(record.citations.length).toBeGreaterThan(0)
    expect(record.usage.outputTokens).toBeGreaterThan(1_500)
  })

  test('is asked for search words and for a choice of files with the least effort that it knows', async () => {
    const before = stack.clouds.model.requests.length
    await answerQuestion(question('Wie wird das Token erneuert?'), stack.makeContext(luna), never)
    const sent = stack.clouds.model.requests
      .slice(before)
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => JSON.parse(body.toString()) as { messages: { content: string }[]; reasoning_effort?: string })
    expect(sent.map((body) => [body.messages[0]!.content.split('\n')[0], body.reasoning_effort])).toEqual([
      ['Task: terms', 'none'],
      ['Task: choose', 'none'],
      ['Task: answer', undefined],
    ])
  })

  test('that has no room for a word says which setting to raise, and nothing is sealed or kept', async () => {
    const context = stack.makeContext({ ...luna, LLM_MAX_OUTPUT_TOKENS: '1000' })
    const reported = await refusal(answerQuestion(question('How does refreshToken() work?'), context, never))
    expect(reported.message).toContain('gave no text: thinking used all 1000 tokens of its reply')
    expect(reported.next).toContain('Raise LLM_MAX_OUTPUT_TOKENS')
    // Force writes anew: the branch's earlier run would need no request at all.
    const unsealed = await refusal(summarise({ commit: commit(0), attempt: 'mute', force: true }, context, never))
    expect(unsealed.next).toContain('Raise LLM_MAX_OUTPUT_TOKENS')
  })
})

describe('an answer', () => {
  test('that has no text is asked for once more, and the second is kept', async () => {
    stack.clouds.model.setBehaviour({ kind: 'silent' }, { task: 'answer', times: 1 })
    const before = stack.clouds.model.prompts.length
    const { record } = await answerQuestion(question('How does refreshToken() work?'), stack.context, never)
    expect(record.text).toContain('src/token')
    const sent = stack.clouds.model.prompts.slice(before)
    const [one, two, ...others] = sent.filter(({ task }) => task === 'answer')
    expect(others).toEqual([])
    expect(two!.maxTokens).toBe(4 * one!.maxTokens!)
    expect(record.usage.inputTokens).toBe(sent.reduce((sum, { inputTokens }) => sum + inputTokens, 0))
    expect(record.rounds).toBe(1)
  })

  test('that thinking cut after it was shown is kept whole, and shown once', async () => {
    let asked = 0
    await using server = await startServer('cut by thinking', ({ method, body }) => {
      if (method === 'GET') return { status: 404 }
      const { max_tokens: limit } = JSON.parse(body.toString()) as { max_tokens: number }
      asked += 1
      const [text, finish] = asked === 1 ? ['The token is', 'length'] : ['The token is refreshed in time.', 'stop']
      const usage = {
        prompt_tokens: 9_000,
        completion_tokens: limit,
        completion_tokens_details: { reasoning_tokens: limit - 10 },
      }
      const events = [
        { choices: [{ index: 0, delta: { content: text }, finish_reason: null }] },
        { choices: [{ index: 0, delta: {}, finish_reason: finish }], usage },
      ]
      const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
      return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: lines.join('') }
    })
    const context = stack.makeContext({ LLM_BASE_URL: server.url, LLM_API_KEY: 'any-word', LLM_MODEL: 'my-own-model' })
    const asking = question('How does refreshToken() work?', { depth: 'quick' })
    const { record } = await answerQuestion(asking, context, never)
    expect(record).toMatchObject({ truncated: false, text: 'The token is refreshed in time.' })
    const shown = stack.events.flatMap((event) => (event.type === 'model-text' ? [event.text] : []))
    expect(shown.join('').trim()).toBe('The token is')
    expect(asked).toBe(2)
  })

  test('without search words goes on with those of the question', async () => {
    stack.clouds.model.setBehaviour({ kind: 'silent' }, { task: 'terms' })
    const { record } = await answerQuestion(question('Wie wird refreshToken benutzt und warum?'), stack.context, never)
    expect(record.citations.length).toBeGreaterThan(0)
    expect(notices()).toContain(
      'The model named no words to search for; the words of the question alone were searched.',
    )
  })

  test('counts what the service had in its cache, and what that costs less', async () => {
    const context = stack.makeContext(luna)
    const text = 'What does every token part do?'
    const cold = (await answerQuestion(question(text), context, never)).record
    const warm = (await answerQuestion(question(text), context, never)).record
    expect(cold.usage.cachedInputTokens).toBeUndefined()
    expect(cold.usage.cacheWriteTokens).toBeGreaterThan(1_000)
    expect(warm.usage.cachedInputTokens).toBeGreaterThan(1_000)
    expect(warm.usage.inputTokens).toBe(cold.usage.inputTokens)
    expect(warm.cost!.amount).toBeLessThan(cold.cost!.amount)
  })
})

describe('a model that takes 8,000 tokens in one request', () => {
  const small = { LLM_MODEL: 'offline-small-context', LLM_CONTEXT_TOKENS: '8000' }

  test('is never sent more, whatever an answer, its thread and a comparison have to show', async () => {
    const context = stack.makeContext(small)
    const before = stack.clouds.model.prompts.length
    const thread = 'small'
    for (const text of ['How is the token refreshed?', 'And what of token 7?', 'What does each part of token do?']) {
      const { record } = await answerQuestion(question(text, { thread }), context, never)
      expect(record.citations.every(({ verified }) => verified)).toBe(true)
    }
    stack.clouds.model.setBehaviour({ kind: 'ask-more' }, { task: 'answer', times: 2 })
    await answerQuestion(question('What is in every token part?'), context, never)
    const { record } = await answerQuestion(
      {
        ...question('What changed in how tokens are refreshed?'),
        compareWith: { commit: repository.commits[0]! },
        name: { commit: repository.commits[1]! },
      },
      context,
      never,
    )
    expect(record.excerpts.length).toBeGreaterThan(0)
    expect(largest(before)).toBeLessThanOrEqual(8_000)
    // They were cut to the context, not to next to nothing.
    expect(largest(before)).toBeGreaterThan(4_000)
  }, 30_000)

  test('rests its citations on the lines that it was shown, and the record names no others', async () => {
    const before = stack.clouds.model.prompts.length
    const { record } = await answerQuestion(
      question('Where is refreshToken() called in each part of token?'),
      stack.makeContext(small),
      never,
    )
    const shown = stack.clouds.model.prompts.slice(before).find(({ task }) => task === 'answer')!.text
    for (const { path, from } of record.excerpts)
      expect(shown).toContain(`=== file ${JSON.stringify(path)} lines ${from}-`)
  })
})

describe('what can be refused', () => {
  test('is refused before a machine is paid for', async () => {
    const wrong: [settings: Record<string, string>, says: RegExp][] = [
      [{ LLM_API_KEY: 'sk-wrong' }, /LLM_API_KEY/],
      [{ LLM_MODEL: 'offline-none' }, /LLM_MODEL/],
      [{ HANDOFF_MAX_COST: '1' }, /LLM_PRICE_INPUT/],
      [{ HANDOFF_MAX_INPUT_TOKENS: '1000' }, /HANDOFF_MAX_INPUT_TOKENS/],
      [{ LLM_CONTEXT_TOKENS: '2000' }, /LLM_CONTEXT_TOKENS/],
    ]
    const before = machines()
    for (const [settings, says] of wrong) {
      const request = { commit: commit(0), attempt: 'refused', force: true }
      const reported = await refusal(summarise(request, stack.makeContext(settings), never))
      expect(`${reported.message} ${reported.next}`).toMatch(says)
    }
    for (const settings of [{ LLM_API_KEY: 'sk-wrong' }, { LLM_MODEL: 'offline-none' }]) {
      await refusal(answerQuestion(question('Is a model there??'), stack.makeContext(settings), never))
    }
    expect(machines() - before).toBe(0)
  })

  test('is looked at once for many questions, and again after it failed', async () => {
    const context = stack.makeContext()
    const looks = () => stack.clouds.model.requests.filter(({ path }) => path === '/v1/models').length
    const before = looks()
    stack.clouds.model.rule({
      method: 'GET',
      path: /models/,
      times: 1,
      fault: { kind: 'answer', status: 403, body: '{}' },
    })
    await refusal(answerQuestion(question('How is the token refreshed?'), context, never))
    await answerQuestion(question('How is the token refreshed?'), context, never)
    await answerQuestion(question('What does requestToken need?'), context, never)
    expect(looks() - before).toBe(2)
  })
})
