// The client against services that behave as real ones do: they think before they write, refuse parameters, serve one request at a time, list
// their models.
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { json, type LocalServer, startServer } from '../../../../src/emulators/faulty-server.js'
import { type LocalModel, startModel } from '../../../../src/emulators/model/server.js'
import { makeModel } from '../../../../src/handoff/clients/openai/client.js'
import type { ModelConfig } from '../../../../src/handoff/clients/openai/config.js'
import type { Clock, ModelRequest } from '../../../../src/handoff/domain/ports.js'
import { refusal } from '../../../support/refusal.js'

const key = 'sk-the-key-of-the-test'
const data =
  '=== file "a.ts" lines 1-2 (source, full)\n1| export function greet() {\n2| }\n=== end\n=== question\n| What is greet?\n=== end'

let local: LocalModel
const clock: Clock = { now: () => 0, sleep: async () => {} }

beforeAll(async () => {
  local = await startModel({ key })
})
afterEach(() => {
  local.clearBehaviours()
  local.clearRules()
})
afterAll(() => local.close())

const modelWith = (more: Partial<ModelConfig> = {}) =>
  makeModel({
    baseUrl: local.baseUrl,
    apiKey: key,
    name: 'offline/gpt-6-luna',
    contextTokens: 128_000,
    clock,
    ...more,
  })

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  purpose: 'answer',
  messages: [
    { role: 'system', content: 'Task: answer' },
    { role: 'user', content: data },
  ],
  answerTokens: 500,
  signal: AbortSignal.timeout(60_000),
  ...more,
})

const bodies = (server: LocalServer = local) =>
  server.requests
    .filter(({ method }) => method === 'POST')
    .map((one) => JSON.parse(one.body.toString()) as Record<string, unknown>)

describe('a model that thinks before it writes', () => {
  it('has room for its thinking beside the text that is asked for', async () => {
    for (const name of ['offline/gpt-6-luna', 'offline-reasoning']) {
      const reply = await modelWith({ name }).complete(request())
      expect(reply, name).toMatchObject({ truncated: false, text: expect.stringContaining('`greet`') })
      expect(reply.usage.outputTokens, name).toBeGreaterThan(1_500)
      expect(reply.problem).toBeUndefined()
    }
  })

  it('has as much room as its name and the effort tell', () => {
    const limit = (name: string, more: Partial<ModelConfig> = {}) =>
      modelWith({ name, ...more }).replyTokens({ answerTokens: 700 })
    for (const name of [
      'gpt-5-mini',
      'gpt-5.6-terra',
      'openai/gpt-6-luna',
      'o4-mini',
      'deepseek-reasoner',
      'kimi-k2-thinking',
    ])
      expect(limit(name), name).toBe(8_700)
    for (const name of ['glm-5', 'gemini-2.5-pro', 'google/gemini-3-flash', 'qwen3-max-thinking', 'moonshotai/kimi-k3'])
      expect(limit(name), name).toBe(8_700)
    for (const name of ['gpt-4o-mini', 'openai/gpt-4.1', 'ft:gpt-4o-2024-08-06:a::b'])
      expect(limit(name), name).toBe(700)
    for (const name of ['llama3.3', 'my-own-model']) expect(limit(name), name).toBe(2_700)
    expect(limit('gpt-5-mini', { effort: 'high' })).toBe(16_700)
    expect(limit('my-own-model', { effort: 'low' })).toBe(4_700)
    expect(limit('gpt-5-mini', { maxOutputTokens: 4_000 })).toBe(4_000)
    expect(limit('gpt-5-mini', { contextTokens: 8_000 })).toBe(2_700)
  })

  it('is given more room when the service reports more thinking than its name tells, up to a bound', async () => {
    const model = modelWith({ name: 'offline-reasoning' })
    expect(model.replyTokens({ answerTokens: 500 })).toBe(2_500)
    await model.complete(request())
    expect(model.replyTokens({ answerTokens: 500 })).toBe(3_500)
    await using heavy = await startServer('heavy', () => sse('Yes.', { reasoning: 90_000 }))
    const other = modelWith({ name: 'offline-reasoning', baseUrl: heavy.url })
    await other.complete(request())
    expect(other.replyTokens({ answerTokens: 500 })).toBe(8_500)
  })

  it('whose thinking takes all of the limit gives no text, and a second request may have four times as much', async () => {
    const model = modelWith({ name: 'offline-reasoning', effort: 'high', maxOutputTokens: 3_000 })
    const empty = await model.complete(request())
    expect(empty).toMatchObject({ text: '', truncated: true })
    expect(empty.mayWiden).toBeUndefined()
    expect(empty.problem?.next).toBe('Raise LLM_MAX_OUTPUT_TOKENS, or lower LLM_REASONING_EFFORT.')
    await using thinking = await startServer('thinking', ({ body }) => {
      const { max_tokens: limit } = JSON.parse(body.toString()) as { max_tokens: number }
      return limit < 9_000
        ? sse('', { reasoning: limit, finish: 'length' })
        : sse('The whole answer.', { reasoning: 8_000 })
    })
    const unknown = modelWith({ name: 'my-own-model', baseUrl: thinking.url })
    expect(await unknown.complete(request())).toMatchObject({ text: '', mayWiden: true })
    expect(await unknown.complete(request({ wide: true }))).toMatchObject({
      text: 'The whole answer.',
      truncated: false,
    })
    expect(bodies(thinking).map((body) => body['max_tokens'])).toEqual([2_500, 10_000])
  })

  it('is not asked again when its text is as long as it may be', async () => {
    await using wordy = await startServer('wordy', () => sse('word '.repeat(500), { finish: 'length' }))
    const reply = await modelWith({ name: 'my-own-model', baseUrl: wordy.url }).complete(request())
    expect(reply).toMatchObject({ truncated: true })
    expect([reply.problem, reply.mayWiden]).toEqual([undefined, undefined])
  })

  it('that ends a reply far below its limit is not asked again, and says which settings may be wrong', async () => {
    await using short = await startServer('short', () => sse('Half of it', { finish: 'length' }))
    const reply = await modelWith({ name: 'my-own-model', baseUrl: short.url }).complete(request())
    expect(reply).toMatchObject({ text: 'Half of it', truncated: true })
    expect(reply.problem?.message).toContain('ended its reply at 3 of 2500 tokens')
    expect(reply.mayWiden).toBeUndefined()
  })

  it('never gets a limit that the context has no room for', async () => {
    const model = modelWith({ name: 'offline-reasoning', contextTokens: 4_000 })
    const content = 'word '.repeat(1_500)
    await model.complete(request({ messages: [{ role: 'user', content }], wide: true }))
    expect(bodies().at(-1)?.['max_completion_tokens']).toBe(4_000 - 4 - model.estimateTokens(content))
    const tooLong = request({ messages: [{ role: 'user', content: 'word '.repeat(3_000) }] })
    expect(await refusal(model.complete(tooLong))).toMatchObject({
      code: 'model',
      next: 'Choose a model in LLM_MODEL that takes more, or correct LLM_CONTEXT_TOKENS.',
    })
  })
})

