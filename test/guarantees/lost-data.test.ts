// drive9 can lose data without a word. Each way we know is made to happen to a real workflow, with the real program inside the sandbox: it must end
// in a clear error or in a run that is whole, never in a sealed run with something missing.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fault, RecordedRequest, Rule } from '../../src/emulators/faulty-server.js'
import { programFolder } from '../../src/emulators/start-all.js'
import { type AppContext, isHandoffError, layout, summarise } from '../../src/handoff/index.js'
import { readSealed } from '../../src/handoff/store/run-store.js'
import { type LocalStack, type LocalStackOptions, startLocalStack } from '../support/local-stack.js'
import { makeRepository, type TestRepository } from '../support/repository.js'

const never = new AbortController().signal
let repository: TestRepository

beforeAll(async () => {
  repository = await makeRepository({
    'README.md': '# Tools\n',
    'src/greet.ts': 'export const greet = (name: string) => `Hello, ${name}`\n',
    'bin/run.sh': { executable: '#!/bin/sh\necho hello\n' },
  })
})

afterAll(() => repository?.[Symbol.asyncDispose]())

/** The real program waits seconds before it gives a file up; here it waits as often and much shorter. */
const hasty = { E2B_DRIVE9_LOCAL_TIME_SCALE: '0.02' }

function start(
  options: Omit<LocalStackOptions, 'repositories'> = {},
  path: string[] = [programFolder],
): Promise<LocalStack> {
  return startLocalStack({
    repositories: {},
    clouds: { sandboxes: { path, environment: hasty } },
    ...options,
  })
}

interface Case {
  stack: LocalStack
  context: AppContext
  name: string
  workflow(): Promise<unknown>
  /** Meets what the program in this case's sandbox asks of the drive, and not what the host asks. */
  inside(rule: Omit<Rule, 'match'>, also?: (request: RecordedRequest) => void): void
  pointer(): Buffer | undefined
}

function caseIn(stack: LocalStack, name: string): Case {
  stack.remote.serve(name, repository.directory)
  const commit = stack.commit(name, repository.head, 'refs/heads/main')
  const place = layout('/handoff', commit.repository)
  const { drive } = stack.clouds
  return {
    stack,
    context: stack.context,
    name,
    workflow: () => summarise({ commit, attempt: 'first' }, stack.context, never),
    inside(rule, also) {
      const match = (request: RecordedRequest) => {
        const ours = request.path.includes(`/${name}/`) || request.body.includes(`/${name}/`)
        const fromHost = request.headers['authorization'] === `Bearer ${drive.ownerKey}`
        if (!ours || fromHost) return false
        also?.(request)
        return true
      }
      drive.rule({ ...rule, match })
    },
    pointer: () => drive.readFile(place.pointer(repository.head)),
  }
}

/** How it ended, and that nothing was sealed and no machine is left. */
async function ending({ stack, workflow, name, pointer }: Case): Promise<object> {
  const error: unknown = await workflow().then(
    () => 'sealed',
    (reason: unknown) => reason,
  )
  expect(pointer()).toBeUndefined()
  const { repository: where } = stack.commit(name, repository.head)
  const place = layout('/handoff', where)
  expect(await readSealed(stack.context.ports.drive, place, repository.head, never)).toBeUndefined()
  expect(stack.clouds.drive.tree(place.repository).filter(({ path }) => path.endsWith('handoff.json'))).toEqual([])
  const machines = stack.clouds.sandboxes.sandboxes.filter(({ metadata }) =>
    metadata['run']?.startsWith(repository.head),
  )
  expect(machines.filter(({ state }) => state !== 'gone')).toEqual([])
  if (!isHandoffError(error)) throw error
  expect(error.next).toEqual(expect.any(String))
  return error.toJSON()
}

