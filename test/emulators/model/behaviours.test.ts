// What each model of the local service does to its callers, as the official client of OpenAI sees it.
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { localModels } from '../../../src/emulators/model/models.js'
import { type LocalModel, startModel } from '../../../src/emulators/model/server.js'
import { until } from '../../support/until.js'

type Body = Omit<OpenAI.Chat.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages'>

let service: LocalModel
let client: OpenAI

const clientOf = (model: LocalModel, apiKey = model.key) =>
  new OpenAI({ baseURL: model.baseUrl, apiKey, maxRetries: 0, logLevel: 'off' })

beforeAll(async () => {
  service = await startModel()
  client = clientOf(service)
})
afterAll(() => service.close())

const shown = [
  '=== file "src/boat.ts" lines 1-3 (source, full)',
  '1| /** Rows the boat to the other shore. */',
  '2| export function rowBoat(oars: number): void {',
  '3| }',
  '=== end',
  '=== question',
  '| What does rowBoat do?',
  '=== end',
].join('\n')

const messages = (data = shown, rules = ''): OpenAI.Chat.ChatCompletionMessageParam[] => [
  { role: 'system', content: `Task: answer\n${rules}` },
  { role: 'user', content: data },
]

const ask = (model: string, body: Body = {}, data = shown, from = client) =>
  from.chat.completions.create({ model, messages: messages(data), ...body })

const textOf = (reply: OpenAI.Chat.ChatCompletion) => reply.choices[0]!.message.content ?? ''
const finishOf = (reply: OpenAI.Chat.ChatCompletion) => reply.choices[0]!.finish_reason
const thoughtOf = (reply: OpenAI.Chat.ChatCompletion) => reply.usage?.completion_tokens_details?.reasoning_tokens

async function refusal(done: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await done.then(
    () => expect.unreachable('it was accepted'),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(OpenAI.APIError)
  return error as InstanceType<typeof OpenAI.APIError>
}

const words = (count: number) => 'word '.repeat(count)

describe('the service', () => {
  it('lists its models and describes each', async () => {
    const listed: string[] = []
    for await (const model of client.models.list()) listed.push(model.id)
    expect(listed).toEqual(localModels.map((model) => model.name))
    expect((await client.models.retrieve('offline/gpt-6-luna')).id).toBe('offline/gpt-6-luna')
    expect(await refusal(client.models.retrieve('gpt-none'))).toBeInstanceOf(OpenAI.NotFoundError)
  })

  it('refuses an unknown model as OpenAI does', async () => {
    const error = await refusal(ask('gpt-none'))
    expect(error).toBeInstanceOf(OpenAI.NotFoundError)
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', type: 'invalid_request_error', param: null })
    expect(error.message).toContain('The model `gpt-none` does not exist')
  })

  it('refuses a wrong key and a missing one as OpenAI does', async () => {
    const wrong = await refusal(ask(service.name, {}, shown, clientOf(service, 'sk-wrong-0123456789')))
    expect(wrong).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(wrong).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'invalid_request_error' })
    expect(wrong.message).toMatch(/^401 Incorrect API key provided: sk-w\*+6789\.$/)
    const missing = await fetch(`${service.baseUrl}/models`)
    expect(missing.status).toBe(401)
    expect(await missing.json()).toMatchObject({ error: { code: null, type: 'invalid_request_error' } })
  })

  it('refuses a field that no model takes', async () => {
    const error = await refusal(ask(service.name, { max_token: 5 } as Body))
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ status: 400, code: null, param: null })
    expect(error.message).toBe('400 Unrecognized request argument supplied: max_token')
  })

  it('has a name for each model once, and starts with none that it does not have', async () => {
    expect(new Set(localModels.map((model) => model.name)).size).toBe(localModels.length)
    await expect(startModel({ name: 'offline-none' })).rejects.toThrow('There is no local model offline-none.')
  })
})

