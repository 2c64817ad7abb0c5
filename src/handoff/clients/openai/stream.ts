// One attempt: sends the request, follows the stream, and ends in one of two ways: with what was heard, or by throwing.
//
// The package tells less than one would think. An aborted stream ends like a finished one; a page in HTML is a stream without pieces; a
// stream may stand still for ever. So the time is watched here, the content type is looked at, and how it ended is said.
import type OpenAI from 'openai'
import type { Usage } from '../../domain/answer.js'
import { anySignal } from '../../util/abort.js'
import type { Parameters } from './parameters.js'
import { makeThoughtFilter } from './strip-thinking.js'
import type { Watch } from './watch.js'

export interface Heard {
  /** Empty when the service wrote none, and said that it ended. */
  text: string
  /** Why the service says that it ended; undefined when it does not say. */
  finish: string | undefined
  usage: Usage | undefined
  /** Tokens of thinking, where the service says how many. */
  thinkingTokens: number | undefined
  /** We stopped reading, because it went on and on. */
  endless: boolean
}

/** Bytes of text that are read of one reply. No request of ours asks for a quarter of it. */
export const longestText = 64 * 1_024

/** The service answered, and what it answered is not a reply. `about` says which setting to look at. */
export class NoReply extends Error {
  readonly about: 'address' | 'model'
  /** The service's own words. */
  readonly said: string | undefined
  constructor(message: string, about: 'address' | 'model', said?: string) {
    super(message)
    this.about = about
    this.said = said
  }
}

type Chunk = OpenAI.Chat.ChatCompletionChunk

export interface Listening {
  signal: AbortSignal
  trace?: string
  onText: ((piece: string) => void) | undefined
}

export async function listen(
  client: OpenAI,
  parameters: Parameters,
  watch: Watch,
  { signal, trace, onText }: Listening,
): Promise<Heard> {
  try {
    const headers = trace === undefined ? {} : { traceparent: trace }
    const options = { signal: anySignal(signal, watch.signal), headers }
    const { data, response } = await client.chat.completions.create(parameters, options).withResponse()
    const kind = response.headers.get('content-type') ?? ''
    if (/html/i.test(kind)) {
      await response.body?.cancel()
      throw new NoReply('it answered with a page in HTML', 'address')
    }
    const chunks = /json/i.test(kind) && !/event-stream|ndjson/i.test(kind) ? wholeAsChunks(response) : data
    const heard = await follow(chunks, watch, onText)
    // An abort ends the loop without a word.
    signal.throwIfAborted()
    watch.signal.throwIfAborted()
    return checked(heard)
  } catch (error) {
    throw watch.signal.aborted && !signal.aborted ? watch.signal.reason : error
  } finally {
    watch.stop()
  }
}

async function follow(
  chunks: AsyncIterable<Chunk>,
  watch: Watch,
  onText: ((piece: string) => void) | undefined,
): Promise<Heard> {
  const heard: Heard = { text: '', finish: undefined, usage: undefined, thinkingTokens: undefined, endless: false }
  const thoughts = makeThoughtFilter()
  let room = longestText
  const take = (piece: string) => {
    const fits = withinBytes(piece, room)
    room -= Buffer.byteLength(fits)
    if (fits.length < piece.length) heard.endless = true
    if (fits === '') return
    heard.text += fits
    onText?.(fits)
  }
  for await (const chunk of chunks) {
    const choice = chunk.choices?.[0]
    const piece = textOf(choice?.delta?.content)
    if (piece !== '' || isAlive(choice)) watch.heard()
    take(thoughts.visible(piece))
    // Leaving the loop ends the connection too.
    if (heard.endless) return heard
    if (choice?.finish_reason) heard.finish = choice.finish_reason
    if (chunk.usage) {
      heard.usage = usageOf(chunk.usage) ?? heard.usage
      heard.thinkingTokens = chunk.usage.completion_tokens_details?.reasoning_tokens ?? heard.thinkingTokens
    }
  }
  take(thoughts.rest())
  return heard
}

/** As much of the text as has room, without half a character. */
function withinBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true })
}

/** Thinking and refusing are signs of life, and an end is one; an empty piece is what proxies send to keep a connection open. */
function isAlive(choice: Chunk['choices'][number] | undefined): boolean {
  if (!choice) return false
  const delta = (choice.delta ?? {}) as { reasoning_content?: unknown; reasoning?: unknown; refusal?: unknown }
  return Boolean(choice.finish_reason || delta.reasoning_content || delta.reasoning || delta.refusal)
}

/** Most services send text, some a list of parts of which some are text. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: { text?: unknown }) => (typeof part?.text === 'string' ? part.text : '')).join('')
}

function usageOf(usage: OpenAI.CompletionUsage): Usage | undefined {
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage
  // Some services fill the form with noughts.
  if (!(inputTokens > 0) || !(outputTokens >= 0)) return undefined
  const details = (usage.prompt_tokens_details ?? {}) as { cached_tokens?: number; cache_write_tokens?: number }
  return {
    inputTokens,
    outputTokens,
    ...(details.cached_tokens ? { cachedInputTokens: details.cached_tokens } : {}),
    ...(details.cache_write_tokens ? { cacheWriteTokens: details.cache_write_tokens } : {}),
  }
}

/** A reply that ended without text is a reply. One that neither said anything nor ended is none. */
function checked(heard: Heard): Heard {
  if (heard.text.trim() !== '' || heard.finish !== undefined) return heard
  throw new NoReply('it answered with something that is not a reply', 'address')
}

/** A service that does not stream answers a request for a stream with the whole, or with an error and status 200. */
async function* wholeAsChunks(response: Response): AsyncIterable<Chunk> {
  const value: unknown = await response.json().catch(() => undefined)
  const whole = value as (Partial<OpenAI.Chat.ChatCompletion> & { error?: unknown }) | undefined
  if (whole?.error) throw new NoReply('it answered with status 200 and an error', 'model', shortly(whole.error))
  const choice = whole?.choices?.[0]
  if (!choice?.message) throw new NoReply('it answered with JSON that is not a reply', 'address')
  const { message: delta, finish_reason } = choice
  yield { choices: [{ index: 0, delta, finish_reason }], usage: whole?.usage } as Chunk
}

function shortly(error: unknown): string {
  const message = (error as { message?: unknown }).message
  return typeof message === 'string' ? message : JSON.stringify(error)
}
