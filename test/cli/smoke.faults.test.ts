// The small commands, each in a process of its own, with the clouds of this machine.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { smokeTest } from '../../src/cli/smoke-test.js'
import { makeTerminal } from '../../src/cli/terminal.js'
import type { Rule } from '../../src/emulators/faulty-server.js'
import { type Clouds, startClouds } from '../../src/emulators/start-all.js'
import { parseSettings } from '../../src/handoff/domain/settings.js'
import { createContext } from '../../src/handoff/index.js'
import { makeCallBreaker } from '../support/break-calls.js'
import { runProgram } from '../support/run-program.js'

async function run(name: string, words: string[] = [], environment: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runProgram(`src/cli/${name}.ts`, words, environment)
  return { code, output: stdout + stderr }
}

test('smoke: two sandboxes, one directory, no model', async () => {
  const { code, output } = await run('smoke')
  expect(code, output).toBe(0)
  expect(output).toContain('The sandboxes and the directory work together.')
  expect(output).not.toContain('offline-extractive')
})

test('smoke against a drive9 that fails now and then, and loses what is written, says so', async () => {
  await using clouds = await startClouds({ sandboxes: false, model: false, drive: { quota: { files: 1 } } })
  makeCallBreaker('drive', [{ kind: 'answer', status: 500 }, { kind: 'reset' }]).breakNewKinds(clouds.drive!)
  const { code, output } = await run('smoke', [], { ...clouds.settings, E2B_API_KEY: '' })
  expect(code).toBe(1)
  expect(output).not.toContain('work together')
})

test('smoke tells why drive9 refused the mount', async () => {
  await using clouds = await startClouds({ sandboxes: false, model: false })
  const owner = `Bearer ${clouds.drive!.ownerKey}`
  const body = JSON.stringify({ error: 'this tenant is suspended' })
  const isScoped = ({ headers }: { headers: Record<string, string> }) => headers['authorization'] !== owner
  clouds.drive!.rule({ match: isScoped, fault: { kind: 'answer', status: 403, body } })
  const { code, output } = await run('smoke', [], { ...clouds.settings, E2B_API_KEY: '' })
  expect(code).toBe(1)
  expect(output).toMatch(/could not use the directory \(exit 1\): .*this tenant is suspended/)
})

test.for([
  ['PUT', 'marker', /storage backend unavailable/],
  ['HEAD', '[^/]*', /could not use the directory .*storage backend unavailable|HTTP 500/],
  ['GET', '[^/]*\\?list=1', /could not use the directory .*storage backend unavailable/],
  ['GET', 'marker', /could not use the directory .*storage backend unavailable/],
  ['PUT', 'written', /could not use the directory .*giving up on .*storage backend unavailable/],
  ['GET', 'written', /storage backend unavailable/],
] as const)('smoke with a drive9 that refuses %s %s says so, and leaves no sandbox', async ([method, path, said]) => {
  await using here = await smokeHere()
  here.refuse(method, new RegExp(`/smoke/.*${path}$`))
  await expect(here.run()).rejects.toMatchObject({ message: expect.stringMatching(said), next: expect.any(String) })
  expect(here.clouds.sandboxes.sandboxes.filter(({ state }) => state !== 'gone')).toEqual([])
})

test('smoke with a drive9 that refuses the second sandbox the file says so', async () => {
  await using here = await smokeHere()
  const owner = `Bearer ${here.clouds.drive.ownerKey}`
  here.refuse('GET', /\/smoke\/.*written$/, ({ headers }) => headers['authorization'] !== owner)
  await expect(here.run()).rejects.toMatchObject({
    code: 'sandbox',
    message: expect.stringMatching(/could not use the directory .*storage backend unavailable/),
  })
  expect(here.clouds.sandboxes.sandboxes.filter(({ state }) => state !== 'gone')).toEqual([])
})

test('smoke with a file that cannot be read from the mount says so, and not that other bytes were read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'programs-'))
  chmodSync(folder, 0o755)
  const fails = '#!/bin/sh\necho "sha256sum: -: Input/output error" >&2\nexit 1\n'
  writeFileSync(join(folder, 'sha256sum'), fails, { mode: 0o755 })
  await using here = await smokeHere([folder])
  await expect(here.run()).rejects.toMatchObject({ message: expect.stringContaining('Input/output error') })
  rmSync(folder, { recursive: true })
})