describe('offline-reasoning', () => {
  const model = 'offline-reasoning'

  it('charges its thinking to the limit before the first letter', async () => {
    const reply = await ask(model, { max_completion_tokens: 2_000 })
    expect(textOf(reply)).toContain('`rowBoat`')
    expect(finishOf(reply)).toBe('stop')
    expect(thoughtOf(reply)).toBe(1_500)
    expect(reply.usage!.completion_tokens).toBeGreaterThan(1_500)
    expect(reply.usage!.total_tokens).toBe(reply.usage!.prompt_tokens + reply.usage!.completion_tokens)
  })

  it('says nothing when thinking takes the whole limit, in one piece and in a stream', async () => {
    const reply = await ask(model, { max_completion_tokens: 700 })
    expect([textOf(reply), finishOf(reply), thoughtOf(reply)]).toEqual(['', 'length', 700])
    const chunks = await client.chat.completions.create({
      model,
      messages: messages(),
      max_completion_tokens: 700,
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    const finishes: unknown[] = []
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const chunk of chunks) {
      text += chunk.choices[0]?.delta.content ?? ''
      if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason)
      usage = chunk.usage
    }
    expect([text, finishes]).toEqual(['', ['length']])
    expect(usage).toMatchObject({ completion_tokens: 700, completion_tokens_details: { reasoning_tokens: 700 } })
  })

  it('cuts a reply that does not fit beside its thinking', async () => {
    const reply = await ask(model, { max_completion_tokens: 1_520 })
    expect(finishOf(reply)).toBe('length')
    expect(textOf(reply)).not.toBe('')
    expect(reply.usage!.completion_tokens).toBeLessThanOrEqual(1_520)
  })

  it('thinks as much as the effort says', async () => {
    const tokens = []
    for (const reasoning_effort of ['minimal', 'low', 'medium', 'high'] as const) {
      tokens.push(thoughtOf(await ask(model, { max_completion_tokens: 10_000, reasoning_effort })))
    }
    expect(tokens).toEqual([75, 450, 1_500, 3_000])
  })

  it.each<[Body, string, string]>([
    [{ max_tokens: 700 }, 'unsupported_parameter', 'max_tokens'],
    [{ temperature: 0 }, 'unsupported_value', 'temperature'],
    [{ reasoning_effort: 'none' }, 'unsupported_value', 'reasoning_effort'],
    [{ max_completion_tokens: 128_001 }, 'invalid_value', 'max_completion_tokens'],
    [{ max_completion_tokens: 0 }, 'integer_below_min_value', 'max_completion_tokens'],
  ])('refuses %j by name', async (body, code, param) => {
    const error = await refusal(ask(model, body))
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ status: 400, code, param, type: 'invalid_request_error' })
    expect(error.message).toContain(param)
  })

  it('takes the temperature that is its default', async () => {
    expect(finishOf(await ask(model, { temperature: 1 }))).toBe('stop')
  })
})

describe('offline/gpt-6-luna', () => {
  const model = 'offline/gpt-6-luna'

  it('knows the effort none and not minimal', async () => {
    expect(thoughtOf(await ask(model, { reasoning_effort: 'none', max_completion_tokens: 700 }))).toBe(0)
    const error = await refusal(ask(model, { reasoning_effort: 'minimal' }))
    expect(error.message).toContain("Supported values are: 'none', 'low', 'medium', 'high', 'xhigh', 'max'.")
  })

  it('caches whole prompts only, and says what it wrote', async () => {
    await using fresh = await startModel()
    const usage = async (data: string) =>
      (await ask(model, {}, data, clientOf(fresh))).usage!.prompt_tokens_details as {
        cached_tokens: number
        cache_write_tokens: number
      }
    const stable = words(2_000)
    const first = await usage(`${stable}one`)
    expect(first).toEqual({ cached_tokens: 0, cache_write_tokens: expect.any(Number) })
    expect(first.cache_write_tokens).toBeGreaterThan(2_000)
    expect((await usage(`${stable}two`)).cached_tokens).toBe(0)
    expect(await usage(`${stable}one`)).toEqual({ cached_tokens: first.cache_write_tokens, cache_write_tokens: 0 })
    expect(await usage('short')).toEqual({ cached_tokens: 0, cache_write_tokens: 0 })
  })
})

