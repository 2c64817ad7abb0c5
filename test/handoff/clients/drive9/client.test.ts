// The drive9 client when the service, the network or a proxy misbehaves.
import { createHash, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LocalDrive, startDrive } from '../../../../src/emulators/drive9/server/main.js'
import { type Fault, json, startServer } from '../../../../src/emulators/faulty-server.js'
import { type DriveSettings, makeDrive } from '../../../../src/handoff/clients/drive9/client.js'
import { objectAddress } from '../../../../src/handoff/clients/drive9/errors.js'
import type { HandoffError } from '../../../../src/handoff/domain/errors.js'
import type { Drive } from '../../../../src/handoff/domain/ports.js'
import { type ManualClock, manualClock } from '../../../support/clock.js'
import { refusal } from '../../../support/refusal.js'
import { until } from '../../../support/until.js'

let local: LocalDrive
let clock: ManualClock
let drive: Drive
const signal = AbortSignal.timeout(300_000)
const bytes = (text: string) => new TextEncoder().encode(text)
const large = randomBytes(120_000)

const connect = (settings: Partial<DriveSettings> = {}) =>
  makeDrive({ server: local.url, key: local.ownerKey, clock, ...settings })

beforeEach(async () => {
  local = await startDrive()
  clock = manualClock({ jump: true })
  drive = connect()
})
afterEach(async () => {
  await local.close()
  expect(local.unexpected).toEqual([])
})

const read = (path: string, maxBytes = 1_000_000) => drive.read(path, { maxBytes, signal })
const create = (path: string, content: Uint8Array = bytes('mine')) =>
  drive.write(path, content, { expectedRevision: 0, signal })
const breakAt = (method: string, path: RegExp, fault: Fault, times?: number, skip = 0) =>
  local.rule({ method, path, fault, skip, ...(times === undefined ? {} : { times }) })
const asked = (method: string, path: RegExp) =>
  local.requests.filter((request) => request.method === method && path.test(request.path))

/** Nothing that can be printed of an error shows the key, or an address that opens an object. */
function expectNoSecret(error: HandoffError): void {
  const shown = `${error.message} ${JSON.stringify(error)} ${inspect(error, { depth: 10 })}`
  expect(shown).not.toContain(local.ownerKey)
  expect(shown).not.toMatch(/\/s3\/[0-9a-f]+/)
}

test('a service that is always to be asked again at once is asked less and less, and not for ever', async () => {
  const asks = { 'retry-after': '0' }
  breakAt('GET', /\/always/, { kind: 'answer', status: 503, headers: asks, body: '{"error":"soon"}' })
  expect(await refusal(read('/always'))).toMatchObject({ code: 'drive' })
  expect(asked('GET', /\/always/).length).toBeLessThan(60)
})

