// The local E2B cloud keeps what the contract of the service says; and what it says of itself beyond that.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Sandbox, type SandboxOpts } from 'e2b'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type SandboxCloud, type SandboxCloudOptions, startSandboxCloud } from '../../../src/emulators/e2b/server.js'
import { rejection } from '../../contract/sandboxes/fixture.js'
import { sandboxServiceContract } from '../../contract/sandboxes.js'

const connectionOf = ({ settings }: SandboxCloud) => ({
  apiKey: settings.E2B_API_KEY,
  apiUrl: settings.E2B_API_URL,
  sandboxUrl: settings.E2B_SANDBOX_URL,
})

sandboxServiceContract('the local cloud', async () => {
  const cloud = await startSandboxCloud()
  return { connection: connectionOf(cloud), template: 'handoff', stop: cloud.close }
})

let cloud: SandboxCloud
const open = (options: SandboxOpts = {}) => Sandbox.create('handoff', { ...connectionOf(cloud), ...options })

beforeEach(async () => {
  cloud = await startSandboxCloud()
})

afterEach(async () => {
  await cloud.close()
})

async function restart(options: SandboxCloudOptions): Promise<void> {
  await cloud.close()
  cloud = await startSandboxCloud(options)
}

describe('what a sandbox has', () => {
  test('its environment is its own, and nothing of ours is in it', async () => {
    await restart({ environment: { FROM_CLOUD: 'c' } })
    const sandbox = await open({ envs: { FROM_CREATE: 'k' } })
    const { stdout } = await sandbox.commands.run('env -0', { envs: { FROM_COMMAND: 'r' } })
    const names = stdout.split('\0').map((entry) => entry.split('=')[0])
    const own = ['E2B_SANDBOX', 'E2B_SANDBOX_ID', 'E2B_TEMPLATE_ID', 'FROM_CLOUD', 'FROM_COMMAND', 'FROM_CREATE']
    const shell = ['HOME', 'LOGNAME', 'PATH', 'PWD', 'SHLVL', 'TMPDIR', 'USER', '_']
    expect(names.filter(Boolean).sort()).toEqual([...own, ...shell].sort())
  })

  test('its PATH survives the login shell, begins as asked and has this Node', async () => {
    const programs = mkdtempSync(join(tmpdir(), 'programs with space-'))
    writeFileSync(join(programs, 'only-here'), '#!/bin/sh\necho found\n', { mode: 0o755 })
    await restart({ path: [programs] })
    const sandbox = await open()
    for (const user of ['user', 'root']) {
      const { stdout } = await sandbox.commands.run('only-here; command -v node; echo "$PATH"', { user })
      expect(stdout.split('\n').slice(0, 2)).toEqual(['found', process.execPath])
      expect(stdout).toContain(`\n${programs}:${dirname(process.execPath)}:`)
    }
    rmSync(programs, { recursive: true })
  })

  test('its homes are its own, and a program that changes its user can walk to them', async () => {
    const [one, other] = await Promise.all([open(), open()])
    await one.commands.run('echo mine > mine.txt; echo passing > "$TMPDIR/passing.txt"')
    const { stdout } = await one.commands.run('ls; cat "$TMPDIR/passing.txt"', { user: 'root' })
    expect(stdout).toBe('passing\n')
    expect((await other.commands.run('ls')).stdout).toBe('')
    const directories = cloud.sandboxes.map(({ directory }) => directory)
    expect(new Set(directories).size).toBe(2)
    for (let path = `${directories[0]}/home/user`; path !== '/'; path = dirname(path))
      expect(statSync(path).mode & 0o001, path).toBe(0o001)
  })

  test('the machine of another is not served with a token that is not its own', async () => {
    const [one, other] = await Promise.all([open(), open()])
    const ask = (path: string, token: string) =>
      fetch(`${cloud.url}${path}`, { headers: { 'e2b-sandbox-id': other.sandboxId, 'x-access-token': token } })
    expect((await ask('/process.Process/Start', 'wrong')).status).toBe(401)
    expect((await ask('/health', 'wrong')).status).toBe(204)
    expect(one.sandboxId.slice(0, 9)).toBe(other.sandboxId.slice(0, 9))
  })
})