describe('offline-strict', () => {
  const model = 'offline-strict'

  it.each<Body>([{ max_completion_tokens: 5 }, { reasoning_effort: 'low' }, { seed: 1 }])(
    'refuses %j, naming it in the sentence only',
    async (body) => {
      const error = await refusal(ask(model, body))
      expect(error).toMatchObject({ status: 400, code: null, param: null })
      expect(error.message).toBe(`400 Unrecognized request argument supplied: ${Object.keys(body)[0]}`)
    },
  )

  it('takes stream_options in every second request', async () => {
    await using fresh = await startModel()
    const stream = async () => {
      const options = { stream: true, stream_options: { include_usage: true } } as const
      const chunks = await clientOf(fresh).chat.completions.create({ model, messages: messages(), ...options })
      for await (const _ of chunks);
    }
    await stream()
    expect((await refusal(stream())).message).toContain('stream_options')
    await stream()
  })
})

describe('a small context', () => {
  it('refuses more with the code of OpenAI, and counts the limit of the reply', async () => {
    const model = 'offline-small-context'
    expect(finishOf(await ask(model, { max_tokens: 1_000 }, words(7_000)))).toBe('stop')
    const error = await refusal(ask(model, { max_tokens: 2_000 }, words(7_000)))
    expect(error).toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'messages' })
    expect(error.message).toContain("This model's maximum context length is 8192 tokens.")
  })

  it('refuses more in the words of llama.cpp, and ends the reply where the context ends', async () => {
    const model = 'offline-small-context-llama'
    const error = await refusal(ask(model, {}, words(9_000)))
    expect(error).toMatchObject({ status: 400, code: 400, type: 'exceed_context_size_error' })
    expect(error.message).toContain('request (9005 tokens) exceeds the available context size (8192 tokens)')
    expect(error.error).toMatchObject({ n_prompt_tokens: 9_005, n_ctx: 8_192 })
    expect(finishOf(await ask(model, { max_token: 5 } as Body))).toBe('stop')
    const full = await ask(model, { max_tokens: 2_000 }, `${words(8_100)}\n${shown}`)
    expect(finishOf(full)).toBe('length')
    expect(full.usage!.total_tokens).toBeLessThanOrEqual(8_192)
  })
})

describe('offline-cutting', () => {
  const model = 'offline-cutting'

  it('reads the end of a long prompt and says so in usage only', async () => {
    const reply = await ask(model, {}, `${words(6_000)}\n${shown}`)
    expect(textOf(reply)).toContain('`rowBoat`')
    expect(reply.usage!.prompt_tokens).toBe(2_050)
    const [, user] = service.prompts.at(-1)!.messages
    expect(user!.content.length).toBeLessThan(words(2_050).length)
    expect(service.prompts.at(-1)!.system).toBe('Task: answer\n')
  })

  it('reads a prompt that fits as it is', async () => {
    const reply = await ask(model, {}, `${words(3_000)}\n${shown}`)
    expect(reply.usage!.prompt_tokens).toBeGreaterThan(3_000)
    expect(service.prompts.at(-1)!.text).toContain(words(3_000))
  })
})