describe('what the service answers', () => {
  test.for([
    { status: 400, code: 'drive' },
    { status: 401, code: 'unauthorized', next: 'DRIVE9_API_KEY' },
    { status: 402, code: 'drive-quota' },
    { status: 403, code: 'forbidden', next: 'DRIVE9_API_KEY' },
    { status: 404, code: 'not-found' },
    { status: 409, code: 'conflict' },
    { status: 410, code: 'drive' },
    { status: 413, code: 'drive', text: 'larger' },
    { status: 429, code: 'drive' },
    { status: 507, code: 'drive-quota', text: 'no room' },
  ])('$status becomes $code, at once, with method, path and what was said', async ({ status, code, next, text }) => {
    const body = JSON.stringify({ error: `said with ${status}, and the key ${local.ownerKey}` })
    local.rule({ fault: { kind: 'answer', status, body } })
    const error = await refusal(drive.write('/a b', bytes('x'), { signal }))
    expect(error.code).toBe(code)
    expect(error.message).toContain('PUT /a b')
    expect(error.message).toContain(`said with ${status}`)
    expect(error.message).toContain(text ?? '')
    expect(error.next ?? '').toContain(next ?? '')
    expect(local.requests.length).toBe(1)
    expectNoSecret(error)
  })

  test('each kind of call turns a refusal into the same error', async () => {
    local.rule({ fault: { kind: 'answer', status: 507, body: '{"error":"full"}' } })
    const request = { prefix: '/a', operations: ['read' as const], lifetimeSeconds: 1, subject: 'x' }
    const calls = [
      () => read('/a'),
      () => drive.digest('/a', signal),
      () => drive.stat('/a', signal),
      () => drive.locate('/a', signal),
      () => drive.list('/a', signal),
      () => drive.digestSmall(['/a'], signal),
      () => drive.remove('/a', { recursive: true, signal }),
      () => drive.write('/a', large, { signal }),
      () => drive.issueToken(request, signal),
      () => drive.revokeToken('id', signal),
      () => drive.status(signal),
    ]
    for (const call of calls) expect((await refusal(call())).code).toBe('drive-quota')
  })

  test.for([
    { body: '<html>hello</html>', type: 'text/html', what: 'an HTML page' },
    { body: 'ok', type: 'text/plain', what: 'not a JSON object' },
    { body: '[1]', type: 'application/json', what: 'not a JSON object' },
    { body: '', type: 'application/json', what: 'not a JSON object' },
  ])('a reply of $type “$body” is not taken for an answer', async ({ body, type, what }) => {
    local.rule({ fault: { kind: 'answer', status: 200, headers: { 'content-type': type }, body } })
    const request = { prefix: '/a', operations: ['read' as const], lifetimeSeconds: 1, subject: 'x' }
    const calls = [
      () => drive.list('/a', signal),
      () => create('/a'),
      () => create('/a', large),
      () => drive.issueToken(request, signal),
      () => drive.status(signal),
    ]
    for (const call of calls) {
      const error = await refusal(call())
      expect([error.code, error.message]).toEqual(['drive', expect.stringContaining(what)])
      expect(error.next).toContain('DRIVE9_SERVER')
    }
    expect((await refusal(drive.stat('/a', signal))).message).toContain('without the headers of drive9')
    const reads = await read('/a').then(
      () => 'the body',
      ({ message }: Error) => message,
    )
    expect(reads.includes('an HTML page')).toBe(type === 'text/html')
  })

  test('a body that a proxy compressed is not taken for the file', async () => {
    const packed = gzipSync('{"entries":[]}').toString('latin1')
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
    local.rule({ fault: { kind: 'answer', status: 200, headers, body: packed } })
    for (const call of [() => read('/a'), () => drive.list('/a', signal), () => drive.digest('/a', signal)]) {
      const error = await refusal(call())
      expect([error.code, error.message]).toEqual(['drive', expect.stringContaining('packed data')])
      expect(error.next).toContain('proxy')
    }
  })

  test.for([{ entries: {} }, { entries: [{ name: '../up' }] }, { entries: [{ name: '' }] }, { entries: [null] }, {}])(
    'a list like %j is not believed',
    async (value) => {
      local.rule({ fault: { kind: 'answer', status: 200, body: JSON.stringify(value) } })
      expect((await refusal(drive.list('/a', signal))).code).toBe('drive')
    },
  )
})

describe('a service that is being set up', () => {
  test('is asked again when it said, also for what may not be done twice', async () => {
    local.setProvisioning(3)
    expect(await create('/a')).toEqual({ revision: 1 })
    expect(clock.slept).toEqual([1000, 1000, 1000])
    local.setProvisioning(1)
    await drive.issueToken({ prefix: '/a', operations: ['read'], lifetimeSeconds: 9, subject: 'x' }, signal)
    expect(asked('POST', /tokens/).length).toBe(2)
  })

  test('is not waited for without end', async () => {
    local.setProvisioning(1_000_000)
    const error = await refusal(read('/a'))
    expect(error).toMatchObject({ code: 'drive', retryAfterSeconds: 1 })
    expect(error.message).toContain('tenant is provisioning')
    const waited = clock.slept.reduce((sum, each) => sum + each, 0)
    expect(waited).toBeGreaterThan(100_000)
    expect(waited).toBeLessThanOrEqual(120_000)
  })

  test('is not waited for longer than the caller wants', async () => {
    local.setProvisioning(1_000_000)
    const still = manualClock()
    const stop = new AbortController()
    const reading = refusal(connect({ clock: still }).read('/a', { maxBytes: 1, signal: stop.signal }))
    await until('it waits', () => still.waiting === 1)
    stop.abort()
    expect((await reading).code).toBe('cancelled')
  })

  test('is not ready, which is no error when that was the question', async () => {
    local.setProvisioning(1)
    expect(await drive.status(signal)).toEqual({ ready: false })
    expect(await drive.status(signal)).toMatchObject({
      ready: true,
      kind: 'live',
      largestFileBytes: expect.any(Number),
    })
  })
})

