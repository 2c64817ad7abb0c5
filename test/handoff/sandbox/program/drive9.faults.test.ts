// Failures inside a sandbox: each ends soon, with the reason that drive9's program knows, and without places of a machine that is gone.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SandboxCloudOptions } from '../../../../src/emulators/e2b/server.js'
import type { RecordedRequest } from '../../../../src/emulators/faulty-server.js'
import { kernelOptions, programFolder } from '../../../../src/emulators/start-all.js'
import { artifact, makeRunId } from '../../../../src/handoff/domain/run.js'
import type { FindTask, ProgramTask, SummariseTask } from '../../../../src/handoff/domain/sandbox-protocol.js'
import type { ProgramRecord } from '../../../../src/handoff/domain/sandbox-protocol-decoder.js'
import { isHandoffError, layout, summarise } from '../../../../src/handoff/index.js'
import { runProgram } from '../../../../src/handoff/sandbox/run-program.js'
import { type OpenedRun, openRun, openSealed } from '../../../../src/handoff/store/run-access.js'
import { readSealed } from '../../../../src/handoff/store/run-store.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'

const never = new AbortController().signal
const name = 'octo/tools'
let repository: TestRepository
const folders: string[] = []

beforeAll(async () => {
  repository = await makeRepository({
    'README.md': '# Tools\n',
    'src/greet.ts': 'export const greet = (name: string) => `Hello, ${name}`\n',
    'src/odd\nname.ts': 'export const odd = 1\n',
  })
})

afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true })
  await repository?.[Symbol.asyncDispose]()
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'programs-'))
  chmodSync(made, 0o755)
  folders.push(made)
  return made
}

/** A `drive9` that comes first on the PATH; `"$real"` is the emulator's. */
function wrapper(script: string): string {
  const made = folder()
  writeFileSync(join(made, 'drive9'), `#!/bin/sh\nreal=${programFolder}/drive9\n${script}\n`, { mode: 0o755 })
  return made
}

/** Real waiting, where it is not said otherwise: a supervised mount that is refused takes half a minute. */
const stack = (path = [programFolder], scale = '1', more: SandboxCloudOptions = {}) =>
  startLocalStack({
    repositories: { [name]: repository.directory },
    clouds: {
      sandboxes: { path, ...more, environment: { E2B_DRIVE9_LOCAL_TIME_SCALE: scale, ...more.environment } },
    },
  })

const timer = (one: LocalStack) =>
  summarise({ commit: one.commit(name, repository.head, 'refs/heads/main'), attempt: 'first' }, one.context, never)

async function failure(work: Promise<unknown>) {
  const error: unknown = await work.then(
    () => 'no error',
    (reason: unknown) => reason,
  )
  if (!isHandoffError(error)) throw error
  const reported = error.toJSON()
  expect(reported.message).not.toMatch(/\/home\/|\/run\/project|log:|https?:/)
  return reported
}

const fromSandbox = (one: LocalStack) => (request: { headers: Record<string, string>; path: string }) =>
  request.headers['authorization'] !== `Bearer ${one.clouds.drive.ownerKey}`

const answer = (status: number, error: string) => ({ kind: 'answer', status, body: JSON.stringify({ error }) }) as const

/** Runs the program in a sandbox of its own, and keeps what it says. */
async function runTask(one: LocalStack, task: ProgramTask, opened: Pick<OpenedRun, 'token' | 'revoke'>) {
  const records: ProgramRecord[] = []
  const machine = { metadata: { handoff: '1' }, lifetimeMs: 60_000, egress: [] }
  const sandbox = await one.context.ports.sandboxes.open(machine, never)
  const outcome = await runProgram(sandbox, {
    program: one.context.program,
    task,
    secrets: { DRIVE9_API_KEY: opened.token.secret },
    timeoutMs: 60_000,
    signal: never,
    onRecord: (record) => records.push(record),
  })
    .then(
      () => 'done',
      (error: unknown) => failure(Promise.reject(error)),
    )
    .finally(() => Promise.all([sandbox.kill(), opened.revoke()]))
  return { outcome, records }
}

