// Sends what the local model says, as server-sent events or as one piece of JSON, well or badly.
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { Mood, SendingBehaviour } from './behaviour.js'
import type { Said } from './write-reply.js'

export interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens?: number }
  completion_tokens_details?: { reasoning_tokens: number }
}

export interface Sending {
  id: string
  model: string
  said: Said
  usage: Usage
  includeUsage: boolean
  mood: Mood
  /** How long only comments are sent before the reply. */
  commentsMs?: number
}

/** As `chat.completion`, in one piece. */
export function completion({ id, model, said, usage, mood }: Sending): unknown {
  const finish = mood.sending?.kind === 'no-finish' ? null : said.finish
  const message = {
    role: 'assistant',
    content: said.text,
    ...(said.thoughts === '' ? {} : { reasoning_content: said.thoughts }),
  }
  return {
    id,
    object: 'chat.completion',
    created: seconds(),
    model,
    choices: [{ index: 0, message, finish_reason: finish }],
    ...(mood.sending?.kind === 'no-usage' ? {} : { usage }),
  }
}

/** As `chat.completion.chunk`s. Resolves when all is sent, or the client has gone. */
export async function stream(sending: Sending, response: ServerResponse, gone: AbortSignal): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  await comment(response, sending.commentsMs ?? 0, gone)
  await sendAll(sending, response, gone)
}

const commentEveryMs = 1_000

async function comment(response: ServerResponse, milliseconds: number, gone: AbortSignal): Promise<void> {
  for (let left = milliseconds; left > 0; left -= commentEveryMs) {
    response.write(': processing\n\n')
    await pause(Math.min(left, commentEveryMs), gone)
  }
}

async function sendAll(sending: Sending, response: ServerResponse, gone: AbortSignal): Promise<void> {
  const { said, mood, usage } = sending
  const bad = mood.sending
  const send = (choices: unknown[], more: object = {}) => event(response, { ...head(sending), choices, ...more })
  if (bad?.kind === 'keep-alive') return await keepAlive(bad, response, send, gone)
  await pause(mood.pace?.firstMs, gone)
  if (bad?.kind !== 'no-role') send([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
  if (said.thoughts !== '') send([{ index: 0, delta: { reasoning_content: said.thoughts }, finish_reason: null }])
  for (const [index, piece] of pieces(said.text).entries()) {
    if (gone.aborted || goneWrong(bad, index, response)) return
    if (index > 0) await pause(mood.pace?.pieceMs, gone)
    send([{ index: 0, delta: { content: piece }, finish_reason: null }])
    if (response.writableNeedDrain) await drained(response, gone)
  }
  if (bad && goneWrong(bad, Number.POSITIVE_INFINITY, response)) return
  if (bad?.kind !== 'no-finish') send([{ index: 0, delta: {}, finish_reason: said.finish }])
  if (sending.includeUsage && bad?.kind !== 'no-usage') send([], { usage })
  response.end(bad?.kind === 'no-finish' ? '' : 'data: [DONE]\n\n')
}

/** Does the damage when its moment has come: true when nothing more is to be sent. */
function goneWrong(bad: SendingBehaviour | undefined, index: number, response: ServerResponse): boolean {
  switch (bad?.kind) {
    case 'stall':
      return index >= (bad.after ?? 0)
    case 'cut':
      if (index < (bad.after ?? 0)) return false
      // Whatever was written so far must have left before the connection breaks.
      response.write('', () => response.destroy())
      return true
    case 'error-in-stream':
      if (index < (bad.after ?? 0)) return false
      event(response, {
        error: { message: 'The engine stopped.', type: 'server_error', code: bad.code ?? 'server_error' },
      })
      response.end()
      return true
    case 'garbled':
      if (index < (bad.after ?? 0)) return false
      response.end('data: {"choices": [{"delta"\n\n')
      return true
    default:
      return false
  }
}

async function keepAlive(
  bad: { with: 'comments' | 'empty-pieces'; everyMs?: number },
  response: ServerResponse,
  send: (choices: unknown[]) => void,
  gone: AbortSignal,
): Promise<void> {
  for (;;) {
    if (bad.with === 'comments') response.write(': keep-alive\n\n')
    else send([{ index: 0, delta: {}, finish_reason: null }])
    await wait(bad.everyMs ?? 10, undefined, { signal: gone })
  }
}

const head = ({ id, model }: Sending) => ({ id, object: 'chat.completion.chunk', created: seconds(), model })

const event = (response: ServerResponse, value: unknown) => response.write(`data: ${JSON.stringify(value)}\n\n`)

const seconds = () => Math.floor(Date.now() / 1_000)

export async function pause(milliseconds: number | undefined, gone: AbortSignal): Promise<void> {
  if (milliseconds) await wait(milliseconds, undefined, { signal: gone })
}

async function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    response.once('drain', resolve)
    gone.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Words with what stands before them; of a long text several in one piece, so that no reply takes more than some hundred events. */
function pieces(text: string): string[] {
  const words = text.match(/\s*\S+|\s+$/g) ?? []
  const group = Math.ceil(words.length / 400)
  return Array.from({ length: Math.ceil(words.length / (group || 1)) }, (_, index) =>
    words.slice(index * group, (index + 1) * group).join(''),
  )
}
