// Nothing that a sandbox started outlives it: not after a kill, not after its deadline, not after the cloud itself was killed.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Sandbox } from 'e2b'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type SandboxCloud, startSandboxCloud } from '../../../src/emulators/e2b/server.js'
import { rejection } from '../../contract/sandboxes/fixture.js'
import { until } from '../../support/until.js'

let cloud: SandboxCloud
/** Found in the command lines of what this test starts, and in no other's. */
let word: string

beforeEach(async () => {
  cloud = await startSandboxCloud()
  word = `word-${crypto.randomUUID()}`
})

afterEach(async () => {
  await cloud.close()
})

const open = (timeoutMs = 60_000) => {
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  return Sandbox.create('handoff', { apiKey, apiUrl, sandboxUrl, timeoutMs })
}

/** Every process on this machine with the word in its command line; the dead that wait to be reaped have none. */
function alive(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((id) => {
      try {
        return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(word)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** One process each, which never forks: the copy of a process that is about to become another would be counted too. */
const sleeper = () => `bash -c 'exec -a ${word} sleep 600' >/dev/null 2>&1 </dev/null`

/** Ways to get away. */
const ways = () => ({
  'a new session': `setsid ${sleeper()} &`,
  'a double fork': `( setsid ${sleeper()} & ) &`,
  'an empty environment': `env -i ${sleeper()} &`,
  'an empty environment elsewhere': `cd /; env -i ${sleeper()} &`,
  'an empty environment in a new session': `env -i setsid ${sleeper()} &`,
  'deaf to signals': `trap '' TERM INT HUP; nohup ${sleeper()} &`,
  'a stopped one': `bash -c 'kill -STOP $$; : ${word}' >/dev/null 2>&1 </dev/null &`,
})

async function startAll(sandbox: Sandbox): Promise<void> {
  for (const way of Object.values(ways())) await sandbox.commands.run(way)
  await until('all of them run', () => alive().length === Object.keys(ways()).length)
}

test('a kill ends them all and leaves no directory', async () => {
  const [sandbox, other] = await Promise.all([open(), open()])
  await startAll(sandbox)
  await other.commands.run(`setsid ${sleeper()} &`)
  await until('the other one runs', () => alive().length === Object.keys(ways()).length + 1)
  await sandbox.kill()
  expect(alive()).toHaveLength(1)
  expect(existsSync(cloud.sandboxes[0]!.directory)).toBe(false)
  expect(existsSync(cloud.sandboxes[1]!.directory)).toBe(true)
  expect((await other.commands.run('echo well')).stdout).toBe('well\n')
})

test('processes that keep starting others are ended too', async () => {
  const sandbox = await open()
  const script = `while :; do ( setsid ${sleeper()} & ); sleep 0.02; done`
  const handle = await sandbox.commands.run(script, { background: true, timeoutMs: 0 })
  const ended = rejection(handle.wait())
  await until('some run', () => alive().length > 5)
  await sandbox.kill()
  expect(alive()).toEqual([])
  expect((await ended).name).toBe('TimeoutError')
})

test('the deadline ends them all', async () => {
  const sandbox = await open(2_000)
  await startAll(sandbox)
  const record = cloud.sandboxes[0]!
  await until('it is gone', () => record.killedAt)
  expect(record.end).toBe('deadline')
  expect(alive()).toEqual([])
  expect(existsSync(record.directory)).toBe(false)
})

test('closing the cloud ends them all, and can be done twice', async () => {
  const sandbox = await open()
  await startAll(sandbox)
  await Promise.all([cloud.close(), cloud.close()])
  expect(alive()).toEqual([])
  expect(existsSync(cloud.directory)).toBe(false)
  expect(cloud.sandboxes[0]!.end).toBe('closed')
})

const program = `
import { startSandboxCloud } from ${JSON.stringify(new URL('../../../src/emulators/e2b/server.ts', import.meta.url).href)}
const cloud = await startSandboxCloud()
console.log(JSON.stringify({ settings: cloud.settings, directory: cloud.directory }))
`

test('a cloud that is killed leaves nothing for long', async () => {
  const typescript = new URL('../../../src/build/ts-loader.mjs', import.meta.url).href
  const child = spawn(process.execPath, ['--import', typescript, '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await createInterface(child.stdout)
    [Symbol.asyncIterator]()
    .next()
    .then(({ value }) => [value as string])
  const { settings, directory } = JSON.parse(line!) as Pick<SandboxCloud, 'settings' | 'directory'>
  const connection = {
    apiKey: settings.E2B_API_KEY,
    apiUrl: settings.E2B_API_URL,
    sandboxUrl: settings.E2B_SANDBOX_URL,
  }
  const sandbox = await Sandbox.create('handoff', connection)
  await sandbox.commands.run(`setsid ${sleeper()} &`)
  await until('it runs', () => alive().length > 0)
  expect(existsSync(directory)).toBe(true)
  child.kill('SIGKILL')
  await until('the guard has cleared up', () => alive().length === 0 && !existsSync(directory))
})