describe('a mount', () => {
  test('that is refused ends the run with the reason, though the clone never ends', async () => {
    await using one = await stack()
    one.clouds.drive.rule({ match: fromSandbox(one), fault: answer(401, 'invalid API key') })
    one.remote.rule({ fault: { kind: 'hang' } })
    expect(await failure(timer(one))).toMatchObject({
      code: 'drive',
      message: expect.stringMatching(/did not mount the run directory \(exit 1\): remote root ".*": invalid API key/),
      next: expect.stringContaining('DRIVE9_API_KEY'),
    })
  }, 20_000)

  test('that meets a server which starts is tried a second time', async () => {
    await using one = await stack()
    one.clouds.drive.rule({ match: fromSandbox(one), path: /\?list=1/, times: 1, fault: answer(503, 'starting') })
    await timer(one)
  }, 20_000)

  test('that passes each operation to its server stores the run', async () => {
    await using one = await stack([programFolder], '1', { environment: kernelOptions })
    const { handoff } = await timer(one)
    expect(handoff.artifacts.map(({ path }) => path)).toContain('project/tools.git.tar')
  }, 20_000)

  test('of a program that is not there ends the run', async () => {
    await using one = await stack([], '1', { programs: [] })
    expect(await failure(timer(one))).toMatchObject({ message: expect.stringContaining('no program called drive9') })
  }, 20_000)
})

describe('a file that cannot be stored', () => {
  test('ends the run with the quota that refused it, which only the log names', async () => {
    await using one = await stack([programFolder], '0.02')
    one.clouds.drive.setQuota({ files: 3 })
    expect(await failure(timer(one))).toMatchObject({
      code: 'drive-quota',
      message: expect.stringContaining('tenant file count quota exceeded'),
      next: expect.stringContaining('Remove old runs'),
    })
  })

  test('ends the run with the limit on one file', async () => {
    await using one = await stack([programFolder], '0.02')
    const tooLarge = answer(413, 'upload too large: max 10 bytes')
    one.clouds.drive.rule({ method: 'PUT', match: fromSandbox(one), fault: tooLarge })
    expect(await failure(timer(one))).toMatchObject({
      code: 'drive',
      message: expect.stringContaining('upload too large'),
      next: expect.stringContaining('Leave large files out'),
    })
  })

  test('ends the run with the state of the network', async () => {
    await using one = await stack([programFolder], '0.02')
    one.clouds.drive.rule({ method: 'PUT', match: fromSandbox(one), fault: { kind: 'reset' } })
    expect(await failure(timer(one))).toMatchObject({
      code: 'drive',
      message: expect.stringMatching(/EOF|connection reset/),
      next: expect.stringContaining('DRIVE9_SERVER'),
    })
  })

  const reset = { kind: 'reset' } as const
  test.for([
    { where: 'mkdir', fault: answer(507, 'tenant storage quota exceeded'), number: 'EIO', code: 'drive-quota' },
    { where: 'mkdir', fault: answer(402, 'usage quota of the cluster exceeded'), number: 'EIO', code: 'drive-quota' },
    { where: 'mkdir', fault: answer(403, 'path is outside of the scoped token'), number: 'EACCES', code: 'drive' },
    { where: 'mkdir', fault: answer(401, 'invalid API key'), number: 'EIO', code: 'drive' },
    { where: 'mkdir', fault: answer(503, 'server is shutting down'), number: 'EAGAIN', code: 'drive' },
    { where: 'mkdir', fault: reset, reason: /EOF|connection reset/, number: 'EIO', code: 'drive' },
    { where: 'PUT', fault: answer(507, 'tenant file count quota exceeded'), number: 'EIO', code: 'drive-quota' },
    { where: 'PUT', fault: answer(413, 'upload too large: max 10 bytes'), number: 'EFBIG', code: 'drive' },
    { where: 'PUT', fault: answer(500, 'storage backend unavailable'), number: 'EAGAIN', code: 'drive' },
    { where: 'PUT', fault: reset, reason: /EOF|connection reset/, number: 'EIO', code: 'drive' },
  ])('refused at $where ($fault.kind $fault.status) ends the run with $number and its reason', async (one) => {
    // As with a server nearby: a sync waits for the upload.
    const path = wrapper(`[ "$1 $2" != "mount --profile=none" ] || { shift; set -- mount --durability=fsync "$@"; }
exec "$real" "$@"`)
    await using local = await stack([path, programFolder], '0.02', { environment: kernelOptions })
    const place = one.where === 'PUT' ? { method: 'PUT' } : { path: /\?mkdir=1/ }
    local.clouds.drive.rule({ ...place, match: fromSandbox(local), fault: one.fault })
    const reason = 'body' in one.fault ? JSON.parse(one.fault.body).error : one.reason?.source
    expect(await failure(timer(local))).toMatchObject({
      code: one.code,
      message: expect.stringMatching(new RegExp(`could not be stored \\(${one.number}\\): .*(${reason})`)),
    })
  })

  test('ends the run with what the server says now, when the log says nothing', async () => {
    await using local = await stack([programFolder], '0.02', { environment: kernelOptions })
    let expired = false
    const fromThen = (request: RecordedRequest) => {
      expired ||= fromSandbox(local)(request) && request.path.includes('?mkdir=1')
      return expired && fromSandbox(local)(request)
    }
    local.clouds.drive.rule({ match: fromThen, fault: answer(401, 'invalid API key') })
    expect(await failure(timer(local))).toMatchObject({
      code: 'drive',
      message: expect.stringMatching(/could not be stored \(EIO\): fs: .*invalid API key/),
    })
  })
})

