// The watch that stands over every test file of the suite, and that no secret may pass: it must find one wherever it is let out.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { RecordedRequest } from '../../src/emulators/faulty-server.js'
import { listen } from '../support/recorded-requests.js'
import { watchSecrets } from '../support/secret-watch.js'
import { encodings } from '../support/secrets.js'

const secret = 'aB3dE5fG7hJ9kL1mN3pQ5rS7'
const request = (more: Partial<RecordedRequest>): RecordedRequest => ({
  at: 0,
  method: 'POST',
  path: '/v1/chat/completions',
  headers: {},
  body: Buffer.alloc(0),
  status: 0,
  ...more,
})

test.each(encodings('aB3dE5fG7hJ9kL1mN3pQ5rS7'))(
  'finds a key written as %s, also if the key is registered later',
  (form) => {
    const watch = watchSecrets()
    watch.addText('an answer', `before ${form} after`)
    watch.addRequest('local model', request({ headers: { authorization: `Bearer ${secret}` } }))
    expect(watch.leaks()).toEqual(['a key of local model in an answer'])
    expect(watch.leaks()).toEqual([])
  },
)

test.each<[string, string, Partial<RecordedRequest>]>([
  ['in an address', 'local model', { path: `/x?key=${secret}` }],
  ['in a prompt', 'local model', { body: Buffer.from(`{"content":"${secret}"}`) }],
  ['in a header that opens nothing', 'local model', { headers: { 'user-agent': secret } }],
  ['as what opens another service', 'drive9', { headers: { authorization: `Bearer ${secret}` } }],
  ['in a stored file', 'drive9', { method: 'PUT', body: Buffer.from(`key = ${secret}`) }],
  ['in a comment', 'github', { body: Buffer.from(`{"body":"${secret}"}`) }],
  ['in what a sandbox is started with', 'the local E2B cloud', { body: Buffer.from(`KEY=${secret}`) }],
])('finds a key %s', (_where, server, more) => {
  const watch = watchSecrets()
  watch.addRequest('local model', request({ headers: { authorization: `Bearer ${secret}` } }))
  watch.addRequest(server, request(more))
  expect(watch.leaks()).toHaveLength(1)
})

test('allows a key at its own service, and a clone credential in a sandbox', () => {
  const watch = watchSecrets()
  const basic = `Basic ${Buffer.from(`x-access-token:${secret}`).toString('base64')}`
  watch.addRequest('git remote', request({ headers: { authorization: basic } }))
  watch.addRequest('the local E2B cloud', request({ body: Buffer.from(`CLONE=${secret}`) }))
  expect(watch.leaks()).toEqual([])
})

test('reads HTTP replies, and arguments and environments of processes', async () => {
  const watch = watchSecrets()
  watch.addSecret('a key', secret)
  const stop = listen(watch)
  const server = createServer((_, response) => response.end(`the key is ${secret}`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await (await fetch(`http://127.0.0.1:${port}/`)).text()
  await new Promise((resolve) => spawn('true', [secret]).once('close', resolve))
  stop()
  server.close()
  expect(watch.leaks()).toEqual(['a key in the answer to GET /', 'a key in a command line'])
})
