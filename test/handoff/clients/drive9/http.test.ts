// What a server may do on the wire that no decent one does: the line neither hangs, nor falls over, nor takes a part for the whole.
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { makeDrive } from '../../../../src/handoff/clients/drive9/client.js'
import { send } from '../../../../src/handoff/clients/drive9/http.js'
import { cleanupSignal } from '../../../../src/handoff/util/abort.js'
import { until } from '../../../support/until.js'

type Reaction = (socket: Socket, head: string) => void

let servers: Server[] = []
const sockets = new Set<Socket>()

/** A server that reacts to each head of a request as is said. */
async function startServer(react: Reaction): Promise<string> {
  const own = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (data) => {
      const head = data.toString('latin1')
      if (/^[A-Z]+ \//.test(head)) react(socket, head)
    })
  })
  servers.push(own)
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(own.address() as { port: number }).port}`
}

async function lineTo(react: Reaction) {
  const times = { answerMs: 2_000, silenceMs: 300, pauseMs: 1, tries: 2 }
  return makeDrive({ server: await startServer(react), key: 'key', times })
}

afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
  servers = []
})

const never = new AbortController().signal
const ended = (work: Promise<unknown>) =>
  work.then(
    (value) => ({ value }),
    (error: { code: string; message: string }) => ({ code: error.code, message: error.message }),
  )

const withoutLength = 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhalf of it'

/** Listens and accepts no connection: when its short queue is full, a connection is neither made nor refused. */
const deafServer = `
  const { parentPort } = require('node:worker_threads')
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`

test('a host that takes no connection is given up sooner than one that thinks', async () => {
  const deaf = new Worker(deafServer, { eval: true })
  const port = await new Promise<number>((resolve) => deaf.once('message', resolve))
  const filling = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  await until('its queue is full', () => filling.some((socket) => !socket.connecting))
  const times = { connectMs: 200, answerMs: 60_000, pauseMs: 1, tries: 2 }
  const drive = makeDrive({ server: `http://127.0.0.1:${port}`, key: 'key', times })
  const reported = await ended(drive.stat('/a', never))
  expect(reported).toMatchObject({ code: 'drive', message: expect.stringContaining('(ETIMEDOUT)') })
  for (const socket of filling) socket.destroy()
  await deaf.terminate()
})

test('an answer that changes the protocol is a failure, at once', async () => {
  const drive = await lineTo((socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  )
  expect(await ended(drive.read('/a', { maxBytes: 9, signal: never }))).toMatchObject({ code: 'drive' })
  expect(await ended(drive.stat('/a', never))).toMatchObject({ code: 'drive' })
})

test('a body without a length is not complete when it stalls, is cut, or its reader stops', async () => {
  const silent = await lineTo((socket) => socket.write(withoutLength))
  expect(await ended(silent.digest('/a', never))).toMatchObject({ code: 'timeout' })
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 50)
  expect(await ended(silent.read('/a', { maxBytes: 99, signal: stop.signal }))).toMatchObject({ code: 'cancelled' })
  const cut = await lineTo((socket) => {
    socket.write(withoutLength)
    setTimeout(() => socket.resetAndDestroy(), 30)
  })
  expect(await ended(cut.read('/a', { maxBytes: 99, signal: never }))).toMatchObject({ code: 'drive' })
  const whole = await lineTo((socket) => socket.end(withoutLength))
  expect(await ended(whole.read('/a', { maxBytes: 99, signal: never }))).toEqual({ value: Buffer.from('half of it') })
})

