// Tasks, an extension of the protocol: what takes longer becomes a task that any instance can report on and cancel. The wire forms are checked by
// the schemas of the extension's own package.
import {
  TASKS_EXTENSION_ID_V2 as extension,
  isCreateTaskResultV2,
  isDetailedTaskV2,
} from '@modelcontextprotocol/ext-tasks/core/v2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunningFunctions } from '../../../src/emulators/vercel/start.js'
import { until } from '../../support/until.js'
import { call, type Deployment, deploy, name } from '../kit.js'

let here: Deployment
let functions: RunningFunctions

beforeAll(async () => {
  here = await deploy({ quickFinds: true, withoutFunctions: true })
  // So near that a question which takes seconds becomes a task at once.
  functions = await here.another({}, undefined, { inSeconds: 4 })
}, 120_000)

afterAll(async () => {
  await here?.close()
})

let requests = 0

async function rpc(method: string, params: Record<string, unknown>, tasks = true) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': tasks ? { extensions: { [extension]: {} } } : {},
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++requests, method, params: { ...params, _meta } })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': String(params['name'] ?? params['taskId']),
  }
  return (await call(functions.url, '/api/mcp', { method: 'POST', body, headers })).body
}

const ask = (question: string, tasks = true) =>
  rpc('tools/call', { name: 'ask_question', arguments: { repository: name, question } }, tasks)

const slow = (milliseconds: number) =>
  here.stack.clouds.model.rule({ path: /chat\/completions/, fault: { kind: 'delay', milliseconds } })

test.each(['tasks/get', 'tasks/cancel'])(
  '%s of a client that does not declare tasks says what it has to declare',
  async (method) => {
    const { error } = await rpc(method, { taskId: `${name}/${here.run.run}/${'0'.repeat(32)}` }, false)
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: { [extension]: {} } } } })
  },
)

test('a question that takes longer becomes a task, and the task has its answer later', async () => {
  const takeBack = slow(6_000)
  const { result } = await ask('How is the token refreshed, as a task?')
  takeBack()
  expect({ result, valid: isCreateTaskResultV2(result) }).toMatchObject({ valid: true, result: { status: 'working' } })
  const { taskId } = result
  const task = async () => (await rpc('tasks/get', { taskId })).result
  expect(isDetailedTaskV2(await task())).toBe(true)
  const done = await until(
    'the task is completed',
    async () => {
      const now = await task()
      return now.status === 'completed' ? now : undefined
    },
    30_000,
  )
  expect(isDetailedTaskV2(done)).toBe(true)
  expect(done.result).toMatchObject({ structuredContent: { status: 'done', repository: name } })
}, 60_000)

test('a client that does not know tasks has to call again, and then gets the answer', async () => {
  const question = 'How is the token refreshed, without a task?'
  const takeBack = slow(6_000)
  const { result } = await ask(question, false)
  takeBack()
  expect(result).toMatchObject({ resultType: 'complete', structuredContent: { status: 'running' } })
  await until('the answer', async () => (await ask(question, false)).result.structuredContent.status === 'done', 30_000)
}, 60_000)

test('a task can be cancelled, and one of nothing cannot', async () => {
  const takeBack = slow(8_000)
  const { result } = await ask('Which task is cancelled?')
  expect((await rpc('tasks/cancel', { taskId: result.taskId })).error).toBeUndefined()
  takeBack()
  expect((await rpc('tasks/get', { taskId: result.taskId })).result).toMatchObject({ status: 'cancelled' })
  for (const taskId of ['', 'x', `${name}/x/${'0'.repeat(32)}`, `other/x/${'a'.repeat(40)}-1/${'0'.repeat(32)}`]) {
    expect((await rpc('tasks/get', { taskId })).error).toMatchObject({ code: expect.any(Number) })
  }
}, 60_000)
