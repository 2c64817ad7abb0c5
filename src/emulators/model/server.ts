// A model's service on loopback: `/v1/chat/completions` and `/v1/models`, as OpenAI-compatible servers have them. It really reads the
// prompt and answers from it, by quoting: no model is behind it, and its name says so wherever it is recorded.
//
//   models.ts             which models there are, and what each simulates
//   parse-prompt.ts, find-relevant-lines.ts   read the prompt and find what the question is about
//   write-reply.ts        writes the reply to each kind of task, by the other files of that kind
//   behaviour.ts, forged-citations.ts, prompt-injection.ts   faults that a test can switch on
//   validate-request.ts, truncate-prompt.ts, prompt-cache.ts, serial-queue.ts   rules that differ between models
//   send-reply.ts         sends the reply, whole or as a stream
import type { ServerResponse } from 'node:http'
import { freshId, json, type LocalServer, type RecordedRequest, type Reply, startServer } from '../faulty-server.js'
import { type ActiveBehaviours, type Behaviour, makeBehaviours, type When } from './behaviour.js'
import { invalidRequestReply } from './error-response.js'
import { localModelNamed, localModels, offlineModel, thinkingFor } from './models.js'
import { countPieces, isMessage, type Message, type Prompt, readPrompt, type WireRequest } from './parse-prompt.js'
import { cacheUsage } from './prompt-cache.js'
import { completion, type OutgoingReply, pause, streamReply } from './send-reply.js'
import { makeSerialQueue } from './serial-queue.js'
import { truncatePrompt } from './truncate-prompt.js'
import { invalidKeyReply, limitOf, unknownModelReply, type ValidRequest, validateRequest } from './validate-request.js'
import { writeReply } from './write-reply.js'

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

interface RecordedPrompt extends Prompt {
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
  setBehaviour(behaviour: Behaviour, when?: When): () => void
  clearBehaviours(): void
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
  const behaviourRules = makeBehaviours()
  const limits = { contextTokens: options.contextTokens, seen: new Map<string, number>() }
  const oneAtATime = makeSerialQueue()

  const server = await startServer('local model', handle, options.port === undefined ? {} : { port: options.port })

  async function handle(request: RecordedRequest, response: ServerResponse): Promise<Reply | undefined> {
    const path = decodeURIComponent(request.path.split('?')[0]!)
    if (request.headers['authorization'] !== `Bearer ${key}`) return invalidKeyReply(request.headers['authorization'])
    if (path === '/v1/models' && request.method === 'GET') {
      return json(200, { object: 'list', data: localModels.map((model) => description(model.name)) })
    }
    if (path.startsWith('/v1/models/') && request.method === 'GET') {
      const asked = path.slice('/v1/models/'.length)
      return localModelNamed(asked) ? json(200, description(asked)) : unknownModelReply(asked)
    }
    if (path === '/v1/chat/completions' && request.method === 'POST') return await complete(request, response)
    return invalidRequestReply(404, `Invalid URL (${request.method} ${path})`, null)
  }

  async function complete(request: RecordedRequest, response: ServerResponse): Promise<Reply | undefined> {
    const body = parseBody(request.body)
    const sent = Array.isArray(body?.messages) ? body.messages.filter(isMessage) : []
    const behaviours = behaviourRules.next(readPrompt(sent).task)
    if (options.pace) behaviours.pace ??= { kind: 'slow', ...options.pace }
    const checked = validateRequest(body, behaviours.sending, limits)
    if ('status' in checked) return checked
    const gone = abortOnClose(response)
    const reply = () => answer(checked, behaviours, response, gone)
    try {
      return await (checked.model.serial ? oneAtATime(reply) : reply())
    } catch (error) {
      if (!gone.aborted) throw error
      return undefined
    }
  }

  async function answer(
    { body, model, inputTokens }: ValidRequest,
    behaviours: ActiveBehaviours,
    response: ServerResponse,
    gone: AbortSignal,
  ): Promise<Reply | undefined> {
    gone.throwIfAborted()
    const read =
      model.tooLong === 'cut'
        ? truncatePrompt(body.messages, model.contextTokens)
        : { messages: body.messages, inputTokens }
    const prompt = recordPrompt(body, read.messages, read.inputTokens)
    const earlier = prompts.filter((other) => other.model === prompt.model).map((other) => other.text)
    const cache = cacheUsage(model.caching, prompt.text, earlier)
    prompts.push(prompt)
    const sending = makeReply(prompt, { body, model, inputTokens: read.inputTokens }, behaviours, cache)
    const wait = model.wait && { ...model.wait, milliseconds: options.waitMs ?? model.wait.milliseconds }
    const streamed = body.stream === true && behaviours.sending?.kind !== 'no-stream'
    if (wait && !(wait.comments && streamed)) await pause(wait.milliseconds, gone)
    if (!streamed) return await sendWhole(sending, response)
    await streamReply(wait?.comments ? { ...sending, commentsMs: wait.milliseconds } : sending, response, gone)
    return undefined
  }

  return {
    ...server,
    name,
    key,
    baseUrl: `${server.url}/v1`,
    settings: { LLM_BASE_URL: `${server.url}/v1`, LLM_API_KEY: key, LLM_MODEL: name },
    prompts,
    setBehaviour: (behaviour, when) => behaviourRules.add(behaviour, when),
    clearBehaviours: () => behaviourRules.clear(),
  }
}

const description = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'local' })

/** Aborts when the connection ends, whether the reply was sent or not. */
function abortOnClose(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  return gone.signal
}

function recordPrompt(body: WireRequest, messages: Message[], inputTokens: number): RecordedPrompt {
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

function makeReply(
  prompt: RecordedPrompt,
  { body, model }: ValidRequest,
  behaviours: ActiveBehaviours,
  cache: OutgoingReply['usage']['prompt_tokens_details'],
): OutgoingReply {
  const maxTokens = prompt.maxTokens ?? model.maxOutputTokens ?? usualLimit
  const room = Math.max(1, Math.min(maxTokens, model.contextTokens - prompt.inputTokens))
  const thinking = Math.min(room, thinkingFor(model, body['reasoning_effort']))
  const reply = writeReply(prompt, behaviours, { maxTokens, remaining: room - thinking })
  const output = thinking + countPieces(reply.text + reply.reasoning)
  return {
    id: `chatcmpl-${freshId()}`,
    model: model.name,
    reply,
    includeUsage: body.stream_options?.include_usage === true,
    behaviours,
    usage: {
      prompt_tokens: prompt.inputTokens,
      completion_tokens: output,
      total_tokens: prompt.inputTokens + output,
      prompt_tokens_details: cache,
      ...(model.efforts ? { completion_tokens_details: { reasoning_tokens: thinking } } : {}),
    },
  }
}

async function sendWhole(sending: OutgoingReply, response: ServerResponse): Promise<Reply | undefined> {
  const { pace, sending: bad } = sending.behaviours
  if (pace?.firstMs) await new Promise((resolve) => setTimeout(resolve, pace.firstMs))
  if (bad?.kind === 'stall' || bad?.kind === 'keep-alive') return undefined
  if (bad?.kind !== 'cut') return json(200, completion(sending))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' })
  response.write('{"choices"', () => response.destroy())
  return undefined
}

function parseBody(body: Buffer): WireRequest | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as WireRequest) : undefined
  } catch {
    return undefined
  }
}
