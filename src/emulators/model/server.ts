// A model's service on loopback: `/v1/chat/completions` and `/v1/models`, as OpenAI-compatible servers have them. It really reads the
// prompt and answers from it, by quoting: no model is behind it, and its name says so wherever it is recorded.
//
//   models                              which models there are, and what each plays
//   prompt  reads the blocks            words, places  find what bears on a question
//   answer, prose, terms                write the replies of the four kinds of task
//   behaviour, forge, obey, reply       what it can be told to do wrong
//   checks, fields, cut, cache, queue   the rules that differ from model to model
//   stream                              how it is sent
import type { ServerResponse } from 'node:http'
import { freshId, json, type LocalServer, type RecordedRequest, type Reply, startServer } from '../faulty-server.js'
import { type Behaviour, type Mood, makeMoods, type When } from './behaviour.js'
import { invalid } from './error-response.js'
import { localModelNamed, localModels, offlineModel, thinkingFor } from './models.js'
import { countPieces, isMessage, type Message, type Prompt, readPrompt } from './parse-prompt.js'
import { cacheUsage } from './prompt-cache.js'
import { completion, pause, type Sending, stream } from './send-reply.js'
import { makeQueue } from './serial-queue.js'
import { cutPrompt } from './truncate-prompt.js'
import { type Accepted, check, keyRefusal, limitOf, unknownModel, type WireRequest } from './validate-request.js'
import { speak } from './write-reply.js'

export interface ModelOptions {
  port?: number
  /** What a request must bear. A fresh one when absent. */
  key?: string
  /** The model that `name` and `settings` name; all of `localModels` are served whichever it is. The plain one when absent. */
  name?: string
  /** Tokens that input and output may take together, by this service's own modest count, in place of what each model has. */
  contextTokens?: number
  /** How long the models that wait are silent, in place of their own time. */
  waitMs?: number
  /** The pace of a real model, where a demo or a measurement wants one. */
  pace?: { firstMs?: number; pieceMs?: number }
}

export interface RecordedPrompt extends Prompt {
  at: number
  model: string
  messages: Message[]
  /** Everything that was sent, as one text: to look for what must not be in it. */
  text: string
  stream: boolean
  maxTokens: number | undefined
  inputTokens: number
}

