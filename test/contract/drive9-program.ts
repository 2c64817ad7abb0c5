// What the `drive9` program does, above all how it fails. Each silent failure of the real one is a test here: who builds on the program may
// rely on exactly these. Any program of that name can be handed in; it talks to the local server, which lives in this process. So nothing here
// touches the mount itself: file operations are made in processes of their own.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type DriveOptions, startDrive } from '../../src/emulators/drive9/server/main.js'
import { kernelOptions } from '../../src/emulators/start-all.js'
import { until } from '../support/until.js'
import { fileOperationsIn } from './file-operations.js'

export interface ProgramUnderTest {
  /** The folder it is in. */
  path: string
  /** How much of the real waiting is waited. */
  timeScale: number
  /** True for ours: what only a plain directory in the place of a mount does is then looked at too. */
  emulator?: boolean
}

interface Outcome {
  code: number
  stdout: string
  stderr: string
  milliseconds: number
}

interface DrainJson {
  ok: boolean
  error?: string
  error_kind?: string
  failed_path?: string
  pending: Record<string, number>
  phases: { name: string }[]
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** A machine of its own: home, temporary files, a mountpoint, a server with a run directory, and a token that opens it. */
async function machine(program: ProgramUnderTest, options: DriveOptions = {}) {
  const server = await startDrive(options)
  const directory = mkdtempSync(join(tmpdir(), 'machine-'))
  for (const name of ['home', 'tmp']) mkdirSync(join(directory, name))
  const mountpoint = join(directory, 'mount')
  const environment: Record<string, string> = {
    PATH: `${program.path}:${process.env['PATH']}`,
    HOME: join(directory, 'home'),
    TMPDIR: join(directory, 'tmp'),
    DRIVE9_SERVER: server.url,
    DRIVE9_API_KEY: server.ownerKey,
    DRIVE9_LOCAL_TIME_SCALE: String(program.timeScale),
    MACHINE: directory,
  }
  server.write('/run/marker.txt', 'marker')
  const files = fileOperationsIn(mountpoint, { ...environment, ...(program.emulator ? kernelOptions : {}) })

  function run(command: string, extra: Record<string, string> = {}, input = ''): Promise<Outcome> {
    const start = Date.now()
    const child = spawn('sh', ['-c', command], { cwd: directory, env: { ...environment, MOUNT: mountpoint, ...extra } })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('latin1').on('data', (text) => {
      stdout += text
    })
    child.stderr.on('data', (text) => {
      stderr += text
    })
    // A program that ends without reading is no reason to fail.
    child.stdin.on('error', () => undefined).end(input)
    return new Promise((resolve, reject) => {
      child.on('error', reject)
      // Waits until every process has closed the output. A mount that keeps it open makes the test fail here.
      child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr, milliseconds: Date.now() - start }))
    })
  }

  async function token(operations: string[], seconds = 60): Promise<{ secret: string; id: string }> {
    const reply = await fetch(`${server.url}/v1/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.ownerKey}` },
      body: JSON.stringify({ subject: 'test', ttl_seconds: seconds, scopes: [{ prefix: '/run', ops: operations }] }),
    })
    const { token: secret, token_id: id } = (await reply.json()) as { token: string; token_id: string }
    return { secret, id }
  }

  const held = {
    server,
    directory,
    files,
    run,
    token,
    mount: (flags = '', extra: Record<string, string> = {}) =>
      run(`drive9 mount --profile=none ${flags} :/run "$MOUNT"`, extra),
    umount: () => run('drive9 umount --timeout 20s "$MOUNT"'),
    async drain(timeout = '20s'): Promise<DrainJson & { code: number }> {
      const { stdout, code } = await run(`drive9 mount drain --timeout ${timeout} --json "$MOUNT"`)
      return { ...(JSON.parse(stdout) as DrainJson), code }
    },
    states: () => readdirSync(join(directory, 'tmp')).filter((name) => name.endsWith('.pid')),
    state: () =>
      JSON.parse(readFileSync(join(directory, 'tmp', held.states()[0] ?? ''), 'utf8')) as {
        pid: number
        control_port: number
      },
    exitRecord: () => {
      const folder = join(directory, 'tmp', `drive9-${process.getuid?.()}`)
      const name = readdirSync(folder).find((each) => each.endsWith('.exit.json')) ?? ''
      return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>
    },
    log: () => {
      const logs = join(directory, 'home/.cache/drive9/mount-logs')
      return readdirSync(logs)
        .map((name) => readFileSync(join(logs, name), 'utf8'))
        .join('')
    },
    sent: (method: string, path: RegExp) =>
      server.requests.filter((request) => request.method === method && path.test(request.path)),
    text: (path: string) => server.readFile(path)?.toString('utf8'),
  }

  async function tidy(): Promise<void> {
    files.close()
    server.clearRules()
    // A program that mounts for real leaves a mount behind where a test did not end it.
    if (isMounted(mountpoint))
      await run('drive9 umount --timeout 10s "$MOUNT"; ! mountpoint -q "$MOUNT" || umount -l "$MOUNT"')
    const pids = held.states().length > 0 ? [held.state().pid] : []
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    await server.close()
    rmSync(directory, { recursive: true, force: true })
    expect(server.unexpected, 'the program asked for what the service does not have').toEqual([])
  }
  return { ...held, [Symbol.asyncDispose]: tidy }
}