describe('the effort', () => {
  const sent = async (name: string, more: Partial<ModelConfig> = {}, asked: Partial<ModelRequest> = {}) => {
    await using taking = await startServer('taking', () => sse('Yes.'))
    await modelWith({ name, baseUrl: taking.url, ...more }).complete(request(asked))
    return bodies(taking)[0]?.['reasoning_effort']
  }

  it('is sent where a setting says so, and not otherwise', async () => {
    expect(await sent('gpt-5-mini')).toBeUndefined()
    expect(await sent('gpt-5-mini', { effort: 'low' })).toBe('low')
    expect(await sent('my-own-model', { effort: 'high' })).toBe('high')
  })

  it('of a short call is the least that the model knows', async () => {
    const least = { effort: 'least' } as const
    expect(await sent('gpt-5-mini', {}, least)).toBe('minimal')
    expect(await sent('gpt-5.1', {}, least)).toBe('none')
    expect(await sent('openai/gpt-6-luna', { effort: 'high' }, least)).toBe('none')
    expect(await sent('o3', {}, least)).toBe('low')
    expect(await sent('gpt-4o', {}, least)).toBeUndefined()
    expect(await sent('my-own-model', {}, least)).toBeUndefined()
  })

  it('that is refused by name is left out, and the refusal is remembered', async () => {
    const model = modelWith({ name: 'offline-strict', effort: 'low' })
    const before = bodies().length
    await model.complete(request())
    await model.complete(request())
    const efforts = bodies()
      .slice(before)
      .map((body) => body['reasoning_effort'])
    expect(efforts[0]).toBe('low')
    expect(efforts.slice(1).every((effort) => effort === undefined)).toBe(true)
  })
})

