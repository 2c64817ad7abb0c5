import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startServer } from '../../../../src/emulators/faulty-server.js'
import { type LocalModel, startModel } from '../../../../src/emulators/model/server.js'
import { makeModel } from '../../../../src/handoff/clients/openai/client.js'
import type { ModelConfig } from '../../../../src/handoff/clients/openai/config.js'
import { createThinkingFilter } from '../../../../src/handoff/clients/openai/stream.js'
import { abortError, HandoffError } from '../../../../src/handoff/domain/errors.js'
import type { Clock, ModelRequest } from '../../../../src/handoff/domain/ports.js'

const key = 'sk-the-key-of-the-test'
const data =
  '=== file "a.ts" lines 1-2 (source, full)\n1| export function greet() {\n2| }\n=== end\n=== question\n| What is greet?\n=== end'

let local: LocalModel
let waits: number[] = []

/** Waits for nothing, and remembers for how long it would have. */
const clock: Clock = {
  now: () => 0,
  async sleep(milliseconds, signal) {
    waits.push(milliseconds)
    if (signal.aborted) throw abortError(signal, 'waiting')
  },
}

beforeAll(async () => {
  local = await startModel({ key })
})
afterEach(() => {
  local.clearBehaviours()
  local.clearRules()
  waits = []
})
afterAll(() => local.close())

