// The OpenAI entry point, as unmodified clients speak it, against the built functions.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call, type Deployment, deploy, name, otherToken, post, recordOf, token } from './kit.js'

let here: Deployment
let openai: OpenAI

beforeAll(async () => {
  here = await deploy()
  openai = new OpenAI({ baseURL: `${here.url}/v1`, apiKey: token, maxRetries: 0 })
}, 120_000)

afterAll(async () => {
  await here?.close()
})

const question = 'How is the token refreshed?'
const user = (content: string) => ({ role: 'user' as const, content })
const assistant = (content: string) => ({ role: 'assistant' as const, content })

test('openai lists the models, and reads one', async () => {
  const { data } = await openai.models.list()
  expect(data.map(({ id }) => id)).toEqual([name, `${name}@main`])
  expect(await openai.models.retrieve(`${name}@main`)).toMatchObject({ object: 'model', owned_by: 'octo' })
  await expect(openai.models.retrieve(`${name}@none`)).rejects.toMatchObject({ status: 404, code: 'not-found' })
})

test('openai asks: the answer of POST /api/ask, with links and an annotation for each of them', async () => {
  const other = await post(here.url, { repository: name, run: here.run.run, question })
  const { id, choices, usage } = await openai.chat.completions.create({ model: name, messages: [user(question)] })
  expect(id).toBe(`chatcmpl-${other.body.id}`)
  const { content, annotations = [] } = choices[0]!.message
  expect(content).toBe(other.body.markdown)
  expect(annotations.length).toBeGreaterThan(0)
  const linked = annotations.map(({ url_citation: { url, title, start_index: start, end_index: end } }) => ({
    url,
    title,
    text: content!.slice(start, end),
  }))
  const [citation] = other.body.citations
  expect(linked[0]).toEqual({ url: citation.url, title: citation.label, text: expect.stringContaining(citation.url) })
  expect(linked[0]!.text).toMatch(/^\[.*\]\(.*\)$/)
  expect(usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
})

test('openai streams: the steps, the same words, the annotations, the usage', async () => {
  const asked = 'When is the token refreshed, and where?'
  const stream = await openai.chat.completions.create({
    model: `${name}@main`,
    messages: [{ role: 'system', content: 'Answer in one word.' }, user(asked)],
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  const deltas = chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta as Record<string, unknown>)
  const { body } = await post(here.url, { repository: name, run: here.run.run, question: asked })
  expect(deltas.map(({ content }) => content ?? '').join('')).toBe(body.markdown)
  expect(deltas.map(({ reasoning_content: text }) => text ?? '').join('')).toContain('open sandbox')
  expect(deltas.some(({ annotations }) => Array.isArray(annotations))).toBe(true)
  expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('stop')
  expect(chunks.at(-1)!.usage!.total_tokens).toBe(body.usage.inputTokens + body.usage.outputTokens)
})

test('earlier messages of the user are the thread, and the model is shown their answers', async () => {
  const followUp = 'And what happens when refreshToken() fails?'
  const first = await openai.chat.completions.create({ model: name, messages: [user(question)] })
  const before = here.stack.clouds.model.requests.length
  const second = await openai.chat.completions.create({
    model: name,
    messages: [user(question), assistant('It is green.'), user(followUp)],
  })
  const record = recordOf(here, second.id.replace('chatcmpl-', ''))!
  expect(record).toMatchObject({ question: followUp, thread: first.id.replace('chatcmpl-', '') })
  const sent = here.stack.clouds.model.requests.slice(before).map(({ body }) => String(body))
  expect(sent).toHaveLength(1)
  expect(sent[0]).toContain(question)
  expect(sent[0]).not.toContain('It is green.')
  const again = await openai.chat.completions.create({
    model: name,
    messages: [user(question), assistant('Other words.'), user(followUp)],
  })
  expect(again.id).toBe(second.id)
})

test('the AI SDK asks and streams', async () => {
  const provider = createOpenAICompatible({ name: 'handoff', baseURL: `${here.url}/v1`, apiKey: token })
  const { text, finishReason } = await generateText({ model: provider(name), prompt: question, maxRetries: 0 })
  expect(finishReason).toBe('stop')
  const streamed = streamText({ model: provider(`${name}@main`), prompt: question, maxRetries: 0 })
  expect(await streamed.text).toBe(text)
})

test('errors come in the form of OpenAI', async () => {
  const refused = (options: Partial<ConstructorParameters<typeof OpenAI>[0]>, model = name) =>
    new OpenAI({ baseURL: `${here.url}/v1`, apiKey: token, maxRetries: 0, ...options }).chat.completions.create({
      model,
      messages: [user(question)],
    })
  await expect(refused({ apiKey: 'wrong' })).rejects.toMatchObject({ status: 401, type: 'authentication_error' })
  await expect(refused({ apiKey: otherToken })).rejects.toMatchObject({ status: 403, type: 'permission_error' })
  await expect(refused({}, 'gpt-4o')).rejects.toMatchObject({
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid-input',
    message: expect.stringContaining('GET /v1/models lists them'),
  })
  await expect(refused({}, `${name}@none`)).rejects.toMatchObject({ status: 404, type: 'not_found_error' })
  const stream = { model: `${name}@none`, messages: [user(question)], stream: true as const }
  await expect(openai.chat.completions.create(stream)).rejects.toMatchObject({ status: 404 })
})

test.each([
  ['/v1/models', 'POST', 405],
  ['/v1/chat/completions', 'GET', 405],
  ['/v1/embeddings', 'POST', 404],
])('%s does not take %s', async (path, method, status) => {
  const answer = await call(here.url, path, { method })
  expect({ status: answer.status, error: answer.body.error?.code }).toEqual({
    status,
    error: status === 404 ? 'not-found' : 'method-not-allowed',
  })
})

test('a conversation of a thousand messages is answered, and a longer one is refused', async () => {
  const talk = (count: number) => ({
    model: name,
    messages: Array.from({ length: count }, (_none, index) =>
      index % 2 ? assistant('…') : user(`Question ${index}?`),
    ),
  })
  const { choices } = await openai.chat.completions.create({ ...talk(1_000), messages: [...talk(999).messages] })
  expect(choices[0]!.message.content).not.toBe('')
  await expect(openai.chat.completions.create(talk(2_001))).rejects.toMatchObject({ status: 400 })
})

test.each([
  ['no object', '[]'],
  ['no JSON', '{'],
  ['no messages', { model: 'octo/tools' }],
  ['messages that are none', { model: 'octo/tools', messages: [null] }],
  ['no user', { model: 'octo/tools', messages: [{ role: 'system', content: 'x' }] }],
  ['a picture', { model: 'octo/tools', messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }],
  ['two answers', { model: 'octo/tools', n: 2, messages: [{ role: 'user', content: 'x' }] }],
  ['a schema', { model: 'octo/tools', response_format: { type: 'json_schema' }, messages: [] }],
])('%s: refused before anything is paid', async (_what, body) => {
  const before = here.machines()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = { 'content-type': 'application/json' }
  const answer = await call(here.url, '/v1/chat/completions', { method: 'POST', body: text, headers })
  expect(answer).toMatchObject({ status: 400, body: { error: { type: 'invalid_request_error' } } })
  expect(here.machines()).toBe(before)
})
