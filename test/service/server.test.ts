// A server of one's own, without Vercel: the page and nothing else of the repository, and the functions. `server.faults.test.ts` stops it.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { connect as openSocket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'
import { call, events, logged, name, post, root } from './kit.js'
import { connect } from './mcp/kit.js'
import { ownServer } from './own-server.js'

const own = ownServer()
const { another, ask } = own
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex')

test('every file of the page is served, with its type and the headers of vercel.json', async () => {
  const folder = join(root, 'dist/web')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  expect(files).toContain('main.js')
  for (const file of files) {
    const response = await fetch(`${own.server.url}/${file}`)
    expect([file, response.status, sha256(await response.bytes())]).toEqual([
      file,
      200,
      sha256(readFileSync(join(folder, file))),
    ])
    expect(response.headers.get('content-type')).toMatch(
      /^(text\/(html|css|javascript|plain); charset=utf-8|image\/svg\+xml|font\/woff2)$/,
    )
  }
  const page = await fetch(own.server.url)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  expect(await page.text()).toBe(readFileSync(join(folder, 'index.html'), 'utf8'))
})

test('the page travels compressed, and a browser that has it receives no second copy', async () => {
  const sizes: Record<string, number> = {}
  for (const file of ['main.js', 'style.css', 'index.html']) {
    const answered = await fetch(`${own.server.url}/${file}`, { headers: { 'accept-encoding': 'gzip' } })
    expect([answered.headers.get('content-encoding'), answered.headers.get('vary')]).toEqual([
      'gzip',
      'accept-encoding',
    ])
    sizes[file] = Number(answered.headers.get('content-length'))
    const etag = answered.headers.get('etag') ?? ''
    const again = await fetch(`${own.server.url}/${file}`, { headers: { 'if-none-match': etag } })
    expect([again.status, again.headers.get('etag'), (await again.bytes()).length]).toEqual([304, etag, 0])
    const other = await fetch(`${own.server.url}/${file}`, { headers: { 'if-none-match': 'W/"another"' } })
    expect([other.status, sha256(await other.bytes())]).toEqual([
      200,
      sha256(readFileSync(join(root, 'dist/web', file))),
    ])
  }
  expect(sizes['main.js']).toBeLessThan(readFileSync(join(root, 'dist/web/main.js')).length / 2)
  const plain = await fetch(`${own.server.url}/main.js`, { headers: { 'accept-encoding': 'identity' } })
  expect(plain.headers.get('content-encoding')).toBeNull()
  const font = readdirSync(join(root, 'dist/web')).find((file) => file.endsWith('.woff2'))
  expect((await fetch(`${own.server.url}/${font}`)).headers.get('content-encoding')).toBeNull()
})

