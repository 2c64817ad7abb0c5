// Who calls over the Model Context Protocol, and what a call of a tool is given.
import { type CallToolResult, ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server'
import type * as Product from '../../handoff/index.js'
import { isHandoffError } from '../../handoff/index-for-stored-answers.js'
import type { App } from '../app.js'
import type { RequestWork } from '../ask/question.js'
import type { Caller } from '../auth/caller.js'
import { logFieldsFor } from '../http/http-function.js'
import { HttpError, toProblem } from '../http/problem-details.js'
import { stepText } from '../http/progress-events.js'

export interface McpSession {
  app: App
  caller: Caller
  /** Runs one call within the time of its request, and keeps the process alive until the call is over. */
  run<T>(call: (work: RequestWork) => Promise<T>): Promise<T>
}

/** One call of a tool, or one read of a resource. */
export interface McpCall {
  app: App
  caller: Caller
  work: RequestWork
  /** Bounds the call. Aborted when the client cancels it or has gone. */
  signal: AbortSignal
  /** Aborted when the client cancels the call or has gone, and not by the deadline. */
  client: AbortSignal
  emit: (event: Product.RunEvent) => void
}

export function startCall<T>(
  session: McpSession,
  { mcpReq }: ServerContext,
  answer: (call: McpCall) => Promise<T>,
): Promise<T> {
  const { app, caller } = session
  return session.run((work) => {
    const client = AbortSignal.any([work.limit.client, mcpReq.signal])
    const signal = AbortSignal.any([work.signal, mcpReq.signal])
    return answer({ app, caller, work, signal, client, emit: progressOf(mcpReq) })
  })
}

/** Clients that send a token hear of each step: some give up on a tool that says nothing. */
function progressOf({ _meta, notify }: ServerContext['mcpReq']): McpCall['emit'] {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return () => {}
  let progress = 0
  return (event) => {
    const message = stepText(event)
    if (message === undefined) return
    progress += 1
    const params = { progressToken, progress, message }
    // A client that has gone needs no progress.
    notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

/** Runs a tool. An error of the call becomes a result that the model can read and act on. */
export async function toolResult(
  session: McpSession,
  context: ServerContext,
  answer: (call: McpCall) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  return startCall(session, context, async (call) => {
    try {
      return await answer(call)
    } catch (error) {
      call.work.note(logFieldsFor(error))
      return { isError: true, content: [{ type: 'text', text: errorText(error) }] }
    }
  })
}

export function errorText(error: unknown): string {
  const { detail, next, retryAfterSeconds } = toProblem(error)
  const wait = retryAfterSeconds === undefined ? '' : ` Try again in ${retryAfterSeconds} s.`
  return `${detail}${next === undefined ? '' : ` ${next}`}${wait}`
}

/** A defect is reported without its details. */
export function asProtocolError(error: unknown): never {
  if (!isHandoffError(error) && !(error instanceof HttpError)) throw error
  const code = toProblem(error).status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  throw new ProtocolError(code, errorText(error))
}
