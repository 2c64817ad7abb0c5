// What a sandbox shows counts when git's hashes lead to it from the commit's id, and only then.
import { execFileSync } from 'node:child_process'
import { deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Excerpt } from '../../../src/handoff/domain/answer.js'
import { type ObjectKind, type PackedObject, proveCommit } from '../../../src/handoff/domain/git-proof.js'
import { makeRepository, type TestRepository } from '../../support/repository.js'

let repository: TestRepository
let all: PackedObject[]
let blob: string

const pack = (kind: ObjectKind, bytes: Uint8Array): PackedObject => ({
  kind,
  data: deflateRawSync(bytes).toString('base64'),
})

beforeAll(async () => {
  repository = await makeRepository({
    'src/deep/a.ts': 'one\ntwo\nthree\n',
    'src/run.sh': { executable: 'go\n' },
    'link.ts': { symlink: 'one' },
    'top.ts': 'top\n',
  })
  const listed = execFileSync('git', ['-C', repository.directory, 'cat-file', '--batch-all-objects', '--batch-check'])
  all = listed
    .toString()
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([id = '', kind]) => {
      const bytes = execFileSync('git', ['-C', repository.directory, 'cat-file', kind!, id])
      return pack(kind as ObjectKind, bytes)
    })
  blob = await idAt('src/deep/a.ts')
})
afterAll(() => repository[Symbol.asyncDispose]())

const idAt = (path: string) => repository.git('rev-parse', `HEAD:${path}`)
const excerpt = (change: Partial<Excerpt> = {}): Excerpt =>
  ({ path: 'src/deep/a.ts', blob, from: 2, to: 3, lines: ['two', 'three'], source: 'code', ...change }) as Excerpt
const holds = (change: Partial<Excerpt> = {}, objects = all) =>
  proveCommit(repository.head, objects).holds(excerpt(change))

describe('an excerpt', () => {
  test('holds when its lines stand in the file of the commit', async () => {
    expect(holds()).toBe(true)
    expect(holds({ from: 1, lines: ['one'] })).toBe(true)
    expect(holds({ path: 'src/run.sh', blob: await idAt('src/run.sh'), from: 1, lines: ['go'] })).toBe(true)
    expect(holds({ path: 'top.ts', blob: await idAt('top.ts'), from: 1, lines: ['top'] })).toBe(true)
  })

  test.each<[string, Partial<Excerpt>]>([
    ['a word of it differs', { lines: ['two', 'four'] }],
    ['its first word differs', { lines: ['tow', 'three'] }],
    ['it begins one line later', { from: 3 }],
    ['it begins one line earlier', { from: 1 }],
    ['it begins before the file', { from: 0, lines: ['one'] }],
    ['it is before the file, and empty', { from: 0, lines: [] }],
    ['it goes on after the file', { lines: ['two', 'three', '', 'four'] }],
    ['its path is of another file', { path: 'top.ts' }],
    ['its path is of no file', { path: 'src/deep/b.ts' }],
    ['its path is of a directory', { path: 'src/deep' }],
    ['its path leaves the repository', { path: '../src/deep/a.ts' }],
    ['its path has an empty part', { path: 'src//deep/a.ts' }],
    ['its path goes through a file', { path: 'top.ts/a.ts' }],
    ['its file has another id', { blob: '0'.repeat(40) }],
    ['it is no code', { source: 'summary' } as Partial<Excerpt>],
  ])('does not hold when %s', (_what, change) => {
    expect(holds(change)).toBe(false)
  })

  test('does not hold when it is the target of a link', async () => {
    expect(holds({ path: 'link.ts', blob: await idAt('link.ts'), from: 1, lines: ['one'] })).toBe(false)
  })
})

describe('objects', () => {
  test('that are missing prove nothing, whichever is missing', () => {
    const needed = all.filter((_, index) => !holds({}, all.toSpliced(index, 1)))
    // The commit, three trees and the file.
    expect(needed.length).toBe(5)
  })

  test('that were changed have other names', () => {
    const forged = all.map((one) =>
      one.kind === 'blob' ? pack('blob', Buffer.from('one\nFORGED\nthree\n')) : { ...one },
    )
    expect(holds({ lines: ['FORGED', 'three'] }, forged)).toBe(false)
    expect(holds({}, [...all, pack('blob', Buffer.from('one\nFORGED\n'))])).toBe(true)
  })

  test('count as what they are only', () => {
    const others = { commit: 'tree', tree: 'blob', blob: 'commit' } as const
    expect(
      holds(
        {},
        all.map(({ kind, data }) => ({ kind: others[kind], data })),
      ),
    ).toBe(false)
  })

  test('that cannot be read, or are too large, are left out', () => {
    const bomb = pack('blob', Buffer.alloc(16_000_001))
    expect(holds({}, [{ kind: 'tree', data: 'no base64 of anything' }, bomb, ...all])).toBe(true)
    expect(proveCommit(repository.head, []).names('')).toBeUndefined()
  })

  const entry = (name: string) => Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.alloc(20, 1)])
  const hashed = (type: string, input: Buffer) => {
    const words = ['-C', repository.directory, 'hash-object', '-t', type, '--literally', '--stdin']
    return execFileSync('git', words, { input }).toString().trim()
  }

  // Hosts that do not check what is pushed take such trees.
  test.each<[string, Buffer]>([
    ['cut in an id', Buffer.from(`100644 b.ts\0${'x'.repeat(19)}`)],
    ['cut in a name', Buffer.from(`100644 ${'b'.repeat(60)}`)],
    ['cut in a mode', Buffer.from('1'.repeat(60))],
    ['without a mode', Buffer.from(`${'b'.repeat(60)}\0`)],
  ])('of a tree that is %s give the entries before', (_what, end) => {
    const root = Buffer.concat([entry('a.ts'), end])
    const text = `tree ${hashed('tree', root)}\nauthor x <x> 1 +0000\ncommitter x <x> 1 +0000\n\nx\n`
    const commit = Buffer.from(text)
    const proven = proveCommit(hashed('commit', commit), [pack('commit', commit), pack('tree', root)])
    expect(proven.names('')).toEqual(new Set(['a.ts']))
  })
})

test('a listing is what the trees say; directories end with a slash', () => {
  const proven = proveCommit(repository.head, all)
  expect(proven.names('')).toEqual(new Set(['link.ts', 'src/', 'top.ts']))
  expect(proven.names('src')).toEqual(new Set(['deep/', 'run.sh']))
  expect(proven.names('top.ts')).toBeUndefined()
  expect(proven.names('nowhere')).toBeUndefined()
  expect(proveCommit('0'.repeat(40), all).names('')).toBeUndefined()
})
