// Repositories as they come: private ones, odd ones, empty ones, in both forms they can be kept in. None of them leaves a sandbox, a secret or a
// half-visible run, and each that cannot be kept as it is says so.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerQuestion, layout, type SummariseResult, summarise } from '../../../../src/handoff/index.js'
import { sha256 } from '../../../../src/handoff/store/run-store.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { refusal } from '../../../support/refusal.js'
import { type Files, makeRepository, type TestRepository } from '../../../support/repository.js'

const execute = promisify(execFile)
const never = new AbortController().signal
const token = 'ghs_ThisTokenCanOnlyReadThisRepository01'
let stack: LocalStack
const repositories: TestRepository[] = []

beforeAll(async () => {
  stack = await startLocalStack({ repositories: {}, cloneToken: token })
})

afterAll(async () => {
  await stack?.close()
  await Promise.all(repositories.map((repository) => repository[Symbol.asyncDispose]()))
})

async function serve(name: string, files: Files): Promise<TestRepository> {
  const repository = await makeRepository(files)
  repositories.push(repository)
  stack.remote.serve(name, repository.directory)
  return repository
}

const run = (name: string, sha: string, more: object = {}) =>
  summarise({ commit: stack.commit(name, sha), attempt: 'one', cloneToken: token, ...more }, stack.context, never)

const stored = (result: SummariseResult, path: string) => stack.clouds.drive.readFile(`${result.directory}/${path}`)