test('a server that answers a large upload early is not sent the rest', async () => {
  const size = 8_000_000
  const plan = JSON.stringify({ upload_id: 'u1', part_size: size, total_parts: 1 })
  const parts = (host: string) => JSON.stringify({ parts: [{ number: 1, url: `http://${host}/part` }] })
  const uploading = Promise.withResolvers<Socket>()
  const drive = await lineTo((socket, head) => {
    const answer = (status: string, body: string) =>
      socket.write(`HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    if (head.includes('/initiate')) return answer('200 OK', plan)
    if (head.includes('/presign')) return answer('200 OK', parts(/^host: (.*)$/im.exec(head)![1]!.trim()))
    if (head.includes('/abort')) return answer('200 OK', '{}')
    socket.pause()
    uploading.resolve(socket)
    return answer('413 Too Large', '{"error":"no"}')
  })
  const reported = await ended(drive.write('/a', new Uint8Array(size), { expectedRevision: 0, signal: never }))
  expect(reported).toMatchObject({ code: 'drive', message: expect.stringContaining('larger') })
  const socket = await uploading.promise
  socket.resume()
  await until('the connection is given up', () => socket.destroyed)
  expect(socket.bytesRead).toBeLessThan(size)
})

test('who stops in the moment of the last bytes breaks nothing', async () => {
  const url = await startServer((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  const stop = new AbortController()
  const reply = await send(url, { method: 'GET', headers: {}, signal: stop.signal, connectMs: 1_000 })
  const pieces: string[] = []
  for await (const piece of reply.body) {
    pieces.push(Buffer.from(piece).toString())
    // An error without a listener would end the process.
    stop.abort()
  }
  expect(pieces).toEqual(['ok'])
  await until('the connection is given up', () => sockets.size === 0)
})

const wholeAnswer = (body: string, head = '') =>
  `HTTP/1.1 200 OK\r\n${head}content-length: ${body.length}\r\n\r\n${body}`

test('a write whose answer hangs, or its second half, is found done within the time of a cleanup', async () => {
  for (const answer of ['', 'HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{"revis']) {
    const url = await startServer((socket, head) => {
      if (head.startsWith('PUT')) return socket.write(answer)
      if (head.startsWith('GET')) return socket.write(wholeAnswer('mine'))
      return socket.write(wholeAnswer('mine', 'x-dat9-isdir: false\r\nx-dat9-revision: 3\r\n').slice(0, -4))
    })
    const drive = makeDrive({ server: url, key: 'key' })
    const writing = drive.write('/a', Buffer.from('mine'), { expectedRevision: 2, signal: cleanupSignal() })
    expect(await ended(writing)).toEqual({ value: { revision: 3 } })
  }
}, 30_000)

test('a token is asked for again, once, where a kept connection was closed just then, and where not a byte of an answer came', async () => {
  const token = { prefix: '/a', operations: ['read' as const], lifetimeSeconds: 9, subject: 'x' }
  const issued = '{"token":"t","token_id":"i","expires_at":"2026-11-18T10:00:00Z"}'
  const kept = new Set<Socket>()
  /** What a connection does that is used for the second time, and what a new one does. */
  let [again, anew]: ((socket: Socket) => void)[] = []
  let posts = 0
  const drive = await lineTo((socket, head) => {
    if (!head.startsWith('POST')) {
      kept.add(socket)
      return socket.write(wholeAnswer('{}'))
    }
    posts += 1
    return kept.has(socket) ? again!(socket) : anew!(socket)
  })
  const answers = (socket: Socket) => void socket.write(wholeAnswer(issued))
  const closes = (socket: Socket) => void socket.destroy()
  const resets = (socket: Socket) => void socket.resetAndDestroy()
  const saysHalf = (socket: Socket) => void socket.write('HTTP/1.1 201 Cre', () => socket.destroy())
  const cases: [typeof answers, typeof answers, string, number][] = [
    [closes, answers, 'i', 2],
    [resets, answers, 'i', 2],
    [resets, resets, 'drive', 2],
    [saysHalf, answers, 'drive', 1],
  ]
  for (const [first, second, reported, count] of cases) {
    ;[again, anew] = [first, second]
    posts = 0
    await drive.status(never)
    expect(await ended(drive.issueToken(token, never).then(({ id }) => id))).toMatchObject(
      reported === 'i' ? { value: reported } : { code: reported },
    )
    expect(posts).toBe(count)
  }
})

test('a reply that a proxy compressed counts by its status only: a failure passes, a write is found done', async () => {
  let calls = 0
  const packed = gzipSync('{"revision":1}')
  const with200 = (extra: string, body: Buffer) =>
    Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${extra}content-length: ${body.length}\r\n\r\n`), body])
  const drive = await lineTo((socket, head) => {
    calls += 1
    if (head.startsWith('HEAD'))
      return socket.write(
        'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nx-dat9-isdir: false\r\nx-dat9-revision: 1\r\ncontent-length: 4\r\n\r\n',
      )
    if (head.startsWith('PUT')) return socket.write(with200('content-encoding: gzip\r\n', packed))
    if (calls === 1)
      return socket.write(
        `HTTP/1.1 502 Bad Gateway\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n${packed.toString('latin1')}`,
        'latin1',
      )
    return socket.write(with200('content-encoding: Identity\r\n', Buffer.from('mine')))
  })
  expect(await ended(drive.read('/a', { maxBytes: 9, signal: never }))).toEqual({ value: Buffer.from('mine') })
  const writing = drive.write('/a', Buffer.from('mine'), { expectedRevision: 0, signal: never })
  expect(await ended(writing)).toEqual({ value: { revision: 1 } })
})
