// A search of the stored files by ranges: every search of the other tests gives the same from them as from all files (see `findIn`). Here is what it
// spares, and that a false index does no harm.
import { deflateRawSync, gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStored, type StoredCommit } from '../../../../../src/benchmarks/stored-commit.js'
import { proveCommit } from '../../../../../src/handoff/domain/git-proof.js'
import type { Outline } from '../../../../../src/handoff/domain/survey.js'
import { openGitSource } from '../../../../../src/handoff/sandbox/program/search/git-source.js'
import { findInCorpus, wantedKeys } from '../../../../../src/handoff/sandbox/program/search/index.js'
import type { StoredFile } from '../../../../../src/handoff/sandbox/program/search/stored-file.js'
import { openStoredSource } from '../../../../../src/handoff/sandbox/program/search/stored-source.js'
import { pause } from '../../../../../src/handoff/util/abort.js'
import { type Files, makeRepository, type TestRepository } from '../../../../support/repository.js'
import { expectSound, findIn, outlineOf, searchFor, storedFilesOf } from './search-repository.js'

const question = 'Where does refresh_token renew the session?'

const files: Files = {
  'src/session.py': `${'# padding\n'.repeat(70)}def refresh_token(session):\n    return session.renew()\n`,
  'src/other.py': 'def refresh(token):\n    return token\n',
  'src/größe.py': 'def größe_der_sitzung(): return 1\n',
  'src/many.ts':
    'export const parseHTTPHeader2x = readHTTP2(Header, 404, v17, ÀB, ABé, _session, session, Session)\n'.repeat(40),
  'src/generated.py': 'def refresh_token(): pass\n',
  'src/binary.py': 'refresh token \0 session\n',
  'docs/no-end': 'the last line names a session token',
  'package-lock.json': '{"lock": "of other files"}\n',
  '.gitattributes': 'src/generated.py linguist-generated\n',
  ...Object.fromEntries(
    Array.from({ length: 200 }, (_, at) => [`lib/part${at}.ts`, `export const part${at} = ${at}\n`]),
  ),
}

let repository: TestRepository
let outline: Outline
let stored: StoredCommit

beforeAll(async () => {
  repository = await makeRepository(files)
  outline = await outlineOf(repository)
  stored = await storedFilesOf(repository, outline)
})
afterAll(() => repository?.[Symbol.asyncDispose]())

async function searchStored(changed: Partial<StoredCommit> = {}) {
  const { source, read } = await openStored({ ...stored, ...changed }, repository.head)
  const found = await findInCorpus(source.corpus, {
    search: searchFor(question),
    findDefinitions: source.findDefinitions,
  })
  return { found, read, proof: await source.prove({ excerpts: [...found.excerpts, ...found.notes] }) }
}