test('nothing else of the repository is served, however its address is written', async () => {
  const tracked = ['package.json', 'vercel.json', 'action.yml', 'dist/index.js', '.env', '.env.example']
  const sources = [
    'src/service/settings.ts',
    'web/index.html',
    'dist/web/index.html',
    'api/ask.d.ts',
    'src/service/server/main.ts',
    '.git/config',
  ]
  const above = ['../package.json', '%2e%2e/package.json', '..%2fpackage.json', '%5c..%5cpackage.json', '.%00/x', '%']
  const { hostname, port } = new URL(own.server.url)
  for (const path of [...tracked, ...sources, ...above, 'x/../../_settings.ts', '/etc/passwd']) {
    const reply = await raw(hostname, Number(port), `GET /${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect([path, reply.split('\r\n')[0]]).toEqual([path, 'HTTP/1.1 404 Not Found'])
    expect(reply).toContain('"code":"not-found"')
  }
})

function raw(host: string, port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = ''
    const socket = openSocket(port, host, () => socket.write(text))
    socket.setEncoding('utf8').on('data', (piece) => (heard += piece))
    socket.on('error', reject).on('close', () => resolve(heard))
  })
}

test('questions are answered in one piece, in events and in the background', async () => {
  expect(await post(own.server.url, ask('What is token.ts?'))).toMatchObject({ status: 200, body: { status: 'done' } })
  const reported = await events(own.server.url, ask('What is in events?'))
  expect(reported.events.at(-1)).toMatchObject({ event: 'answer', data: { status: 'done' } })
  const { status, body } = await post(own.server.url, ask('What comes later?'), { prefer: 'respond-async' })
  expect(status).toBe(202)
  await until('the answer', async () => (await call(own.server.url, body.self)).body.status === 'done')
  expect((await call(own.server.url, '/api/health')).body).toMatchObject({ status: 'ok', ways: { queue: 'memory' } })
  expect((await call(own.server.url, '/api/openapi')).body.openapi).toMatch(/^3\.1/)
})

test.each(['modern', 'legacy'] as const)('agents of the %s era ask it over MCP', async (era) => {
  await using client = await connect(own.server.url, era)
  const question = { repository: name, question: `What is token.ts, to an agent of the ${era} era?` }
  const asked = await client.callTool({ name: 'ask_question', arguments: question })
  expect(asked.structuredContent).toMatchObject({ status: 'done', repository: name })
  expect((await client.listPrompts()).prompts).toEqual([])
})

test('what the server refuses itself is a problem document too', async () => {
  const large = await post(own.server.url, 'x'.repeat(4_500_001))
  expect(large).toMatchObject({ status: 413, body: { code: 'payload-too-large' } })
  const { hostname, port } = new URL(own.server.url)
  const reply = await raw(hostname, Number(port), 'TRACE /api/ask HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(reply).toMatch(/^HTTP\/1\.1 405 [\s\S]*"code":"method-not-allowed"/)
  expect((await call(own.server.url, '/api/nothing')).body.code).toBe('not-found')
})

test('a client cannot choose the id that its request has in the log', async () => {
  const { headers } = await call(own.server.url, '/api/openapi', { headers: { 'x-vercel-id': 'forged' } })
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})

test('behind a proxy that ends TLS the description names the address that was asked', async () => {
  const { body } = await call(own.server.url, '/api/openapi', { headers: { 'x-forwarded-proto': 'https' } })
  expect(body.servers[0].url).toMatch(/^https:\/\/127\.0\.0\.1:\d+/)
})

test('it listens on this machine alone until HOST says otherwise', async () => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address
  const open = await another({ HOST: '0.0.0.0' })
  expect((await fetch(`${open.url}/api/openapi`)).status).toBe(200)
  if (outside === undefined) return
  const at = (one: ServerProcess) => fetch(`http://${outside}:${new URL(one.url).port}/api/openapi`)
  expect((await at(open)).status).toBe(200)
  await expect(at(own.server)).rejects.toThrow()
})

test.each([
  ['PORT', 'eighty', 'PORT has to be a whole number up to 65535.'],
  ['HANDOFF_STOP_SECONDS', '-1', 'HANDOFF_STOP_SECONDS has to be a whole number up to 300.'],
  ['HOST', '192.0.2.1', 'is not of this machine; set HOST to an address that is, or to 0.0.0.0 for all of them.'],
])('%s=%s is refused in words', async (setting, value, sentence) => {
  const started = await another({ [setting]: value })
  expect((await started.ended).code).toBe(1)
  expect(started.output()).toContain(sentence)
  expect(started.output()).not.toMatch(/\bat .*:\d+/)
})

test('a port that is taken is refused in words, and what is missing is named', async () => {
  const taken = await another({ PORT: new URL(own.server.url).port })
  expect((await taken.ended).code).toBe(1)
  expect(taken.output()).toMatch(/127\.0\.0\.1 \d+ is taken; set PORT to another one\./)
  const bare = await another({ LLM_API_KEY: '', HANDOFF_BEARERS: '' })
  const sentence = 'Questions are refused until these are set: LLM_API_KEY, HANDOFF_BEARERS.'
  await until('it names them', () => bare.output().includes(sentence))
})

test('its log has one line of JSON for each request', async () => {
  const own = await another()
  for (const question of ['What is logged?', 'What is logged?', 'What else is logged?'])
    expect((await post(own.url, ask(question))).status).toBe(200)
  const reported = () =>
    logged({ lines: own.output().split('\n') } as Parameters<typeof logged>[0]).filter(({ route }) => route === 'ask')
  await until('all are in the log', () => reported().length >= 3)
  expect(reported()).toHaveLength(3)
  const lines = own.output().split('\n')
  expect(lines.filter((line) => line !== '' && !line.startsWith('{'))).toEqual([
    expect.stringMatching(/^handoff listens at 127\.0\.0\.1, port \d+: http:\/\/127\.0\.0\.1:\d+$/),
  ])
})
