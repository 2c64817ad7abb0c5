// A runner behind a proxy: every call of the shipped dist goes through it, and none goes around it.

import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ActionStack, startActionStack } from './kit.js'

let stack: ActionStack
let proxy: Server
const seen = new Set<string>()

beforeAll(async () => {
  proxy = createServer((incoming, response) => {
    const url = new URL(incoming.url ?? '')
    seen.add(url.host)
    const outgoing = request(url, { method: incoming.method, headers: incoming.headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers)
      reply.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  })
  proxy.on('connect', (incoming, socket) => {
    const [host, port] = (incoming.url ?? '').split(':')
    seen.add(incoming.url ?? '')
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      through.pipe(socket).pipe(through)
    })
    for (const end of [through, socket]) end.on('error', () => end.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  stack = await startActionStack({
    files: [
      { 'README.md': '# Tools\n', 'src/token.ts': 'export const refreshToken = () => 1\n' },
      { 'b.ts': 'export const b = 1\n' },
    ],
    refs: { 'refs/pull/7/head': 0 },
  })
  stack.github.addPull(stack.onGitHub, { number: 7, head: { ref: 'topic', sha: stack.repository.commits[0]! } })
})

afterAll(async () => {
  await stack?.close()
  proxy?.closeAllConnections()
  proxy?.close()
})
beforeEach(() => seen.clear())

const address = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
const hostOf = (url: string) => new URL(url).host
const reached = () =>
  [stack.clouds.sandboxes, stack.clouds.drive, stack.clouds.model, stack.remote, stack.github.server].map(
    (one) => one.requests.length,
  )

test('summary and comment: the sandboxes, drive9, the model, git and GitHub', async () => {
  const event = stack.pull(7, stack.repository.commits[0]!)
  const environment = { http_proxy: address(), https_proxy: address() }
  const summary = await stack.step({ event, environment })
  const comment = await stack.step({ event, environment, inputs: { mode: 'comment' } })
  for (const step of [summary, comment]) expect([...step.errors, ...step.warnings]).toEqual([])
  const { sandboxes, drive, model } = stack.clouds
  for (const url of [sandboxes.url, drive.url, model.url, stack.remote.url, stack.github.apiUrl])
    expect([...seen]).toContain(hostOf(url))
})

test('a proxy that is not there is not gone around', async () => {
  const before = reached()
  const step = await stack.step({
    event: stack.push({ sha: stack.repository.commits[1]! }),
    environment: { HTTP_PROXY: 'http://127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1' },
  })
  expect(step.code).toBe(1)
  expect(reached()).toEqual(before)
})

test('what no_proxy names is reached directly', async () => {
  const sha = await stack.repository.commit({ 'direct.ts': 'export const direct = 1\n' })
  const step = await stack.step({
    event: stack.push({ sha }),
    environment: { http_proxy: address(), no_proxy: '127.0.0.1' },
  })
  expect(step.errors).toEqual([])
  expect([...seen]).toEqual([])
})

test('a Node that takes a proxy only from the start is started again, and its end is ours', async () => {
  const environment = {
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'watch-loading.mjs')}`,
    WITHOUT_PROXY_FUNCTION: '1',
    http_proxy: address(),
  }
  const step = await stack.step({ event: stack.push({ sha: stack.repository.commits[1]! }), environment })
  expect(step.errors).toEqual([])
  for (const { url } of [stack.clouds.sandboxes, stack.clouds.drive, stack.clouds.model])
    expect([...seen]).toContain(hostOf(url))
  const failing = await stack.step({ event: stack.push(), environment, inputs: { mode: 'sometimes' } })
  expect(failing.code).toBe(1)
  const sha = await stack.repository.commit({ 'c.ts': 'export const c = 1\n' })
  const stopped = await stack.step({ event: stack.push({ sha }), environment, interruptAt: 'is open (template' })
  expect(stopped.code).toBe(1)
  expect(stack.clouds.sandboxes.sandboxes.filter((sandbox) => sandbox.state !== 'gone')).toEqual([])
})

test('a Node that would send calls around the proxy is reported, and makes none', async () => {
  const before = reached()
  const environment = {
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'watch-loading.mjs')}`,
    NODE_VERSION_TOLD: '24.4.1',
    http_proxy: address(),
  }
  const step = await stack.step({ event: stack.push({ sha: stack.repository.commits[1]! }), environment })
  expect(step.code).toBe(1)
  expect(step.errors.join()).toContain('Update the runner')
  expect(reached()).toEqual(before)
  expect([...seen]).toEqual([])
})