describe('while the sandbox stores', () => {
  let stack: LocalStack
  beforeAll(async () => {
    stack = await start()
  })
  afterAll(() => stack?.close())

  const refused = { kind: 'answer', status: 500, body: '{"error":"storage backend unavailable"}' } as const

  test('an upload that drive9 gives up ends the run, although umount exits with 0', async () => {
    const one = caseIn(stack, 'octo/refused')
    one.inside({ method: 'PUT', path: /files\.json/, fault: refused })
    expect(await ending(one)).toMatchObject({
      code: 'drive',
      message: expect.stringContaining('could not bring every file'),
    })
  })

  test.each([
    ['', /nothing/],
    [', also when drive9 is refused as it asks why', /outline\.json/],
  ])('a conflict over a missing file ends the run%s', async (how, also) => {
    const one = caseIn(stack, `octo/conflict-${how.length}`)
    const fault = { kind: 'answer', status: 409, body: '{"error":"revision conflict"}' } as const
    one.inside({ method: 'PUT', path: /outline\.json/, fault })
    one.inside({ method: 'HEAD', path: also, fault: refused })
    expect(await ending(one)).toMatchObject({ code: 'drive' })
  })

  test.each<[string, Fault | undefined]>([
    ['', undefined],
    [', also when drive9 is refused as it asks why', refused],
  ])('a token that expires during the run ends it%s', async (how, fault) => {
    const one = caseIn(stack, `octo/expired-${how.length}`)
    using _also = fault && { [Symbol.dispose]: stack.clouds.drive.rule({ path: /^\/v1\/status/, fault }) }
    const expire = () => {
      const token = stack.clouds.drive.issuedTokens().find(({ scopes }) => scopes[0]?.prefix.includes(`/${one.name}/`))
      stack.clouds.drive.expireToken(token!.id)
    }
    one.inside({ method: 'PUT', times: 1, fault: { kind: 'delay', milliseconds: 0 } }, (request) => {
      if (request.method === 'PUT') expire()
    })
    expect(await ending(one)).toMatchObject({ code: 'drive' })
  })

  test('a mount process that dies ends the run, because files then stay on the local disk', async () => {
    const one = caseIn(stack, 'octo/dead')
    let killed = 0
    one.inside({ method: 'PUT', times: 1, fault: { kind: 'delay', milliseconds: 0 } }, (request) => {
      if (request.method === 'PUT' && killed === 0) killed = killMount(stack)
    })
    expect(await ending(one)).toMatchObject({ code: 'drive' })
    expect(killed).toBe(1)
  })

  test('a refused mount ends the run before a file is written', async () => {
    const one = caseIn(stack, 'octo/unmounted')
    one.inside({ fault: { kind: 'answer', status: 403, body: '{"error":"forbidden"}' } })
    expect(await ending(one)).toMatchObject({ code: 'drive', message: expect.stringContaining('did not mount') })
  })

  test('the host finds a file with the right size and wrong bytes', async () => {
    const one = caseIn(stack, 'octo/wrong')
    spoilWhenRead(stack, 'octo/wrong', (bytes) => Buffer.from(bytes).fill(0, 0, 512))
    expect(await ending(one)).toMatchObject({
      code: 'drive',
      message: expect.stringContaining('has other bytes than were sent'),
    })
  })

  test('the host finds that a file vanished after a successful report', async () => {
    const one = caseIn(stack, 'octo/vanished')
    spoilWhenRead(stack, 'octo/vanished', () => undefined)
    expect(await ending(one)).toMatchObject({ code: 'drive', message: expect.stringContaining('is not there') })
  })

  test.each([
    ['small', 'src/greet.ts'],
    ['the first large', 'large/1.bin'],
    ['the fifth large', 'large/5.bin'],
  ])('the host finds a damaged plain file (%s)', async (size, path) => {
    const one = caseIn(stack, `octo/plain-${size.replaceAll(' ', '-')}`)
    const files = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`large/${n + 1}.bin`, randomBytes(50_000)]))
    await using plain = await makeRepository({ 'src/greet.ts': 'export const a = 1\n', ...files })
    stack.remote.serve(one.name, plain.directory)
    const commit = stack.commit(one.name, plain.head)
    const place = layout('/handoff', commit.repository)
    const { drive } = stack.clouds
    const spoil = () => {
      const { path: stored } = drive.tree(place.runs).find((entry) => entry.path.endsWith(`/${path}`))!
      drive.write(stored, Buffer.alloc(drive.readFile(stored)!.length))
      return true
    }
    drive.rule({
      method: 'GET',
      path: /tree\.json$/,
      times: 1,
      match: (request) =>
        request.path.includes(`/${one.name}/`) &&
        request.headers['authorization'] === `Bearer ${drive.ownerKey}` &&
        spoil(),
      fault: { kind: 'delay', milliseconds: 0 },
    })
    const workflow = summarise({ commit, attempt: 'plain', form: 'plain' }, stack.context, never)
    await expect(workflow).rejects.toMatchObject({
      code: 'drive',
      message: expect.stringContaining(`${path} has other bytes than were sent`),
    })
    expect(drive.readFile(place.pointer(plain.head))).toBeUndefined()
  })

  /** A run in the plain form: a link, and a file that is too large to be read back with others. */
  async function plainWalk(name: string, rule: Omit<Rule, 'fault'>) {
    await using plain = await makeRepository({ link: { symlink: 'large.bin' }, 'large.bin': randomBytes(50_000) })
    stack.remote.serve(name, plain.directory)
    const commit = stack.commit(name, plain.head)
    const takeBack = stack.clouds.drive.rule({ ...rule, fault: refused })
    try {
      return await summarise({ commit, attempt: 'plain', form: 'plain' }, stack.context, never)
    } finally {
      takeBack()
    }
  }

  test('a large plain file that cannot be read back ends the run', async () => {
    await expect(
      plainWalk('octo/unread', { method: 'GET', path: /\/octo\/unread\/.*\/large\.bin$/ }),
    ).rejects.toMatchObject({ code: 'drive', message: expect.stringContaining('storage backend unavailable') })
  })

  test('a link that drive9 refuses ends the run', async () => {
    await expect(
      plainWalk('octo/unlinked', { method: 'POST', path: /\/octo\/unlinked\/.*symlink=1/ }),
    ).rejects.toMatchObject({ code: 'drive', message: expect.stringContaining('storage backend unavailable') })
  })

  test('exec bits that drive9 drops are kept inside the clone', async () => {
    const one = caseIn(stack, 'octo/modes')
    await one.workflow()
    const { repository: where } = stack.commit('octo/modes', repository.head)
    const directory = layout('/handoff', where).runs
    const stored = stack.clouds.drive.tree(directory).find(({ path }) => path.endsWith('.git.tar'))!
    const folder = mkdtempSync(join(tmpdir(), 'unpacked-'))
    writeFileSync(join(folder, 'clone.tar'), stack.clouds.drive.readFile(stored.path)!)
    execFileSync('tar', ['-C', folder, '-xf', join(folder, 'clone.tar')])
    const listed = execFileSync('git', ['-C', join(folder, 'modes.git'), 'ls-tree', '-r', repository.head]).toString()
    rmSync(folder, { recursive: true })
    expect(listed).toMatch(/^100755 blob [0-9a-f]{40}\tbin\/run\.sh$/m)
    expect(one.pointer()).toBeDefined()
  })

  test('four refusals that drive9 retries by itself lead to a complete run', async () => {
    const one = caseIn(stack, 'octo/survived')
    one.inside({ method: 'PUT', path: /files\.json/, times: 4, fault: refused })
    await one.workflow()
    expect(one.pointer()).toBeDefined()
  })
})