describe('a limit that is more than the model writes', () => {
  it('is lowered to what the refusal says, and that is remembered', async () => {
    await using short = await startServer('short', ({ body }) => {
      const { max_tokens: limit } = JSON.parse(body.toString()) as { max_tokens: number }
      const message = `max_tokens is too large: ${limit}. This model supports at most 2048 completion tokens.`
      return limit > 2_048 ? json(400, { error: { message, param: 'max_tokens' } }) : sse('Yes.')
    })
    const model = modelWith({ name: 'my-own-model', baseUrl: short.url })
    await model.complete(request())
    await model.complete(request())
    expect(bodies(short).map((body) => body['max_tokens'])).toEqual([2_500, 2_048, 2_048])
  })

  it('names LLM_MAX_OUTPUT_TOKENS where the refusal gives no number', async () => {
    const message = 'max_tokens is too large'
    await using short = await startServer('short', () => json(400, { error: { message, param: 'max_tokens' } }))
    const error = await refusal(modelWith({ name: 'my-own-model', baseUrl: short.url }).complete(request()))
    expect(error.next).toBe('Set LLM_MAX_OUTPUT_TOKENS to what LLM_MODEL writes at most in one reply.')
  })
})

/** Runs this while Node's `fetch` waits for so long and not for 300 seconds. Its agent is Node's own, which no package exports. */
async function withFetchTimeout(milliseconds: number, work: () => Promise<void>): Promise<void> {
  const place = Symbol.for('undici.globalDispatcher.1')
  const agents = globalThis as unknown as Record<symbol, { constructor: new (options: object) => { close(): unknown } }>
  const usual = agents[place]!
  const short = new usual.constructor({ headersTimeout: milliseconds, bodyTimeout: milliseconds })
  agents[place] = short as unknown as (typeof agents)[symbol]
  try {
    await work()
  } finally {
    agents[place] = usual
  }
}

describe('a server that serves one request at a time', () => {
  /** Each takes as long; the others wait without a word. `most` wait at most, the rest is refused. */
  async function serial(takesMs: number, most = Number.POSITIVE_INFINITY) {
    let last: Promise<unknown> = Promise.resolve()
    let inside = 0
    return startServer('serial', async () => {
      if (inside >= most) return json(503, { error: { message: 'server busy, please try again' } })
      inside += 1
      const mine = last.then(() => wait(takesMs))
      last = mine
      await mine
      inside -= 1
      return sse('Yes.')
    })
  }

  it('answers all of eight requests, though the last waits for longer than the patience', async () => {
    await using server = await serial(250)
    const model = modelWith({ baseUrl: server.url, firstTextMs: 1_500 })
    const replies = await Promise.all(Array.from({ length: 8 }, () => model.complete(request())))
    expect(replies.map(({ text }) => text)).toEqual(Array(8).fill('Yes.'))
    expect(bodies(server)).toHaveLength(8)
  })

  it('that is silent for longer than the patience is given up, with the settings that help', async () => {
    await using server = await serial(5_000)
    const error = await refusal(modelWith({ baseUrl: server.url, firstTextMs: 60 }).complete(request()))
    expect(error).toMatchObject({ code: 'timeout', next: expect.stringContaining('LLM_FIRST_TOKEN_SECONDS') })
  })

  it('and refuses what does not fit into its queue gets fewer at once until all are answered', async () => {
    await using server = await serial(30, 1)
    const model = modelWith({ baseUrl: server.url })
    const replies = await Promise.all(Array.from({ length: 8 }, () => model.complete(request())))
    expect(replies.map(({ text }) => text)).toEqual(Array(8).fill('Yes.'))
  })

  it('is silent for longer than fetch waits: fewer requests at once, or the settings that help', async () => {
    await using server = await startModel({ name: 'offline-serial', waitMs: 300 })
    const { baseUrl, key: apiKey, name } = server
    const model = modelWith({ baseUrl, apiKey, name, firstTextMs: 60_000 })
    await withFetchTimeout(500, async () => {
      const replies = await Promise.all(Array.from({ length: 8 }, () => model.complete(request())))
      expect(replies.every(({ truncated }) => !truncated)).toBe(true)
    })
    expect(server.requests.length).toBeGreaterThan(8)
    await using silent = await serial(5_000)
    await withFetchTimeout(50, async () => {
      const error = await refusal(modelWith({ baseUrl: silent.url, firstTextMs: 60_000 }).complete(request()))
      expect(error).toMatchObject({ code: 'timeout', next: expect.stringContaining('LLM_CONTEXT_TOKENS') })
      expect(error.message).toContain('sent nothing for 300 seconds')
    })
  })

  it('gets no more at once than LLM_CONCURRENCY says', async () => {
    let inside = 0
    let most = 0
    await using server = await startServer('counting', async () => {
      inside += 1
      most = Math.max(most, inside)
      await wait(10)
      inside -= 1
      return sse('Yes.')
    })
    const model = modelWith({ baseUrl: server.url, concurrency: 2 })
    await Promise.all(Array.from({ length: 9 }, () => model.complete(request())))
    expect(most).toBe(2)
  })

  it('is not asked for a request that was given up while it waited for its turn', async () => {
    await using server = await serial(50)
    const model = modelWith({ baseUrl: server.url, concurrency: 1 })
    const stop = new AbortController()
    const [first, second, third] = [
      model.complete(request()),
      refusal(model.complete(request({ signal: stop.signal }))),
      model.complete(request()),
    ]
    stop.abort()
    expect((await second).code).toBe('cancelled')
    expect([(await first).text, (await third).text]).toEqual(['Yes.', 'Yes.'])
    expect(bodies(server)).toHaveLength(2)
  })
})

