// What every model's service must do for us, and every `Model`. The local one passes it always; the real one when its settings are given.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeModel } from '../../src/handoff/clients/openai/client.js'
import type { Model, ModelRequest } from '../../src/handoff/domain/ports.js'
import { refusal } from '../support/refusal.js'

export interface ModelSettings {
  LLM_BASE_URL: string
  LLM_API_KEY: string
  LLM_MODEL: string
}

const data = [
  '=== file "src/boat.ts" lines 1-4 (source, full)',
  '1| /** Rows the boat to the other shore. */',
  '2| export function rowBoat(oars: number): void {',
  '3|   if (oars < 2) throw new Error("one oar goes in circles")',
  '4| }',
  '=== end',
  '=== question',
  '| What does rowBoat do with one oar?',
  '=== end',
].join('\n')

const instructions = [
  'Task: answer',
  'Answer the question from the numbered lines in a few sentences of plain English.',
  'After each sentence that rests on a line write [[path:line "a quote from that line"]].',
].join('\n')

export function modelContract(
  name: string,
  open: () => Promise<{ settings: ModelSettings; close?: () => Promise<void> }>,
): void {
  let settings: ModelSettings
  let close: (() => Promise<void>) | undefined
  let model: Model

  const modelWith = (other: Partial<ModelSettings>, maxOutputTokens?: number) => {
    const { LLM_BASE_URL: baseUrl, LLM_API_KEY: apiKey, LLM_MODEL: name } = { ...settings, ...other }
    return makeModel({ baseUrl, apiKey, name, contextTokens: 8_000, maxOutputTokens })
  }
  const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
    purpose: 'answer',
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: data },
    ],
    answerTokens: 2_000,
    signal: AbortSignal.timeout(120_000),
    ...more,
  })
  const post = (body: object, key = settings.LLM_API_KEY) =>
    fetch(`${settings.LLM_BASE_URL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: settings.LLM_MODEL, messages: request().messages, ...body }),
    })
  describe(name, () => {
    beforeAll(async () => {
      const opened = await open()
      settings = opened.settings
      close = opened.close
      model = modelWith({})
    })
    afterAll(() => close?.())

    describe('as a model', () => {
      it('answers from what it is shown, and cites it', async () => {
        const reply = await model.complete(request())
        expect(reply.truncated).toBe(false)
        expect(reply.text).toMatch(/\[\[src\/boat\.ts:\d(-\d)?( "[^\n]+")?\]\]/)
        expect(reply.usage.inputTokens).toBeGreaterThan(30)
        expect(reply.usage.outputTokens).toBeGreaterThan(5)
      })

      it('hands out the text in pieces that add up to the reply', async () => {
        const pieces: string[] = []
        const reply = await model.complete(request({ onText: (piece) => pieces.push(piece) }))
        expect(pieces.length).toBeGreaterThan(1)
        expect(pieces.join('')).toBe(reply.text)
      })

      it('says when its reply is cut by the limit', async () => {
        const question = 'Count from one to five hundred in words.'
        const short = modelWith({}, 12)
        const reply = await short.complete(request({ messages: [{ role: 'user', content: question }] }))
        expect(reply.truncated).toBe(true)
      })

      it('stops when it is asked to, before and in the middle', async () => {
        expect(await refusal(model.complete(request({ signal: AbortSignal.abort() })))).toMatchObject({
          code: 'cancelled',
        })
        const stop = new AbortController()
        const stopped = model.complete(request({ signal: stop.signal, onText: () => stop.abort() }))
        expect(await refusal(stopped)).toMatchObject({ code: 'cancelled' })
        expect(await refusal(model.complete(request({ signal: AbortSignal.timeout(1) })))).toMatchObject({
          code: 'timeout',
        })
      })

      it('refuses a wrong key and an unknown model, each with the setting to look at', async () => {
        const wrongKey = await refusal(modelWith({ LLM_API_KEY: 'not-the-key' }).complete(request()))
        expect(wrongKey.code).toBe('model')
        expect(wrongKey.next).toContain('LLM_API_KEY')
        expect(JSON.stringify([wrongKey, wrongKey.stack])).not.toContain('not-the-key')
        const unknown = await refusal(modelWith({ LLM_MODEL: 'no-such-model-at-all' }).complete(request()))
        expect(unknown.code).toBe('model')
        expect(unknown.next).toContain('LLM_MODEL')
      })

      it('never counts fewer tokens than the service charges for the text', async () => {
        const reply = await model.complete(request())
        const counted = request().messages.map((message) => model.estimateTokens(message.content))
        const total = counted.reduce((sum, tokens) => sum + tokens, 0)
        // What the service puts around each message is its own.
        expect(total + 8 * counted.length + 16).toBeGreaterThanOrEqual(reply.usage.inputTokens)
      })
    })

    describe('on the wire', () => {
      it('streams pieces, then the end, then what it cost', async () => {
        const response = await post({ stream: true, stream_options: { include_usage: true } })
        expect(response.status).toBe(200)
        expect(response.headers.get('content-type')).toContain('text/event-stream')
        const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('data: '))
        expect(events.at(-1)).toBe('data: [DONE]')
        const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)))
        expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk')).toBe(true)
        expect(chunks.some((chunk) => chunk.choices[0]?.delta?.content)).toBe(true)
        expect(
          chunks.filter((chunk) => chunk.choices[0]?.finish_reason).map((chunk) => chunk.choices[0].finish_reason),
        ).toEqual(['stop'])
        expect(chunks.at(-1).choices).toEqual([])
        expect(chunks.at(-1).usage.prompt_tokens).toBeGreaterThan(0)
      })

      it('answers in one piece when no stream is asked for', async () => {
        const response = await post({})
        const body = (await response.json()) as {
          choices: { message: { role: string; content: string } }[]
          usage: { total_tokens: number }
        }
        expect(body.choices[0]?.message.role).toBe('assistant')
        expect(body.choices[0]?.message.content).not.toBe('')
        expect(body.usage.total_tokens).toBeGreaterThan(0)
      })

      it('has errors of one shape, and lists its models', async () => {
        for (const [response, status] of [
          [await post({}, 'not-the-key'), 401],
          [await post({ model: 'no-such-model-at-all' }), 404],
          [await post({ messages: 'nonsense' }), 400],
        ] as const) {
          expect(response.status).toBe(status)
          expect(((await response.json()) as { error: { message: string } }).error.message).toMatch(/\w/)
        }
        const listed = await fetch(`${settings.LLM_BASE_URL}/models`, {
          headers: { authorization: `Bearer ${settings.LLM_API_KEY}` },
        })
        const { data: models } = (await listed.json()) as { data: { id: string }[] }
        expect(models.map((one) => one.id)).toContain(settings.LLM_MODEL)
      })
    })
  })
}
