// What a model may ask for after the first excerpts, and how far that goes.
import { expect, test } from 'vitest'
import type { MoreRequest, Search } from '../../../../../src/handoff/domain/sandbox-protocol.js'
import { answerRequests, type FollowUpResult } from '../../../../../src/handoff/sandbox/program/search/follow-up.js'
import { openGitSource } from '../../../../../src/handoff/sandbox/program/search/git-source.js'
import { type Files, makeRepository } from '../../../../support/repository.js'
import { expectSound, linesOf, outlineOf, pathsOf, searchFor, storedSourceOf } from './search-repository.js'

async function moreOf(files: Files, requests: MoreRequest[], search: Partial<Search> = {}): Promise<FollowUpResult> {
  await using repository = await makeRepository(files)
  const { directory, head } = repository
  const full = searchFor('What is this about?', search)
  const outline = await outlineOf(repository)
  const found = await answerRequests({
    source: await openGitSource(directory, head, outline),
    search: full,
    requests,
  })
  const { source } = await storedSourceOf(repository, outline)
  expect(await answerRequests({ source, search: full, requests }), 'from the stored files').toEqual(found)
  await expectSound(found.excerpts, repository, full.tokens)
  return found
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`).join('\n')

test('a requested range of lines is read', async () => {
  const found = await moreOf({ 'a.txt': numbered(50) }, [{ kind: 'read', path: 'a.txt', from: 10, to: 12 }])
  expect([...linesOf(found, 'a.txt')]).toEqual([
    [10, 'line 10'],
    [11, 'line 11'],
    [12, 'line 12'],
  ])
})

test('a range of a text in UTF-16 is read as text, and a list has no line breaks in names', async () => {
  const files = { 'a.txt': Buffer.from(`\ufeff${numbered(5)}`, 'utf16le'), 'new\nline.txt': 'a\n' }
  const found = await moreOf(files, [
    { kind: 'read', path: 'a.txt', from: 2, to: 2 },
    { kind: 'list', path: '' },
  ])
  expect([...linesOf(found, 'a.txt')]).toEqual([[2, 'line 2']])
  expect(found.listings).toEqual([{ path: '', entries: ['a.txt', 'new\ufffdline.txt'] }])
})

test.each([
  [{ from: 1, to: 5_000 }, 1, 400],
  [{ from: 590, to: 700 }, 590, 11],
  [{ from: -3, to: 2 }, 1, 2],
  [{ from: 0, to: 1 }, 1, 1],
])('of a range %j there are at most 400 lines, and none outside of the file', async (range, from, count) => {
  const found = await moreOf({ 'a.txt': numbered(600) }, [{ kind: 'read', path: 'a.txt', ...range }])
  expect(found.excerpts.map((excerpt) => [excerpt.from, excerpt.lines.length])).toEqual([[from, count]])
})

test.each([
  { path: 'a.txt', from: 900, to: 950 },
  { path: 'a.txt', from: 20, to: 10 },
  { path: 'nowhere.txt', from: 1, to: 5 },
  { path: '../a.txt', from: 1, to: 5 },
  { path: '/etc/passwd', from: 1, to: 5 },
  { path: 'link', from: 1, to: 5 },
  { path: 'folder', from: 1, to: 5 },
  { path: 'image.png', from: 1, to: 5 },
  { path: 'new\nline.txt', from: 1, to: 5 },
])('there is nothing at %j', async (range) => {
  const files: Files = {
    'a.txt': numbered(50),
    'folder/b.txt': 'b\n',
    link: { symlink: '/etc/passwd' },
    'image.png': Buffer.from([0, 1, 10, 2]),
    'new\nline.txt': 'a\n',
  }
  expect((await moreOf(files, [{ kind: 'read', ...range }])).excerpts).toEqual([])
})

test('a follow-up search finds new lines and repeats none that were shown', async () => {
  const files = {
    'a.py': 'def handshake():\n    return 1\n',
    'b.py': 'def handshake():\n    return 2\n',
    'c.py': 'x = 1\n',
  }
  const found = await moreOf(files, [{ kind: 'search', terms: 'handshake' }], {
    shown: [{ path: 'a.py', from: 1, to: 2 }],
  })
  expect(pathsOf(found)).toEqual(['b.py'])
  expect(found.searched?.terms).toEqual(['handshake'])
})

test('a definition is read whole by its name, and its callers are found without it', async () => {
  const files = {
    'lib/charge.ts': `export const rate = 2\n\nexport function chargeCard(order: Order) {\n${'  step()\n'.repeat(90)}}\n`,
    'app/order.ts':
      'import { chargeCard } from "../lib/charge"\n\nexport const pay = (order: Order) => {\n  return chargeCard(order)\n}\n',
    'app/other.ts': 'export const charge = 1\n',
  }
  const defined = await moreOf(files, [{ kind: 'define', name: 'chargeCard' }])
  expect([...linesOf(defined, 'lib/charge.ts').keys()]).toEqual(Array.from({ length: 92 }, (_, index) => index + 3))
  const callers = await moreOf(files, [{ kind: 'callers', name: 'chargeCard' }])
  expect(pathsOf(callers)[0]).toBe('app/order.ts')
  expect([...linesOf(callers, 'lib/charge.ts').values()].join()).not.toContain('step()')
  expect((await moreOf(files, [{ kind: 'define', name: 'nothing' }])).excerpts).toEqual([])
})

test('a follow-up search shows at most a hundred matching lines', async () => {
  const text = Array.from({ length: 300 }, (_, index) => `handshake_${index}()`).join('\n')
  const files = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`part${index}.py`, text]))
  const found = await moreOf(files, [{ kind: 'search', terms: 'handshake' }], { tokens: 55_000 })
  const hits = found.excerpts.flatMap(({ lines }) => lines.filter((line) => line.includes('handshake')))
  expect(hits.length).toBeGreaterThan(50)
  expect(hits.length).toBeLessThanOrEqual(100)
})

test('a directory listing marks directories and has up to 200 names', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 250 }, (_, index) => [`many/${String(index).padStart(3, '0')}.txt`, 'x\n']),
  )
  const files: Files = { ...many, 'src/a.ts': 'a\n', 'src/deep/b.ts': 'b\n', 'top.md': 't\n' }
  const found = await moreOf(files, [
    { kind: 'list', path: '' },
    { kind: 'list', path: 'src/' },
    { kind: 'list', path: 'many' },
    { kind: 'list', path: '../..' },
  ])
  expect(found.listings[0]).toEqual({ path: '', entries: ['many/', 'src/', 'top.md'] })
  expect(found.listings[1]).toEqual({ path: 'src', entries: ['a.ts', 'deep/'] })
  expect(found.listings[2]!.entries.length).toBe(201)
  expect(found.listings[2]!.entries.at(-1)).toBe('… and 50 more')
  expect(found.listings[3]!.entries).toEqual([])
})

test('all requests share one limit, and there are at most eight', async () => {
  const read = (from: number): MoreRequest => ({ kind: 'read', path: 'a.txt', from, to: from + 9 })
  const requests = Array.from({ length: 12 }, (_, index) => read(index * 20 + 1))
  expect((await moreOf({ 'a.txt': numbered(300) }, requests)).excerpts.length).toBe(8)
  const tight = await moreOf({ 'a.txt': numbered(300) }, requests, { tokens: 110 })
  expect(tight.excerpts.length).toBeGreaterThan(0)
  expect(tight.excerpts.length).toBeLessThan(8)
})

test('a requested range has no secrets', async () => {
  const key = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`
  const found = await moreOf({ '.env': `A=1\nTOKEN=${key}\n` }, [{ kind: 'read', path: '.env', from: 1, to: 2 }])
  expect(linesOf(found, '.env').get(1)).toBe('A=1')
  expect(JSON.stringify(found)).not.toContain(key)
})