export interface LocalModel extends LocalServer {
  readonly name: string
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

/** What a reply may have when the request sets no limit. */
const usualLimit = 4_096

export async function startModel(options: ModelOptions = {}): Promise<LocalModel> {
  const key = options.key ?? `local-${freshId()}`
  const name = options.name ?? offlineModel
  if (!localModelNamed(name)) {
    throw new Error(`There is no local model ${name}. There are: ${localModels.map((model) => model.name).join(', ')}.`)
  }
  const prompts: RecordedPrompt[] = []
  const moods = makeMoods()
  const limits = { contextTokens: options.contextTokens, seen: new Map<string, number>() }
  const oneAtATime = makeQueue()

  const server = await startServer('local model', handle, options.port === undefined ? {} : { port: options.port })

  async function handle(request: RecordedRequest, response: ServerResponse): Promise<Reply | undefined> {
    const path = decodeURIComponent(request.path.split('?')[0]!)
    if (request.headers['authorization'] !== `Bearer ${key}`) return keyRefusal(request.headers['authorization'])
    if (path === '/v1/models' && request.method === 'GET') {
      return json(200, { object: 'list', data: localModels.map((model) => description(model.name)) })
    }
    if (path.startsWith('/v1/models/') && request.method === 'GET') {
      const asked = path.slice('/v1/models/'.length)
      return localModelNamed(asked) ? json(200, description(asked)) : unknownModel(asked)
    }
    if (path === '/v1/chat/completions' && request.method === 'POST') return await complete(request, response)
    return invalid(404, `Invalid URL (${request.method} ${path})`, null)
  }

  async function complete(request: RecordedRequest, response: ServerResponse): Promise<Reply | undefined> {
    const body = parse(request.body)
    const sent = Array.isArray(body?.messages) ? body.messages.filter(isMessage) : []
    const mood = moods.next(readPrompt(sent).task)
    if (options.pace) mood.pace ??= { kind: 'slow', ...options.pace }
    const checked = check(body, mood.sending, limits)
    if ('status' in checked) return checked
    const gone = goneWith(response)
    const reply = () => answer(checked, mood, response, gone)
    try {
      return await (checked.model.serial ? oneAtATime(reply) : reply())
    } catch (error) {
      if (!gone.aborted) throw error
      return undefined
    }
  }

  async function answer(
    { body, model, inputTokens }: Accepted,
    mood: Mood,
    response: ServerResponse,
    gone: AbortSignal,
  ): Promise<Reply | undefined> {
    gone.throwIfAborted()
    const read =
      model.tooLong === 'cut' ? cutPrompt(body.messages, model.contextTokens) : { messages: body.messages, inputTokens }
    const prompt = record(body, read.messages, read.inputTokens)
    const earlier = prompts.filter((other) => other.model === prompt.model).map((other) => other.text)
    const cache = cacheUsage(model.caching, prompt.text, earlier)
    prompts.push(prompt)
    const sending = say(prompt, { body, model, inputTokens: read.inputTokens }, mood, cache)
    const wait = model.wait && { ...model.wait, milliseconds: options.waitMs ?? model.wait.milliseconds }
    const streamed = body.stream === true && mood.sending?.kind !== 'no-stream'
    if (wait && !(wait.comments && streamed)) await pause(wait.milliseconds, gone)
    if (!streamed) return await whole(sending, response)
    await stream(wait?.comments ? { ...sending, commentsMs: wait.milliseconds } : sending, response, gone)
    return undefined
  }

  return {
    ...server,
    name,
    key,
    baseUrl: `${server.url}/v1`,
    settings: { LLM_BASE_URL: `${server.url}/v1`, LLM_API_KEY: key, LLM_MODEL: name },
    prompts,
    behave: (behaviour, when) => moods.add(behaviour, when),
    behaveWell: () => moods.clear(),
  }
}

const description = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'local' })

/** Aborts when the connection ends, whether the reply was sent or not. */
function goneWith(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  return gone.signal
}

function record(body: WireRequest, messages: Message[], inputTokens: number): RecordedPrompt {
  return {
    ...readPrompt(messages),
    at: Date.now(),
    model: String(body.model),
    messages,
    text: messages.map((message) => message.content).join('\n'),
    stream: body.stream === true,
    maxTokens: limitOf(body),
    inputTokens,
  }
}

function say(
  prompt: RecordedPrompt,
  { body, model }: Accepted,
  mood: Mood,
  cache: Sending['usage']['prompt_tokens_details'],
): Sending {
  const maxTokens = prompt.maxTokens ?? model.maxOutputTokens ?? usualLimit
  const room = Math.max(1, Math.min(maxTokens, model.contextTokens - prompt.inputTokens))
  const thinking = Math.min(room, thinkingFor(model, body['reasoning_effort']))
  const said = speak(prompt, mood, { maxTokens, left: room - thinking })
  const output = thinking + countPieces(said.text + said.thoughts)
  return {
    id: `chatcmpl-${freshId()}`,
    model: model.name,
    said,
    includeUsage: body.stream_options?.include_usage === true,
    mood,
    usage: {
      prompt_tokens: prompt.inputTokens,
      completion_tokens: output,
      total_tokens: prompt.inputTokens + output,
      prompt_tokens_details: cache,
      ...(model.efforts ? { completion_tokens_details: { reasoning_tokens: thinking } } : {}),
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

function parse(body: Buffer): WireRequest | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as WireRequest) : undefined
  } catch {
    return undefined
  }
}
