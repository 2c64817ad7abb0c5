import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectionProblem, fetchText } from '../../../src/handoff/util/http.js'

let sent = 0
const server = createServer((request, response) => {
  if (request.url === '/silent') return
  if (request.url === '/away') return response.writeHead(302, { location: '/short' }).end()
  if (request.url === '/short') return response.writeHead(404).end('{"a":1}')
  const more = setInterval(() => {
    sent += 1_000
    response.write('x'.repeat(1_000))
  }, 1)
  response.on('close', () => clearInterval(more))
})
let address = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(server.address() as { port: number }).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test('a reply has a status, headers and a text', async () => {
  expect(await fetchText(`${address}/short`, { timeoutMs: 20_000 })).toMatchObject({ status: 404, text: '{"a":1}' })
})

test('a reply without an end is an error, and its connection is closed', async () => {
  const reading = fetchText(`${address}/endless`, { timeoutMs: 60_000, maxBytes: 50_000 })
  await expect(reading).rejects.toThrow('more than 50000 bytes')
  expect(sent).toBeGreaterThan(50_000)
  await expect.poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(0)
})

test('a redirect is refused unless it is asked for', async () => {
  await expect(fetchText(`${address}/away`, { timeoutMs: 20_000 })).rejects.toThrow('fetch failed')
  const followed = await fetchText(`${address}/away`, { timeoutMs: 20_000, redirect: 'follow' })
  expect(followed.text).toBe('{"a":1}')
})

test('a server that does not answer is given up, and so is a stopped request', async () => {
  const late = await fetchText(`${address}/silent`, { timeoutMs: 30 }).catch((error: unknown) => error)
  expect(connectionProblem(late)).toBe('no answer in time')
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(fetchText(`${address}/silent`, { timeoutMs: 60_000, signal })).rejects.toThrow('enough')
  const gone = createServer()
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
  const { port } = gone.address() as { port: number }
  await new Promise((resolve) => gone.close(resolve))
  const refused = await fetchText(`http://127.0.0.1:${port}/`, { timeoutMs: 20_000 }).catch((error: unknown) => error)
  expect(connectionProblem(refused)).toBe('ECONNREFUSED')
})