describe('connections that fail', () => {
  test.for<Fault>([
    { kind: 'reset' },
    { kind: 'lose-reply' },
    { kind: 'answer', status: 500, body: '{"error":"storage"}' },
    { kind: 'answer', status: 502, body: '<html>' },
    { kind: 'answer', status: 503, body: '' },
    { kind: 'answer', status: 504, body: '' },
  ])('reading is tried four times under %j', async (fault) => {
    local.write('/a', 'aa')
    const calls: [string, RegExp, () => Promise<unknown>][] = [
      ['GET', /fs\/a$/, () => read('/a')],
      ['HEAD', /fs\/a$/, () => drive.stat('/a', signal)],
      ['GET', /list/, () => drive.list('/', signal)],
    ]
    for (const [method, path, call] of calls) {
      clock.slept.length = 0
      breakAt(method, path, fault, 3)
      await call()
      expect(clock.slept).toEqual([250, 500, 1000])
      local.clearRules()
      const before = local.requests.length
      breakAt(method, path, fault)
      const error = await refusal(call())
      expect([error.code, local.requests.length - before]).toEqual(['drive', 4])
      expectNoSecret(error)
      local.clearRules()
    }
  })

  test('a refused connection is reported with the code of the system', async () => {
    const gone = await startServer('gone', () => json(200, {}))
    await gone.close()
    const unreachable = connect({ server: gone.url })
    const error = await refusal(unreachable.list('/a', signal))
    expect(error).toMatchObject({ code: 'drive', next: expect.stringContaining('DRIVE9_SERVER') })
    expect(error.message).toContain('GET /a?list=1')
    expect(error.message).toContain('ECONNREFUSED')
  })

  test('an upload that another writer replaced while its bytes were under way is a conflict', async () => {
    breakAt('PUT', /^\/s3\//, { kind: 'delay', milliseconds: 300 }, 1)
    const slow = refusal(create('/raced', randomBytes(120_000)))
    await until('its bytes are under way', () => asked('PUT', /^\/s3\//).length === 1)
    expect(await create('/raced', large)).toEqual({ revision: 1 })
    expect(await slow).toMatchObject({ code: 'conflict' })
    expect(asked('PUT', /^\/s3\//), 'the storage is not asked for the same part again').toHaveLength(2)
    expect(local.readFile('/raced')?.equals(large)).toBe(true)
  })

  test('what can be done twice is done again: remove, many digests, revoke', async () => {
    local.write('/dir/a', 'a')
    breakAt('DELETE', /./, { kind: 'lose-reply' }, 1)
    expect(await drive.remove('/dir/a', { recursive: false, signal }), 'the lost try did it').toBe(true)
    local.clearRules()
    local.write('/b', 'b')
    breakAt('POST', /batch-read-small/, { kind: 'lose-reply' }, 1)
    expect(await drive.digestSmall(['/b'], signal)).toMatchObject([{ bytes: 1 }])
    const token = await drive.issueToken(
      { prefix: '/a', operations: ['read'], lifetimeSeconds: 9, subject: 'x' },
      signal,
    )
    breakAt('DELETE', /tokens/, { kind: 'lose-reply' }, 1)
    await drive.revokeToken(token.id, signal)
    expect(local.issuedTokens()).toMatchObject([{ revoked: true }])
  })

  test.each<[string, Fault]>([
    ['was lost', { kind: 'lose-reply' }],
    ['was a request to wait', { kind: 'answer', status: 503, headers: { 'retry-after': '0' }, body: '{}' }],
  ])('a file that is written anew while the reply to its removal %s is not removed', async (_how, fault) => {
    local.write('/pointer', 'tombstone')
    let looks = 0
    const writeAnew = ({ method }: { method: string }) => {
      if (method === 'HEAD' && ++looks === 2) {
        if (local.readFile('/pointer')) local.remove('/pointer')
        local.write('/pointer', 'new')
        local.write('/pointer', 'newer')
      }
      return false
    }
    local.rule({ match: writeAnew, fault: { kind: 'hang' } })
    breakAt('DELETE', /./, fault, 1)
    expect(await drive.remove('/pointer', { recursive: false, atRevision: 1, signal })).toBe(false)
    expect(local.readFile('/pointer')?.toString()).toBe('newer')
    expect(asked('DELETE', /./)).toHaveLength(1)
  })

  test('a token is not asked for twice', async () => {
    breakAt('POST', /tokens/, { kind: 'lose-reply' })
    const request = { prefix: '/a', operations: ['read' as const], lifetimeSeconds: 9, subject: 'x' }
    expect((await refusal(drive.issueToken(request, signal))).code).toBe('drive')
    expect(asked('POST', /tokens/).length).toBe(1)
  })
})

describe('bodies that do not come as they should', () => {
  test.for([{ size: 3_000 }, { size: 120_000 }])(
    'a body of $size bytes that breaks off is read again',
    async ({ size }) => {
      const content = randomBytes(size)
      local.write('/a', content)
      const path = size < 50_000 ? /fs\/a$/ : /s3/
      breakAt('GET', path, { kind: 'cut', bytes: 1_000 }, 2)
      expect(content.equals((await read('/a')) ?? bytes(''))).toBe(true)
      local.clearRules()
      breakAt('GET', path, { kind: 'cut', bytes: 1_000 }, 1)
      const sha256 = createHash('sha256').update(content).digest('hex')
      expect(await drive.digest('/a', signal)).toEqual({ bytes: size, sha256 })
      local.clearRules()
      breakAt('GET', path, { kind: 'cut', bytes: 1_000 })
      const error = await refusal(read('/a'))
      expect([error.code, error.message]).toEqual([
        'drive',
        expect.stringMatching(/GET \/a.*broke off after 1000 bytes/),
      ])
      expectNoSecret(error)
    },
  )

  test('a list that breaks off is asked for again', async () => {
    local.write('/dir/a', 'a')
    breakAt('GET', /list/, { kind: 'cut', bytes: 12 }, 1)
    expect((await drive.list('/dir', signal)).map(({ name }) => name)).toEqual(['a'])
  })

  test('silence in the middle is noticed and named', async () => {
    await using server = await startServer('silent', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': '1000' })
      response.write('some')
      return undefined
    })
    const times = { silenceMs: 60, tries: 2 }
    const silent = makeDrive({ server: server.url, key: 'key', clock, times })
    const error = await refusal(silent.digest('/a', signal))
    expect([error.code, error.message]).toEqual(['timeout', expect.stringContaining('silent')])
    expect(error.message).toMatch(/GET \/a .*after 4 bytes/)
    expect(server.requests.length).toBe(2)
  })

  test('a slow body that keeps coming is waited for', async () => {
    await using server = await startServer('slow', async (_, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': '8' })
      for (const piece of 'slowly..') {
        await new Promise((resolve) => setTimeout(resolve, 40))
        response.write(piece)
      }
      response.end()
      return undefined
    })
    const slow = makeDrive({ server: server.url, key: 'key', clock, times: { silenceMs: 600, answerMs: 600 } })
    expect(Buffer.from((await slow.read('/a', { maxBytes: 8, signal })) ?? []).toString()).toBe('slowly..')
  })

  test('no answer at all is a timeout, for reads after their tries and for writes after looking', async () => {
    const quick = connect({ times: { answerMs: 300, tries: 2 } })
    breakAt('GET', /./, { kind: 'hang' })
    const error = await refusal(quick.read('/a', { maxBytes: 1, signal }))
    expect([error.code, error.message]).toEqual(['timeout', expect.stringContaining('GET /a')])
    local.clearRules()
    breakAt('PUT', /./, { kind: 'hang' })
    expect((await refusal(quick.write('/a', bytes('x'), { expectedRevision: 0, signal }))).code).toBe('timeout')
    expect(local.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'PUT', 'HEAD', 'PUT', 'HEAD'])
  })

  test('small calls are given up soon and made again, each time with more patience; what takes its time is waited for', async () => {
    const times = { smallAnswerMs: 200, pauseMs: 1 }
    const quick = connect({ times })
    local.write('/a', 'aa')
    local.write('/large', large)
    local.write('/dir/b', 'b')
    const small: (() => Promise<unknown>)[] = [
      () => quick.stat('/a', signal),
      () => quick.read('/a', { maxBytes: 9, signal }),
      () => quick.write('/b', bytes('b'), { expectedRevision: 0, signal }),
      () => quick.remove('/a', { recursive: false, signal }),
      () => quick.revokeToken('id', signal),
    ]
    for (const call of small) {
      const before = local.requests.length
      local.rule({ fault: { kind: 'hang' }, times: 1 })
      local.rule({ fault: { kind: 'delay', milliseconds: 260 } })
      await call()
      expect(local.requests.length - before).toBeGreaterThan(1)
      local.clearRules()
    }
    local.rule({ fault: { kind: 'delay', milliseconds: 300 } })
    const request = { prefix: '/a', operations: ['read' as const], lifetimeSeconds: 9, subject: 'x' }
    const slow: [number, () => Promise<unknown>][] = [
      [1, () => quick.issueToken(request, signal)],
      // The second is to the object storage.
      [2, () => quick.digest('/large', signal)],
      [1, () => quick.list('/dir', signal)],
      [1, () => quick.remove('/dir', { recursive: true, signal })],
    ]
    for (const [calls, call] of slow) {
      const before = local.requests.length
      await call()
      expect(local.requests.length - before).toBe(calls)
    }
  })

  test('the caller’s own wish is obeyed at once, and reported from a deadline', async () => {
    local.rule({ fault: { kind: 'hang' } })
    const stop = new AbortController()
    const reading = refusal(drive.read('/a', { maxBytes: 1, signal: stop.signal }))
    const writing = refusal(drive.write('/a', large, { signal: stop.signal }))
    await until('both are under way', () => local.requests.length === 2)
    stop.abort()
    expect([(await reading).code, (await writing).code]).toEqual(['cancelled', 'cancelled'])
    expect((await refusal(drive.list('/a', AbortSignal.timeout(30)))).code).toBe('timeout')
  })

  test('a body larger than wanted is not read to its end, announced or not', async () => {
    let sent = 0
    let closed = 0
    await using server = await startServer('endless', (request, response) => {
      response.on('close', () => {
        closed += 1
      })
      const announced: Record<string, string> = request.path.endsWith('announced')
        ? { 'content-length': '999999999' }
        : {}
      response.writeHead(200, { 'content-type': 'application/octet-stream', ...announced })
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536
        if (!response.destroyed) response.once('drain', more)
      }
      more()
      return undefined
    })
    const endless = makeDrive({ server: server.url, key: 'key', clock })
    for (const path of ['/announced', '/endless']) {
      const error = await refusal(endless.read(path, { maxBytes: 100_000, signal }))
      expect([error.code, error.message]).toEqual(['drive', expect.stringContaining('100000 bytes')])
    }
    await until('the connections are let go', () => closed === 2)
    expect(sent).toBeLessThan(50_000_000)
    expect(server.requests.length).toBe(2)
  })

  test('a digest of a large file keeps nothing of it', async () => {
    const piece = Buffer.alloc(1024 * 1024, 7)
    const pieces = 300
    await using server = await startServer('large', async (_, response) => {
      response.writeHead(200, { 'content-length': String(piece.length * pieces) })
      for (let index = 0; index < pieces; index += 1) {
        if (!response.write(piece)) await new Promise((resolve) => response.once('drain', resolve))
      }
      response.end()
      return undefined
    })
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers)
    }, 5)
    const found = await makeDrive({ server: server.url, key: 'key', clock }).digest('/a', signal)
    clearInterval(watch)
    expect(found?.bytes).toBe(piece.length * pieces)
    expect(most).toBeGreaterThan(0)
    expect(most - before, 'of 300 MB, the sending side counted too').toBeLessThan(150 * 1024 * 1024)
  })

  test('a digest gives the memory of each piece back at once, except where it is shared', async () => {
    const own = new Uint8Array([1, 2])
    const shared = new Uint8Array([3, 4, 5])
    const pieces = [own, shared.subarray(0, 2)]
    async function* body() {
      yield* pieces
    }
    const send = async () => ({ status: 200, header: () => null, body: body(), drop: () => undefined })
    const found = await makeDrive({ server: 'http://localhost', key: 'key', clock, send }).digest('/a', signal)
    const sha256 = createHash('sha256')
      .update(new Uint8Array([1, 2, 3, 4]))
      .digest('hex')
    expect(found).toEqual({ bytes: 4, sha256 })
    expect([own, shared].map(({ buffer }) => buffer.detached)).toEqual([true, false])
  })
})