test('smoke names the directory that it could not remove', async () => {
  await using here = await smokeHere()
  here.refuse('DELETE', /\/smoke\//)
  await here.run()
  expect(here.lines()).toMatch(/✓ sandbox 2.*\n {2}The directory \S+\/smoke\/\S+ could not be removed: .*unavailable/s)
})

/** The smoke test in this process, on clouds of its own. */
async function smokeHere(path: string[] = []) {
  const environment = { E2B_DRIVE9_LOCAL_TIME_SCALE: '0.02' }
  const clouds = (await startClouds({ sandboxes: { environment, path } })) as Required<Clouds>
  const context = createContext(parseSettings({ ...clouds.settings, DRIVE9_ROOT: '/handoff' }), {
    program: async () => '',
    emit: () => undefined,
  })
  let text = ''
  const terminal = makeTerminal({ out: { write: (more) => (text += more) }, environment: {} })
  const body = '{"error":"storage backend unavailable"}'
  return {
    clouds,
    lines: () => text,
    run: () => smokeTest(context, terminal, AbortSignal.timeout(60_000)),
    refuse: (method: string, path: RegExp, match: Rule['match'] = () => true) =>
      clouds.drive.rule({ method, path, match, fault: { kind: 'answer', status: 500, body } }),
    [Symbol.asyncDispose]: () => clouds.close(),
  }
}

test('sweep destroys what has lost its owner, and nothing of other projects', async () => {
  await using clouds = await startClouds({ drive: false, model: false })
  const { Sandbox } = await import('e2b')
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = clouds.sandboxes!.settings
  const open = (metadata: Record<string, string>) => Sandbox.create('handoff', { apiKey, apiUrl, sandboxUrl, metadata })
  const ours = await open({ handoff: '1', role: 'ask', run: 'x' })
  const other = await open({ project: 'another' })
  const settings = { ...clouds.settings, HANDOFF_DEADLINE_SECONDS: '1' }
  const look = await run('sweep', ['--all'], settings)
  expect(look.output).toContain(`${ours.sandboxId} since`)
  expect(look.output).toContain('would be destroyed')
  const act = await run('sweep', ['--all', '--yes'], settings)
  expect(act.output).toContain('destroyed')
  const state = (id: string) => clouds.sandboxes!.sandboxes.find((sandbox) => sandbox.id === id)?.state
  expect([state(ours.sandboxId), state(other.sandboxId)]).toEqual(['gone', 'running'])
})

test('sweep sees that an owner died as soon as it has missed two renewals', async () => {
  await using clouds = await startClouds({ drive: false, model: false })
  const { Sandbox } = await import('e2b')
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = clouds.sandboxes!.settings
  const open = async (secondsLeft: number, secondsMeant: number, since = 0) => {
    const metadata = { handoff: '1', 'handoff-until': new Date(Date.now() + secondsMeant * 1_000).toISOString() }
    const timeoutMs = secondsLeft * 1_000
    const { sandboxId } = await Sandbox.create('handoff', { apiKey, apiUrl, sandboxUrl, metadata, timeoutMs })
    const made = clouds.sandboxes!.sandboxes.find(({ id }) => id === sandboxId)!
    Object.assign(made, { createdAt: new Date(Date.now() - since * 1_000) })
    return sandboxId
  }
  const orphans = [await open(50, 900, 300), await open(800, 800, 100)]
  const owned = [await open(110, 900, 300), await open(50, 50, 300), await open(850, 850, 50)]
  const { output } = await run('sweep', [], clouds.settings)
  expect(output).toContain('5 sandboxes of handoff are alive, 2 of them without an owner.')
  expect(orphans.filter((id) => !output.includes(id))).toEqual([])
  expect(owned.filter((id) => output.includes(id))).toEqual([])
})

test('sweep without a key says which', async () => {
  const { code, output } = await run('sweep')
  expect(code).toBe(1)
  expect(output).toContain('E2B_API_KEY')
})
