// The local drive9 over its HTTP API: the contract of every Drive, and what only a look at the raw answers shows.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LocalDrive, startDrive } from '../../../src/emulators/drive9/server/main.js'
import { makeDrive } from '../../../src/handoff/clients/drive9/client.js'
import { driveContract } from '../../contract/drive.js'

driveContract('the local drive9', async () => {
  const local = await startDrive()
  const withKey = (key: string) => makeDrive({ server: local.url, key })
  return {
    drive: withKey(local.ownerKey),
    withKey,
    root: '/contract',
    close: async () => {
      expect(local.unexpected, 'the client asked for something that the service does not have').toEqual([])
      await local.close()
    },
  }
})

describe('over HTTP', () => {
  let local: LocalDrive
  beforeAll(async () => {
    local = await startDrive()
  })
  afterAll(() => local.close())

  const ask = (method: string, path: string, options: { key?: string; headers?: object; body?: string } = {}) =>
    fetch(`${local.url}${path}`, {
      method,
      redirect: 'manual',
      headers: { authorization: `Bearer ${options.key ?? local.ownerKey}`, ...options.headers },
      ...(options.body === undefined ? {} : { body: options.body }),
    })
  const errorOf = async (reply: Promise<Response>) => {
    const response = await reply
    return { status: response.status, error: ((await response.json()) as { error?: string }).error }
  }
  const issue = async (prefix: string, ops: string[], ttl_seconds = 60) => {
    const body = JSON.stringify({ subject: 'test', ttl_seconds, scopes: [{ prefix, ops }] })
    return (await (await ask('POST', '/v1/tokens', { body })).json()) as { token: string; token_id: string }
  }

  test('health needs no key, everything else does', async () => {
    expect(await (await fetch(`${local.url}/healthz`)).json()).toEqual({ status: 'ok' })
    expect(await errorOf(fetch(`${local.url}/v1/status`))).toEqual({
      status: 401,
      error: 'missing or malformed Authorization header',
    })
    expect(await errorOf(ask('GET', '/v1/status', { key: 'drive9_x' }))).toEqual({
      status: 401,
      error: 'invalid API key',
    })
    const other = await fetch(`${local.url}/v1/status`, { headers: { 'x-api-key': local.ownerKey } })
    expect(await other.json()).toMatchObject({ status: 'active', inline_threshold: 50_000 })
    expect(other.headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/)
  })

  test('a stat is in the headers of a HEAD', async () => {
    local.write('/stat/a.txt', 'hello')
    const head = await ask('HEAD', '/v1/fs/stat/a.txt')
    expect(Object.fromEntries(head.headers)).toMatchObject({
      'content-length': '5',
      'x-dat9-isdir': 'false',
      'x-dat9-revision': '1',
      'x-dat9-storage-type': 'db9',
    })
    expect((await ask('HEAD', '/v1/fs/stat')).headers.get('x-dat9-revision'), 'of a directory').toBe('1')
    expect((await ask('HEAD', '/v1/fs/stat/none')).status).toBe(404)
    expect((await ask('HEAD', '/v1/fs/')).headers.get('x-dat9-isdir')).toBe('true')
  })

  test('a missing directory lists as empty with 200', async () => {
    const reply = await ask('GET', '/v1/fs/nowhere?list=1')
    expect([reply.status, await reply.json()]).toEqual([200, { entries: [] }])
  })

  test('small files ignore a range; large ones are elsewhere, where a range is honoured and a key is refused', async () => {
    local.write('/range/small', '0123456789')
    local.write('/range/large', `${'x'.repeat(49_990)}0123456789`)
    const small = await ask('GET', '/v1/fs/range/small', { headers: { range: 'bytes=2-3' } })
    expect([small.status, await small.text()]).toEqual([200, '0123456789'])
    const large = await ask('GET', '/v1/fs/range/large')
    expect(large.status).toBe(302)
    const address = large.headers.get('location') ?? ''
    const part = await fetch(address, { headers: { range: 'bytes=49992-49993' } })
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 49992-49993/50000',
      '23',
    ])
    expect((await fetch(address)).headers.get('content-length')).toBe('50000')
    expect((await fetch(address, { headers: { range: 'bytes=50000-' } })).status).toBe(416)
    expect((await fetch(address, { headers: { authorization: `Bearer ${local.ownerKey}` } })).status).toBe(400)
    expect((await fetch(address, { method: 'PUT', body: 'mine now' })).status).toBe(403)
  })

  test('a conditional write that misses is a 409, and a large body is not taken', async () => {
    const put = (revision: string, body = 'x') =>
      ask('PUT', '/v1/fs/put/a', { headers: { 'x-dat9-expected-revision': revision }, body })
    expect(await (await put('0')).json()).toEqual({ status: 'ok', revision: 1 })
    expect(await errorOf(put('0'))).toEqual({ status: 409, error: 'revision conflict' })
    expect(await errorOf(put('7'))).toEqual({ status: 409, error: 'revision conflict' })
    expect(await (await put('1')).json()).toEqual({ status: 'ok', revision: 2 })
    expect((await errorOf(put('-1'))).status).toBe(400)
    expect(await errorOf(put('2', 'x'.repeat(50_000)))).toEqual({
      status: 400,
      error: 'missing X-Dat9-Part-Checksums header',
    })
  })

  test('names are kept in NFC, and refused with backslashes, control characters and dots', async () => {
    await ask('PUT', `/v1/fs/names/${encodeURIComponent('e\u0301')}`, { body: 'x' })
    const listed = (await (await ask('GET', '/v1/fs/names?list=1')).json()) as { entries: { name: string }[] }
    expect(listed.entries.map(({ name }) => name)).toEqual(['\u00e9'])
    for (const name of ['a%5Cb', 'a%01b', 'a%00b', '%ff', 'x'.repeat(256)]) {
      expect(await errorOf(ask('PUT', `/v1/fs/names/${name}`, { body: 'x' })), name).toEqual({
        status: 400,
        error: 'invalid fs path',
      })
    }
    expect((await ask('PUT', '/v1/fs/names/line%0Afeed', { body: 'x' })).status).toBe(200)
  })

  test('renames keep the revision and replace the target; copies and chmod work', async () => {
    local.write('/move/a', 'one')
    local.write('/move/a', 'two')
    local.write('/move/b', 'old')
    const source = Buffer.from('/move/a').toString('base64url')
    const headers = { 'x-dat9-rename-source': source, 'x-dat9-path-encoding': 'base64url' }
    expect((await ask('POST', '/v1/fs/move/b?rename=1', { headers })).status).toBe(200)
    expect((await ask('HEAD', '/v1/fs/move/b')).headers.get('x-dat9-revision')).toBe('2')
    expect((await ask('HEAD', '/v1/fs/move/a')).status).toBe(404)
    expect(await errorOf(ask('POST', '/v1/fs/move/c?rename=1', { headers }))).toEqual({
      status: 404,
      error: 'not found',
    })
    expect((await errorOf(ask('POST', '/v1/fs/move/c?rename=1'))).error).toBe('missing X-Dat9-Rename-Source header')
    expect((await ask('POST', '/v1/fs/move/c?copy=1', { headers: { 'x-dat9-copy-source': '/move/b' } })).status).toBe(
      200,
    )
    expect(local.readFile('/move/c')?.toString()).toBe('two')
    expect((await ask('POST', '/v1/fs/move/c?chmod=1', { body: '{"mode":493}' })).status).toBe(200)
    expect((await ask('HEAD', '/v1/fs/move/c')).headers.get('x-dat9-mode')).toBe('493')
  })

  test('mkdir of a directory is a 409, of a file it says nothing; deleting wants a reason to be recursive', async () => {
    local.write('/dirs/file', 'kept')
    expect((await ask('POST', '/v1/fs/dirs/file?mkdir=1')).status).toBe(200)
    expect(local.readFile('/dirs/file')?.toString()).toBe('kept')
    expect((await ask('POST', '/v1/fs/dirs/a/b?mkdir=1')).status).toBe(200)
    expect(await errorOf(ask('POST', '/v1/fs/dirs/a?mkdir=1'))).toEqual({ status: 409, error: 'path already exists' })
    expect(await errorOf(ask('DELETE', '/v1/fs/dirs/a'))).toEqual({ status: 409, error: 'directory not empty' })
    expect(await errorOf(ask('DELETE', '/v1/fs/dirs/a/b?kind=file'))).toEqual({ status: 404, error: 'not found' })
    expect((await ask('DELETE', '/v1/fs/dirs/a?recursive')).status).toBe(200)
    expect(await errorOf(ask('DELETE', '/v1/fs/dirs/a?recursive'))).toEqual({ status: 404, error: 'not found' })
  })

  test('an upload is begun, signed, filled and completed, and then it is over', async () => {
    const post = (path: string, value: object) => ask('POST', path, { body: JSON.stringify(value) })
    const begin = async () => {
      const reply = await post('/v2/uploads/initiate', { path: '/up/a', total_size: 60_000, expected_revision: 0 })
      return { status: reply.status, plan: (await reply.json()) as { upload_id: string; part_size: number } }
    }
    const first = await begin()
    expect(first).toMatchObject({ status: 202, plan: { part_size: 8 * 1024 * 1024, total_parts: 1 } })
    const second = (await begin()).plan.upload_id
    const gone = `/v2/uploads/${first.plan.upload_id}/presign-batch`
    expect(await errorOf(post(gone, { parts: [{ part_number: 1 }] }))).toEqual({
      status: 409,
      error: 'upload is not active',
    })
    const signed = await post(`/v2/uploads/${second}/presign-batch`, { parts: [{ part_number: 1 }] })
    const { parts } = (await signed.json()) as { parts: { number: number; url: string; size: number }[] }
    expect(parts).toMatchObject([{ number: 1, size: 60_000 }])
    const put = await fetch(parts[0]?.url ?? '', { method: 'PUT', body: 'x'.repeat(60_000) })
    const etag = put.headers.get('etag') ?? ''
    const complete = (tag: string) => post(`/v2/uploads/${second}/complete`, { parts: [{ number: 1, etag: tag }] })
    expect((await complete('"wrong"')).status).toBe(400)
    expect(await (await complete(etag)).json()).toEqual({ status: 'completed' })
    expect(await errorOf(complete(etag))).toEqual({ status: 409, error: 'upload is not active' })
    expect(local.readFile('/up/a')?.length).toBe(60_000)
    expect(await errorOf(post('/v2/uploads/none/complete', {}))).toEqual({ status: 404, error: 'upload not found' })
  })

  test('the object storage forgets an upload that a later one of the same file replaced', async () => {
    const post = (path: string, value: object) => ask('POST', path, { body: JSON.stringify(value) })
    const begin = async () => {
      const plan = await post('/v2/uploads/initiate', { path: '/up/two', total_size: 60_000, expected_revision: 0 })
      const { upload_id: id } = (await plan.json()) as { upload_id: string }
      const signed = await post(`/v2/uploads/${id}/presign-batch`, { parts: [{ part_number: 1 }] })
      return { id, url: ((await signed.json()) as { parts: { url: string }[] }).parts[0]!.url }
    }
    const first = await begin()
    await begin()
    const put = await fetch(first.url, { method: 'PUT', body: 'x'.repeat(60_000) })
    expect([put.status, await put.text()]).toEqual([500, `upload not found: ${first.id}\n`])
  })

  test('a completion looks at the revision again', async () => {
    const post = (path: string, value: object) => ask('POST', path, { body: JSON.stringify(value) })
    const begun = await post('/v2/uploads/initiate', { path: '/up/race', total_size: 60_000, expected_revision: 0 })
    const { upload_id: id } = (await begun.json()) as { upload_id: string }
    const signed = await post(`/v2/uploads/${id}/presign-batch`, { parts: [{ part_number: 1 }] })
    const { parts } = (await signed.json()) as { parts: { url: string }[] }
    const put = await fetch(parts[0]?.url ?? '', { method: 'PUT', body: 'x'.repeat(60_000) })
    local.write('/up/race', 'another writer')
    const done = { parts: [{ number: 1, etag: put.headers.get('etag') }] }
    expect(await errorOf(post(`/v2/uploads/${id}/complete`, done))).toEqual({ status: 409, error: 'revision conflict' })
    expect((await post(`/v2/uploads/${id}/abort`, {})).status).toBe(200)
    expect(local.readFile('/up/race')?.toString()).toBe('another writer')
  })

  test('many paths are asked for at once, each with its own answer', async () => {
    local.write('/batch/a', 'aaa')
    local.write('/batch/large', 'x'.repeat(50_000))
    const paths = ['/batch/a', '/batch/large', '/batch', '/batch/none']
    const read = await ask('POST', '/v1/fs:batch-read-small', { body: JSON.stringify({ paths, max_bytes: 50_000 }) })
    expect(await read.json()).toMatchObject({
      results: [{ status: 200, data: 'YWFh' }, { status: 413 }, { status: 404 }, { status: 404 }],
    })
  })

  test('a scoped token is refused outside its own prefix, in the words of the service', async () => {
    local.write('/zone/a/x', 'x')
    local.write('/zone/ab/x', 'x')
    const { token: key } = await issue('/zone/a', ['read', 'list', 'write'])
    const denied = { status: 403, error: 'fs access denied' }
    expect((await ask('GET', '/v1/fs/zone/a/x', { key })).status).toBe(200)
    expect(await errorOf(ask('GET', '/v1/fs/zone/ab/x', { key }))).toEqual(denied)
    expect(await errorOf(ask('GET', '/v1/fs/zone?list=1', { key }))).toEqual(denied)
    expect(await errorOf(ask('DELETE', '/v1/fs/zone/a/x', { key }))).toEqual(denied)
    const headers = { 'x-dat9-rename-source': '/zone/a/x' }
    expect(await errorOf(ask('POST', '/v1/fs/zone/a/y?rename=1', { key, headers }))).toEqual(denied)
    const closed = { status: 403, error: 'scoped token cannot access endpoint' }
    expect(await errorOf(ask('POST', '/v1/fs/zone/a/x?chmod=1', { key, body: '{"mode":420}' }))).toEqual(closed)
    expect(await errorOf(ask('GET', '/v1/fs/zone/a/x?grep=x', { key }))).toEqual(closed)
    expect(await errorOf(ask('POST', '/v1/tokens', { key, body: '{}' }))).toEqual({
      status: 403,
      error: 'scoped token cannot manage tokens',
    })
    const paths = ['/zone/a/x', '/zone/ab/x']
    const both = await ask('POST', '/v1/fs:batch-read-small', { key, body: JSON.stringify({ paths }) })
    expect(await both.json()).toMatchObject({ results: [{ status: 200 }, { status: 403 }] })
  })

  test('tokens are refused when they are asked for wrongly, and end when they are asked to', async () => {
    const wrong = async (value: object) =>
      (await errorOf(ask('POST', '/v1/tokens', { body: JSON.stringify(value) }))).error
    const scopes = [{ prefix: '/a', ops: ['read'] }]
    expect(await wrong({ ttl_seconds: 0, scopes })).toBe('ttl_seconds must be positive')
    expect(await wrong({ ttl_seconds: 1, scopes: [] })).toBe('scopes are required')
    expect(await wrong({ ttl_seconds: 1, scopes: [{ prefix: '/a', ops: ['fly'] }] })).toBe('unknown fs scope op "fly"')
    expect(await wrong({ ttl_seconds: 1, scopes: [{ prefix: '/a', ops: ['search'] }] })).toBe(
      'search fs scope requires read',
    )
    expect(await wrong({ ttl_seconds: 1, scopes: [...scopes, ...scopes] })).toBe('duplicate fs scope prefix "/a"')
    expect(await wrong({ subject: 'x'.repeat(65), ttl_seconds: 1, scopes })).toBe('subject must be at most 64 bytes')

    const one = await issue('/a', ['read'])
    local.expireToken(one.token_id)
    expect((await ask('GET', '/v1/status', { key: one.token })).status).toBe(401)
    const two = await issue('/a', ['read'])
    const revoke = () => ask('POST', '/v1/tokens/revoke', { body: JSON.stringify({ api_key: two.token }) })
    expect((await revoke()).status).toBe(200)
    expect(await errorOf(revoke())).toEqual({ status: 404, error: 'token not found or already revoked' })
    expect((await ask('DELETE', `/v1/tokens/${two.token_id}`)).status).toBe(404)
    expect(local.issuedTokens().find(({ id }) => id === two.token_id)).toMatchObject({ subject: 'test', revoked: true })
  })

  test('what it does not have it says, and remembers', async () => {
    const before = local.unexpected.length
    expect((await ask('GET', '/v1/journals')).status).toBe(404)
    expect((await ask('PATCH', '/v1/fs/a')).status).toBe(405)
    expect((await ask('GET', '/v1/tokens')).status).toBe(405)
    expect(await errorOf(ask('POST', '/v1/fs/a?fly=1'))).toEqual({ status: 400, error: 'unknown POST action' })
    expect(local.unexpected.slice(before).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/journals',
      'PATCH /v1/fs/a',
      'GET /v1/tokens',
      'POST /v1/fs/a?fly=1',
    ])
  })
})

