// Machines are made, found, kept, stopped and ended, and what they answer when they are no more.
import { Sandbox } from 'e2b'
import { expect, test } from 'vitest'
import { until } from '../../support/until.js'
import { rejection, type SandboxFixture } from './fixture.js'

const unique = () => crypto.randomUUID()

export function lifecycleContract(fixture: SandboxFixture): void {
  test('a machine tells what it was made with', async () => {
    const metadata = { run: unique(), 'a key': 'a/b=c&d é' }
    const sandbox = await fixture.open({ metadata, timeoutMs: 60_000 })
    const info = await sandbox.getInfo()
    expect(info).toMatchObject({ sandboxId: sandbox.sandboxId, metadata, state: 'running' })
    const seconds = (info.endAt.getTime() - info.startedAt.getTime()) / 1000
    expect(seconds).toBeGreaterThan(55)
    expect(seconds).toBeLessThan(65)
    expect(await sandbox.isRunning()).toBe(true)
    await sandbox.kill()
  })

  test('machines are found by all of their metadata, a page at a time', async () => {
    const run = unique()
    const [first, second] = await Promise.all([
      fixture.open({ metadata: { run, role: 'a & b' } }),
      fixture.open({ metadata: { run, role: 'c' } }),
    ])
    const found = async (metadata: Record<string, string>, limit?: number) => {
      const pages = Sandbox.list({ ...fixture.connection, query: { metadata }, ...(limit ? { limit } : {}) })
      const rows: string[][] = []
      while (pages.hasNext) rows.push((await pages.nextItems()).map(({ sandboxId }) => sandboxId))
      return rows
    }
    expect((await found({ run })).flat().sort()).toEqual([first.sandboxId, second.sandboxId].sort())
    expect(await found({ run, role: 'a & b' })).toEqual([[first.sandboxId]])
    expect(await found({ run, role: 'neither' })).toEqual([[]])
    const pages = (await found({ run }, 1)).filter((page) => page.length > 0)
    expect(pages.map((page) => page.length)).toEqual([1, 1])
    expect(pages.flat().sort()).toEqual([first.sandboxId, second.sandboxId].sort())
    await Promise.all([first.kill(), second.kill()])
    expect((await found({ run })).flat()).toEqual([])
  })

  test('joining a machine gives it more time and never less, setting its time does both', async () => {
    const sandbox = await fixture.open({ timeoutMs: 60_000 })
    const secondsLeft = async () => ((await sandbox.getInfo()).endAt.getTime() - Date.now()) / 1000
    const joined = await Sandbox.connect(sandbox.sandboxId, { ...fixture.connection, timeoutMs: 10_000 })
    expect(await secondsLeft()).toBeGreaterThan(40)
    await Sandbox.connect(sandbox.sandboxId, { ...fixture.connection, timeoutMs: 300_000 })
    expect(await secondsLeft()).toBeGreaterThan(250)
    await sandbox.setTimeout(30_000)
    expect(await secondsLeft()).toBeLessThan(32)
    expect((await joined.commands.run('echo joined')).stdout).toBe('joined\n')
    await sandbox.kill()
  })

  test('a machine is killed once', async () => {
    const sandbox = await fixture.open()
    expect(await sandbox.kill()).toBe(true)
    expect(await sandbox.kill()).toBe(false)
    expect(await Sandbox.kill(sandbox.sandboxId, fixture.connection)).toBe(false)
  })

  test('a machine dies at its deadline, and the command that ran in it is reported', async () => {
    const sandbox = await fixture.open({ timeoutMs: 2_000 })
    const cut = rejection(sandbox.commands.run('sleep 600', { timeoutMs: 60_000 }))
    const error = await cut
    expect(error.name).toBe('TimeoutError')
    expect(error.message).toContain('The sandbox was killed or reached its end of life')
    await until('the machine is gone', async () => !(await sandbox.isRunning()))
    expect((await rejection(sandbox.getInfo())).name).toBe('SandboxNotFoundError')
  })
}

export function failureContract(fixture: SandboxFixture): void {
  test('a machine that is gone answers as one that never was', async () => {
    const sandbox = await fixture.open()
    await sandbox.kill()
    const id = sandbox.sandboxId
    expect(await sandbox.isRunning()).toBe(false)
    expect((await rejection(sandbox.commands.run('true'))).name).toBe('SandboxNotFoundError')
    expect((await rejection(sandbox.getInfo())).name).toBe('SandboxNotFoundError')
    expect((await rejection(sandbox.setTimeout(1_000))).name).toBe('SandboxNotFoundError')
    expect((await rejection(Sandbox.connect(id, fixture.connection))).name).toBe('SandboxNotFoundError')
  })

  test('a wrong key is not let in', async () => {
    const error = await rejection(Sandbox.create(fixture.template, { ...fixture.connection, apiKey: 'e2b_0000' }))
    expect(error.name).toBe('AuthenticationError')
    expect(error.message).toMatch(/^Unauthorized, please check your credentials/)
  })

  test('an unknown template and a lifetime beyond the plan are refused', async () => {
    const unknown = await rejection(Sandbox.create('no-such-template-anywhere', fixture.connection))
    expect(unknown).toMatchObject({ name: 'SandboxError', statusCode: 404 })
    const year = 365 * 24 * 3_600_000
    const long = await rejection(Sandbox.create(fixture.template, { ...fixture.connection, timeoutMs: year }))
    expect(long).toMatchObject({ name: 'SandboxError', statusCode: 400 })
  })

  test('domains may be let through only when all else is denied', async () => {
    const network = { allowOut: ['example.com'] }
    const error = await rejection(Sandbox.create(fixture.template, { ...fixture.connection, network }))
    expect(error).toMatchObject({ name: 'SandboxError', statusCode: 400 })
    const limited = await fixture.open({ network: { ...network, denyOut: ['0.0.0.0/0'] } })
    expect((await limited.getInfo()).network).toMatchObject({ allowOut: ['example.com'], denyOut: ['0.0.0.0/0'] })
    await limited.updateNetwork({ allowOut: ['example.org'], denyOut: ['0.0.0.0/0'] })
    expect((await limited.getInfo()).network?.allowOut).toEqual(['example.org'])
    await limited.kill()
  })
}
