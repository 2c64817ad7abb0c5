// An account without our template: a sandbox of `base` is prepared by one command, with more hosts let through while it runs and not a moment
// longer, and the template is built meanwhile for later runs.
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Publisher, startPublisher } from '../../../../src/emulators/drive9/publisher.js'
import { type SandboxCloud, type SandboxCloudOptions, startSandboxCloud } from '../../../../src/emulators/e2b/server.js'
import { makeSandboxes } from '../../../../src/handoff/clients/e2b/client.js'
import { templateName } from '../../../../src/handoff/clients/e2b/install-scripts.js'
import type { ClientSettings } from '../../../../src/handoff/clients/e2b/sdk-calls.js'
import { request, runOptions } from '../../../contract/sandbox-client.js'
import { refusal } from '../../../support/refusal.js'

const never = new AbortController().signal

let publisher: Publisher
let cloud: SandboxCloud
let notices: string[]

beforeEach(async () => {
  notices = []
  publisher = await startPublisher({ program: '#!/bin/sh\necho drive9\n' })
  cloud = await startSandboxCloud({ templates: [], buildMilliseconds: 3_600_000 })
})

afterEach(async () => {
  expect(cloud.unsupported).toEqual([])
  await cloud.close()
  await publisher.close()
})

async function restart(options: SandboxCloudOptions): Promise<void> {
  await cloud.close()
  cloud = await startSandboxCloud({ templates: [], ...options })
}

function makeClient(more: Partial<ClientSettings> = {}) {
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  const onNotice = (text: string) => void notices.push(text)
  const binary = { url: publisher.settings.DRIVE9_BINARY_URL }
  return makeSandboxes({ apiKey, apiUrl, sandboxUrl, binary, onNotice, ...more })
}