describe('writes whose answer is lost', () => {
  test('are found done', async () => {
    breakAt('PUT', /./, { kind: 'lose-reply' }, 1)
    expect(await create('/a')).toEqual({ revision: 1 })
    expect(local.requests.map(({ method }) => method)).toEqual(['PUT', 'HEAD', 'GET'])
    expect(local.readFile('/a')?.toString()).toBe('mine')
  })

  test.for<Fault>([{ kind: 'reset' }, { kind: 'answer', status: 500 }, { kind: 'answer', status: 503 }])(
    'are done again when they were not done (%j)',
    async (fault) => {
      local.write('/a', 'old')
      breakAt('PUT', /./, fault, 2)
      expect(await drive.write('/a', bytes('new'), { expectedRevision: 1, signal })).toEqual({ revision: 2 })
      expect(asked('PUT', /./).length).toBe(3)
      local.clearRules()
      breakAt('PUT', /./, fault)
      expect((await refusal(create('/b'))).code).toBe('drive')
      expect(asked('PUT', /b$/).length).toBe(4)
    },
  )

  test('are a conflict when another writer wrote meanwhile', async () => {
    breakAt('PUT', /./, { kind: 'reset' }, 1)
    breakAt('HEAD', /./, { kind: 'delay', milliseconds: 100 })
    const writing = refusal(create('/a'))
    await until('the write was lost', () => asked('PUT', /./).length === 1)
    local.write('/a', 'another writer')
    expect((await writing).code).toBe('conflict')
    expect([asked('PUT', /./).length, local.readFile('/a')?.toString()]).toEqual([1, 'another writer'])
  })

  test('are no conflict when the lost try was only late', async () => {
    local.rule({ method: 'PUT', fault: { kind: 'delay', milliseconds: 150 }, times: 1 })
    // Between the look and the next try the first one lands.
    const landing = {
      ...clock,
      sleep: async () => void (await until('the late try lands', () => local.readFile('/a'))),
    }
    const quick = connect({ clock: landing, times: { smallAnswerMs: 50 } })
    expect(await quick.write('/a', bytes('mine'), { expectedRevision: 0, signal })).toEqual({ revision: 1 })
    expect(asked('PUT', /./).length).toBe(2)
  })

  test('without a condition the last writer wins', async () => {
    local.write('/a', 'old')
    breakAt('PUT', /./, { kind: 'reset' }, 1)
    expect(await drive.write('/a', bytes('new'), { signal })).toEqual({ revision: 2 })
  })

  test('same bytes in a longer file are not the same file', async () => {
    local.write('/a', 'mine and more')
    breakAt('PUT', /./, { kind: 'reset' }, 1)
    expect((await refusal(create('/a'))).code).toBe('conflict')
  })

  test.for<{ fault: Fault; initiated: number }>([
    { fault: { kind: 'lose-reply' }, initiated: 1 },
    { fault: { kind: 'twice' }, initiated: 1 },
    { fault: { kind: 'reset' }, initiated: 2 },
    { fault: { kind: 'answer', status: 500 }, initiated: 2 },
  ])('of large files are settled too ($fault)', async ({ fault, initiated }) => {
    breakAt('POST', /complete/, fault, 1)
    expect(await create('/a', large)).toEqual({ revision: 1 })
    expect(large.equals(local.readFile('/a') ?? bytes(''))).toBe(true)
    expect(asked('POST', /initiate/).length).toBe(initiated)
  })

  test('of large files are a conflict when another writer was first', async () => {
    breakAt('POST', /complete/, { kind: 'delay', milliseconds: 100 })
    const writing = refusal(create('/a', large))
    await until('it is about to complete', () => asked('POST', /complete/).length === 1)
    local.write('/a', 'another writer')
    expect((await writing).code).toBe('conflict')
    expect(local.readFile('/a')?.toString()).toBe('another writer')
  })

  test('an upload that is in the way is waited for, and is no conflict', async () => {
    const body = JSON.stringify({ error: 'active upload already exists for this path' })
    breakAt('POST', /initiate/, { kind: 'answer', status: 409, body }, 2)
    expect(await create('/a', large)).toEqual({ revision: 1 })
    expect(clock.slept.length).toBe(2)
  })

  test('every step of an upload may be lost once', async () => {
    const steps: [string, RegExp][] = [
      ['POST', /initiate/],
      ['POST', /presign/],
      ['PUT', /s3/],
      ['POST', /complete/],
    ]
    for (const [method, path] of steps) {
      for (const kind of ['reset', 'lose-reply', 'twice'] as const) {
        const forgive = breakAt(method, path, { kind }, 1)
        const name = `/${kind}${path.source.replace(/\W/g, '')}`
        expect(await create(name, large), name).toEqual({ revision: 1 })
        expect(large.equals(local.readFile(name) ?? bytes('')), name).toBe(true)
        forgive()
      }
    }
  })
})

