// A plain `base` machine is prepared by one command, with more hosts let through while it runs and not a moment longer.
//
// The programs that would change a machine are recording ones on the sandbox's PATH: this machine stays as it is.
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeSandboxes, type SandboxSettings } from '../../../src/handoff/lines/e2b.js'
import { type SandboxCloud, startSandboxCloud } from '../../../src/local/e2b/index.js'
import { refusal, request, runOptions } from '../../contract/sandboxes-line.js'

const never = new AbortController().signal
const program = '#!/bin/sh\necho drive9\n'
const sha256 = createHash('sha256').update(program).digest('hex')
const binary = { url: 'https://downloads.example/drive9-linux-amd64', sha256 }

let folder: string
let cloud: SandboxCloud
let notices: string[]

const recorder = (more = '') => `#!/bin/sh\necho "\${0##*/} $*" >>${folder}/log\n${more}`

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plain-'))
  writeFileSync(join(folder, 'download'), program)
  const programs = {
    'apt-get': recorder(),
    tee: recorder('cat >/dev/null'),
    chmod: recorder(),
    grep: recorder('exit 1'),
    curl: recorder(`while [ "$1" != -o ]; do shift; done; cp ${folder}/download "$2"`),
    install: recorder(`cp "$3" ${folder}/drive9; /bin/chmod 755 ${folder}/drive9`),
  }
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, name), text, { mode: 0o755 })
  writeFileSync(join(folder, 'log'), '')
  notices = []
  cloud = await startSandboxCloud({ templates: ['base'], path: [folder] })
})

afterEach(async () => {
  await cloud.close()
  rmSync(folder, { recursive: true })
})

function line(more: Partial<SandboxSettings> = {}) {
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  const onNotice = (text: string) => void notices.push(text)
  return makeSandboxes({ apiKey, apiUrl, sandboxUrl, template: 'base', binary, onNotice, ...more })
}

const log = () => readFileSync(join(folder, 'log'), 'utf8')

test('it has everything after one command, and then reaches only what it should', async () => {
  const sandbox = await line().open(request({ egress: ['git.example'] }), never)
  expect(sandbox.preparedMs).toBeGreaterThan(0)
  expect(notices).toEqual([expect.stringMatching(/^Preparing the plain sandbox took \d+\.\d s/)])
  const [wide, narrow, ...more] = cloud.sandboxes[0]!.networks
  expect(wide!.allowOut).toEqual(
    expect.arrayContaining(['git.example', 'downloads.example', 'nodejs.org', 'deb.debian.org']),
  )
  expect(narrow).toEqual({ allowOut: ['git.example'], denyOut: ['0.0.0.0/0'] })
  expect(more).toEqual([])
  const paths = cloud.requests.map(({ path }) => path.replace(sandbox.id, 'id'))
  expect(paths).toEqual(['/v2/sandboxes', '/process.Process/Start', '/sandboxes/id/network'])
  expect(log()).toMatch(/^tee -a \/etc\/fuse\.conf$/m)
  expect(log()).toMatch(/^curl .* https:\/\/downloads\.example\/drive9-linux-amd64$/m)
  expect(log()).toMatch(/^install -m 0755 .* \/usr\/local\/bin\/drive9$/m)
  expect(log()).not.toContain('nodejs.org')
  const seen: string[] = []
  await sandbox.run('drive9', runOptions({ onOutput: (text) => void seen.push(text) }))
  expect(seen).toEqual(['drive9\n'])
  expect(cloud.sandboxes[0]!.commands[0]!.command).not.toContain('downloads.example')
})

test('what is there already is not fetched again', async () => {
  await line().open(request(), never)
  const before = log().match(/^curl/gm)
  expect(before).toHaveLength(1)
  await line().open(request(), never)
  expect(log().match(/^curl/gm)).toHaveLength(1)
})

test('a program that is not what was named is not installed, and the machine is killed', async () => {
  writeFileSync(join(folder, 'download'), 'something else')
  const error = await refusal(line().open(request(), never))
  expect(error).toMatchObject({ code: 'sandbox' })
  expect(error.message).toContain('does not hash to DRIVE9_BINARY_SHA256')
  expect(error.next).toContain('npm run template')
  expect(log()).not.toMatch(/^install/m)
  expect(cloud.sandboxes.map(({ state }) => state)).toEqual(['gone'])
})

test('a list of hosts that cannot be made short again is no list: the machine is killed', async () => {
  cloud.rule({ method: 'PUT', path: /\/network$/, fault: { kind: 'answer', status: 500, body: '{}' } })
  expect((await refusal(line().open(request(), never))).code).toBe('sandbox')
  expect(cloud.sandboxes.map(({ state }) => state)).toEqual(['gone'])
})

test('an abort in the middle of it kills the machine', async () => {
  writeFileSync(join(folder, 'curl'), '#!/bin/sh\nsleep 600\n', { mode: 0o755 })
  const stop = new AbortController()
  const opening = refusal(line().open(request(), stop.signal))
  await expect.poll(() => cloud.sandboxes[0]?.commands.length).toBe(1)
  stop.abort()
  expect((await opening).code).toBe('cancelled')
  expect(cloud.sandboxes.map(({ state }) => state)).toEqual(['gone'])
})

test('where the account has no limits on egress, none are changed', async () => {
  cloud.account.egressRules = false
  const sandbox = await line().open(request(), never)
  expect(sandbox.egressLimited).toBe(false)
  expect(cloud.requests.filter(({ method }) => method === 'PUT')).toEqual([])
})

test('without the program named nothing is paid for', async () => {
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  const plain = makeSandboxes({ apiKey, apiUrl, sandboxUrl, template: 'base' })
  const error = await refusal(plain.open(request(), never))
  expect(error.code).toBe('missing-setting')
  expect(error.next).toContain('DRIVE9_BINARY_SHA256')
  expect(cloud.requests).toEqual([])
})