describe('limits and time', () => {
  test('a quota of files or bytes is a 507, counted with uploads under way', async () => {
    await using local = await startDrive({ quota: { files: 2 } })
    const headers = { authorization: `Bearer ${local.ownerKey}` }
    const put = (name: string, body: string) => fetch(`${local.url}/v1/fs/${name}`, { method: 'PUT', headers, body })
    expect((await put('a', 'a')).status).toBe(200)
    const begin = { method: 'POST', headers, body: JSON.stringify({ path: '/b', total_size: 60_000 }) }
    expect((await fetch(`${local.url}/v2/uploads/initiate`, begin)).status).toBe(202)
    const refused = await put('c', 'c')
    expect([refused.status, await refused.json()]).toEqual([507, { error: 'tenant file count quota exceeded' }])
    expect((await put('a', 'again')).status, 'a file that is there takes no new room').toBe(200)
    local.setQuota({ bytes: 10 })
    expect(await (await put('a', 'x'.repeat(11))).json()).toEqual({ error: 'tenant storage quota exceeded' })
    local.setQuota({ fileBytes: 3 })
    expect(await (await put('a', 'four')).json()).toEqual({ error: 'tenant file size quota exceeded' })
  })

  test('larger than the service takes is a 413', async () => {
    await using local = await startDrive({ maxUploadBytes: 1_000 })
    const headers = { authorization: `Bearer ${local.ownerKey}` }
    const reply = await fetch(`${local.url}/v1/fs/a`, { method: 'PUT', headers, body: 'x'.repeat(1_001) })
    expect([reply.status, await reply.json()]).toEqual([413, { error: 'upload too large: max 1000 bytes' }])
  })

  test('a service that is being set up asks to be asked later', async () => {
    await using local = await startDrive({ provisioning: 2 })
    const ask = () => fetch(`${local.url}/v1/status`, { headers: { authorization: `Bearer ${local.ownerKey}` } })
    const first = await ask()
    expect([first.status, first.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await first.json()).toEqual({ error: 'tenant is provisioning' })
    expect((await ask()).status).toBe(503)
    expect((await ask()).status).toBe(200)
  })

  test('signed addresses last ten minutes and uploads a day', async () => {
    let time = Date.now()
    await using local = await startDrive({ now: () => time })
    const headers = { authorization: `Bearer ${local.ownerKey}` }
    const post = (path: string, value: object) =>
      fetch(`${local.url}${path}`, { method: 'POST', headers, body: JSON.stringify(value) })
    const begun = await post('/v2/uploads/initiate', { path: '/a', total_size: 60_000 })
    const { upload_id: id } = (await begun.json()) as { upload_id: string }
    const sign = () => post(`/v2/uploads/${id}/presign-batch`, { parts: [{ part_number: 1 }] })
    const { parts } = (await (await sign()).json()) as { parts: { url: string }[] }
    time += 10 * 60_000
    expect((await fetch(parts[0]?.url ?? '', { method: 'PUT', body: 'x' })).status).toBe(403)
    expect((await sign()).status).toBe(200)
    time += 24 * 3_600_000
    const late = await sign()
    expect([late.status, await late.json()]).toEqual([410, { error: 'upload expired' }])
  })

  test('a directory is opened again by the next process with its files, revisions, tokens and key', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'drive9-'))
    try {
      const first = await startDrive({ directory })
      const drive = makeDrive({ server: first.url, key: first.ownerKey })
      const signal = AbortSignal.timeout(10_000)
      await drive.write('/a/one.txt', Buffer.from('one'), { signal })
      await drive.write('/a/one.txt', Buffer.from('two'), { signal })
      await drive.write('/a/large.bin', Buffer.alloc(60_000, 7), { signal })
      await drive.write('/gone', Buffer.from('gone'), { signal })
      await drive.remove('/gone', { recursive: false, signal })
      const request = { prefix: '/a', operations: ['read' as const], lifetimeSeconds: 60, subject: 'test' }
      const token = await drive.issueToken(request, signal)
      const over = await drive.issueToken(request, signal)
      await drive.revokeToken(over.id, signal)
      const tree = first.tree()
      await first.close()
      expect(readdirSync(directory).sort()).toEqual(['objects', 'table.jsonl'])

      await using second = await startDrive({ directory })
      expect(second.ownerKey).toBe(first.ownerKey)
      expect(second.tree()).toEqual(tree)
      expect(tree.map(({ path }) => path)).toEqual(['/a', '/a/large.bin', '/a/one.txt'])
      const limited = makeDrive({ server: second.url, key: token.secret })
      expect(await limited.stat('/a/one.txt', signal)).toMatchObject({ revision: 2 })
      expect(second.readFile('/a/large.bin')?.equals(Buffer.alloc(60_000, 7))).toBe(true)
      const refused = makeDrive({ server: second.url, key: over.secret }).stat('/a', signal)
      await expect(refused).rejects.toMatchObject({ code: 'unauthorized' })
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  test('every stored byte can be read, also of unfinished uploads', async () => {
    await using local = await startDrive()
    local.write('/a', 'aa')
    const headers = { authorization: `Bearer ${local.ownerKey}` }
    const post = (path: string, value: object) =>
      fetch(`${local.url}${path}`, { method: 'POST', headers, body: JSON.stringify(value) })
    const begun = await post('/v2/uploads/initiate', { path: '/b', total_size: 60_000 })
    const { upload_id: id } = (await begun.json()) as { upload_id: string }
    const signed = await post(`/v2/uploads/${id}/presign-batch`, { parts: [{ part_number: 1 }] })
    const { parts } = (await signed.json()) as { parts: { url: string }[] }
    await fetch(parts[0]?.url ?? '', { method: 'PUT', body: 'secret'.repeat(10_000) })
    const stored = local.readAll().map(({ path, bytes }) => [path, bytes.length])
    expect(stored).toEqual([
      ['/a', 2],
      ['upload of /b, part 1', 60_000],
    ])
  })
})
