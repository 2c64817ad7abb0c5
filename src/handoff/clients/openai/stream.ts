// One attempt: sends the request and reads the stream.
//
// The package hides some failures. An aborted stream ends like a finished one, an HTML page is a stream without chunks, and a stream may stall for
// ever. So this file checks timeouts, the content type and how the stream ended.
import type OpenAI from 'openai'
import type { Usage } from '../../domain/usage.js'
import { parseJson } from '../../util/decode.js'
import type { Parameters } from './parameters.js'
import type { Watchdog } from './watch.js'

export interface StreamResult {
  /** Empty when the service ended its reply without text. */
  text: string
  /** The service's `finish_reason`; undefined when it sends none. */
  finish: string | undefined
  usage: Usage | undefined
  /** Tokens of thinking, where the service reports them. */
  thinkingTokens: number | undefined
  /** The text exceeded the limit, so reading stopped. */
  endless: boolean
}

/** Limit of the text of one reply, in bytes. No request asks for a quarter of it. */
export const maxTextBytes = 64 * 1_024

/** The service's response is not a reply. `about` names the setting to check. */
export class NoReply extends Error {
  readonly about: 'address' | 'model'
  /** The service's own message. */
  readonly said: string | undefined
  constructor(message: string, about: 'address' | 'model', said?: string) {
    super(message)
    this.about = about
    this.said = said
  }
}

type Chunk = OpenAI.Chat.ChatCompletionChunk

interface ReadOptions {
  signal: AbortSignal
  trace?: string
  onText: ((piece: string) => void) | undefined
}

export async function readReply(
  client: OpenAI,
  parameters: Parameters,
  watch: Watchdog,
  { signal, trace, onText }: ReadOptions,
): Promise<StreamResult> {
  try {
    const headers = trace === undefined ? {} : { traceparent: trace }
    const options = { signal: AbortSignal.any([signal, watch.signal]), headers }
    const { data, response } = await client.chat.completions.create(parameters, options).withResponse()
    const kind = response.headers.get('content-type') ?? ''
    if (/html/i.test(kind)) {
      await response.body?.cancel()
      throw new NoReply('it answered with a page in HTML', 'address')
    }
    const chunks = /json/i.test(kind) && !/event-stream|ndjson/i.test(kind) ? chunksOfWholeReply(response) : data
    const result = await readChunks(chunks, watch, onText)
    // The package ends the loop without an error when it is aborted.
    signal.throwIfAborted()
    watch.signal.throwIfAborted()
    return requireReply(result)
  } catch (error) {
    throw watch.signal.aborted && !signal.aborted ? watch.signal.reason : error
  } finally {
    watch.stop()
  }
}

async function readChunks(
  chunks: AsyncIterable<Chunk>,
  watch: Watchdog,
  onText: ((piece: string) => void) | undefined,
): Promise<StreamResult> {
  const result: StreamResult = {
    text: '',
    finish: undefined,
    usage: undefined,
    thinkingTokens: undefined,
    endless: false,
  }
  const thoughts = createThinkingFilter()
  let room = maxTextBytes
  const take = (piece: string) => {
    const fits = withinBytes(piece, room)
    room -= Buffer.byteLength(fits)
    if (fits.length < piece.length) result.endless = true
    if (fits === '') return
    result.text += fits
    onText?.(fits)
  }
  for await (const chunk of chunks) {
    const choice = chunk.choices?.[0]
    const piece = textOf(choice?.delta?.content)
    if (piece !== '' || showsProgress(choice)) watch.progress()
    take(thoughts.visible(piece))
    // Leaving the loop closes the connection.
    if (result.endless) return result
    if (choice?.finish_reason) result.finish = choice.finish_reason
    if (chunk.usage) {
      result.usage = usageOf(chunk.usage) ?? result.usage
      result.thinkingTokens = chunk.usage.completion_tokens_details?.reasoning_tokens ?? result.thinkingTokens
    }
  }
  take(thoughts.rest())
  return result
}

/** The beginning of the text that fits, cut between characters. */
function withinBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true })
}

/** Thinking, a refusal and an end are progress. Proxies send empty chunks to keep a connection open: those are not. */
function showsProgress(choice: Chunk['choices'][number] | undefined): boolean {
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
  // Some services report zeros.
  if (!(inputTokens > 0) || !(outputTokens >= 0)) return undefined
  const details = (usage.prompt_tokens_details ?? {}) as { cached_tokens?: number; cache_write_tokens?: number }
  return {
    inputTokens,
    outputTokens,
    ...(details.cached_tokens ? { cachedInputTokens: details.cached_tokens } : {}),
    ...(details.cache_write_tokens ? { cacheWriteTokens: details.cache_write_tokens } : {}),
  }
}

/** A reply may be empty when the service ended it. Without text and without an end it is no reply. */
function requireReply(result: StreamResult): StreamResult {
  if (result.text.trim() !== '' || result.finish !== undefined) return result
  throw new NoReply('it answered with something that is not a reply', 'address')
}

/** A service that does not stream sends the whole reply, or an error with status 200. */
async function* chunksOfWholeReply(response: Response): AsyncIterable<Chunk> {
  const value = parseJson(await response.text())
  const whole = value as (Partial<OpenAI.Chat.ChatCompletion> & { error?: unknown }) | undefined
  if (whole?.error) throw new NoReply('it answered with status 200 and an error', 'model', errorMessage(whole.error))
  const choice = whole?.choices?.[0]
  if (!choice?.message) throw new NoReply('it answered with JSON that is not a reply', 'address')
  const { message: delta, finish_reason } = choice
  yield { choices: [{ index: 0, delta, finish_reason }], usage: whole?.usage } as Chunk
}

function errorMessage(error: unknown): string {
  const message = (error as { message?: unknown }).message
  return typeof message === 'string' ? message : JSON.stringify(error)
}

// Some models write their thinking into the reply, between tags at its beginning. The filter removes it.

const openingTags = ['<think>', '<thinking>', '<reasoning>']

interface ThinkingFilter {
  /** The text that may be shown after this piece. */
  visible(piece: string): string
  /** Text held back at the end of the stream because it looked like the beginning of a tag. */
  rest(): string
}

export function createThinkingFilter(): ThinkingFilter {
  let held = ''
  /** The tag that ends the thinking; undefined before the opening tag. */
  let close: string | undefined
  let isText = false
  return {
    visible(piece) {
      if (isText) return piece
      held += piece
      const start = held.trimStart().toLowerCase()
      if (close === undefined) {
        const open = openingTags.find((tag) => start.startsWith(tag))
        if (open === undefined) return openingTags.some((tag) => tag.startsWith(start)) ? '' : showText(held)
        close = open.replace('<', '</')
      }
      const end = held.search(new RegExp(close, 'i'))
      if (end < 0) {
        // Thinking may be long: only the possible beginning of the closing tag is kept.
        held = held.slice(-close.length)
        return ''
      }
      const after = held.slice(end + close.length).trimStart()
      held = after === '' ? close : ''
      return after === '' ? '' : showText(after)
    },
    rest: () => (close === undefined && !isText ? held : ''),
  }

  function showText(text: string): string {
    isText = true
    held = ''
    return text
  }
}
