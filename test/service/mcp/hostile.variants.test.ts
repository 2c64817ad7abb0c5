// What a Model Context Protocol entry point must refuse, and what must not be left behind.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../support/until.js'
import { call, type Deployment, deploy, name, root, token } from '../kit.js'
import { connect } from './kit.js'

let here: Deployment

beforeAll(async () => {
  here = await deploy({ environment: { HANDOFF_HOSTS: 'handoff.example.org' } })
}, 120_000)

afterAll(async () => {
  await here?.close()
})

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const rpc = (method: string, params: unknown = {}) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const send = (body: string, headers: Record<string, string> = {}) =>
  call(here.url, '/api/mcp', { method: 'POST', body, headers: { ...json, ...headers } })

/** `fetch` does not send another Host. */
function withHost(host: string): Promise<number> {
  const { port } = new URL(here.url)
  const headers = { ...json, host, authorization: `Bearer ${token}` }
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ port, method: 'POST', path: '/api/mcp', headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end(rpc('ping'))
  })
}

test('a name that is not its own is refused, and those that are set are taken', async () => {
  expect(await withHost('evil.example.com')).toBe(403)
  expect(await withHost('localhost.evil.example.com')).toBe(403)
  expect(await withHost('127.0.0.1.evil.example.com')).toBe(403)
  expect(await withHost('handoff.example.org')).toBe(200)
  expect(await withHost(`localhost:${new URL(here.url).port}`)).toBe(200)
})

test('a page of another origin is refused, and a page of its own is taken', async () => {
  expect((await send(rpc('ping'), { origin: 'https://evil.example.com' })).status).toBe(403)
  expect((await send(rpc('ping'), { origin: 'null' })).status).toBe(403)
  expect((await send(rpc('ping'), { origin: here.url })).status).toBe(200)
})

test.each([
  ['nothing', '', 400],
  ['no JSON', '{"jsonrpc"', 400],
  ['no JSON-RPC', '{"hello":"world"}', 400],
  ['an unknown method', rpc('no/such'), 200],
  [
    'deep nesting',
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
    200,
  ],
  ['a prototype', rpc('tools/call', { name: '__proto__', arguments: {} }), 200],
  ['a tool that does not exist', rpc('tools/call', { name: 'rm', arguments: {} }), 200],
  ['arguments that are none', rpc('tools/call', { name: 'ask_question', arguments: { repository: 7 } }), 200],
  ['too much', rpc('ping', { text: 'x'.repeat(300_000) }), 413],
])('%s gets an answer, costs nothing, and the next call works', async (_what, body, status) => {
  const before = here.machines()
  expect((await send(body)).status).toBe(status)
  expect(here.machines()).toBe(before)
  expect((await send(rpc('ping'))).status).toBe(200)
})

test('another type than JSON, GET and DELETE are refused', async () => {
  expect((await send(rpc('ping'), { 'content-type': 'text/plain' })).status).toBe(415)
  const got = await call(here.url, '/api/mcp')
  expect({ status: got.status, allow: got.headers.get('allow') }).toEqual({ status: 405, allow: 'POST, OPTIONS' })
  expect((await call(here.url, '/api/mcp', { method: 'DELETE' })).status).toBe(405)
})

test('a list of many calls in one request is refused from the twenty-first on', async () => {
  const one = (id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'list_runs', arguments: {} },
  })
  const { body } = await send(JSON.stringify(Array.from({ length: 30 }, (_none, id) => one(id))))
  expect(String(body).match(/A request may hold 20 calls/g)).toHaveLength(10)
})

test('a client that cancels its call leaves no machine', async () => {
  const takeBack = here.stack.clouds.model.rule({ fault: { kind: 'delay', milliseconds: 20_000 } })
  await using client = await connect(here.url, 'modern')
  const before = here.machines()
  const abort = new AbortController()
  const asked = client.callTool(
    { name: 'ask_question', arguments: { repository: name, question: 'Which question is cancelled?' } },
    { signal: abort.signal },
  )
  await until('the sandbox is there', () => here.machines() > before, 20_000)
  abort.abort()
  await expect(asked).rejects.toThrow()
  await until('the sandbox is gone', () => here.living() === 0, 20_000)
  takeBack()
})

test("the inspector's command line lists the tools and calls one", async () => {
  const program = join(root, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
  const folder = await mkdtemp(join(tmpdir(), 'handoff-inspector-'))
  const config = join(folder, 'mcp.json')
  const headers = { Authorization: `Bearer ${token}` }
  const server = { type: 'streamable-http', url: `${here.url}/api/mcp`, headers }
  await writeFile(config, JSON.stringify({ mcpServers: { handoff: server } }), { mode: 0o600 })
  const inspect = async (...words: string[]) => {
    const all = [program, '--cli', '--config', config, '--server', 'handoff', ...words]
    const { stdout } = await promisify(execFile)(process.execPath, all)
    return JSON.parse(stdout)
  }
  const { tools } = await inspect('--method', 'tools/list')
  expect(tools.map((tool: { name: string }) => tool.name)).toContain('ask_question')
  const called = await inspect('--method', 'tools/call', '--tool-name', 'list_runs')
  expect(called.structuredContent).toEqual({ repositories: [name] })
  await rm(folder, { recursive: true })
}, 60_000)