describe('the object storage', () => {
  test('is never shown the key', async () => {
    await create('/a', large)
    expect(large.equals((await read('/a')) ?? bytes(''))).toBe(true)
    await drive.digest('/a', signal)
    const storage = local.requests.filter(({ path }) => path.startsWith('/s3/'))
    expect(storage.map(({ method }) => method)).toEqual(['PUT', 'GET', 'GET'])
    expect(storage.filter(({ headers }) => 'authorization' in headers || 'x-api-key' in headers)).toEqual([])
    expect(storage.every(({ headers }) => !JSON.stringify(headers).includes(local.ownerKey))).toBe(true)
  })

  test('an address that ran out is asked for again, to read and to write', async () => {
    breakAt('PUT', /s3/, { kind: 'answer', status: 403, body: '<Error/>' }, 1)
    await create('/a', large)
    expect(asked('POST', /presign/).length).toBe(2)
    breakAt('GET', /s3/, { kind: 'answer', status: 403, body: '<Error/>' }, 1)
    expect((await read('/a'))?.length).toBe(large.length)
    expect(asked('GET', /fs\/a/).length).toBe(2)
  })

  test('that refuses for good is an error without its address, and the upload is given up', async () => {
    breakAt('PUT', /s3/, { kind: 'answer', status: 403, body: '<Error/>' })
    const error = await refusal(create('/a', large))
    expect([error.code, error.message]).toEqual(['drive', expect.stringContaining('/a (part 1)')])
    expectNoSecret(error)
    await until('the upload is given up', () => asked('POST', /abort/).some(({ status }) => status === 200))
    expect(local.readAll()).toEqual([])
  })

  test.for(['ftp://127.0.0.1/a', 'javascript:alert(1)', 'http://[', undefined])(
    'a redirect to %s is not followed',
    async (location) => {
      const headers: Record<string, string> = location === undefined ? {} : { location }
      local.rule({ fault: { kind: 'answer', status: 302, headers } })
      expect((await refusal(read('/a'))).message).toContain('an address that')
      expect(local.requests.length).toBe(1)
    },
  )

  test('a plan that does not fit the file is not followed', async () => {
    for (const plan of [
      {},
      { upload_id: '../x', part_size: 1, total_parts: 120_000 },
      { upload_id: 'x', part_size: 8, total_parts: 1 },
    ]) {
      const forgive = breakAt('POST', /initiate/, { kind: 'answer', status: 202, body: JSON.stringify(plan) })
      expect((await refusal(create('/a', large))).message).toContain('plan')
      forgive()
    }
  })

  test('parts go side by side and in order into one file', async () => {
    const content = randomBytes(20 * 1024 * 1024)
    expect(await create('/a', content)).toEqual({ revision: 1 })
    expect(content.equals(local.readFile('/a') ?? bytes(''))).toBe(true)
    expect(asked('PUT', /s3/).length).toBe(3)
  })
})

