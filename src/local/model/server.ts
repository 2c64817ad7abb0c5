// A model's service on loopback: `/v1/chat/completions` and `/v1/models`, as OpenAI-compatible servers have them. It really reads the
// prompt and answers from it, by quoting: no model is behind it, and its name says so wherever it is recorded.
//
//   prompt  reads the blocks            words, places  find what bears on a question
//   answer, prose, terms                write the replies of the four kinds of task
//   behaviour, forge, obey, reply       what it can be told to do wrong
//   stream                              how it is sent
import type { ServerResponse } from 'node:http'
import { freshId, json, type LocalServer, type RecordedRequest, type Reply, startServer } from '../server.js'
import { type Behaviour, type Mood, makeMoods, type When } from './behaviour.js'
import { refusal, type WireRequest, wireError } from './checks.js'
import { countPieces, isMessage, type Message, type Prompt, readPrompt } from './prompt.js'
import { speak } from './reply.js'
import { completion, type Sending, stream } from './stream.js'

export const offlineModel = 'offline-extractive'

export interface ModelOptions {
  port?: number
  /** What a request must bear. A fresh one when absent. */
  key?: string
  /** Tokens that input and output may take together, by this model's own modest count; beyond it the answer is 400. */
  contextTokens?: number
  /** The pace of a real model, where a demo or a measurement wants one. */
  pace?: { firstMs?: number; pieceMs?: number }
}

export interface RecordedPrompt extends Prompt {
  at: number
  messages: Message[]
  /** Everything that was sent, as one text: to look for what must not be in it. */
  text: string
  stream: boolean
  maxTokens: number | undefined
  inputTokens: number
}

export interface LocalModel extends LocalServer {
  readonly name: typeof offlineModel
  readonly key: string
  /** With `/v1`, as LLM_BASE_URL has it. */
  readonly baseUrl: string
  /** What makes the product use it. */
  readonly settings: { LLM_BASE_URL: string; LLM_API_KEY: string; LLM_MODEL: string }
  /** The prompts that were answered, in order. */
  readonly prompts: RecordedPrompt[]
  /** Makes it behave so, and returns how to take that back. */
  behave(behaviour: Behaviour, when?: When): () => void
  behaveWell(): void
}

export async function startModel(options: ModelOptions = {}): Promise<LocalModel> {
  const key = options.key ?? `local-${freshId()}`
  const prompts: RecordedPrompt[] = []
  const moods = makeMoods()

  const server = await startServer('local model', handle, options.port === undefined ? {} : { port: options.port })

  async function handle(request: RecordedRequest, response: ServerResponse): Promise<Reply | undefined> {
    const path = request.path.split('?')[0]
    if (request.headers['authorization'] !== `Bearer ${key}`) {
      return wireError(401, 'Incorrect API key provided.', { type: 'invalid_request_error', code: 'invalid_api_key' })
    }
    if (path === '/v1/models' && request.method === 'GET') return json(200, { object: 'list', data: [description] })
    if (path === `/v1/models/${offlineModel}` && request.method === 'GET') return json(200, description)
    if (path === '/v1/chat/completions' && request.method === 'POST') return await complete(request, response)
    return wireError(404, `Invalid URL (${request.method} ${path})`, { type: 'invalid_request_error', code: null })
  }

  async function complete(request: RecordedRequest, response: ServerResponse): Promise<Reply | undefined> {
    const body = parse(request.body)
    const messages = Array.isArray(body?.messages) ? body.messages.filter(isMessage) : []
    const prompt = readPrompt(messages)
    const mood = moods.next(prompt.task)
    if (options.pace) mood.pace ??= { kind: 'slow', ...options.pace }
    const inputTokens = countPieces(messages.map((message) => message.content).join('\n'))
    const limits = { model: offlineModel, inputTokens, contextTokens: options.contextTokens ?? 1_000_000 }
    const refused = refusal(body, mood.sending, limits)
    if (refused || !body) return refused
    const recorded = record(body, prompt, inputTokens)
    const cached = cachedTokens(recorded, prompts)
    prompts.push(recorded)
    const sending = say(recorded, mood, cached, body.stream_options?.include_usage === true)
    if (body.stream === true && mood.sending?.kind !== 'no-stream') {
      await stream(sending, response)
      return undefined
    }
    return await whole(sending, response)
  }

  return {
    ...server,
    name: offlineModel,
    key,
    baseUrl: `${server.url}/v1`,
    settings: { LLM_BASE_URL: `${server.url}/v1`, LLM_API_KEY: key, LLM_MODEL: offlineModel },
    prompts,
    behave: (behaviour, when) => moods.add(behaviour, when),
    behaveWell: () => moods.clear(),
  }
}

const description = { id: offlineModel, object: 'model', created: 0, owned_by: 'local' }

function record(body: WireRequest, prompt: Prompt, inputTokens: number): RecordedPrompt {
  return {
    ...prompt,
    at: Date.now(),
    messages: body.messages,
    text: body.messages.map((message) => message.content).join('\n'),
    stream: body.stream === true,
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    inputTokens,
  }
}

function say(prompt: RecordedPrompt, mood: Mood, cached: number, includeUsage: boolean): Sending {
  const said = speak(prompt, mood, prompt.maxTokens ?? 4_096)
  const output = countPieces(said.text + said.thoughts)
  return {
    id: `chatcmpl-${freshId()}`,
    model: offlineModel,
    said,
    includeUsage,
    mood,
    usage: {
      prompt_tokens: prompt.inputTokens,
      completion_tokens: output,
      total_tokens: prompt.inputTokens + output,
      prompt_tokens_details: { cached_tokens: cached },
    },
  }
}

async function whole(sending: Sending, response: ServerResponse): Promise<Reply | undefined> {
  const { pace, sending: bad } = sending.mood
  if (pace?.firstMs) await new Promise((resolve) => setTimeout(resolve, pace.firstMs))
  if (bad?.kind === 'stall' || bad?.kind === 'keep-alive') return undefined
  if (bad?.kind !== 'cut') return json(200, completion(sending))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' })
  response.write('{"choices"', () => response.destroy())
  return undefined
}

/** What a prompt shares with the beginning of an earlier one, as services count it: from 1,024 tokens on, in steps of 128. */
function cachedTokens(prompt: RecordedPrompt, earlier: RecordedPrompt[]): number {
  let longest = 0
  for (const other of earlier.slice(-20)) longest = Math.max(longest, sharedLength(prompt.text, other.text))
  const tokens = countPieces(prompt.text.slice(0, longest))
  return tokens < 1_024 ? 0 : tokens - (tokens % 128)
}

function sharedLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1
  return at
}

function parse(body: Buffer): WireRequest | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as WireRequest) : undefined
  } catch {
    return undefined
  }
}