/** Unpacks what was kept and asks git itself. */
async function inClone<T>(
  result: SummariseResult,
  name: string,
  look: (git: (...words: string[]) => Promise<string>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'kept-'))
  try {
    await writeFile(join(folder, 'clone.tar'), stored(result, `project/${name}.git.tar`)!)
    await execute('tar', ['-xf', 'clone.tar'], { cwd: folder })
    const git = async (...words: string[]) =>
      (await execute('git', ['-C', join(folder, `${name}.git`), ...words], { maxBuffer: 1 << 26 })).stdout.trim()
    return await look(git)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const ordinary: Files = {
  'README.md': '# Ordinary\n\nCounts sheep.\n',
  'src/count.ts': 'export function countSheep(sheep: number): number {\n  return sheep + 1\n}\n',
  'bin/count.sh': { executable: '#!/bin/sh\necho 1\n' },
  'docs/link.md': { symlink: '../README.md' },
}

test.each(['tar', 'plain'] as const)(
  'a private repository in the form %s is whole, and the token is nowhere',
  async (form) => {
    const repository = await serve(`private/${form}`, ordinary)
    const result = await run(`private/${form}`, repository.head, { form })
    await inClone(result, form, async (git) => {
      expect(await git('rev-parse', 'HEAD')).toBe(repository.head)
      expect(await git('fsck', '--full')).toBe('')
      expect(await git('show', `${repository.head}:src/count.ts`)).toContain('countSheep')
      expect(await git('ls-tree', '-r', '--format=%(objectmode) %(path)', 'HEAD')).toContain('100755 bin/count.sh')
      expect(await git('config', '--list', '--local')).not.toMatch(/remote|url|header/i)
    })
    const { record } = await answerQuestion(
      {
        repository: stack.commit(`private/${form}`, repository.head).repository,
        name: { run: result.run },
        question: { text: 'What does countSheep do?' },
      },
      stack.context,
      never,
    )
    expect(record.citations.some((citation) => citation.verified && citation.path === 'src/count.ts')).toBe(true)
  },
)

test('the wrong credential is refused in words that say what to do', async () => {
  const repository = await serve('private/closed', ordinary)
  const commit = stack.commit('private/closed', repository.head)
  const error = await refusal(
    summarise({ commit, attempt: 'one', cloneToken: 'ghs_wrong_wrong_wrong_wrong' }, stack.context, never),
  )
  expect(error).toMatchObject({ code: 'git', next: expect.stringContaining('clone-token') })
})

test('the plain form keeps the same files, and names what the drive cannot keep', async () => {
  const repository = await serve('forms/plain', {
    ...ordinary,
    'it\'s a "file" $(x).txt': 'odd name\n',
    'decomposed-\u0065\u0301.txt': 'not composed\n',
    'outside.txt': { symlink: '../../etc/passwd' },
    vendor: { submodule: 'a'.repeat(40) },
  } as Files)
  const result = await run('forms/plain', repository.head, { form: 'plain' })
  const table = JSON.parse(stored(result, 'analysis/tree.json')!.toString())
  for (const { path, bytes, sha256: hash } of table.files) {
    const kept = stored(result, `project/plain/${path}`)!
    expect({ path, bytes: kept.length, sha256: sha256(kept) }).toEqual({ path, bytes, sha256: hash })
  }
  expect(table.files.map(({ path }: { path: string }) => path)).toContain('it\'s a "file" $(x).txt')
  expect(table.lost).toEqual(
    expect.arrayContaining([
      { path: 'bin/count.sh', what: 'exec bit' },
      { path: 'decomposed-\u0065\u0301.txt', what: 'name' },
      { path: 'outside.txt', what: 'link' },
      { path: 'vendor', what: 'submodule' },
    ]),
  )
  expect(result.handoff.notices.join(' ')).toContain(`${table.lost.length} entries of the plain form`)
})

test('the plain form keeps a file whose name has 255 bytes, and one that ends in .tmp', async () => {
  const longest = `${'é'.repeat(126)}.ts`
  const files = { [longest]: 'const a = 1\n', 'notes.tmp': 'kept\n', '.handoff-3.tmp': 'lost\n' }
  const repository = await serve('forms/long', files)
  const result = await run('forms/long', repository.head, { form: 'plain' })
  expect(stored(result, `project/long/${longest}`)?.toString()).toBe('const a = 1\n')
  expect(stored(result, 'project/long/notes.tmp')?.toString()).toBe('kept\n')
  const table = JSON.parse(stored(result, 'analysis/tree.json')!.toString())
  expect(table.lost, 'a name that copies into the drive use for a moment').toEqual([
    { path: '.handoff-3.tmp', what: 'name' },
  ])
  const below = stack.clouds.drive.tree(`${result.directory}/project/long`).map(({ path }) => path.split('/').at(-1))
  expect(below.sort()).toEqual(['long', 'notes.tmp', longest].sort())
})

test('paths that are no text, LFS pointers, submodules, other encodings: every file is accounted for', async () => {
  const repository = await serve('odd/names', [
    [Buffer.from([0x66, 0xff, 0x2e, 0x74, 0x73]), 'export const invalid = 1\n'],
    ['new\nline.ts', 'export const line = 1\n'],
    ['with "quotes" and $(touch oops).ts', 'export const quoted = 1\n'],
    [
      'big.bin',
      'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n',
    ],
    ['latin1.txt', Buffer.from('caf\xe9 au lait\n', 'latin1')],
    ['vendor/lib', { submodule: 'b'.repeat(40) }],
  ])
  const result = await run('odd/names', repository.head)
  const table = JSON.parse(stored(result, 'analysis/files.json')!.toString())
  expect(table.files).toHaveLength(6)
  const { files, read, cut, skipped } = result.handoff.survey
  expect(files).toBe(6)
  expect(read + cut + skipped).toBe(6)
  const kinds = Object.fromEntries(table.files.map((row: { path: string; kind: string }) => [row.path, row.kind]))
  expect(kinds['big.bin']).toBe('lfs-pointer')
  expect(kinds['vendor/lib']).toBe('submodule')
  expect(table.files.find((row: { pathBase64?: string }) => row.pathBase64)?.pathBase64).toBe(
    Buffer.from([0x66, 0xff, 0x2e, 0x74, 0x73]).toString('base64'),
  )
})

/** Where there is nothing to search, that is the answer. */
function asked(name: string, run: string) {
  const { repository } = stack.commit(name, 'd'.repeat(40))
  const stop = AbortSignal.timeout(20_000)
  return answerQuestion({ repository, name: { run }, question: { text: 'What is in here?' } }, stack.context, stop)
}

test('a repository with no text at all is sealed and says so', async () => {
  const repository = await serve('odd/pictures', {
    'a.png': Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0]),
    'b.bin': Buffer.alloc(64),
  })
  const result = await run('odd/pictures', repository.head)
  expect(result.handoff.survey).toMatchObject({ files: 2, read: 0, cut: 0, skipped: 2 })
  expect(result.handoff.notices.length).toBeGreaterThan(0)
  expect(result.summary).toContain('## What it is and for whom')
  expect(await asked('odd/pictures', result.run)).toMatchObject({ record: { status: 'done', citations: [] } })
})