/** Kills the process behind the mount of the newest sandbox, as the kernel does when memory is short. */
function killMount(stack: LocalStack): number {
  const temporary = join(stack.clouds.sandboxes.sandboxes.at(-1)!.directory, 'tmp')
  const [state] = readdirSync(temporary).filter((name) => /^drive9-mount-.*\.pid$/.test(name))
  const { pid } = JSON.parse(readFileSync(join(temporary, state!), 'utf8')) as { pid: number }
  process.kill(pid, 'SIGKILL')
  return 1
}

/** Changes the stored clone at the last moment: when the host asks for it. */
function spoilWhenRead(stack: LocalStack, name: string, change: (bytes: Buffer) => Buffer | undefined): void {
  const { drive } = stack.clouds
  const match = (request: RecordedRequest) => {
    if (!request.path.includes(`/${name}/`) || request.headers['authorization'] !== `Bearer ${drive.ownerKey}`)
      return false
    const path = decodeURIComponent(request.path.replace(/^\/v1\/fs/, ''))
    const changed = change(drive.readFile(path)!)
    if (changed) drive.write(path, changed)
    else drive.remove(path)
    return true
  }
  drive.rule({ method: 'GET', path: /\.git\.tar$/, times: 1, match, fault: { kind: 'delay', milliseconds: 0 } })
}