describe('settings', () => {
  test('an address may end in a slash; what is no address is refused', async () => {
    expect(await connect({ server: `${local.url}/` }).list('/', signal)).toEqual([])
    for (const server of ['', 'drive9', 'ftp://drive9.example', 'https://']) {
      expect(() => connect({ server })).toThrow(expect.objectContaining({ code: 'invalid-input' }))
    }
  })

  test('the hosts a sandbox needs are the server’s and the storage’s', () => {
    const settings = { server: 'https://api.drive9.example:8443/', hosts: ['objects.example', 'api.drive9.example'] }
    expect(connect(settings)).toMatchObject({
      server: 'https://api.drive9.example:8443',
      hosts: ['api.drive9.example', 'objects.example'],
    })
  })

  test('a redirect from https to http is refused', () => {
    const call = { method: 'GET', path: '/a' }
    const lead = (from: string, to: string | null) => () => objectAddress(call, from, to)
    expect(lead('https://api.example/v1', 'https://s3.example/a?sign=1')()).toBe('https://s3.example/a?sign=1')
    expect(lead('http://127.0.0.1:1/v1', '/s3/a')()).toBe('http://127.0.0.1:1/s3/a')
    for (const to of ['http://s3.example/a', 'file:///etc/passwd', 'http://[', null]) {
      expect(lead('https://api.example/v1', to)).toThrow(expect.objectContaining({ code: 'drive' }))
    }
  })
})