test('a commit without any file is sealed and says so', async () => {
  const repository = await serve('odd/nothing', { 'a.txt': 'soon gone\n' })
  const empty = await repository.commit({ 'a.txt': null })
  const result = await run('odd/nothing', empty)
  expect(result.handoff.survey.files).toBe(0)
  expect(result.handoff.notices.length).toBeGreaterThan(0)
  expect(await asked('odd/nothing', result.run)).toMatchObject({ record: { status: 'done', citations: [] } })
})

test('a repository without commits has nothing to summarise', async () => {
  await serve('odd/empty', [] as never)
  expect(await refusal(run('odd/empty', 'd'.repeat(40)))).toMatchObject({ code: 'not-found' })
})

test('a host that shows only its refs still gives the commit that a ref names', async () => {
  const repository = await serve('odd/strict', ordinary)
  await repository.git('config', 'uploadpack.allowAnySHA1InWant', 'false')
  const commit = stack.commit('odd/strict', repository.head, 'refs/heads/main')
  expect(await summarise({ commit, attempt: 'one', cloneToken: token }, stack.context, never)).toMatchObject({
    reused: false,
  })
})

test('of a long history only the commit is fetched and kept', async () => {
  const repository = await makeRepository(
    Array.from({ length: 40 }, (_, index) => ({ 'a.ts': `export const a = ${index}\n` })),
  )
  repositories.push(repository)
  stack.remote.serve('odd/long', repository.directory)
  const result = await run('odd/long', repository.head)
  await inClone(result, 'long', async (git) => {
    expect(await git('rev-list', '--count', 'HEAD')).toBe('1')
    expect(await git('rev-parse', '--is-shallow-repository')).toBe('true')
  })
})

test.runIf(process.env['LONG'] === '1')(
  'of a history of two gigabytes next to nothing is fetched',
  async () => {
    const repository = await serve('odd/heavy', ordinary)
    await repository.git('config', 'core.compression', '0')
    for (let version = 0; version < 20; version += 1) await repository.commit({ 'film.bin': randomBytes(100_000_000) })
    const head = await repository.commit({ 'film.bin': null })
    const [, kibibytes] = /^size: (\d+)$/m.exec(await repository.git('count-objects', '-v')) ?? []
    expect(Number(kibibytes) * 1_024).toBeGreaterThan(2_000_000_000)
    const { handoff } = await run('odd/heavy', head)
    expect(handoff.artifacts.find(({ path }) => path.endsWith('.git.tar'))!.bytes).toBeLessThan(1_000_000)
  },
  600_000,
)

test('nothing of all that was left half-visible', () => {
  const pointers = stack.clouds.drive.tree('/handoff').filter(({ path }) => /\/commits\/[0-9a-f]{40}\.json$/.test(path))
  const handoffs = stack.clouds.drive.tree('/handoff').filter(({ path }) => path.endsWith('/analysis/handoff.json'))
  expect(pointers.length).toBe(handoffs.length)
  expect(stack.clouds.sandboxes.sandboxes.every((sandbox) => sandbox.state === 'gone')).toBe(true)
  expect(
    stack.clouds.drive.tree(layout('/handoff', stack.commit('private/closed', 'a'.repeat(40)).repository).repository),
  ).not.toContainEqual(expect.objectContaining({ path: expect.stringContaining('handoff.json') }))
})