test('a small part of the clone is read, and it proves to the host what is shown', async () => {
  const { found, read, proof } = await searchStored()
  expect(found.excerpts[0]).toMatchObject({ path: 'src/session.py' })
  expect(read.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(stored.tar.length / 4)
  const proven = proveCommit(repository.head, proof)
  expect(found.excerpts.filter((excerpt) => !proven.holds(excerpt))).toEqual([])
})

/** Answers what was asked for together, and counts how often something was. */
function countRoundTrips() {
  let waiting: (() => void)[] = []
  let trips = 0
  const answer = async () => {
    // By now all is asked for that depends on no answer.
    for (let turn = 0; turn < 20; turn++) await pause()
    const now = waiting
    waiting = []
    trips++
    for (const one of now) one()
  }
  const slowly = (bytes: Buffer, askedAfter: number[] = []): StoredFile => ({
    async read({ offset, length }) {
      askedAfter.push(trips)
      const answered = new Promise<void>((resolve) => waiting.push(resolve))
      if (waiting.length === 1) answer()
      await answered
      return bytes.subarray(offset, offset + length)
    },
  })
  return { slowly, trips: () => trips, asked: () => waiting.length }
}

const related: Files = {
  ...files,
  'src/caller.py': 'from session import renew_all\n\ndef caller(session):\n    return renew_all(session)\n',
  'src/renewals.py': 'def renew_all(one):\n    return [one]\n',
}

test('a search makes three round trips: words, the best files beside all definitions, and what they relate to', async () => {
  const { slowly, trips, asked } = countRoundTrips()
  const search = searchFor('what does the caller need?')
  await using commit = await makeRepository(related)
  const { table, pages, tar } = await storedFilesOf(commit, await outlineOf(commit))
  const pagesAfter: number[] = []
  const places = { table: Promise.resolve(table), pages: slowly(pages, pagesAfter), tar: slowly(tar) }
  const source = await openStoredSource(places, commit.head, wantedKeys(search))
  // The words are asked for before the files of the index are read.
  expect([trips(), asked()]).toEqual([0, 1])
  const found = await findInCorpus(source.corpus, { search, findDefinitions: source.findDefinitions })
  expect(found.excerpts.map(({ path }) => path)).toContain('src/renewals.py')
  await source.prove({ excerpts: found.excerpts })
  expect(trips()).toBe(3)
  // The definitions do not come before the words, whose way they would share.
  expect(pagesAfter).toEqual([0, 1])
})

const [nothing, otherBytes] = [Buffer.alloc(0), Buffer.from('no table at all')]

test.each<[string, (table: Buffer) => Buffer, askedAfter: number[], all: number]>([
  ['half of the table', (table) => table.subarray(0, table.length / 2), [0, 1], 3],
  ['too little of it', (table) => table.subarray(0, 40), [1, 2], 4],
  ['nothing', () => nothing, [1, 2], 4],
  ['other bytes', () => otherBytes, [1, 2], 4],
])('of a table that is yet to come, %s', async (_, startOf, askedAfter, all) => {
  const search = searchFor('what does the caller need?')
  await using commit = await makeRepository(related)
  const { table, pages, tar } = await storedFilesOf(commit, await outlineOf(commit))
  const { slowly, trips } = countRoundTrips()
  const pagesAfter: number[] = []
  const coming = slowly(table).read({ offset: 0, length: table.length })
  const places = { table: coming, start: startOf(table), pages: slowly(pages, pagesAfter), tar: slowly(tar) }
  const source = await openStoredSource(places, commit.head, wantedKeys(search))
  const { excerpts } = await findInCorpus(source.corpus, { search, findDefinitions: source.findDefinitions })
  expect(excerpts.map(({ path }) => path)).toContain('src/renewals.py')
  await source.prove({ excerpts })
  expect([pagesAfter, trips()]).toEqual([askedAfter, all])
})

test.each([
  question,
  'What is parseHTTPHeader2x?',
  'größe der Sitzung',
  'HTTP2 404 header',
  'a2',
  'token',
  'What does session.renew do?',
  'Session.renew, _session.header and readHTTP2.x',
  'version 404.17 of a2.x',
])('ranges and all files give the same: %s', async (asked) => {
  await findIn(repository, asked)
})

test('a file that is not searched is read by its name, and a directory is listed', async () => {
  const { source } = await openStored(stored, repository.head)
  const clone = await openGitSource(repository.directory, repository.head, outline)
  const paths = ['package-lock.json', 'src/generated.py', 'src/session.py', 'nowhere']
  expect(await source.readFiles(paths)).toEqual(await clone.readFiles(paths))
  expect((await source.namesIn('src')).toSorted()).toEqual((await clone.namesIn('src')).toSorted())
  expect(await source.namesIn('nowhere')).toEqual([])
})

test('the index of another commit, and bytes that are no index, are not used', async () => {
  await using other = await makeRepository({ 'src/session.py': 'def renew(): pass\n' })
  const { table } = await storedFilesOf(other, await outlineOf(other))
  await expect(searchStored({ table })).rejects.toThrow(/another version or commit/)
  for (const bytes of [Buffer.from(''), Buffer.from('no gzip'), gzipSync('{}'), gzipSync('{"version":2}\n')])
    await expect(searchStored({ table: bytes })).rejects.toThrow()
})

test('a damaged range of the clone or of the pages is noticed', async () => {
  const { read } = await searchStored()
  const tar = Buffer.from(stored.tar)
  for (const { offset, length } of read) tar[offset + Math.floor(length / 2)]! ^= 1
  await expect(searchStored({ tar })).rejects.toThrow()
  await expect(searchStored({ tar: tar.subarray(0, read[0]!.offset) })).rejects.toThrow()
  const pages = stored.pages.map((byte) => byte ^ 1)
  await expect(searchStored({ pages: Buffer.from(pages) })).rejects.toThrow(/not the one that was sealed/)
})

test('a table that was forged leads to nothing that the host would not believe', async () => {
  const whole = gunzipSync(stored.table)
  const change = fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255), length: fc.nat(whole.length) })
  const ends = { refused: 0, sound: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), fc.boolean(), async (changes, cut) => {
      const forged = Buffer.from(whole)
      for (const { at, byte } of changes) forged[at] = byte
      const table = gzipSync(cut ? forged.subarray(0, changes[0]!.length) : forged)
      const searched = await searchStored({ table }).catch(() => undefined)
      ends[searched ? 'sound' : 'refused'] += 1
      if (!searched) return
      const { found, proof } = searched
      const proven = proveCommit(repository.head, proof)
      if (found.excerpts.some((excerpt) => !proven.holds(excerpt))) throw new Error('An excerpt is not proven.')
      await expectSound(found.excerpts, repository, 12_000)
    }),
    { numRuns: process.env['LONG'] === '1' ? 2_000 : 60 },
  )
  expect(Math.min(ends.refused, ends.sound)).toBeGreaterThan(0)
}, 60_000)

/** The raw bytes of an object as a pack has them. */
function packed(kind: number, bytes: Buffer): Buffer {
  const head = [(bytes.length & 15) | (kind << 4)]
  for (let rest = bytes.length >> 4; rest > 0; rest >>= 7) {
    head[head.length - 1]! |= 128
    head.push(rest & 127)
  }
  return Buffer.concat([Buffer.from(head), Buffer.from([0x78, 1]), deflateRawSync(bytes), Buffer.alloc(4)])
}

test('an object at a false place, or one that says to be more than it is, is not taken', async () => {
  const { read } = await searchStored()
  const forged = packed(3, Buffer.from("def refresh_token(session):\n    return 'FORGED'\n"))
  const tar = Buffer.from(stored.tar)
  for (const { offset } of read) forged.copy(tar, offset)
  await expect(searchStored({ tar })).rejects.toThrow(/does not have|something else|unexpected end/)
})