describe('when the account has no room', () => {
  test.each([
    ['for the files of the sandbox', 3, 'drive-quota'],
    ['for what the host adds', 6, 'drive-quota'],
  ])('%s: nothing is sealed, and the error says so', async (_what, files, code) => {
    await using stack = await start()
    stack.clouds.drive.setQuota({ files })
    const reported = await ending(caseIn(stack, 'octo/full'))
    expect(reported).toMatchObject({ code })
    expect(JSON.stringify(reported)).toMatch(/quota|room/)
  })
})

describe('when the drive9 program itself lies', () => {
  const lying = (script: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'lying-'))
    chmodSync(folder, 0o755)
    // It says what it is and what it can do as the program does.
    const honest = `case "$*" in *--help|--version) exec ${programFolder}/drive9 "$@";; esac`
    writeFileSync(join(folder, 'drive9'), `#!/bin/sh\n${honest}\n${script}\n`, { mode: 0o755 })
    return folder
  }

  test('a mount that reports success and shows a local directory is refused', async () => {
    const folder = lying('exit 0')
    await using stack = await start({}, [folder, programFolder])
    expect(await ending(caseIn(stack, 'octo/plain'))).toMatchObject({
      code: 'drive',
      message: expect.stringContaining('the mount does not show the run directory'),
    })
    rmSync(folder, { recursive: true })
  })

  test('a program that is too old to drain a mount is refused by its version before it stores anything', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'old-'))
    chmodSync(folder, 0o755)
    const refuse = 'echo "drive9 mount: first positional argument must be a remote source" >&2; exit 1'
    const old = `[ "$1" = --version ] && echo "version: 0a1b2c3" && exit 0\n[ "$2" = drain ] && { ${refuse}; }`
    writeFileSync(join(folder, 'drive9'), `#!/bin/sh\n${old}\nexec ${programFolder}/drive9 "$@"\n`, { mode: 0o755 })
    await using stack = await start({}, [folder, programFolder])
    const one = caseIn(stack, 'octo/old')
    expect(await ending(one)).toMatchObject({
      code: 'sandbox',
      message: expect.stringMatching(/drive9 program, version 0a1b2c3 \(sha256 [0-9a-f]{64}\), has no "mount drain"/),
      next: expect.stringContaining('DRIVE9_BINARY_URL'),
    })
    const stored = stack.clouds.drive.tree('/handoff').filter(({ isDirectory }) => !isDirectory)
    expect(stored.filter(({ path }) => path.includes('/project/') || path.includes('/analysis/'))).toEqual([])
    rmSync(folder, { recursive: true })
  })

  test('a program with another hash than the pinned one seals nothing', async () => {
    await using stack = await start({ settings: { DRIVE9_BINARY_SHA256: 'a'.repeat(64) } })
    expect(await ending(caseIn(stack, 'octo/pinned'))).toMatchObject({
      code: 'sandbox',
      message: expect.stringMatching(
        /has drive9 local with the sha256 [0-9a-f]{64}; DRIVE9_BINARY_SHA256 pins another/,
      ),
    })
  })

  test('the host finds lost data although drain and umount report success', async () => {
    const folder = lying(`[ "$2" = drain ] && echo '{"ok":true}' && exit 0\nexec ${programFolder}/drive9 "$@"`)
    await using stack = await start({}, [folder, programFolder])
    const one = caseIn(stack, 'octo/drained')
    one.inside({ method: 'PUT', path: /outline\.json/, fault: { kind: 'reset' } })
    expect(await ending(one)).toMatchObject({
      code: 'drive',
      message: expect.stringContaining('although drive9 reported success'),
    })
    rmSync(folder, { recursive: true })
  })
})