describe('offline-caching', () => {
  it('counts what a prompt shares with the beginning of an earlier one, in steps of 128', async () => {
    const cached = async (data: string) =>
      (await ask('offline-caching', {}, data)).usage!.prompt_tokens_details!.cached_tokens!
    expect(await cached(`${words(2_000)}one`)).toBe(0)
    const second = await cached(`${words(2_000)}two`)
    expect(second).toBeGreaterThanOrEqual(1_920)
    expect(second % 128).toBe(0)
    expect(await cached(`other ${words(2_000)}`)).toBe(0)
    expect([await cached(`less ${words(900)}`), await cached(`less ${words(900)}`)]).toEqual([0, 0])
  })
})

describe('a model that waits', () => {
  /** The order in which things happened, which does not depend on how long they took. */
  const noting = () => {
    const notes: string[] = []
    return { notes, note: (what: string) => () => notes.push(what) }
  }

  it('serves one request at a time, in the order in which they came', async () => {
    await using slow = await startModel({ waitMs: 20 })
    const serial = clientOf(slow)
    const { notes, note } = noting()
    const first = ask('offline-serial', {}, shown, serial).then(note('first'))
    await until('the first is read', () => slow.prompts.length === 1)
    const second = ask('offline-serial', {}, shown, serial).then(note('second'))
    const third = ask('offline-serial', {}, shown, serial).then(note('third'))
    const other = ask('offline-extractive', {}, shown, serial).then(note('other'))
    await first
    expect(slow.prompts.filter((prompt) => prompt.model === 'offline-serial').length).toBeLessThanOrEqual(2)
    await Promise.all([second, third, other])
    expect(notes.filter((name) => name !== 'other')).toEqual(['first', 'second', 'third'])
  })

  it('does not serve a caller who left the queue, and goes on with the next', async () => {
    await using slow = await startModel({ waitMs: 60_000 })
    const [leave, leaveQueue] = [new AbortController(), new AbortController()]
    const serial = clientOf(slow)
    const queued = async (data: string, signal: AbortSignal) => {
      const sent = slow.requests.length
      const body = { model: 'offline-serial', messages: messages(data) }
      const asked = serial.chat.completions.create(body, { signal }).catch((error: unknown) => error)
      await until('it is sent', () => slow.requests.length > sent)
      return { asked }
    }
    const first = await queued('first', leave.signal)
    const second = await queued('second', leaveQueue.signal)
    await until('the first is read', () => slow.prompts.length === 1)
    leaveQueue.abort()
    expect(await second.asked).toBeInstanceOf(OpenAI.APIUserAbortError)
    // What comes behind it is answered, so the server has seen it leave.
    await serial.models.list()
    leave.abort()
    expect(await first.asked).toBeInstanceOf(OpenAI.APIUserAbortError)
    const leaveLater = new AbortController()
    const third = await queued('third', leaveLater.signal)
    await until('the third is read', () => slow.prompts.length === 2)
    expect(slow.prompts.map((prompt) => prompt.messages[1]!.content)).toEqual(['first', 'third'])
    leaveLater.abort()
    await third.asked
  })

  it('sends nothing, not even headers, before the reply', async () => {
    await using silent = await startModel({ waitMs: 60_000 })
    const patient = new OpenAI({ baseURL: silent.baseUrl, apiKey: silent.key, maxRetries: 0, timeout: 100 })
    const asked = patient.chat.completions.create({ model: 'offline-silent', messages: messages(), stream: true })
    await expect(asked).rejects.toBeInstanceOf(OpenAI.APIConnectionTimeoutError)
  })

  it.each(['offline-silent', 'offline-serial', 'offline-keep-alive'])('%s answers after its time', async (model) => {
    await using quick = await startModel({ waitMs: 10 })
    const stream = await clientOf(quick).chat.completions.create({ model, messages: messages(), stream: true })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toContain('`rowBoat`')
  })

  it('sends comments that hold the connection, and then the reply', async () => {
    await using gateway = await startModel({ waitMs: 10 })
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}` },
      body: JSON.stringify({ model: 'offline-keep-alive', messages: messages(), stream: true }),
    })
    expect(await response.text()).toMatch(/^: processing\n\ndata: \{/)
  })
})