const modelWith = (more: Partial<ModelConfig> = {}) =>
  makeModel({
    baseUrl: local.baseUrl,
    apiKey: key,
    name: local.name,
    contextTokens: 100_000,
    firstTextMs: 2_000,
    betweenTextMs: 2_000,
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

async function failure(done: Promise<unknown>): Promise<HandoffError> {
  const error = await done.then(
    () => expect.unreachable('it worked'),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(HandoffError)
  const { cause } = error as HandoffError
  const everything = JSON.stringify([error, (error as Error).stack, String(cause), Object.entries(cause ?? {})])
  expect(everything).not.toContain(key)
  return error as HandoffError
}

/** How many requests reached the service while this ran. */
async function counted<T>(work: () => Promise<T>): Promise<{ value: T; requests: number }> {
  const before = local.requests.length
  return { value: await work(), requests: local.requests.length - before }
}

const bodies = (last: number) =>
  local.requests.slice(-last).map((one) => JSON.parse(one.body.toString()) as Record<string, unknown>)

describe('a reply', () => {
  it('is streamed, and its pieces add up', async () => {
    const pieces: string[] = []
    const reply = await modelWith().complete(request({ onText: (piece) => pieces.push(piece) }))
    expect(reply.text).toContain('[[a.ts:1 "export function greet() {"]]')
    expect(reply.truncated).toBe(false)
    expect(pieces.length).toBeGreaterThan(3)
    expect(pieces.join('')).toBe(reply.text)
  })

  it('is streamed also without a listener, so that its deadlines hold', async () => {
    await modelWith().complete(request())
    expect(bodies(1)[0]).toEqual({
      model: 'offline-extractive',
      messages: request().messages,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      // 500 of text, and room for thinking: the client does not know this model.
      max_tokens: 2_500,
    })
  })

  it('costs what the service says, with what it had in its cache', async () => {
    const long = request({ messages: [{ role: 'user', content: 'a word '.repeat(2_000) }] })
    const model = modelWith({ name: 'offline-caching' })
    const first = await model.complete(long)
    expect(first.usage).toEqual({ inputTokens: local.prompts.at(-1)?.inputTokens, outputTokens: expect.any(Number) })
    expect((await model.complete(long)).usage.cachedInputTokens).toBeGreaterThan(3_000)
  })

  it('has an estimated usage when the service reports none', async () => {
    local.setBehaviour({ kind: 'no-usage' })
    const model = modelWith()
    const reply = await model.complete(request())
    expect(reply.usage).toEqual({
      inputTokens: model.estimateTokens('Task: answer') + model.estimateTokens(data) + 8,
      outputTokens: model.estimateTokens(reply.text),
      estimated: true,
    })
  })

  it('is whole without a role in any piece', async () => {
    local.setBehaviour({ kind: 'no-role' })
    expect((await modelWith().complete(request())).text).toContain('`greet`')
  })

  it('is whole from a service that does not stream', async () => {
    local.setBehaviour({ kind: 'no-stream' })
    const pieces: string[] = []
    const reply = await modelWith().complete(request({ onText: (piece) => pieces.push(piece) }))
    expect(reply).toMatchObject({ truncated: false, text: pieces.join('') })
    expect(reply.usage.estimated).toBeUndefined()
  })

  it('is truncated when the limit ended it', async () => {
    local.setBehaviour({ kind: 'too-long' })
    expect((await modelWith().complete(request())).truncated).toBe(true)
  })

  it('is truncated when the stream ended without saying so', async () => {
    local.setBehaviour({ kind: 'no-finish' })
    expect((await modelWith().complete(request())).truncated).toBe(true)
  })

  it('is truncated when a filter ended it', async () => {
    local.setBehaviour({ kind: 'filtered' })
    expect((await modelWith().complete(request())).truncated).toBe(true)
  })

  it('without an end is read up to 64 kB, and says so', async () => {
    local.setBehaviour({ kind: 'flood' })
    const pieces: string[] = []
    const reply = await modelWith().complete(request({ onText: (piece) => pieces.push(piece) }))
    expect(reply).toMatchObject({ truncated: true, text: pieces.join('') })
    expect(Buffer.byteLength(reply.text)).toBe(65_536)
    expect(reply.problem?.message).toContain('sent a reply without an end; it was stopped after 64 kB')
    expect(reply.mayWiden).toBeUndefined()
  })

  it('is without the thoughts before it, whichever way they come', async () => {
    const honest = (await modelWith().complete(request())).text
    for (const where of ['text', 'field'] as const) {
      const undo = local.setBehaviour({ kind: 'think', where })
      const pieces: string[] = []
      const reply = await modelWith().complete(request({ onText: (piece) => pieces.push(piece) }))
      undo()
      expect([reply.text, pieces.join('')]).toEqual([honest, honest])
    }
  })

  it('comes to text that is not well formed', async () => {
    await modelWith().complete(request({ messages: [{ role: 'user', content: 'half \ud83d of a pair' }] }))
    expect(local.prompts.at(-1)?.text).toBe('half \ufffd of a pair')
  })
})

describe('thoughts in the text', () => {
  const through = (pieces: string[]) => {
    const filter = createThinkingFilter()
    return pieces.map((piece) => filter.visible(piece)).join('') + filter.rest()
  }

  it('are left out wherever the pieces are cut', () => {
    const text = '\n<think>first [[a.ts:1]]</think>\n\nThe reply, with <think> in it.'
    for (let at = 0; at < text.length; at += 1) {
      expect(through([text.slice(0, at), text.slice(at)])).toBe('The reply, with <think> in it.')
    }
    expect(through([...text])).toBe('The reply, with <think> in it.')
  })

  it('have one of three tags, in any case', () => {
    for (const tag of ['think', 'thinking', 'reasoning', 'THINK']) {
      expect(through([...`<${tag}>hm </thin</${tag}>So it is.`])).toBe('So it is.')
    }
  })

  it('are not seen where there are none', () => {
    for (const text of ['<thin air', '<', ' <p>', 'plain', '', '  ', '<thinker>']) expect(through([...text])).toBe(text)
  })

  it('that never end are all there is', () => {
    expect(through(['<think>on and', ' on'])).toBe('')
  })
})

describe('another attempt', () => {
  it('is made twice after 429 without Retry-After, with growing waits', async () => {
    local.setBehaviour({ kind: 'busy' }, { times: 2 })
    const { value, requests } = await counted(() => modelWith().complete(request()))
    expect([value.truncated, requests]).toEqual([false, 3])
    const [first, second] = waits as [number, number]
    expect(first).toBeGreaterThan(375)
    expect(first).toBeLessThanOrEqual(500)
    expect(second).toBeGreaterThan(750)
    expect(second).toBeLessThanOrEqual(1_000)
    expect(waits).toHaveLength(2)
  })

  it('is made as often as the settings say', async () => {
    local.setBehaviour({ kind: 'busy' })
    const { value, requests } = await counted(() => failure(modelWith({ retries: 1 }).complete(request())))
    expect([value.code, requests]).toEqual(['model-limit', 2])
  })

  it('waits as long as Retry-After says, in seconds or as a date', async () => {
    local.setBehaviour({ kind: 'busy', retryAfter: '7' }, { times: 1 })
    await modelWith().complete(request())
    local.setBehaviour({ kind: 'busy', retryAfter: new Date(Date.now() + 20_000).toUTCString() }, { times: 1 })
    await modelWith().complete(request())
    expect(waits[0]).toBe(7_000)
    expect(waits[1]).toBeGreaterThan(17_000)
    expect(waits[1]).toBeLessThanOrEqual(20_000)
  })

  it('is not waited for longer than there is patience', async () => {
    local.setBehaviour({ kind: 'busy', retryAfter: '120' })
    const { value, requests } = await counted(() => failure(modelWith().complete(request())))
    expect(value).toMatchObject({ code: 'model-limit', retryAfterSeconds: 120 })
    expect([requests, waits]).toEqual([1, []])
  })

  it('is not waited for longer than the signal lasts', async () => {
    local.setBehaviour({ kind: 'busy', retryAfter: '5' })
    const late = new AbortController()
    const patient: Clock = {
      ...clock,
      async sleep(_, signal) {
        late.abort(new DOMException('late', 'TimeoutError'))
        throw abortError(signal, 'waiting')
      },
    }
    const error = await failure(modelWith({ clock: patient }).complete(request({ signal: late.signal })))
    expect(error).toMatchObject({ code: 'model-limit', retryAfterSeconds: 5 })
  })

  it('ends at once when the wait is cancelled', async () => {
    local.setBehaviour({ kind: 'busy', retryAfter: '5' })
    const stop = new AbortController()
    const patient: Clock = {
      ...clock,
      async sleep(_, signal) {
        stop.abort()
        throw abortError(signal, 'waiting')
      },
    }
    const error = await failure(modelWith({ clock: patient }).complete(request({ signal: stop.signal })))
    expect(error.code).toBe('cancelled')
  })

  for (const status of [500, 502, 503, 504]) {
    it(`is made after ${status}, twice and no more`, async () => {
      local.setBehaviour({ kind: 'broken', status }, { times: 2 })
      expect((await counted(() => modelWith().complete(request()))).requests).toBe(3)
      local.setBehaviour({ kind: 'broken', status })
      const { value, requests } = await counted(() => failure(modelWith().complete(request())))
      expect(value.code).toBe('model')
      expect(value.message).toContain(`failed (${status}`)
      expect(requests).toBe(3)
    })
  }

  it('is made after a lost connection, before the headers and after them', async () => {
    local.rule({ times: 1, fault: { kind: 'reset' } })
    expect((await counted(() => modelWith().complete(request()))).requests).toBe(2)
    local.setBehaviour({ kind: 'cut' }, { times: 1 })
    expect((await counted(() => modelWith().complete(request({ onText: () => {} })))).requests).toBe(2)
  })

  it('is made after a reply without a stream that breaks off', async () => {
    local.setBehaviour({ kind: 'no-stream' })
    local.rule({ times: 1, fault: { kind: 'cut', bytes: 60 } })
    expect((await counted(() => modelWith().complete(request()))).requests).toBe(2)
  })

  it('is made after a cut or an error in the middle while no caller has received text', async () => {
    local.setBehaviour({ kind: 'cut', after: 2 }, { times: 1 })
    local.setBehaviour({ kind: 'error-in-stream', after: 2 }, { skip: 1, times: 1 })
    const { value, requests } = await counted(() => modelWith().complete(request()))
    expect([value.truncated, requests]).toEqual([false, 3])
  })

  it('is not made once text was handed out', async () => {
    for (const behaviour of [
      { kind: 'cut', after: 2 },
      { kind: 'error-in-stream', after: 2 },
      { kind: 'garbled', after: 2 },
    ] as const) {
      const undo = local.setBehaviour(behaviour)
      const pieces: string[] = []
      const { value, requests } = await counted(() =>
        failure(modelWith().complete(request({ onText: (piece) => pieces.push(piece) }))),
      )
      undo()
      expect([value.code, requests, pieces.length > 0]).toEqual(['model', 1, true])
    }
  })

  it('is not made for what would fail again', async () => {
    local.setBehaviour({ kind: 'busy', quota: true })
    const { value, requests } = await counted(() => failure(modelWith().complete(request())))
    expect(value).toMatchObject({ code: 'model-limit', next: 'Pay at the service, or set another LLM_API_KEY.' })
    expect(requests).toBe(1)
  })
})

describe('a deadline', () => {
  it('ends a service that sends nothing', async () => {
    local.rule({ fault: { kind: 'hang' } })
    const error = await failure(modelWith({ firstTextMs: 40 }).complete(request()))
    expect(error).toMatchObject({ code: 'timeout', message: 'The model’s service sent nothing for 0.04 seconds.' })
  })

  it('ends a stream that begins and sends no text', async () => {
    local.setBehaviour({ kind: 'stall' })
    expect((await failure(modelWith({ firstTextMs: 40 }).complete(request()))).message).toContain('sent nothing')
  })

  it('is not put off by comments or empty pieces that keep the connection alive', async () => {
    for (const how of ['comments', 'empty-pieces'] as const) {
      const undo = local.setBehaviour({ kind: 'keep-alive', with: how, everyMs: 5 })
      expect((await failure(modelWith({ firstTextMs: 60 }).complete(request()))).code).toBe('timeout')
      undo()
    }
  })

  it('ends a stream that stands still in the middle', async () => {
    local.setBehaviour({ kind: 'stall', after: 2 })
    const error = await failure(modelWith({ betweenTextMs: 40 }).complete(request()))
    expect(error.message).toBe(
      'The model’s service stopped in the middle of its reply and was silent for 0.04 seconds.',
    )
  })

  it('is for each piece, not for the whole', async () => {
    local.setBehaviour({ kind: 'slow', pieceMs: 15 })
    const reply = await modelWith({ firstTextMs: 200, betweenTextMs: 200 }).complete(request())
    expect(reply.text.split(/\s+/).length * 15).toBeGreaterThan(300)
  })

  it('for the whole request ends a stream that still sends text, and the client does not retry', async () => {
    local.setBehaviour({ kind: 'slow', pieceMs: 15 })
    const { value, requests } = await counted(() => failure(modelWith({ totalMs: 80 }).complete(request())))
    expect(value).toMatchObject({
      code: 'model',
      message: 'The model’s service was still writing its reply after 0.08 seconds.',
      retryAfterSeconds: undefined,
    })
    expect(requests).toBe(1)
  })

  it('of the caller ends the whole, however lively the stream is', async () => {
    local.setBehaviour({ kind: 'slow', pieceMs: 15 })
    const error = await failure(modelWith().complete(request({ signal: AbortSignal.timeout(80) })))
    expect(error).toMatchObject({ code: 'timeout', message: 'Time ran out while the model was answering.' })
  })

  it('of the caller ends a stream that stands still, which the package would take for the end', async () => {
    local.setBehaviour({ kind: 'stall', after: 2 })
    expect((await failure(modelWith().complete(request({ signal: AbortSignal.timeout(60) })))).code).toBe('timeout')
  })

  it('that has passed sends no request', async () => {
    const { value, requests } = await counted(() =>
      failure(modelWith().complete(request({ signal: AbortSignal.abort() }))),
    )
    expect([value.code, requests]).toEqual(['cancelled', 0])
  })

  it('met in the middle of the text is a cancellation, not a short reply', async () => {
    const stop = new AbortController()
    const error = await failure(modelWith().complete(request({ signal: stop.signal, onText: () => stop.abort() })))
    expect(error.code).toBe('cancelled')
  })

  it('leaves no connection open', async () => {
    let closed = 0
    await using stalling = await startServer('stalling', (_, response) => {
      response.on('close', () => {
        closed += 1
      })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n')
      return undefined
    })
    await failure(modelWith({ baseUrl: stalling.url, betweenTextMs: 20 }).complete(request()))
    await expect.poll(() => closed).toBe(1)
  })
})

describe('what is not a reply', () => {
  const cases = [
    { behaviour: { kind: 'html' }, says: /gave no reply: it answered with a page in HTML/, look: 'LLM_BASE_URL' },
    {
      behaviour: { kind: 'error-with-200' },
      says: /status 200 and an error \(“The engine is not loaded\.”\)/,
      look: 'LLM_MODEL',
    },
    {
      behaviour: { kind: 'error-in-stream' },
      says: /ended its reply with an error: “The engine stopped\.”/,
      look: 'LLM_MODEL',
    },
    {
      behaviour: { kind: 'garbled' },
      says: /sent something that cannot be read/,
      look: 'between here and the service',
    },
  ] as const
  for (const { behaviour, says, look } of cases) {
    it(`is an error that says what to look at: ${behaviour.kind}`, async () => {
      local.setBehaviour(behaviour)
      const error = await failure(modelWith().complete(request()))
      expect(error).toMatchObject({
        code: 'model',
        message: expect.stringMatching(says),
        next: expect.stringContaining(look),
      })
    })
  }

  it('and any other answer with 200 is reported too', async () => {
    const answers: [string, string][] = [
      ['application/json', '{"ok":true}'],
      ['application/json', 'not json'],
      ['application/json', ''],
      ['text/plain', 'hello'],
      ['text/event-stream', ''],
      ['text/event-stream', 'data: {"choices":[]}\n\ndata: [DONE]\n\n'],
    ]
    for (const [type, body] of answers) {
      const undo = local.rule({ fault: { kind: 'answer', status: 200, headers: { 'content-type': type }, body } })
      const error = await failure(modelWith().complete(request()))
      undo()
      expect(error).toMatchObject({ code: 'model', next: expect.stringContaining('LLM_BASE_URL') })
    }
  })

  it('and an error of the limit in the stream is the limit', async () => {
    local.setBehaviour({ kind: 'error-in-stream', code: 'rate_limit_exceeded' })
    expect((await failure(modelWith().complete(request()))).code).toBe('model-limit')
    local.setBehaviour({ kind: 'error-in-stream', code: 429 })
    expect((await failure(modelWith().complete(request()))).code).toBe('model-limit')
  })

  it('and an error in the stream that will not pass is not tried again', async () => {
    await using refusing = await startServer('refusing', () => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: 'data: {"error":{"message":"no such prompt","type":"invalid_request_error","code":"invalid_prompt"}}\n\n',
    }))
    const error = await failure(modelWith({ baseUrl: refusing.url }).complete(request()))
    expect([error.code, refusing.requests.length]).toEqual(['model', 1])
  })

  it('of a lying service never shows the key', async () => {
    local.rule({
      fault: { kind: 'answer', status: 418, body: JSON.stringify({ error: { message: `Bearer ${key} is odd` } }) },
    })
    const error = await failure(modelWith().complete(request()))
    expect(error.message).toContain('refused the request (418: “Bearer … is odd”)')
  })
})

describe('a reply without text', () => {
  const cases = [
    { behaviour: { kind: 'silent' }, says: /gave no text: its reply is empty/, look: 'LLM_MODEL', widens: true },
    { behaviour: { kind: 'say', text: ' \n' }, says: /its reply is empty/, look: 'LLM_MODEL', widens: true },
    {
      behaviour: { kind: 'say', text: '<think>a</think>' },
      says: /its reply is empty/,
      look: 'LLM_MODEL',
      widens: true,
    },
    { behaviour: { kind: 'silent' }, sent: 'filtered', says: /content filter/, look: 'LLM_MODEL', widens: undefined },
    {
      behaviour: { kind: 'silent' },
      sent: 'too-long',
      says: /thinking used all 2500 tokens of its reply/,
      look: 'LLM_REASONING_EFFORT',
      widens: true,
    },
  ] as const
  for (const { behaviour, says, look, widens, ...more } of cases) {
    const sent = 'sent' in more ? more.sent : 'stop'
    it(`is paid for, and says what to look at: ${JSON.stringify(behaviour)} ${sent}`, async () => {
      if (sent !== 'stop') local.setBehaviour({ kind: sent })
      local.setBehaviour(behaviour)
      const reply = await modelWith().complete(request())
      expect(reply.text.trim()).toBe('')
      expect(reply.usage.inputTokens).toBeGreaterThan(10)
      expect(reply.problem).toMatchObject({
        code: 'model',
        message: expect.stringMatching(says),
        next: expect.stringContaining(look),
      })
      expect(reply.mayWiden).toBe(widens)
    })
  }
})

describe('a refusal', () => {
  it('of the key or the model names the setting', async () => {
    const wrongKey = await failure(modelWith({ apiKey: 'sk-wrong' }).complete(request()))
    expect(wrongKey).toMatchObject({ code: 'model', next: 'Look at LLM_API_KEY, and whether it may use LLM_MODEL.' })
    expect(wrongKey.message).not.toContain('sk-wrong')
    const wrongModel = await failure(modelWith({ name: 'gpt-none' }).complete(request()))
    expect(wrongModel.message).toContain('does not know the model “gpt-none”')
    const wrongPath = await failure(modelWith({ baseUrl: local.url }).complete(request()))
    expect(wrongPath.next).toBe('Look at LLM_MODEL and LLM_BASE_URL.')
  })

  it('of a request that is too long names the setting, and no parameter is given up for it', async () => {
    await using small = await startModel({ key, contextTokens: 10 })
    const error = await failure(modelWith({ baseUrl: small.baseUrl }).complete(request()))
    expect(error.next).toBe('Set LLM_CONTEXT_TOKENS to what LLM_MODEL really takes.')
    expect(small.requests).toHaveLength(1)
  })

  it('to connect names the address', async () => {
    const gone = await startServer('gone', () => undefined)
    await gone.close()
    const error = await failure(modelWith({ baseUrl: `${gone.url}/v1` }).complete(request()))
    expect(error.message).toBe(`The model’s service at ${new URL(gone.url).host} cannot be reached (ECONNREFUSED).`)
    expect(error.next).toContain('LLM_BASE_URL')
    expect(waits).toHaveLength(2)
  })

  it('of stream_options is taken once, named or not, and remembered', async () => {
    for (const unnamed of [true, false]) {
      const undo = local.setBehaviour({ kind: 'refuse', parameter: 'stream_options', unnamed })
      const model = modelWith()
      const first = await counted(() => model.complete(request()))
      expect([first.value.usage.estimated, first.requests]).toEqual([true, 2])
      expect((await counted(() => model.complete(request()))).requests).toBe(1)
      undo()
    }
  })

  it('of max_tokens and of temperature is taken once each, and remembered', async () => {
    local.setBehaviour({ kind: 'refuse', parameter: 'max_tokens' }, { times: 1 })
    local.setBehaviour({ kind: 'refuse', parameter: 'temperature' }, { skip: 1, times: 1 })
    const model = modelWith()
    expect((await counted(() => model.complete(request()))).requests).toBe(3)
    expect((await counted(() => model.complete(request()))).requests).toBe(1)
    const [body] = bodies(1)
    expect(body).toMatchObject({ max_completion_tokens: 2_500, stream_options: { include_usage: true } })
    expect(body).not.toHaveProperty('max_tokens')
    expect(body).not.toHaveProperty('temperature')
  })

  it('of everything ends', async () => {
    local.rule({ fault: { kind: 'answer', status: 400, body: '{"error":{"message":"no"}}' } })
    const { value, requests } = await counted(() => failure(modelWith().complete(request())))
    expect(value.message).toContain('refused the request (400: “no”)')
    expect(requests).toBe(2)
  })

  it('is spared where the name of the model tells', async () => {
    await failure(modelWith({ name: 'openai/o3-mini' }).complete(request()))
    expect(bodies(1)[0]).toMatchObject({ max_completion_tokens: 8_500 })
    expect(bodies(1)[0]).not.toHaveProperty('temperature')
  })
})

describe('the model', () => {
  it('names itself and its host, and no more', () => {
    const model = modelWith({ baseUrl: 'https://user.example:8443/v1', name: 'gpt-4o' })
    expect([model.name, model.host, model.contextTokens]).toEqual(['gpt-4o', 'user.example:8443', 100_000])
    expect(JSON.stringify(model)).not.toContain(key)
  })

  it('refuses settings that cannot work, without showing them', async () => {
    for (const apiKey of ['', 'two words', `${key}\n`, 'ключ']) {
      const error = await failure(Promise.resolve().then(() => modelWith({ apiKey })))
      expect(error).toMatchObject({ code: 'missing-setting', message: expect.stringContaining('LLM_API_KEY') })
    }
    for (const baseUrl of ['', 'api.example', 'ftp://x/v1']) {
      const error = await failure(Promise.resolve().then(() => modelWith({ baseUrl })))
      expect(error.message).toContain('LLM_BASE_URL')
    }
  })

  it('takes nothing of another service from the environment', async () => {
    process.env['OPENAI_ORG_ID'] = 'org-elsewhere'
    process.env['OPENAI_PROJECT_ID'] = 'project-elsewhere'
    process.env['OPENAI_BASE_URL'] = 'http://127.0.0.1:9/elsewhere'
    try {
      await modelWith().complete(request())
    } finally {
      for (const name of ['OPENAI_ORG_ID', 'OPENAI_PROJECT_ID', 'OPENAI_BASE_URL']) delete process.env[name]
    }
    expect(JSON.stringify(local.requests.at(-1)?.headers)).not.toContain('elsewhere')
  })

  it('serves several calls at once', async () => {
    const model = modelWith()
    const replies = await Promise.all(Array.from({ length: 8 }, () => model.complete(request())))
    expect(new Set(replies.map((reply) => reply.text)).size).toBe(1)
  })

  it('passes on what its listener throws, and stops', async () => {
    const { requests } = await counted(async () => {
      await expect(
        modelWith().complete(
          request({
            onText: () => {
              throw new Error('the listener failed')
            },
          }),
        ),
      ).rejects.toThrow('the listener failed')
    })
    expect(requests).toBe(1)
  })
})
