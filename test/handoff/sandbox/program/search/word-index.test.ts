// The index of words: every search of the other tests gives the same from it as from the files (see `findIn`). Here is what it spares, and
// that a false one does no harm.
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openCorpus } from '../../../../../src/handoff/sandbox/program/search/corpus.js'
import { find, findInCorpus } from '../../../../../src/handoff/sandbox/program/search/index.js'
import { type Files, makeRepository, type TestRepository } from '../../../../support/repository.js'
import { expectSound, findIn, outlineOf, searchFor, wordIndexOf } from './search-repository.js'

const question = 'Where does refresh_token renew the session?'

const files: Files = {
  'src/session.py': `${'# padding\n'.repeat(70)}def refresh_token(session):\n    return session.renew()\n`,
  'src/other.py': 'def refresh(token):\n    return token\n',
  'src/größe.py': 'def größe_der_sitzung(): return 1\n',
  'src/many.ts': 'export const parseHTTPHeader2x = readHTTP2(Header, ÀB, ABé)\n'.repeat(40),
  'src/generated.py': 'def refresh_token(): pass\n',
  'src/binary.py': 'refresh token \0 session\n',
  'docs/no-end': 'the last line names a session token',
  '.gitattributes': 'src/generated.py linguist-generated\n',
  ...Object.fromEntries(
    Array.from({ length: 200 }, (_, at) => [`lib/part${at}.ts`, `export const part${at} = ${at}\n`]),
  ),
}

test('only the best files are read', async () => {
  await using repository = await makeRepository(files)
  const corpus = await openCorpus(repository.directory, repository.head, await wordIndexOf(repository))
  const read = new Set<string>()
  const watched = {
    ...corpus,
    readAll: () => Promise.reject(new Error('all files are read')),
    read(wanted: Parameters<typeof corpus.read>[0]) {
      for (const { path } of wanted) read.add(path)
      return corpus.read(wanted)
    },
  }
  const { excerpts } = await findInCorpus(watched, {
    search: searchFor(question),
    outline: await outlineOf(repository),
  })
  expect(excerpts[0]).toMatchObject({ path: 'src/session.py' })
  expect([...read].filter((path) => path.startsWith('lib/'))).toEqual([])
})

test.each([question, 'What is parseHTTPHeader2x?', 'größe der Sitzung', 'HTTP2 404 header', 'a2', 'token'])(
  'the index and the files give the same: %s',
  async (asked) => {
    await using repository = await makeRepository(files)
    await findIn(repository, asked)
  },
)

test('the index of another commit is not used', async () => {
  await using repository = await makeRepository(files)
  await using other = await makeRepository({ 'src/session.py': 'def renew(): pass\n' })
  const corpus = await openCorpus(repository.directory, repository.head, await wordIndexOf(other))
  expect(corpus.index).toBeUndefined()
})

test('a damaged index withholds lines at most', async () => {
  await using repository = await makeRepository(files)
  const whole = gunzipSync(await wordIndexOf(repository))
  const outline = await outlineOf(repository)
  const change = fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255), length: fc.nat(whole.length) })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), fc.boolean(), async (changes, cut) => {
      const damaged = Buffer.from(whole)
      for (const { at, byte } of changes) damaged[at] = byte
      const wordIndex = gzipSync(cut ? damaged.subarray(0, changes[0]!.length) : damaged)
      await expectSearchSound(repository, outline, wordIndex)
    }),
    { numRuns: process.env['LONG'] === '1' ? 2_000 : 25 },
  )
}, 60_000)

test('bytes that are no index are not used', async () => {
  await using repository = await makeRepository(files)
  const outline = await outlineOf(repository)
  for (const text of ['', 'no gzip', '{}']) await expectSearchSound(repository, outline, Buffer.from(text))
  await expectSearchSound(repository, outline, gzipSync('{"version":2}\n'))
})

async function expectSearchSound(
  repository: TestRepository,
  outline: Awaited<ReturnType<typeof outlineOf>>,
  wordIndex: Uint8Array,
): Promise<void> {
  const { directory: gitDirectory, head: commit } = repository
  const found = await find({ gitDirectory, commit, outline, wordIndex, search: searchFor(question) })
  await expectSound(found.excerpts, repository, 12_000)
}