describe('what the cloud remembers', () => {
  test('every sandbox, every command and its environment', async () => {
    const sandbox = await open({ metadata: { run: 'r1' } })
    const secret = 'to be found here and nowhere else'
    await rejection(sandbox.commands.run('exit 4', { envs: { TOKEN: secret }, user: 'root', cwd: '/home/user' }))
    await sandbox.kill()
    const record = cloud.sandboxes[0]!
    expect(record).toMatchObject({ id: sandbox.sandboxId, template: 'handoff', metadata: { run: 'r1' }, end: 'killed' })
    expect(record.createdAt.getTime()).toBeLessThanOrEqual(record.killedAt!.getTime())
    expect(record.commands).toHaveLength(1)
    expect(record.commands[0]).toMatchObject({ command: 'exit 4', user: 'root', exitCode: 4 })
    expect(record.commands[0]!.environment).toMatchObject({ TOKEN: secret, HOME: `${record.directory}/root` })
    expect(record.commands[0]!.workingDirectory).toBe(`${record.directory}/home/user`)
    expect(cloud.requests.map(({ method, path }) => `${method} ${path}`)[0]).toBe('POST /v2/sandboxes')
  })

  test('what it was asked for and does not have, refused in the shape of the service', async () => {
    const sandbox = await open()
    const asked = [
      () => sandbox.pty.create({ cols: 80, rows: 24, onData: () => undefined }),
      () => sandbox.fork(),
      () => sandbox.pause(),
      () => sandbox.createSnapshot(),
      () => sandbox.getMetrics(),
      () => sandbox.files.read('x'),
      () => sandbox.files.list('.'),
      () => sandbox.commands.list(),
    ]
    for (const ask of asked) expect((await rejection(ask())).name).toBe('SandboxError')
    expect(cloud.unsupported).toHaveLength(asked.length)
    expect(cloud.unsupported.join('\n')).toMatch(/terminals[\s\S]*fork[\s\S]*snapshots[\s\S]*metrics[\s\S]*files/)
    expect((await rejection(open({ mcp: { duckduckgo: {} } as never }))).name).toBe('SandboxError')
    expect((await rejection(open({ volumeMounts: { '/data': 'volume' } }))).message).toContain('Volume mounts')
    const resume = { onTimeout: 'pause', autoResume: true } as const
    expect((await rejection(open({ lifecycle: resume }))).statusCode).toBe(501)
  })
})

describe('what the account may do', () => {
  test('so many sandboxes at once, and the refusal comes at once', async () => {
    cloud.account.concurrentLimit = 1
    const first = await open()
    const before = cloud.requests.length
    const error = await rejection(open())
    expect(error).toMatchObject({ name: 'RateLimitError', statusCode: 429 })
    expect(cloud.requests.length - before).toBe(1)
    await first.kill()
    await open()
  })

  test('limits on egress and headers only where it has them', async () => {
    cloud.account.egressRules = false
    const deny = { denyOut: ['0.0.0.0/0'] }
    expect(await rejection(open({ network: deny }))).toMatchObject({ statusCode: 403 })
    expect(await rejection(open({ allowInternetAccess: false }))).toMatchObject({ statusCode: 403 })
    const rules = { 'git.example': [{ transform: { headers: { Authorization: 'Basic x' } } }] }
    const error = await rejection(open({ network: { rules } }))
    expect(error).toMatchObject({ statusCode: 400 })
    expect(error.message).toContain('not available for your team')
    Object.assign(cloud.account, { egressRules: true, headerTransforms: true })
    const sandbox = await open({ network: { ...deny, allowOut: ['git.example'], rules } })
    await sandbox.updateNetwork(deny)
    expect(cloud.sandboxes[0]!.networks).toEqual([{ ...deny, allowOut: ['git.example'], rules }, deny])
    const proxy = { egressProxy: { address: 'proxy.example:1080' } }
    expect(await rejection(open({ network: proxy }))).toMatchObject({ statusCode: 403 })
    expect(cloud.sandboxes).toHaveLength(1)
  })
})

test('what is mounted in a sandbox is taken off and not removed through', async () => {
  const kept = mkdtempSync(join(tmpdir(), 'kept-'))
  writeFileSync(join(kept, 'precious'), 'x')
  const sandbox = await open()
  const place = `${cloud.sandboxes[0]!.directory}/home/user/mounted`
  mkdirSync(place)
  const mounted = spawnSync('mount', ['--bind', kept, place]).status === 0
  // Without the right to mount there is nothing to take off; what is checked below holds either way.
  await sandbox.kill()
  expect(statSync(join(kept, 'precious')).size).toBe(1)
  expect(statSync(place, { throwIfNoEntry: false }), mounted ? 'a mount' : 'a folder').toBeUndefined()
  rmSync(kept, { recursive: true })
})