test('the tables are stored while the tar is still being copied', async () => {
  // The first copy's temporary name is a pipe: that copy waits until the pipe is read, and it is read once both tables are there.
  const path = wrapper(`"$real" "$@" || exit
[ "$1 $2" = "mount --profile=none" ] || exit 0
for last in "$@"; do :; done
mkdir "$last/project" && mkfifo "$last/project/.handoff-1.tmp"
(
  tries=0
  until [ -s "$last/analysis/files.json" ] && [ -s "$last/analysis/outline.json" ] && [ -s "$last/analysis/search-pages" ] && [ -s "$last/analysis/search-table.gz" ] || [ $tries -gt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  cat "$last/project/.handoff-1.tmp"
) >/dev/null 2>&1 </dev/null &`)
  await using one = await stack([path, programFolder], '0.02')
  const { ports } = one.context
  const commit = one.commit(name, repository.head)
  const directory = layout('/handoff', commit.repository).run(makeRunId(repository.head, 'pipe'))
  const opened = await openRun(ports, directory, ports.uniqueId(), 60, never)
  const task: SummariseTask = {
    task: 'summarise',
    mount: { server: ports.drive.server, remote: opened.stage, marker: opened.marker },
    clone: { url: commit.cloneUrl, sha: commit.sha },
    repositoryName: 'tools',
    form: 'tar',
    survey: { textBytes: 10_000, include: [], exclude: [] },
    cited: [],
  }
  const { outcome, records } = await runTask(one, task, opened)
  const stored = records.filter((record) => record.type === 'stored').map((record) => record.path)
  expect(stored.sort()).toEqual([
    'analysis/files.json',
    'analysis/outline.json',
    'analysis/search-pages',
    'analysis/search-table.gz',
  ])
  expect(outcome, 'a pipe cannot be synced').toMatchObject({ message: expect.stringContaining('tools.git.tar') })
}, 30_000)