const ours = () => templateName({ url: publisher.settings.DRIVE9_BINARY_URL })
const built = () => cloud.templates.find(({ name }) => name === ours())
const asked = () => cloud.requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`)
const downloads = () => publisher.requests.map(({ path }) => path.split('/').at(-1))

test('base has neither Node nor drive9 until it is prepared, and prepared it reaches only what it should', async () => {
  const sandbox = await makeClient({ template: 'base' }).open(request({ egress: ['git.example'] }), never)
  expect(sandbox.template).toBe('base')
  expect(notices).toEqual([expect.stringMatching(/^Preparing a sandbox from base took \d+\.\d s\./)])
  const [wide, narrow, ...more] = cloud.sandboxes[0]!.networks
  expect(wide!.allowOut).toEqual(expect.arrayContaining(['git.example', '127.0.0.1', 'nodejs.org', 'deb.debian.org']))
  expect(narrow).toEqual({ allowOut: ['git.example'], denyOut: ['0.0.0.0/0'] })
  expect(more).toEqual([])
  const paths = cloud.requests.map(({ path }) => path.replace(sandbox.id, 'id'))
  expect(paths).toEqual(['/v2/sandboxes', '/process.Process/Start', '/sandboxes/id/network'])
  expect(downloads()).toEqual(['checksums.txt', 'drive9-linux-amd64'])
  const seen: string[] = []
  await sandbox.run('drive9 && node --version', runOptions({ onOutput: (text) => void seen.push(text) }))
  expect(seen.join('')).toBe(`drive9\n${process.version}\n`)
  expect(readFileSync(`${cloud.sandboxes[0]!.directory}/etc/fuse.conf`, 'utf8')).toBe('user_allow_other\n')
  expect(cloud.sandboxes[0]!.commands[0]!.command).not.toContain(publisher.url)

  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  const { Sandbox } = await import('e2b')
  const plain = await Sandbox.create('base', { apiKey, apiUrl, sandboxUrl })
  for (const name of ['node', 'drive9'])
    await expect(plain.commands.run(`command -v ${name}`)).rejects.toMatchObject({ exitCode: 1 })
})

test('what is there already is not downloaded again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'there-'))
  symlinkSync(process.execPath, join(folder, 'node'))
  const first = await makeClient({ template: 'base' }).open(request(), never)
  copyFileSync(`${cloud.sandboxes[0]!.directory}/usr/local/bin/drive9`, join(folder, 'drive9'))
  chmodSync(join(folder, 'drive9'), 0o755)
  await first.kill()
  await restart({ path: [folder] })
  publisher.requests.length = 0
  await makeClient({ template: 'base' }).open(request(), never)
  expect(downloads()).toEqual(['checksums.txt'])
  expect(existsSync(`${cloud.sandboxes[0]!.directory}/usr/local`)).toBe(false)
  rmSync(folder, { recursive: true })
})

const forged = () =>
  publisher.rule({ path: /linux-amd64$/, fault: { kind: 'answer', status: 200, body: 'something else' } })

test('a program with another hash than its publisher lists is not installed, and the sandbox is killed', async () => {
  forged()
  const error = await refusal(makeClient({ template: 'base' }).open(request(), never))
  expect(error).toMatchObject({ code: 'sandbox' })
  expect(error.message).toContain('does not hash to what its publisher lists')
  expect(cloud.sandboxes.map(({ state }) => state)).toEqual(['gone'])
})

test('a pinned program is compared with the pin alone', async () => {
  const url = publisher.settings.DRIVE9_BINARY_URL
  const pinned = makeClient({ template: 'base', binary: { url, sha256: publisher.sha256 } })
  await pinned.open(request(), never)
  forged()
  const error = await refusal(pinned.open(request(), never))
  expect(error.message).toContain('does not hash to DRIVE9_BINARY_SHA256')
  expect(downloads()).not.toContain('checksums.txt')
})

test.each([
  ['is not there', { kind: 'answer', status: 404 } as const, 'HTTP 404'],
  ['cannot be reached', { kind: 'reset' } as const, 'it cannot be reached'],
  [
    'lists other programs',
    { kind: 'answer', status: 200, body: `${'a'.repeat(64)}  other\n` } as const,
    'no sha256 of',
  ],
  ['is no list', { kind: 'answer', status: 200, body: 'x'.repeat(200_000) } as const, 'too long'],
])('a list of checksums that %s is reported before a sandbox is paid for', async (_, fault, why) => {
  publisher.rule({ path: /checksums/, fault })
  const error = await refusal(makeClient().open(request(), never))
  expect(error.message).toContain(why)
  expect(error.next).toContain('DRIVE9_BINARY_SHA256')
  expect(cloud.sandboxes).toEqual([])
})

test('a list of hosts that cannot be made short again is no list: the sandbox is killed', async () => {
  cloud.rule({ method: 'PUT', path: /\/network$/, fault: { kind: 'answer', status: 500, body: '{}' } })
  expect((await refusal(makeClient({ template: 'base' }).open(request(), never))).code).toBe('sandbox')
  expect(cloud.sandboxes.map(({ state }) => state)).toEqual(['gone'])
})

test('an abort in the middle of it kills the sandbox', async () => {
  publisher.rule({ path: /linux-amd64$/, fault: { kind: 'hang' } })
  const stop = new AbortController()
  const opening = refusal(makeClient().open(request(), stop.signal))
  await expect.poll(downloads, { timeout: 60_000 }).toContain('drive9-linux-amd64')
  stop.abort()
  expect((await opening).code).toBe('cancelled')
  expect(cloud.sandboxes.map(({ state }) => state)).toEqual(['gone'])
})

test('where the account has no limits on egress, none are changed', async () => {
  cloud.account.egressRules = false
  const sandbox = await makeClient({ template: 'base' }).open(request(), never)
  expect(sandbox.egressLimited).toBe(false)
  expect(cloud.requests.filter(({ method }) => method === 'PUT')).toEqual([])
})

test('an account without our template has it built once, and then starts from it', async () => {
  const sandbox = await makeClient().open(request(), never)
  expect(sandbox.template).toBe('base')
  expect(notices).toEqual([
    expect.stringMatching(
      new RegExp(
        `^This E2B account has no template ${ours()} yet\\. Preparing a sandbox from base took .* E2B is building`,
      ),
    ),
  ])
  expect(built()!.builds.map(({ status }) => status)).toEqual(['building'])
  const [step] = built()!.builds[0]!.steps.slice(-1)
  expect(step!.args[0]).toContain(`DRIVE9_BINARY_SHA256=${publisher.sha256}`)

  // Another process: the build is under way, and a second one would end it.
  await makeClient().open(request(), never)
  expect(built()!.builds.map(({ status }) => status)).toEqual(['building'])
  expect(notices[1]).toContain(`E2B is still building the template ${ours()}.`)

  built()!.builds[0]!.readyAt = 0
  cloud.requests.length = 0
  expect((await makeClient().open(request(), never)).template).toBe(ours())
  expect(asked()).toEqual(['POST /v2/sandboxes'])
})

test('a build that failed is started again after an hour', async () => {
  await makeClient().open(request(), never)
  const [build] = built()!.builds
  Object.assign(build!, { status: 'error', reason: { step: '1', message: 'no packages' } })
  await makeClient().open(request(), never)
  expect(built()!.builds).toHaveLength(1)
  expect(notices[1]).toContain('failed; `npm run template` shows its log')
  build!.createdAt = new Date(Date.now() - 61 * 60_000).toISOString()
  await makeClient().open(request(), never)
  expect(built()!.builds.map(({ status }) => status)).toEqual(['error', 'building'])
})

test('sandboxes that one process opens at once start one build', async () => {
  const sandboxes = makeClient()
  await Promise.all([1, 2, 3].map(() => sandboxes.open(request(), never)))
  expect(asked().filter((call) => call === 'POST /v3/templates')).toHaveLength(1)
})

test('a build that cannot be started costs this run nothing but a sentence', async () => {
  cloud.rule({ path: /^\/v3\/templates/, fault: { kind: 'answer', status: 403, body: '{"code":403,"message":"no"}' } })
  const sandbox = await makeClient().open(request(), never)
  expect(sandbox.template).toBe('base')
  expect(notices[0]).toMatch(/Starting the build of the template .* failed: .* The next run tries again\.$/)
})

test('a template that was named is not replaced by another', async () => {
  const error = await refusal(makeClient({ template: 'mine' }).open(request(), never))
  expect(error).toMatchObject({ code: 'missing-setting' })
  expect(error.message).toContain('mine')
  expect(asked()).toEqual(['POST /v2/sandboxes'])
})

test('another program, and another pin, are another template', () => {
  const url = publisher.settings.DRIVE9_BINARY_URL
  const names = [{ url }, { url: `${url}-next` }, { url, sha256: 'a'.repeat(64) }].map(templateName)
  expect(new Set(names).size).toBe(3)
  expect(templateName({ url })).toBe(names[0])
})
