// Asks the model for the words of an answer: within its context, once more where thinking left too little room, and counted whatever comes of it.

import type { AppContext } from '../context.js'
import { type Block, fitBlocks } from '../domain/answers/fit-blocks.js'
import { answerTokens } from '../domain/answers/question-cost.js'
import type { Model, ModelReply, ModelRequest } from '../domain/ports.js'
import type { Usage } from '../domain/usage.js'

interface FittedRequest {
  messages: ModelRequest['messages']
  /** What is left of the blocks, where something had to go. */
  left?: readonly Block[]
}

/** Tokens of text that an answer may have: less where the model takes little at once. */
export const answerTokensFor = ({ contextTokens }: Pick<Model, 'contextTokens'>): number =>
  Math.min(answerTokens, Math.floor(contextTokens / 4))

/** What is left for the request beside the longest reply. */
const roomIn = (model: Model) => model.contextTokens - model.replyTokens({ answerTokens: answerTokensFor(model) })

/** What the instructions of an answer take, about. */
const instructionTokens = 1_500
/** Numbered lines, at least. */
const leastTokens = 500

/** How many tokens of numbered lines are worth looking for. */
export function tokensToShow(model: Model, most: number): number {
  return Math.max(leastTokens, Math.min(most, Math.floor((roomIn(model) - instructionTokens) * 0.8)))
}

/** Leaves out of the blocks what the model's context has no room for. */
export function withinContext(
  model: Model,
  blocks: readonly Block[],
  build: (blocks: readonly Block[]) => ModelRequest['messages'],
): FittedRequest {
  const messages = build(blocks)
  const room = roomIn(model)
  if (estimateMessages(messages, model) <= room) return { messages }
  const left = fitBlocks(blocks, room - estimateMessages(build([]), model), model.estimateTokens)
  return { messages: build(left), left }
}

export async function complete(context: AppContext, request: ModelRequest): Promise<ModelReply> {
  let shown = false
  const onText = (piece: string) => {
    shown = true
    request.onText?.(piece)
  }
  const first = await once(context, { ...request, onText: request.onText && onText })
  if (!first.mayWiden) return first
  const { onText: _shown, ...silent } = request
  // Text that was shown is not shown twice: the whole answer takes its place when it is there.
  const again = await once(context, { ...(shown ? silent : request), wide: true })
  const better = again.text.trim() === '' ? first : again
  return { ...better, usage: addUsage(first.usage, again.usage) }
}

/** A reply that breaks off is paid for, and so is a request whose caller left. The service reports no usage then, so it is estimated. */
async function once(context: AppContext, request: ModelRequest): Promise<ModelReply> {
  const { model } = context.ports
  let received = ''
  const onText = (piece: string) => {
    received += piece
    request.onText?.(piece)
  }
  const wasWanted = !request.signal.aborted
  try {
    const reply = await model.complete({ ...request, onText: request.onText && onText })
    emitUsage(context, request.purpose, reply.usage)
    return reply
  } catch (error) {
    const callerLeft = wasWanted && request.signal.aborted
    const usage = {
      inputTokens: estimateMessages(request.messages, model),
      outputTokens: model.estimateTokens(received),
    }
    if (received !== '' || callerLeft) emitUsage(context, request.purpose, usage)
    throw error
  }
}

function emitUsage(context: AppContext, purpose: string, { estimated: _, ...usage }: Usage): void {
  context.ports.emit({ type: 'model-call', purpose, ...usage })
}

/** The reply, where it has text; what is wrong with it is reported. */
export function withText(context: AppContext, reply: ModelReply): ModelReply {
  const { problem, text } = reply
  if (text.trim() === '' && problem) throw problem
  if (problem) context.ports.emit({ type: 'notice', text: [problem.message, problem.next].filter(Boolean).join(' ') })
  return reply
}

export function addUsage(sum: Usage, more: Usage): Usage {
  const cached = (sum.cachedInputTokens ?? 0) + (more.cachedInputTokens ?? 0)
  const written = (sum.cacheWriteTokens ?? 0) + (more.cacheWriteTokens ?? 0)
  return {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    ...(cached > 0 ? { cachedInputTokens: cached } : {}),
    ...(written > 0 ? { cacheWriteTokens: written } : {}),
    ...(sum.estimated || more.estimated ? { estimated: true } : {}),
  }
}

/** What a service adds to each message for its role, generously. */
const tokensPerMessage = 16

export function estimateMessages(messages: ModelRequest['messages'], model: Pick<Model, 'estimateTokens'>): number {
  return messages.reduce((sum, { content }) => sum + model.estimateTokens(content) + tokensPerMessage, tokensPerMessage)
}