describe('in the second sandbox', () => {
  async function sealed(one: LocalStack) {
    const { directory, handoff } = await timer(one)
    const place = layout('/handoff', one.commit(name, repository.head).repository)
    const run = await readSealed(one.context.ports.drive, place, repository.head, never)
    const needed = new Set<string>(['project/tools.git.tar', artifact.outline, artifact.summary])
    const task: FindTask = {
      task: 'find',
      mount: {
        server: one.context.ports.drive.server,
        remote: directory,
        marker: { path: artifact.handoff, sha256: run!.pointer.handoff },
      },
      artifacts: handoff.artifacts.filter((entry) => needed.has(entry.path)),
      clonePath: 'project/tools.git.tar',
      repositoryName: 'tools',
      commit: repository.head,
      search: { question: 'Where is greet?', terms: [], tokens: 3_000, shown: [] },
      requests: [],
    }
    return { task, directory }
  }

  async function find(one: LocalStack, task: FindTask, directory: string) {
    const opened = await openSealed(one.context.ports, directory, 60, never)
    const { outcome, records } = await runTask(one, task, opened)
    const notices = records.filter((record) => record.type === 'notice').map(({ text }) => text)
    return { outcome, types: new Set(records.map(({ type }) => type)), notices }
  }

  test('a copy of an artifact that broke off is made once more', async () => {
    const path = wrapper(`[ "$1" != fs ] || mkdir "$HOME/failed-once" 2>/dev/null || exec "$real" "$@"
[ "$1" = fs ] || exec "$real" "$@"
echo 'fs: Get "https://drive.example/x?signature=secret": EOF' >&2; exit 1`)
    await using one = await stack([path, programFolder])
    const { task, directory } = await sealed(one)
    expect(await find(one, task, directory)).toMatchObject({
      outcome: 'done',
      notices: [],
    })
  }, 30_000)

  test('a copy that fails twice ends with its reason, without an address', async () => {
    const path = wrapper(`[ "$1" = fs ] || exec "$real" "$@"
echo 'fs: Get "https://drive.example/x?signature=secret": EOF' >&2; exit 1`)
    await using one = await stack([path, programFolder])
    const { task, directory } = await sealed(one)
    expect(await find(one, task, directory)).toMatchObject({
      outcome: { code: 'drive', message: expect.stringMatching(/could not be copied .*: fs: Get: EOF/) },
    })
  }, 30_000)

  test('the clone is unpacked beside the mount', async () => {
    const path = wrapper(`case "$*" in
mount*--read-only*)
  tries=0
  until [ -d "$HOME/work/tools.git" ]; do sleep 0.1; tries=$((tries + 1)); [ $tries -lt 100 ] || exit 1; done ;;
esac
exec "$real" "$@"`)
    await using one = await stack([path, programFolder])
    const { task, directory } = await sealed(one)
    expect(await find(one, task, directory)).toMatchObject({ outcome: 'done' })
  }, 30_000)

  test('a token that is refused ends the search at once, though the mount has not failed yet', async () => {
    const path = wrapper(`case "$*" in
mount*--read-only*) exec sleep 60 ;;
fs*) echo 'fs: invalid API key' >&2; exit 1 ;;
esac
exec "$real" "$@"`)
    await using one = await stack([path, programFolder])
    const { task, directory } = await sealed(one)
    expect(await find(one, task, directory)).toMatchObject({
      outcome: { code: 'drive', message: expect.stringContaining('invalid API key') },
    })
  }, 30_000)

  test.each<[string, string, object | string]>([
    ['fails is begun once more', `mkdir "$HOME/failed-once" 2>/dev/null || exec "$real" "$@"`, 'done'],
    [
      'fails twice ends the search with its reason',
      '',
      { code: 'drive', message: expect.stringContaining('starting') },
    ],
    ['leaves a process that keeps its output open is used', `"$real" "$@"; code=$?; sleep 60 & exit $code`, 'done'],
  ])(
    'a mount that %s',
    async (_, script, outcome) => {
      const path = wrapper(`case "$*" in
mount*--read-only*) ${script}
  echo 'fs: starting' >&2; exit 1 ;;
esac
exec "$real" "$@"`)
      await using one = await stack([path, programFolder])
      const { task, directory } = await sealed(one)
      expect((await find(one, task, directory)).outcome).toEqual(
        typeof outcome === 'string' ? outcome : expect.objectContaining(outcome),
      )
    },
    30_000,
  )

  test('nothing that was found leaves before the mount has shown the sealed directory', async () => {
    const path = wrapper(`[ "$1" = mount ] || exec "$real" "$@"
case "$*" in *--read-only*) sleep 3; exit 0 ;; esac
exec "$real" "$@"`)
    await using one = await stack([path, programFolder])
    const { task, directory } = await sealed(one)
    const { outcome, types } = await find(one, task, directory)
    expect(outcome).toMatchObject({ message: expect.stringContaining('does not show the run directory') })
    expect([...types].filter((type) => type !== 'step' && type !== 'failed')).toEqual([])
  }, 30_000)
})
