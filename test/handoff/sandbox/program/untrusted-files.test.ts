// What the account that reads the repository could leave for the process that holds the mount's token.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Mount } from '../../../../src/handoff/sandbox/program/drive9-mount.js'
import { adoptObjects, unpack } from '../../../../src/handoff/sandbox/program/git-clone.js'
import { storePlainFiles } from '../../../../src/handoff/sandbox/program/plain-files.js'
import { gitAt, openBlobReader } from '../../../../src/handoff/sandbox/program/survey/git-objects.js'
import { openUntrusted } from '../../../../src/handoff/sandbox/program/untrusted-file.js'
import { makeRepository } from '../../../support/repository.js'

let top: string
let secret: string

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'untrusted-'))
  secret = join(mkdtempSync(join(tmpdir(), 'secret-')), 'token')
  writeFileSync(secret, 'the token of the mount')
})

afterEach(() => {
  rmSync(top, { recursive: true, force: true })
  rmSync(join(secret, '..'), { recursive: true, force: true })
})

describe('a file of the untrusted account', () => {
  test('is opened when it is a plain file in its place', async () => {
    writeFileSync(join(top, 'files.json'), '{}')
    await using handle = await openUntrusted(join(top, 'files.json'), top)
    expect(await handle.readFile('utf8')).toBe('{}')
  })

  test.each<[string, (path: string) => void]>([
    ['is a link', (path) => symlinkSync(secret, path)],
    ['has a second name', (path) => linkSync(secret, path)],
    ['is a pipe', (path) => void execFileSync('mkfifo', [path])],
    ['is a directory', (path) => mkdirSync(path)],
  ])('is refused when it %s', async (_what, make) => {
    make(join(top, 'files.json'))
    await expect(openUntrusted(join(top, 'files.json'), top)).rejects.toMatchObject({ failure: 'internal' })
  })

  test('that is missing is missing', async () => {
    await expect(openUntrusted(join(top, 'files.json'), top)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test.runIf(process.getuid?.() === 0)('is opened when it belongs to the untrusted account', async () => {
    writeFileSync(join(top, 'files.json'), '{}')
    execFileSync('chown', ['65534', join(top, 'files.json')])
    await using handle = await openUntrusted(join(top, 'files.json'), top)
    expect(await handle.readFile('utf8')).toBe('{}')
  })

  test('is refused when a folder on the way is a link', async () => {
    symlinkSync(join(secret, '..'), join(top, 'tree'))
    await expect(openUntrusted(join(top, 'tree/token'), top)).rejects.toMatchObject({ failure: 'internal' })
  })

  test('is refused when its name is what a deleted file would have', async () => {
    writeFileSync(join(top, 'files.json (deleted)'), '{}')
    await expect(openUntrusted(join(top, 'files.json (deleted)'), top)).rejects.toMatchObject({ failure: 'internal' })
  })

  test.runIf(process.getuid?.() === 0)('is refused when it belongs to a third account', async () => {
    writeFileSync(join(top, 'files.json'), '{}')
    execFileSync('chown', ['12345', join(top, 'files.json')])
    await expect(openUntrusted(join(top, 'files.json'), top)).rejects.toMatchObject({ failure: 'internal' })
  })
})

/** A process of the untrusted account that goes on after its work: it puts a file, a link and a second name of the secret in each other's place. */
const swapping = `
const { linkSync, renameSync, rmSync, symlinkSync, writeFileSync } = require('node:fs')
const [, place, secret] = process.argv
for (let round = 0; ; round += 1) {
  const other = place + '.' + (round % 3)
  rmSync(other, { force: true })
  if (round % 3 === 0) writeFileSync(other, 'plain')
  if (round % 3 === 1) symlinkSync(secret, other)
  if (round % 3 === 2) linkSync(secret, other)
  renameSync(other, place)
  if (round === 3) process.stdout.write('swapping')
}`

test('a process that swaps the file while it is opened does not have the secret read', async () => {
  const place = join(top, 'files.json')
  const child = spawn(process.execPath, ['-e', swapping, place, secret], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  const seen = { plain: 0, refused: 0, secret: 0 }
  for (let attempt = 0; attempt < 10_000 || seen.plain === 0 || seen.refused === 0; attempt += 1) {
    const text = await openUntrusted(place, top).then(readAll, () => 'refused')
    seen[text === 'plain' ? 'plain' : text === 'refused' ? 'refused' : 'secret'] += 1
  }
  child.kill('SIGKILL')
  await ended
  expect(seen.secret).toBe(0)
})

async function readAll(handle: FileHandle): Promise<string> {
  await using open = handle
  return open.readFile('utf8')
}

describe('the table of plain files', () => {
  const row = (path: string) => ({ path, bytes: 1, sha256: 'a'.repeat(64) })

  async function stored(table: { files?: object[]; links?: object[] }): Promise<string[]> {
    const put: string[] = []
    const mounted: Mount = {
      put: async (local) => void put.push(local),
      store: async () => undefined,
      link: async (target) => void put.push(target),
      drain: async () => undefined,
      release: async () => undefined,
    }
    const whole = { version: 1, commit: 'a'.repeat(40), files: [], links: [], lost: [], ...table }
    writeFileSync(join(top, 'tree.json'), JSON.stringify(whole))
    await storePlainFiles(join(top, 'tree'), join(top, 'tree.json'), mounted, 'project/tools').catch(() => undefined)
    return put
  }

  test('leads to the files that it names', async () => {
    const table = { files: [row('src/a.ts')], links: [{ path: 'b', target: 'src/a.ts' }] }
    expect(await stored(table)).toEqual([join(top, 'tree/src/a.ts'), 'src/a.ts'])
  })

  test.each(['../../etc/shadow', '/etc/shadow', 'a/../../b', 'a//b', '', '.', 'a\0b', 'a (deleted)'])(
    'with the path %j leads nowhere',
    async (path) => {
      expect(await stored({ files: [row('src/a.ts'), row(path)] })).toEqual([])
      expect(await stored({ links: [{ path, target: 'a' }] })).toEqual([])
    },
  )

  test('with a link that leads out leads nowhere', async () => {
    expect(await stored({ links: [{ path: 'a', target: '/etc/shadow' }] })).toEqual([])
    expect(await stored({ links: [{ path: 'a/b', target: '../../../etc' }] })).toEqual([])
  })
})

test('a changed clone runs no program, and only its objects are used', async () => {
  await using repository = await makeRepository({ 'a.ts': 'export const a = 1\n' })
  const ran = join(top, 'ran')
  const clone = join(top, 'tools.git')
  execFileSync('cp', ['-r', repository.directory, clone])
  const config = `[core]\n\trepositoryformatversion = 1\n\tbare = true\n\tfsmonitor = touch ${ran}\n[extensions]\n\tpartialClone = far\n[remote "far"]\n\tpromisor = true\n\turl = ext::touch ${ran}\n[protocol]\n\tallow = always\n`
  writeFileSync(join(clone, 'config'), config)
  writeFileSync(join(clone, '.gitconfig'), config)
  mkdirSync(join(clone, 'objects/info'), { recursive: true })
  writeFileSync(join(clone, 'objects/info/alternates'), '/elsewhere\n')
  symlinkSync(secret, join(clone, `objects/aa`))
  execFileSync('tar', ['-C', top, '-cf', join(top, 'clone.tar'), 'tools.git'])
  const work = join(top, 'work')
  mkdirSync(work)
  await unpack(join(top, 'clone.tar'), work, 'tools', undefined)
  await adoptObjects(work, 'tools')
  const found: (string | undefined)[] = []
  const reader = openBlobReader(gitAt(join(work, 'tools.git')), 'many')
  await reader.read([`${repository.head}:a.ts`, 'b'.repeat(40)], (_, bytes) => found.push(bytes?.toString()))
  expect(found).toEqual(['export const a = 1\n', undefined])
  expect(execFileSync('find', [join(work, 'tools.git'), '-name', 'alternates', '-o', '-type', 'l']).toString()).toBe('')
  expect(() => execFileSync('test', ['-e', ran])).toThrow()
})