describe('a server that cuts long prompts silently', () => {
  it('is found out by what it says it read', async () => {
    const long = request({ messages: [{ role: 'user', content: 'a line of the repository\n'.repeat(1_500) }] })
    const error = await refusal(modelWith({ name: 'offline-cutting' }).complete(long))
    expect(error).toMatchObject({ code: 'model', next: expect.stringContaining('LLM_CONTEXT_TOKENS') })
    expect(error.message).toContain('it cuts long requests')
  })
})

describe('a check before anything is paid for', () => {
  const checked = (more: Partial<ModelConfig> = {}) => modelWith(more).check!(AbortSignal.timeout(10_000))

  it('passes with the right key and model, and asks the service once', async () => {
    const model = modelWith()
    const before = local.requests.length
    await Promise.all([model.check!(AbortSignal.timeout(60_000)), model.check!(AbortSignal.timeout(60_000))])
    await model.check!(AbortSignal.timeout(60_000))
    expect(local.requests.slice(before).map(({ path }) => path)).toEqual(['/v1/models'])
  })

  it('refuses a wrong key and an unknown model, each with the setting to look at', async () => {
    const wrongKey = await refusal(checked({ apiKey: 'sk-wrong' }))
    expect(wrongKey).toMatchObject({ code: 'model', next: 'Look at LLM_API_KEY, and whether it may use LLM_MODEL.' })
    expect(JSON.stringify(wrongKey)).not.toContain('sk-wrong')
    const unknown = await refusal(checked({ name: 'gpt-none' }))
    expect(unknown.message).toContain('does not have the model “gpt-none”')
    expect(unknown.next).toMatch(/^Look at LLM_MODEL\. The service has “offline-extractive”, /)
  })

  it('goes on where the service tells nothing', async () => {
    for (const reply of [
      json(404, {}),
      json(405, {}),
      json(200, { data: [] }),
      json(500, {}),
      { status: 200, body: '<html>' },
    ]) {
      await using server = await startServer('telling nothing', () => reply)
      await checked({ baseUrl: server.url })
    }
    const gone = await startServer('gone', () => undefined)
    await gone.close()
    await checked({ baseUrl: gone.url })
  })

  it('knows a model by the spellings that services use', async () => {
    await using server = await startServer('spelling', ({ path }) =>
      path === '/models'
        ? json(200, { data: [{ id: 'models/gemini-3-flash' }, { id: 'llama3:latest' }] })
        : json(404, {}),
    )
    await checked({ baseUrl: server.url, name: 'gemini-3-flash' })
    await checked({ baseUrl: server.url, name: 'Llama3' })
    expect((await refusal(checked({ baseUrl: server.url, name: 'llama4' }))).message).toContain('“llama4”')
  })

  it('that failed is made again by the next', async () => {
    const undo = local.rule({ times: 1, fault: { kind: 'answer', status: 401, body: '{}' } })
    const model = modelWith()
    expect((await refusal(model.check!(AbortSignal.timeout(60_000)))).code).toBe('model')
    undo()
    await model.check!(AbortSignal.timeout(60_000))
  })
})

/** A stream with this text. */
function sse(text: string, { reasoning = 0, finish = 'stop' }: { reasoning?: number; finish?: string } = {}) {
  const events = [
    { choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    {
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: reasoning + Math.ceil(text.length / 4),
        completion_tokens_details: { reasoning_tokens: reasoning },
      },
    },
  ]
  const body = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((event) => `data: ${event}\n\n`).join('')
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, body }
}