/** From the kernel's list: a look at the directory itself might wait for the mount's process. */
function isMounted(directory: string): boolean {
  const list = '/proc/self/mounts'
  return (
    existsSync(list) &&
    readFileSync(list, 'utf8')
      .split('\n')
      .some((line) => line.split(' ')[1] === directory)
  )
}

/** A zombie process counts as ended. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

export function programContract(title: string, program: ProgramUnderTest): void {
  const scaled = (seconds: number) => seconds * 1000 * program.timeScale
  const emulatorTest = test.skipIf(!program.emulator)

  describe.concurrent(title, () => {
    describe.concurrent('a mount', () => {
      test('shows what is there and carries over what is done, until it is gone', async () => {
        await using a = await machine(program)
        a.server.write('/run/analysis/old.txt', 'old')
        a.server.write('/run/analysis/gone.txt', 'gone')
        expect(await a.mount()).toMatchObject({
          code: 0,
          stdout: '',
          stderr: expect.stringContaining('component: drive9'),
        })
        expect(await a.run('drive9 mount health "$MOUNT"')).toMatchObject({ code: 0, stdout: 'ok\n' })
        expect(await a.files.text('analysis/old.txt')).toBe('old')
        const work =
          'mkdir -p deep/er && echo new > deep/er/new.txt && echo more >> analysis/old.txt && rm analysis/gone.txt'
        expect(await a.run(`cd "$MOUNT" && ${work} && : > empty`)).toMatchObject({ code: 0, stderr: '' })
        expect(await a.drain()).toMatchObject({ ok: true, code: 0 })
        expect(await a.umount()).toMatchObject({ code: 0 })
        expect(a.server.tree('/run').map(({ path, size }) => `${path} ${size}`)).toEqual([
          '/run 0',
          '/run/analysis 0',
          '/run/analysis/old.txt 8',
          '/run/deep 0',
          '/run/deep/er 0',
          '/run/deep/er/new.txt 4',
          '/run/empty 0',
          '/run/marker.txt 6',
        ])
        expect(await a.files.list(), 'the directory below is empty again').toEqual([])
        expect(a.states()).toEqual([])
        expect(await a.run('drive9 mount health "$MOUNT"')).toMatchObject({ code: 1 })
      })

      test('uploads a file that was written beside its name and moved there under that name', async () => {
        await using a = await machine(program)
        await a.mount()
        await a.run('cd "$MOUNT" && echo one > x.tmp && mv -f x.tmp x')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(a.server.tree('/run').map(({ path }) => path)).toEqual(['/run', '/run/marker.txt', '/run/x'])
        expect(a.text('/run/x')).toBe('one\n')
        const puts = a.sent('PUT', /\/run\//)
        const revisions = puts.map((request) => request.headers['x-dat9-expected-revision'])
        // Only where the machine was so slow that the first name was uploaded already it is moved there, and perhaps uploaded again.
        const isSlow = puts[0]?.path.endsWith('/x.tmp')
        expect([['0'], ...(isSlow ? [['0', '1']] : [])]).toContainEqual(revisions)
        expect(a.sent('POST', /rename/).length).toBe(isSlow ? 1 : 0)
      })

      test('moves a file that is already there with one request, and replaces what was there', async () => {
        await using a = await machine(program)
        a.server.write('/run/target', 'old')
        await a.mount()
        await a.files.rename('marker.txt', 'target')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(a.server.tree('/run').map(({ path }) => path)).toEqual(['/run', '/run/target'])
        expect(a.text('/run/target')).toBe('marker')
        expect([a.sent('POST', /rename/).length, a.sent('PUT', /./).length, a.sent('DELETE', /./).length]).toEqual([
          1, 0, 0,
        ])
      })

      test('moves and removes whole folders', async () => {
        await using a = await machine(program)
        for (const name of ['a/1', 'a/b/2', 'c/3']) a.server.write(`/run/${name}`, name)
        await a.mount()
        await a.run('cd "$MOUNT" && mv a z && echo new > z/4 && rm -r c')
        expect(await a.drain()).toMatchObject({ ok: true })
        const files = a.server.tree('/run').filter(({ isDirectory }) => !isDirectory)
        expect(files.map(({ path }) => path)).toEqual(['/run/marker.txt', '/run/z/1', '/run/z/4', '/run/z/b/2'])
        expect(a.sent('POST', /rename/)).toHaveLength(1)
        // A busy machine sends the removal of the file before that of its folder.
        const removed = a.sent('DELETE', /./).map(({ path }) => path.split('/run/')[1]?.split('?')[0])
        expect(['c', 'c/3 c']).toContain(removed.join(' '))
      })

      test('brings large files in both directions as they are, and links as links', async () => {
        await using a = await machine(program)
        const down = randomBytes(2_000_000)
        const up = randomBytes(9_000_000)
        a.server.write('/run/down.bin', down)
        await a.mount()
        expect(sha256(await a.files.read('down.bin'))).toBe(sha256(down))
        await a.files.write('up.bin', up)
        await a.files.link('marker.txt', 'link')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(sha256(a.server.readFile('/run/up.bin') ?? new Uint8Array())).toBe(sha256(up))
        await a.umount()
        await a.mount()
        expect(await a.run('cd "$MOUNT" && readlink link && cat link')).toMatchObject({ stdout: 'marker.txt\nmarker' })
      })

      test('uploads without a drain, and uploads later changes too', async () => {
        await using a = await machine(program)
        await a.mount()
        await a.files.write('a', 'one')
        await until('the file arrives', () => a.text('/run/a') === 'one')
        await a.files.write('a', 'two')
        await until('the change arrives', () => a.text('/run/a') === 'two')
        expect(await a.drain()).toMatchObject({ ok: true })
      })

      emulatorTest('costs three round trips: the directory, the file in it, the file written', async () => {
        await using a = await machine(program)
        const roundTrip = 600
        a.server.rule({ fault: { kind: 'delay', milliseconds: roundTrip } })
        expect((await a.mount()).code).toBe(0)
        await a.files.write('a', 'one')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect((await a.umount()).code).toBe(0)
        const rounds: string[][] = []
        let began = 0
        for (const { at, method } of a.server.requests) {
          // What was asked before the first answer of a round could have come was asked beside it.
          if (rounds.length === 0 || at - began >= roundTrip) {
            began = at
            rounds.push([])
          }
          rounds.at(-1)?.push(method)
        }
        expect(rounds.map((round) => round.sort())).toEqual([['GET', 'HEAD'], ['GET'], ['PUT']])
      })

      test('keeps the key in a file that only its user can read, and forgets it', async () => {
        await using a = await machine(program)
        await a.mount()
        const [name = ''] = a.states()
        expect(name).toMatch(/^drive9-mount-[0-9a-f]{16}\.pid$/)
        const file = join(a.directory, 'tmp', name)
        expect(statSync(file).mode & 0o777).toBe(0o600)
        expect(readFileSync(file, 'utf8')).toContain(a.server.ownerKey)
        await a.umount()
        expect(existsSync(file)).toBe(false)
        expect(a.log()).not.toContain(a.server.ownerKey)
      })

      emulatorTest('leaves its traces in the /tmp of the machine that a local sandbox plays', async () => {
        await using a = await machine(program)
        const folders = { HOME: join(a.directory, 'home/user'), TMPDIR: '' }
        mkdirSync(folders.HOME)
        expect(await a.mount('', folders)).toMatchObject({ code: 0 })
        expect(a.states()).toHaveLength(1)
        expect(await a.run('drive9 umount "$MOUNT"', folders)).toMatchObject({ code: 0 })
      })

      emulatorTest('belongs to the machine: it has its environment and dies with its directory', async () => {
        await using a = await machine(program)
        await a.mount()
        const { pid } = a.state()
        const words = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
        expect(words).toContain(`MACHINE=${a.directory}`)
        expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(a.server.ownerKey)
        await a.files.remove()
        await until('the process behind the mount ends', () => !isAlive(pid))
        expect(a.states()).toEqual([])
      })

      emulatorTest('refuses a control request without the secret', async () => {
        await using a = await machine(program)
        await a.mount()
        const knock = (words: string) =>
          new Promise<string>((resolve) => {
            let answer = ''
            const socket = createConnection(a.state().control_port, '127.0.0.1', () => socket.write(words))
            socket.on('data', (data) => {
              answer += data
            })
            socket.on('error', () => undefined).on('close', () => resolve(answer))
          })
        for (const words of ['hello\n', '{"op":"umount"}\n', '{"op":"umount","secret":"guess"}\n', 'null\n']) {
          expect(await knock(words), words).toBe('')
        }
        expect(await a.run('drive9 mount health "$MOUNT"')).toMatchObject({ code: 0 })
      })

      test('is not made twice, and not over files', async () => {
        await using a = await machine(program)
        await a.mount()
        expect(await a.mount()).toMatchObject({ code: 1, stderr: expect.stringContaining('already mounted') })
        await a.umount()
        await a.files.write('mine', 'mine')
        expect(await a.mount()).toMatchObject({ code: 1, stderr: expect.stringContaining('not empty') })
        expect(await a.files.text('mine')).toBe('mine')
      })
    })

    describe.concurrent('data that is lost', () => {
      test('umount says 0 though a file never arrived', async () => {
        await using a = await machine(program)
        await a.mount()
        a.server.rule({ method: 'PUT', fault: { kind: 'answer', status: 500, body: '{"error":"no"}' } })
        expect(await a.run('echo lost > "$MOUNT/lost" && sync "$MOUNT/lost"')).toMatchObject({ code: 0, stderr: '' })
        expect(await a.umount()).toMatchObject({ code: 0, stderr: '' })
        expect(a.text('/run/lost')).toBeUndefined()
        expect(a.exitRecord(), 'conflicts are not even counted').toMatchObject({ code: 0, pending_files: 0 })
      })

      test('five quick failures are final: no drain and no later mount tries again', async () => {
        await using a = await machine(program)
        await a.mount()
        const forgive = a.server.rule({
          method: 'PUT',
          fault: { kind: 'answer', status: 503, body: '{"error":"later"}' },
        })
        await a.files.write('lost', 'lost')
        const first = await a.drain()
        expect(first).toMatchObject({ ok: false, code: 1, error_kind: 'pending_work_remaining' })
        expect(first.pending).toMatchObject({ commit_queue_conflicts: 1, commit_queue_pending: 0 })
        const tries = a.sent('PUT', /lost/)
        expect(tries.length).toBe(5)
        const pauses = tries.slice(1).map((request, index) => request.at - (tries[index]?.at ?? 0))
        for (const [index, wanted] of [0.2, 0.4, 0.8, 1.6].entries()) {
          expect(pauses[index], `pause ${index}`).toBeGreaterThanOrEqual(scaled(wanted) - 2)
        }
        forgive()
        expect((await a.drain()).ok).toBe(false)
        expect((await a.umount()).code).toBe(0)
        expect((await a.mount()).code).toBe(0)
        expect(await a.files.text('lost'), 'it is still shown').toBe('lost')
        expect((await a.drain()).pending['commit_queue_conflicts']).toBe(1)
        expect([a.sent('PUT', /lost/).length, a.text('/run/lost')]).toEqual([5, undefined])
      })

      test('a file that was given up arrives when it is written again', async () => {
        await using a = await machine(program)
        await a.mount()
        const forgive = a.server.rule({ method: 'PUT', fault: { kind: 'reset' } })
        await a.files.write('late', 'first')
        expect((await a.drain()).ok).toBe(false)
        forgive()
        await a.files.write('late', 'second')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(a.text('/run/late')).toBe('second')
      })

      test('four failures are survived', async () => {
        await using a = await machine(program)
        await a.mount()
        a.server.rule({ method: 'PUT', times: 4, fault: { kind: 'reset' } })
        await a.files.write('late', 'late')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(a.text('/run/late')).toBe('late')
      })

      test('a lost answer is settled by comparing what is there', async () => {
        await using a = await machine(program)
        await a.mount()
        a.server.rule({ method: 'PUT', times: 1, fault: { kind: 'lose-reply' } })
        await a.files.write('twice', 'twice')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(a.server.requests.filter(({ path }) => path.endsWith('/twice')).map(({ method }) => method)).toEqual([
          'PUT',
          'PUT',
          'HEAD',
          'GET',
        ])
        expect(a.text('/run/twice')).toBe('twice')
      })

      test('the last writer wins, silently', async () => {
        await using a = await machine(program)
        await a.mount()
        a.server.write('/run/marker.txt', 'another writer')
        await a.files.write('marker.txt', 'mine')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(a.text('/run/marker.txt')).toBe('mine')
      })

      test('a conflict over nothing is one more try, and then final', async () => {
        await using a = await machine(program)
        await a.mount()
        const conflict = { kind: 'answer', status: 409, body: '{"error":"active upload already exists"}' } as const
        a.server.rule({ method: 'PUT', path: /once/, times: 1, fault: conflict })
        a.server.rule({ method: 'PUT', path: /always/, fault: conflict })
        await a.files.write('once', 'once')
        await a.files.write('always', 'always')
        expect((await a.drain()).pending['commit_queue_conflicts']).toBe(1)
        expect([a.text('/run/once'), a.sent('PUT', /always/).length]).toEqual(['once', 2])
      })

      test('a token that may only read takes writes and drops them', async () => {
        await using a = await machine(program)
        const { secret } = await a.token(['read', 'list'])
        await a.mount('', { DRIVE9_API_KEY: secret })
        expect(await a.run('echo kept? > "$MOUNT/new"')).toMatchObject({ code: 0, stderr: '' })
        expect(await a.drain()).toMatchObject({ ok: false, code: 1 })
        expect((await a.umount()).code).toBe(0)
        expect(a.text('/run/new')).toBeUndefined()
      })

      test('a token that may not delete cannot move what is there', async () => {
        await using a = await machine(program)
        const { secret } = await a.token(['read', 'list', 'write'])
        await a.mount('', { DRIVE9_API_KEY: secret })
        await a.files.rename('marker.txt', 'moved.txt')
        expect((await a.drain()).pending['commit_queue_conflicts']).toBe(1)
        expect([a.text('/run/marker.txt'), a.text('/run/moved.txt')]).toEqual(['marker', undefined])
      })

      test('a removal that the server refuses shows in the drain', async () => {
        await using a = await machine(program)
        const { secret } = await a.token(['read', 'list', 'write'])
        await a.mount('', { DRIVE9_API_KEY: secret })
        await a.files.remove('marker.txt')
        expect((await a.drain()).pending['commit_queue_conflicts']).toBe(1)
        expect(a.text('/run/marker.txt')).toBe('marker')
      })

      test('over the quota all is well until the drain', async () => {
        await using a = await machine(program, { quota: { files: 2 } })
        await a.mount()
        expect(await a.run('cd "$MOUNT" && for n in 1 2 3; do echo $n > $n && sync $n || exit 1; done')).toMatchObject({
          code: 0,
        })
        const drained = await a.drain()
        expect([drained.ok, drained.pending['commit_queue_conflicts']]).toEqual([false, 2])
        expect((await a.run('drive9 mount health "$MOUNT"')).code).toBe(0)
        expect((await a.umount()).code).toBe(0)
        expect(a.server.tree('/run').filter(({ isDirectory }) => !isDirectory).length).toBe(2)
        expect(a.log(), 'only the log says why').toContain('failed for /3: tenant file count quota exceeded')
        expect(JSON.stringify(drained)).not.toContain('quota')
      })

      const refused = (status: number, error: string) =>
        ({ kind: 'answer', status, body: JSON.stringify({ error }) }) as const
      test.for([
        { fault: refused(400, 'invalid path'), number: 'EINVAL' },
        { fault: refused(401, 'invalid API key'), number: 'EIO' },
        { fault: refused(402, 'usage quota exceeded'), number: 'EIO' },
        { fault: refused(403, 'scoped token cannot write'), number: 'EACCES' },
        { fault: refused(413, 'too large'), number: 'EFBIG' },
        { fault: refused(503, 'later'), number: 'EAGAIN' },
        { fault: refused(507, 'tenant storage quota exceeded'), number: 'EIO' },
        { fault: { kind: 'reset' } as const, number: 'EIO' },
      ])('a directory or a link that the server refuses with $fault.status $fault.kind gives $number', async (one) => {
        await using a = await machine(program)
        await a.mount()
        a.server.rule({ method: 'POST', path: /mkdir|symlink/, fault: one.fault })
        await expect(a.files.makeDirectory('new')).rejects.toMatchObject({ code: one.number })
        await expect(a.files.link('marker.txt', 'link')).rejects.toMatchObject({ code: one.number })
        a.server.clearRules()
        await a.files.makeDirectory('new/deep')
        await a.files.link('marker.txt', 'link')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(a.server.tree('/run').map(({ path }) => path)).toEqual(
          ['', '/link', '/marker.txt', '/new', '/new/deep'].map((path) => `/run${path}`),
        )
      })

      test.for([
        { durability: 'fsync', fault: refused(413, 'too large'), number: 'EFBIG' },
        { durability: 'fsync', fault: refused(507, 'tenant storage quota exceeded'), number: 'EIO' },
        { durability: 'fsync', fault: refused(500, 'storage backend unavailable'), number: 'EAGAIN' },
        { durability: 'interactive', fault: refused(507, 'tenant storage quota exceeded'), number: undefined },
      ])('a sync under $durability of a file that the server refuses with $fault.status gives $number', async (one) => {
        await using a = await machine(program)
        await a.mount(`--durability=${one.durability}`)
        a.server.rule({ method: 'PUT', fault: one.fault })
        const synced = await a.files.writeAndSync('new', 'new').catch(({ code }: { code: string }) => code)
        expect(synced).toBe(one.number)
      })

      test('an umount that runs out of time leaves files behind and says 0', async () => {
        await using a = await machine(program)
        await a.mount()
        a.server.rule({ method: 'PUT', fault: { kind: 'hang' } })
        for (const name of ['a', 'b', 'c']) await a.files.write(name, name)
        expect(await a.run('drive9 umount --timeout 300ms "$MOUNT"')).toMatchObject({ code: 0 })
        expect(a.exitRecord()).toMatchObject({ code: 1, detail: 'force quit after second signal', pending_files: 3 })
        expect(a.server.tree('/run').length).toBe(2)
        a.server.clearRules()
        await a.mount()
        expect((await a.drain()).ok, 'what was only cut off is tried again with the same cache').toBe(true)
        expect(a.server.tree('/run').length).toBe(5)
      })

      test('a drain that runs out of time names the file it waits for', async () => {
        await using a = await machine(program)
        await a.mount()
        a.server.rule({ method: 'PUT', fault: { kind: 'hang' } })
        await a.files.write('slow', 'slow')
        const drained = await a.drain('800ms')
        expect(drained).toMatchObject({ ok: false, code: 1, error_kind: 'timeout', failed_path: '/slow' })
        expect(drained.pending).toMatchObject({ commit_queue_pending: 1, commit_queue_in_flight: 1 })
      })

      test('modes are lost with a token and kept with the owner’s key; the drain does not notice', async () => {
        await using a = await machine(program)
        const { secret } = await a.token(['read', 'list', 'write', 'delete'])
        await a.mount('', { DRIVE9_API_KEY: secret })
        await a.files.write('tool', '#!/bin/sh\n')
        await a.files.changeMode('tool', 0o755)
        expect(await a.drain()).toMatchObject({ ok: true })
        await a.umount()
        await a.mount()
        expect(await a.files.mode('tool')).toBe(0o644)
        await a.files.changeMode('tool', 0o750)
        expect(await a.drain()).toMatchObject({ ok: true })
        await a.umount()
        await a.mount()
        expect(await a.files.mode('tool')).toBe(0o750)
      })

      test.for([
        { mode: 0o600, durability: 'fsync', spoiled: true },
        { mode: 0o644, durability: 'fsync', spoiled: false },
        { mode: 0o600, durability: 'interactive', spoiled: false },
      ])('ten megabytes of mode $mode under $durability: right size, wrong bytes: $spoiled', async (one) => {
        await using a = await machine(program)
        const { secret } = await a.token(['read', 'list', 'write', 'delete'])
        await a.mount(`--durability=${one.durability}`, { DRIVE9_API_KEY: secret })
        const content = randomBytes(10 * 1024 * 1024)
        await a.files.write('large', content, { mode: one.mode })
        expect(await a.drain()).toMatchObject({ ok: true })
        const stored = a.server.readFile('/run/large') ?? new Uint8Array()
        expect([stored.length, sha256(stored) !== sha256(content)]).toEqual([content.length, one.spoiled])
      })

      test('names that the service cannot keep are conflicts', async () => {
        await using a = await machine(program)
        await a.mount()
        await a.run(`cd "$MOUNT" && : > 'back\\slash' && : > "$(printf 'latin-\\351')" && : > good`)
        const drained = await a.drain()
        expect([drained.ok, drained.pending['commit_queue_conflicts']]).toEqual([false, 2])
        expect(a.server.tree('/run').map(({ path }) => path)).toEqual(['/run', '/run/good', '/run/marker.txt'])
      })

      test('the usual profile keeps folders with common names from leaving the machine', async () => {
        await using a = await machine(program)
        await a.run('drive9 mount --remote-only "**/keep/dist/**" :/run "$MOUNT"')
        const files = [
          '.git/HEAD',
          'dist/index.js',
          'app.git/HEAD',
          'app.git/refs/heads/build',
          'keep/dist/x',
          'src/tmp/x',
          'src/a',
        ]
        for (const file of files) {
          await a.files.makeDirectory(`${file}/..`)
          await a.files.write(file, file)
        }
        expect((await a.drain()).ok, 'without an error').toBe(true)
        await a.umount()
        const there = a.server.tree('/run').filter(({ isDirectory }) => !isDirectory)
        expect(there.map(({ path }) => path)).toEqual([
          '/run/app.git/HEAD',
          '/run/keep/dist/x',
          '/run/marker.txt',
          '/run/src/a',
        ])
      })
    })

    describe.concurrent('a mount that does not come up', () => {
      test('a directory that is not there: slow, vague, and later writes land on the machine’s own disk', async () => {
        await using a = await machine(program)
        const result = await a.run('drive9 mount --profile=none :/nowhere "$MOUNT"')
        expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('exited before becoming ready') })
        expect(result.stderr).not.toContain('does not exist')
        expect(result.milliseconds).toBeGreaterThanOrEqual(scaled(4))
        expect(a.log()).toContain('remote source "/nowhere" does not exist')
        expect(await a.run('echo here > "$MOUNT/file"')).toMatchObject({ code: 0 })
        expect(await a.run('drive9 mount drain "$MOUNT"')).toMatchObject({ code: 1 })
        expect(await a.run('drive9 umount "$MOUNT"')).toMatchObject({ code: 1 })
      })

      test('a wrong key: half a minute, and the truth only in the log', async () => {
        await using a = await machine(program)
        const wrong = 'drive9_wrong_key'
        const result = await a.mount('', { DRIVE9_API_KEY: wrong })
        expect(result).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('timed out waiting for supervised mount'),
        })
        expect(result.stderr).not.toMatch(/\b401\b|invalid API key/)
        expect(result.milliseconds).toBeGreaterThanOrEqual(scaled(31))
        expect(a.log()).toContain('invalid API key')
        expect(a.log() + result.stderr).not.toContain(wrong)
        expect(a.states()).toEqual([])
      })

      test('a token for another directory fails like a wrong key', async () => {
        await using a = await machine(program)
        const { secret } = await a.token(['read', 'list', 'write', 'delete'])
        const result = await a.run('drive9 mount --profile=none :/ "$MOUNT"', { DRIVE9_API_KEY: secret })
        expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('timed out') })
        expect(result.milliseconds).toBeGreaterThanOrEqual(scaled(31))
      })

      test('no server: longer still', async () => {
        await using a = await machine(program)
        const result = await a.mount('', { DRIVE9_SERVER: 'http://127.0.0.1:9' })
        expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('timed out') })
        expect(result.milliseconds).toBeGreaterThanOrEqual(scaled(33))
        expect(a.log()).toContain('connection refused')
      })

      test('a file that cannot be had fails the mount, and nothing is left in the directory', async () => {
        await using a = await machine(program)
        a.server.write('/run/other.txt', 'other')
        a.server.rule({ path: /marker/, fault: { kind: 'answer', status: 500, body: '{"error":"no"}' } })
        expect(await a.mount('--no-supervise')).toMatchObject({ code: 1 })
        expect(await a.files.list()).toEqual([])
        a.server.clearRules()
        expect(await a.mount('--no-supervise')).toMatchObject({ code: 0 })
      })

      test('trouble on the machine itself ends the attempt, and leaves no process behind', async () => {
        await using a = await machine(program)
        writeFileSync(join(a.directory, 'no-folder'), '')
        const result = await a.mount('', { TMPDIR: join(a.directory, 'no-folder') })
        expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('exited before becoming ready') })
        expect(a.log()).toContain('ENOTDIR')
      })

      test('unsupervised it fails at once, in the foreground with the reason and a code', async () => {
        await using a = await machine(program)
        const key = { DRIVE9_API_KEY: 'drive9_wrong', DRIVE9_LOCAL_TIME_SCALE: '1' }
        const unsupervised = await a.mount('--no-supervise', key)
        expect(unsupervised).toMatchObject({ code: 1, stderr: expect.stringContaining('background mount exited') })
        expect(unsupervised.stderr).toMatch(/ \(log: \/[^)\n]+\)\n$/)
        // One attempt: a supervised mount would make several.
        expect(a.log().match(/exit code=/g)).toHaveLength(1)
        expect(a.log()).toMatch(/exit code=6 reason=startup_transient: remote root "\/run": invalid API key\n$/)
        const foreground = await a.mount('--foreground', key)
        expect(foreground).toMatchObject({ code: 6, stderr: expect.stringContaining('invalid API key') })
        expect(await a.run('drive9 mount --foreground :/nowhere "$MOUNT"')).toMatchObject({ code: 5 })
      })

      test('a server that comes back in time is mounted after all', async () => {
        await using a = await machine(program)
        a.server.setProvisioning(2)
        const slower = { DRIVE9_LOCAL_TIME_SCALE: String(Math.max(program.timeScale, 0.1)) }
        expect(await a.mount('', slower)).toMatchObject({ code: 0 })
        expect(await a.files.text('marker.txt')).toBe('marker')
      })
    })

    describe.concurrent('a mount that breaks', () => {
      test('when the token is taken back, every file is an input/output error, for root too', async () => {
        await using a = await machine(program)
        a.server.write('/run/folder/old', 'old')
        const { secret, id } = await a.token(['read', 'list', 'write', 'delete'])
        await a.mount('', { DRIVE9_API_KEY: secret })
        a.server.expireToken(id)
        await a.files.write('new', 'new')
        expect((await a.drain()).ok).toBe(false)
        const read = await a.run('cat "$MOUNT/marker.txt"')
        expect(read).toMatchObject({ code: 1, stderr: expect.stringMatching(/Input\/output error/) })
        expect((await a.run('echo x > "$MOUNT/marker.txt"')).code, 'writing fails too').not.toBe(0)
        expect((await a.run('echo x > "$MOUNT/folder/new"')).code, 'and so does creating').not.toBe(0)
        expect(a.log()).toContain('invalid API key')
        expect((await a.run('drive9 mount health "$MOUNT"')).code, 'health does not ask the server').toBe(0)
        expect((await a.umount()).code).toBe(0)
        expect([a.text('/run/new'), a.text('/run/marker.txt')]).toEqual([undefined, 'marker'])
      })

      test('when the token expires, reads fail, and a drain with nothing written succeeds', async () => {
        await using a = await machine(program)
        const { secret } = await a.token(['read', 'list', 'write', 'delete'], 3)
        await a.mount('', { DRIVE9_API_KEY: secret })
        await until('the file cannot be read', async () => (await a.run('cat "$MOUNT/marker.txt"')).code !== 0)
        expect(await a.drain()).toMatchObject({ ok: true })
        await a.files.write('new', 'new')
        expect((await a.drain()).pending['dirty_handles'], 'what was written after is not kept quiet').toBe(1)
      })

      test('one refusal is not the end', async () => {
        await using a = await machine(program)
        await a.mount()
        a.server.rule({ method: 'PUT', times: 1, fault: { kind: 'answer', status: 401, body: '{"error":"hiccup"}' } })
        await a.files.write('a', 'a')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(await a.files.text('marker.txt')).toBe('marker')
      })

      test('when its process is killed, writes go to the local disk and a drain fails', async () => {
        await using a = await machine(program)
        await a.mount()
        const { pid } = a.state()
        process.kill(pid, 'SIGKILL')
        await until('it is gone', () => !isAlive(pid))
        expect((await a.run('drive9 mount health "$MOUNT"')).code).toBe(1)
        expect((await a.run('drive9 mount status --json "$MOUNT"')).stdout).toContain('"healthy": false')
        expect((await a.run('echo x > "$MOUNT/x" && cat "$MOUNT/x"')).stdout).toBe('x\n')
        expect((await a.run('drive9 mount drain "$MOUNT"')).code).toBe(1)
        expect((await a.umount()).code).toBe(0)
        expect([await a.files.list(), a.text('/run/x')]).toEqual([[], undefined])
      })

      test('when the server goes away and comes back, nothing is tried again', async () => {
        await using a = await machine(program)
        await a.mount()
        const back = a.server.rule({ fault: { kind: 'reset' } })
        await a.files.write('a', 'a')
        expect((await a.drain()).ok).toBe(false)
        back()
        const before = a.server.requests.length
        expect((await a.drain()).ok).toBe(false)
        expect(a.server.requests.length).toBe(before)
      })

      test('asked to end by a signal it drains and goes', async () => {
        await using a = await machine(program)
        await a.mount()
        const { pid } = a.state()
        await a.files.write('a', 'a')
        process.kill(pid, 'SIGTERM')
        await until('it is gone', () => !isAlive(pid))
        expect([a.text('/run/a'), await a.files.list()]).toEqual(['a', []])
      })
    })

    describe.concurrent('a read-only mount', () => {
      test('lets nothing new stay and sends nothing', async () => {
        await using a = await machine(program)
        const { secret } = await a.token(['read', 'list'])
        await a.mount('--read-only', { DRIVE9_API_KEY: secret })
        expect((await a.files.mode('marker.txt')) & 0o222, 'no write bit').toBe(0)
        await a.files.write('new', 'new')
        await until('the new file is gone', async () => !(await a.files.exists('new')))
        await a.files.write('newer', 'newer')
        expect(await a.drain()).toMatchObject({ ok: true })
        expect(await a.files.list()).toEqual(['marker.txt'])
        await a.umount()
        expect(
          a.server.requests.filter(({ method }) => !['GET', 'HEAD'].includes(method)).map(({ path }) => path),
        ).toEqual(['/v1/tokens'])
      })
    })

    describe.concurrent('the command line', () => {
      test('refuses what it does not know, with the codes of the real program', async () => {
        await using a = await machine(program)
        const codes = async (...commands: string[]) => {
          const results: string[] = []
          for (const command of commands) results.push(`${(await a.run(`drive9 ${command}`)).code} ${command}`)
          return results
        }
        const commands = [
          'fly',
          '',
          'mount --sync-mode=x :/run m',
          'mount :/run m --read-only',
          'fs fly',
          'mount drain --x m',
        ]
        expect(await codes(...commands)).toEqual(commands.map((command) => `2 ${command}`))
        const ones = [
          'mount --profile=portable :/run m',
          'mount --durability=hope :/run m',
          'mount run m',
          'mount drain m',
          'umount m',
        ]
        expect(await codes(...ones)).toEqual(ones.map((command) => `1 ${command}`))
        const bare = await a.run('drive9 mount :/run m', { DRIVE9_API_KEY: '' })
        expect(bare).toMatchObject({ code: 1, stderr: expect.stringContaining('DRIVE9_API_KEY') })
        expect((await a.run('drive9 --version')).stdout).toMatch(/^component: drive9\nversion: /)
        const help = await a.run('drive9 mount drain --help')
        expect(help).toMatchObject({ code: 0 })
        expect(help.stdout + help.stderr).toContain('usage: drive9 mount drain ')
      })

      test('takes the server from the flag, then from the context, then from the environment', async () => {
        await using a = await machine(program)
        mkdirSync(join(a.directory, 'home/.drive9'))
        const context = { type: 'owner', server: 'http://127.0.0.1:9', api_key: 'drive9_other' }
        const config = { current_context: 'stray', contexts: { stray: context } }
        writeFileSync(join(a.directory, 'home/.drive9/config'), JSON.stringify(config))
        expect((await a.run('drive9 fs ls :/run')).stderr, 'the stray context wins').toContain('connection refused')
        expect((await a.mount('--foreground')).code).toBe(6)
        expect((await a.mount(`--server=${a.server.url}`)).code).toBe(0)
        expect((await a.umount()).code).toBe(0)
        rmSync(join(a.directory, 'home/.drive9'), { recursive: true })
        const vault = await a.run('drive9 fs ls :/run', { DRIVE9_VAULT_TOKEN: 'a vault token opens no files' })
        expect(vault).toMatchObject({ code: 1, stderr: expect.stringContaining('invalid API key') })
        expect(await a.run('drive9 fs ls :/run')).toMatchObject({ code: 0, stdout: 'marker.txt\n' })
      })

      test('says of a drain what the real program says', async () => {
        await using a = await machine(program)
        await a.mount()
        const drained = await a.drain()
        expect(drained.phases.map(({ name }) => name)).toEqual([
          'flush_debounced',
          'flush_open_handles',
          'git_overlay',
          'writeback_uploader',
          'commit_queue',
          'notifications',
        ])
        expect(Object.keys(drained.pending).sort()).toEqual([
          'commit_queue_bytes',
          'commit_queue_conflicts',
          'commit_queue_delayed',
          'commit_queue_in_flight',
          'commit_queue_pending',
          'dirty_handles',
          'open_handles',
          'uploader_cached',
          'uploader_cached_bytes',
          'uploader_in_flight',
          'uploader_queued',
        ])
        expect((await a.run('drive9 mount drain "$MOUNT"')).stdout).toMatch(/^drain ok: .* duration=\d+ms\npending: /)
        expect(JSON.parse((await a.run('drive9 mount status --json "$MOUNT"')).stdout)).toMatchObject({
          healthy: true,
          state: 'running',
          supervised: true,
          restarts: 0,
        })
      })

      test('copies and lists without a mount', async () => {
        await using a = await machine(program)
        const large = randomBytes(120_000)
        a.server.write('/fs/deep/large', large)
        a.server.write('/fs/typed', 'typed')
        const good = async (command: string) => {
          const result = await a.run(`drive9 fs ${command}`)
          expect([result.code, result.stderr], command).toEqual([0, ''])
          return result.stdout
        }
        await good('mkdir :/fs/made')
        await good('cp :/fs/deep/large back')
        expect(sha256(readFileSync(join(a.directory, 'back')))).toBe(sha256(large))
        expect(await good('ls :/fs')).toBe('deep/\nmade/\ntyped\n')
        expect(await a.run('drive9 fs cp :/fs/none back')).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('not found'),
        })
        expect(await a.run('drive9 fs cp a b')).toMatchObject({ code: 1 })
      })
    })
  })
}
