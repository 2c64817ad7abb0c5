// Tasks, an extension of the protocol: a call that takes long returns a task, and the client asks for its result later. A task is a question in
// the answer store, so any instance can say how far it is.
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type * as Product from '../../handoff/index.js'
import { parseRunId } from '../../handoff/index-for-stored-answers.js'
import { locate } from '../ask/question.js'
import { pendingView, pollSeconds } from '../http/responses.js'
import { answerResult } from './answer-result.js'
import { schemaOf } from './schemas.js'
import { asProtocolError, errorText, type McpCall, type McpSession, startCall } from './session.js'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

export function knowsTasks({ mcpReq }: ServerContext): boolean {
  const envelope: Record<string, unknown> = { ...mcpReq._meta, ...mcpReq.envelope }
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] as { extensions?: Record<string, unknown> } | undefined
  return Object.hasOwn(capabilities?.extensions ?? {}, tasksExtension)
}

type Placed = Pick<Product.FoundQuestion, 'id' | 'run'>

function taskOf({ id, run: { handoff } }: Placed, acceptedAt: string, changedAt: string) {
  return {
    taskId: `${handoff.repository}/${handoff.run}/${id}`,
    createdAt: acceptedAt,
    lastUpdatedAt: changedAt,
    // An answer is kept as long as its run.
    ttlMs: null,
    pollIntervalMs: pollSeconds * 1_000,
  }
}

/** Has the question as its data too: the library wants data of each result of a tool that describes its data. */
export function taskResult(found: Product.FoundQuestion, acceptedAt: string): CallToolResult {
  const { id, run, request } = found
  const task = { ...taskOf(found, acceptedAt, new Date().toISOString()), status: 'working', resultType: 'task' }
  const pending = { id, acceptedAt, question: request.question.text }
  return { content: [], structuredContent: pendingView(run, pending, 'running'), ...task }
}

const taskIdForm = /^(.{1,400})\/([^/]{1,120})\/([0-9a-f]{32})$/

export function serveTasks({ server }: McpServer, session: McpSession): void {
  const params = schemaOf<{ taskId: string }>({
    type: 'object',
    properties: { taskId: { type: 'string', maxLength: 600 } },
    required: ['taskId'],
  })
  server.setRequestHandler('tasks/get', { params }, ({ taskId }, context) => {
    wantTasks(context)
    return startCall(session, context, (call) => getTask(call, taskId))
  })
  server.setRequestHandler('tasks/cancel', { params }, ({ taskId }, context) => {
    wantTasks(context)
    return startCall(session, context, (call) => cancelTask(call, taskId)).catch(asProtocolError)
  })
}

function wantTasks(context: ServerContext): void {
  if (knowsTasks(context)) return
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [tasksExtension]: {} } } })
}

/** The task of another caller, and one that has ended, stay as they are. */
async function cancelTask(call: McpCall, taskId: string): Promise<Record<string, unknown>> {
  const { run, record } = await findTask(call, taskId)
  const [{ withdrawQuestion }, context] = await Promise.all([call.app.product(), call.app.lookup()])
  await withdrawQuestion({ run, id: record.id, caller: call.caller.name }, context, call.signal)
  return {}
}

async function getTask(call: McpCall, taskId: string): Promise<Record<string, unknown>> {
  const { run, record } = await findTask(call, taskId)
  const { id, acceptedAt } = record
  if (record.status === 'running') {
    return { ...taskOf({ id, run }, acceptedAt, acceptedAt), status: 'working' }
  }
  const task = taskOf({ id, run }, acceptedAt, record.completedAt)
  if (record.status === 'done') {
    const result = { ...(await answerResult(call, { run, record, reused: true })), resultType: 'complete' }
    return { ...task, status: 'completed', result }
  }
  const { code, message, next } = record.error
  if (code === 'withdrawn') return { ...task, status: 'cancelled' }
  const error = { code: ProtocolErrorCode.InternalError, message: next === undefined ? message : `${message} ${next}` }
  return { ...task, status: 'failed', error }
}

async function findTask({ app, caller, signal }: McpCall, taskId: string) {
  const [, repository, run, id] = taskIdForm.exec(taskId) ?? []
  if (repository === undefined || run === undefined || id === undefined) throw noTask('There is no such task.')
  try {
    const where = await locate(app, caller, repository, signal)
    const [product, context] = await Promise.all([app.product(), app.lookup()])
    const name = { run: parseRunId(run) }
    const chosen = await product.resolveRun({ ...where, readOnly: true }, name, context, signal)
    return { run: chosen, record: await product.getAnswer(context, chosen, id, signal) }
  } catch (error) {
    throw noTask(errorText(error))
  }
}

const noTask = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)
