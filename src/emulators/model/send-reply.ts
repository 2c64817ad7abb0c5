// Sends what the local model says, as server-sent events or as one piece of JSON, well or badly.
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { ActiveBehaviours, SendingBehaviour } from './behaviour.js'
import type { WrittenReply } from './write-reply.js'

export interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens?: number }
  completion_tokens_details?: { reasoning_tokens: number }
}

export interface OutgoingReply {
  id: string
  model: string
  reply: WrittenReply
  usage: Usage
  includeUsage: boolean
  behaviours: ActiveBehaviours
  /** How long only comments are sent before the reply. */
  commentsMs?: number
}

/** As `chat.completion`, in one piece. */
export function completion({ id, model, reply, usage, behaviours }: OutgoingReply): unknown {
  const finish = behaviours.sending?.kind === 'no-finish' ? null : reply.finish
  const message = {
    role: 'assistant',
    content: reply.text,
    ...(reply.reasoning === '' ? {} : { reasoning_content: reply.reasoning }),
  }
  return {
    id,
    object: 'chat.completion',
    created: seconds(),
    model,
    choices: [{ index: 0, message, finish_reason: finish }],
    ...(behaviours.sending?.kind === 'no-usage' ? {} : { usage }),
  }
}

/** As `chat.completion.chunk`s. Resolves when all is sent, or the client has gone. */
export async function streamReply(sending: OutgoingReply, response: ServerResponse, gone: AbortSignal): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  await sendComments(response, sending.commentsMs ?? 0, gone)
  await sendAll(sending, response, gone)
}

const commentEveryMs = 1_000

async function sendComments(response: ServerResponse, milliseconds: number, gone: AbortSignal): Promise<void> {
  for (let left = milliseconds; left > 0; left -= commentEveryMs) {
    response.write(': processing\n\n')
    await pause(Math.min(left, commentEveryMs), gone)
  }
}

async function sendAll(sending: OutgoingReply, response: ServerResponse, gone: AbortSignal): Promise<void> {
  const { reply, behaviours, usage } = sending
  const bad = behaviours.sending
  const send = (choices: unknown[], more: object = {}) => writeEvent(response, { ...head(sending), choices, ...more })
  if (bad?.kind === 'keep-alive') return await keepAlive(bad, response, send, gone)
  await pause(behaviours.pace?.firstMs, gone)
  if (bad?.kind !== 'no-role') send([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
  if (reply.reasoning !== '') send([{ index: 0, delta: { reasoning_content: reply.reasoning }, finish_reason: null }])
  for (const [index, piece] of splitIntoChunks(reply.text).entries()) {
    if (gone.aborted || applyStreamFault(bad, index, response)) return
    if (index > 0) await pause(behaviours.pace?.pieceMs, gone)
    send([{ index: 0, delta: { content: piece }, finish_reason: null }])
    if (response.writableNeedDrain) await drained(response, gone)
  }
  if (bad && applyStreamFault(bad, Number.POSITIVE_INFINITY, response)) return
  if (bad?.kind !== 'no-finish') send([{ index: 0, delta: {}, finish_reason: reply.finish }])
  if (sending.includeUsage && bad?.kind !== 'no-usage') send([], { usage })
  response.end(bad?.kind === 'no-finish' ? '' : 'data: [DONE]\n\n')
}

/** Does the damage when its moment has come: true when nothing more is to be sent. */
function applyStreamFault(bad: SendingBehaviour | undefined, index: number, response: ServerResponse): boolean {
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
      writeEvent(response, {
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

const head = ({ id, model }: OutgoingReply) => ({ id, object: 'chat.completion.chunk', created: seconds(), model })

const writeEvent = (response: ServerResponse, value: unknown) => response.write(`data: ${JSON.stringify(value)}\n\n`)

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
function splitIntoChunks(text: string): string[] {
  const words = text.match(/\s*\S+|\s+$/g) ?? []
  const group = Math.ceil(words.length / 400)
  return Array.from({ length: Math.ceil(words.length / (group || 1)) }, (_, index) =>
    words.slice(index * group, (index + 1) * group).join(''),
  )
}
