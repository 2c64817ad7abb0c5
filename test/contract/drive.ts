// What every Drive must do. Runs against the local server always, and against a real service when its address and key are given.
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HandoffError } from '../../src/handoff/domain/errors.js'
import type { Drive } from '../../src/handoff/domain/ports.js'
import { until } from '../support/until.js'

export interface DriveUnderTest {
  drive: Drive
  /** The same service with another key. */
  withKey(key: string): Drive
  /** A directory of this test's own, not there yet. */
  root: string
  close(): Promise<void>
}

const signal = AbortSignal.timeout(300_000)
const bytes = (text: string) => new TextEncoder().encode(text)
const text = (read: Uint8Array | null) => (read === null ? null : Buffer.from(read).toString('utf8'))
const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex')

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: HandoffError) => error.code ?? String(error),
  )
}

export function driveContract(title: string, open: () => Promise<DriveUnderTest>): void {
  describe(title, () => {
    let held: DriveUnderTest
    let drive: Drive
    let place = 0
    /** Returns an unused path. */
    const fresh = (name = 'file.txt') => {
      place += 1
      return `${held.root}/${place}/${name}`
    }
    const write = (path: string, content: string | Uint8Array, expectedRevision?: number) =>
      drive.write(path, typeof content === 'string' ? bytes(content) : content, {
        signal,
        ...(expectedRevision === undefined ? {} : { expectedRevision }),
      })
    const read = (path: string, maxBytes = 1_000_000) => drive.read(path, { maxBytes, signal })

    beforeAll(async () => {
      held = await open()
      drive = held.drive
    })
    afterAll(async () => {
      await drive?.remove(held.root, { recursive: true, signal })
      await held?.close()
    })

    test('says that it is ready', async () => {
      expect((await drive.status(signal)).ready).toBe(true)
    })

    test('what is not there is null, and an empty list', async () => {
      const path = fresh()
      expect(await read(path)).toBeNull()
      expect(await drive.digest(path, signal)).toBeNull()
      expect(await drive.stat(path, signal)).toBeNull()
      expect(await drive.list(path, signal)).toEqual([])
    })

    test('keeps what is written and counts the revisions of a file', async () => {
      const path = fresh()
      expect(await write(path, 'one')).toEqual({ revision: 1 })
      expect(await write(path, 'two')).toEqual({ revision: 2 })
      expect(text(await read(path))).toBe('two')
      expect(await drive.stat(path, signal)).toEqual({ size: 3, revision: 2, isDirectory: false })
    })

    test('digests many small files with one request, and says of which it cannot', async () => {
      const folder = fresh('many')
      await Promise.all([
        write(`${folder}/a`, 'a'),
        write(`${folder}/é b`, ''),
        write(`${folder}/large`, randomBytes(50_000)),
      ])
      const paths = ['a', 'é b', 'large', 'none', ''].map((name) => `${folder}/${name}`.replace(/\/$/, ''))
      expect(await drive.digestSmall(paths, signal)).toEqual([
        { bytes: 1, sha256: sha256(bytes('a')) },
        { bytes: 0, sha256: sha256(bytes('')) },
        null,
        null,
        null,
      ])
    })

    test('tells where a large file gives ranges without a key', async () => {
      const [small, large] = [fresh('small'), fresh('large.bin')]
      const content = randomBytes(60_000)
      await Promise.all([write(small, 'small'), write(large, content)])
      expect(await drive.locate(small, signal)).toBeUndefined()
      expect(await drive.locate(fresh(), signal)).toBeUndefined()
      const address = await drive.locate(large, signal)
      const range = await fetch(address ?? '', { headers: { range: 'bytes=100-199' } })
      expect([range.status, Buffer.from(await range.arrayBuffer())]).toEqual([206, content.subarray(100, 200)])
      expect(Buffer.from(await drive.readStart(large, address!, 500, signal))).toEqual(content.subarray(0, 500))
      expect(Buffer.from(await drive.readStart(large, address!, 90_000, signal))).toEqual(content)
    })

    test('keeps an empty file', async () => {
      const path = fresh()
      await write(path, '')
      expect(text(await read(path))).toBe('')
      expect(await drive.digest(path, signal)).toEqual({ bytes: 0, sha256: sha256(bytes('')) })
    })

    test.for([49_999, 50_000, 120_000, 9_000_000])('keeps a file of %i bytes as it is', async (size) => {
      const path = fresh('large.bin')
      const content = randomBytes(size)
      expect(await write(path, content, 0)).toEqual({ revision: 1 })
      expect(await drive.digest(path, signal)).toEqual({ bytes: size, sha256: sha256(content) })
      expect(content.equals((await read(path, size)) ?? bytes(''))).toBe(true)
      expect(await drive.stat(path, signal)).toEqual({ size, revision: 1, isDirectory: false })
    })

    test.for([20, 60_000])('a file of %i bytes that must be new is written once', async (size) => {
      const path = fresh()
      const content = randomBytes(size)
      expect(await write(path, content, 0)).toEqual({ revision: 1 })
      expect(await codeOf(write(path, randomBytes(size), 0))).toBe('conflict')
      expect(await codeOf(write(path, content, 0)), 'the same bytes again are a conflict too').toBe('conflict')
      expect((await drive.digest(path, signal))?.sha256).toBe(sha256(content))
    })

    test.for([20, 60_000])('a file of %i bytes is replaced only at the expected revision', async (size) => {
      const path = fresh()
      await write(path, 'first')
      expect(await codeOf(write(path, randomBytes(size), 2))).toBe('conflict')
      expect(await write(path, randomBytes(size), 1)).toEqual({ revision: 2 })
      expect(await codeOf(write(path, randomBytes(size), 1))).toBe('conflict')
      expect(await codeOf(write(fresh(), randomBytes(size), 1)), 'nothing there has no revision').toBe('conflict')
    })

    test.for([
      { size: 200, writers: 20 },
      { size: 60_000, writers: 8 },
    ])('of $writers writers of $size bytes at once exactly one creates the file', async ({ size, writers }) => {
      const path = fresh()
      const contents = Array.from({ length: writers }, () => randomBytes(size))
      const codes = await Promise.all(contents.map((content) => codeOf(write(path, content, 0))))
      const winner = codes.indexOf('no error')
      expect(codes.map((code) => (code === 'no error' ? 'won' : code)).sort()).toEqual([
        ...Array.from({ length: writers - 1 }, () => 'conflict'),
        'won',
      ])
      expect((await drive.digest(path, signal))?.sha256).toBe(sha256(contents[winner] ?? bytes('')))
      expect((await drive.stat(path, signal))?.revision).toBe(1)
    })

    test.for([1_000, 80_000])('refuses to read more than was asked for (%i bytes)', async (size) => {
      const path = fresh()
      await write(path, randomBytes(size))
      expect(await codeOf(read(path, size - 1))).toBe('drive')
      expect((await read(path, size))?.length).toBe(size)
    })

    test('lists names, sizes, revisions and directories', async () => {
      const folder = fresh('folder')
      await write(`${folder}/b.txt`, 'bb')
      await write(`${folder}/a.txt`, 'a')
      await write(`${folder}/a.txt`, 'aaa')
      await write(`${folder}/c/d.txt`, 'd')
      const entries = await drive.list(folder, signal)
      const plain = entries.map(({ name, size, isDirectory, revision }) => ({ name, size, isDirectory, revision }))
      expect(plain.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
        { name: 'a.txt', size: 3, isDirectory: false, revision: 2 },
        { name: 'b.txt', size: 2, isDirectory: false, revision: 1 },
        { name: 'c', size: 0, isDirectory: true, revision: 1 },
      ])
      const age = Date.now() - Date.parse(entries.find(({ name }) => name === 'a.txt')?.modifiedAt ?? '')
      expect(Math.abs(age)).toBeLessThan(120_000)
    })

    test('removes a file once, and a directory only with what is in it', async () => {
      const folder = fresh('folder')
      await write(`${folder}/a.txt`, 'a')
      await write(`${folder}/deep/b.txt`, 'b')
      expect(await drive.remove(`${folder}/a.txt`, { recursive: false, signal })).toBe(true)
      expect(await drive.remove(`${folder}/a.txt`, { recursive: false, signal })).toBe(false)
      expect(await codeOf(drive.remove(folder, { recursive: false, signal }))).toBe('conflict')
      expect(await drive.remove(folder, { recursive: true, signal })).toBe(true)
      expect(await drive.remove(folder, { recursive: true, signal })).toBe(false)
      expect(await drive.stat(`${folder}/deep/b.txt`, signal)).toBeNull()
    })

    test('moves a file over another one, and a directory with all in it', async () => {
      const folder = fresh('folder')
      await write(`${folder}/from/a b.txt`, 'a')
      await write(`${folder}/from/deep/b.txt`, 'b')
      await write(`${folder}/to/a.txt`, 'old')
      const move = (from: string, to: string) => drive.move(`${folder}/${from}`, `${folder}/${to}`, signal)
      expect(await move('from/a b.txt', 'to/a.txt')).toBe(true)
      expect(await move('from/a b.txt', 'to/a.txt')).toBe(false)
      expect(text(await read(`${folder}/to/a.txt`))).toBe('a')
      expect(await move('from', 'new/place')).toBe(true)
      expect(text(await read(`${folder}/new/place/deep/b.txt`))).toBe('b')
      expect(await drive.stat(`${folder}/from`, signal)).toBeNull()
      expect(await codeOf(drive.move(`${folder}/../x`, `${folder}/y`, signal))).toBe('invalid-input')
    })

    test('removes a file at one revision only', async () => {
      const path = fresh()
      await write(path, 'one')
      const { revision } = await write(path, 'two')
      const removeAt = (atRevision: number) => drive.remove(path, { recursive: false, atRevision, signal })
      expect(await removeAt(revision - 1)).toBe(false)
      expect(text(await read(path))).toBe('two')
      expect(await removeAt(revision)).toBe(true)
      expect(await read(path)).toBeNull()
      expect(await removeAt(revision)).toBe(false)
    })

    test('a file that was removed may be created anew', async () => {
      const path = fresh()
      await write(path, 'one', 0)
      await drive.remove(path, { recursive: false, signal })
      expect(await write(path, 'two', 0)).toEqual({ revision: 1 })
    })

    test.for(['a b.txt', 'a%20b.txt', 'a?b=c&d#e.txt', '“é”.txt', "it's.txt", '🙂.txt', 'a+b;c,d:e@f.txt', '...'])(
      'keeps the name %s',
      async (name) => {
        const folder = fresh('names')
        await write(`${folder}/${name}`, name)
        expect(text(await read(`${folder}/${name}`))).toBe(name)
        expect((await drive.list(folder, signal)).map((entry) => entry.name)).toEqual([name])
        await write(`${folder}/${name}`, randomBytes(60_000), 1)
        expect((await drive.digest(`${folder}/${name}`, signal))?.bytes).toBe(60_000)
      },
    )

    test.for(['relative', '/a/../b', '/a/./b', '/a//b', '/a/', '/a\\b', '/a\u0001b', '/a\ud800b'])(
      'refuses the path %j before anything is asked',
      async (path) => {
        expect(await codeOf(read(path))).toBe('invalid-input')
        expect(await codeOf(write(path, 'x'))).toBe('invalid-input')
        expect(await codeOf(write(path, randomBytes(60_000)))).toBe('invalid-input')
        expect(await codeOf(drive.remove(path, { recursive: true, signal }))).toBe('invalid-input')
        expect(await codeOf(drive.digestSmall(['/fine', path], signal))).toBe('invalid-input')
      },
    )

    test('a token opens one directory only, for what it is meant for', async () => {
      const mine = fresh('mine')
      const other = fresh('other')
      await write(`${mine}/a.txt`, 'mine')
      await write(`${other}/a.txt`, 'other')
      const request = { prefix: mine, lifetimeSeconds: 60, subject: 'contract' }
      const token = await drive.issueToken({ ...request, operations: ['read', 'list'] }, signal)
      expect(Date.parse(token.expiresAt) - Date.now()).toBeLessThan(61_000)
      const limited = held.withKey(token.secret)
      expect((await limited.status(signal)).ready).toBe(true)
      expect(text(await limited.read(`${mine}/a.txt`, { maxBytes: 100, signal }))).toBe('mine')
      expect((await limited.list(mine, signal)).map(({ name }) => name)).toEqual(['a.txt'])
      expect(await codeOf(limited.read(`${other}/a.txt`, { maxBytes: 100, signal }))).toBe('forbidden')
      expect(await codeOf(limited.list(other, signal))).toBe('forbidden')
      expect(await codeOf(limited.stat(`${mine}-more`, signal)), 'a name that only begins the same').toBe('forbidden')
      expect(await codeOf(limited.write(`${mine}/b.txt`, bytes('x'), { signal }))).toBe('forbidden')
      expect(await codeOf(limited.write(`${mine}/b.txt`, randomBytes(60_000), { signal }))).toBe('forbidden')
      expect(await codeOf(limited.remove(`${mine}/a.txt`, { recursive: false, signal }))).toBe('forbidden')
      expect(await codeOf(limited.issueToken({ ...request, operations: ['write'] }, signal))).toBe('forbidden')
      await drive.revokeToken(token.id, signal)
    })

    test('a token that may write makes its own directory and fills it', async () => {
      const mine = fresh('mine')
      const operations = ['read', 'list', 'write', 'delete'] as const
      const request = { prefix: mine, operations: [...operations], lifetimeSeconds: 60, subject: 'contract' }
      const token = await drive.issueToken(request, signal)
      const limited = held.withKey(token.secret)
      expect(await limited.write(`${mine}/a.bin`, randomBytes(60_000), { expectedRevision: 0, signal })).toEqual({
        revision: 1,
      })
      expect(await limited.remove(`${mine}/a.bin`, { recursive: false, signal })).toBe(true)
      await drive.revokeToken(token.id, signal)
    })

    test('a token that was revoked, once or twice, opens nothing', async () => {
      const mine = fresh('mine')
      await write(`${mine}/a.txt`, 'mine')
      const operations = ['read' as const]
      const token = await drive.issueToken(
        { prefix: mine, operations, lifetimeSeconds: 60, subject: 'contract' },
        signal,
      )
      await drive.revokeToken(token.id, signal)
      await drive.revokeToken(token.id, signal)
      const limited = held.withKey(token.secret)
      // Another server of the service may know the token for ten seconds more.
      const refused = async () =>
        (await codeOf(limited.read(`${mine}/a.txt`, { maxBytes: 100, signal }))) === 'unauthorized'
      await until('the revoked token is refused', refused, 15_000)
    })

    test('a token ends by itself', async () => {
      const mine = fresh('mine')
      await write(`${mine}/a.txt`, 'mine')
      const operations = ['read' as const]
      const token = await drive.issueToken(
        { prefix: mine, operations, lifetimeSeconds: 1, subject: 'contract' },
        signal,
      )
      const limited = held.withKey(token.secret)
      const refused = async () =>
        (await codeOf(limited.read(`${mine}/a.txt`, { maxBytes: 100, signal }))) === 'unauthorized'
      await until('the old token is refused', refused, 20_000)
    })

    test('a wrong key is refused with a sentence that names the setting and shows no key', async () => {
      const wrong = `drive9_${'wrong'.repeat(20)}`
      const error = await held
        .withKey(wrong)
        .list(held.root, signal)
        .catch((caught: unknown) => caught as HandoffError)
      expect(error).toMatchObject({ code: 'unauthorized', next: expect.stringContaining('DRIVE9_API_KEY') })
      expect(JSON.stringify(error) + String((error as HandoffError).stack)).not.toContain(wrong)
    })

    test('stops when it is asked to', async () => {
      const stopped = AbortSignal.abort()
      expect(await codeOf(drive.read(fresh(), { maxBytes: 1, signal: stopped }))).toBe('cancelled')
      expect(await codeOf(drive.write(fresh(), bytes('x'), { signal: stopped }))).toBe('cancelled')
      expect(await codeOf(drive.write(fresh(), randomBytes(60_000), { signal: stopped }))).toBe('cancelled')
    })

    test('says where it is and which hosts it needs', () => {
      expect(drive.server).toMatch(/^https?:\/\//)
      expect(drive.hosts).toContain(new URL(drive.server).hostname)
    })
  })
}
