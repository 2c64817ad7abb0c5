// What a sandbox could do if the repository took it over: write into the stage of its own run for a while, and reach the hosts it was let
// through to. It is looked at while it works, with a git host and a git that take their time.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SandboxRecord } from '../../src/emulators/e2b/server.js'
import { programFolder } from '../../src/emulators/start-all.js'
import { stageOf } from '../../src/handoff/domain/run.js'
import { answerQuestion, layout, type SummariseResult, summarise } from '../../src/handoff/index.js'
import { madeByTest } from '../support/call-log.js'
import { type LocalStack, startLocalStack } from '../support/local-stack.js'
import { processesAbout } from '../support/processes.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { until } from '../support/until.js'

const never = new AbortController().signal
const untrustedUser = 65_534
const name = 'octo/tools'
const cloneToken = 'clone-secret-7f3a9b51c2d84e60'
const asRoot = process.getuid?.() === 0

interface Process {
  id: number
  command: string
  user: number
  environment: string
}

/** Seen from outside, at the moment at which git fetches. */
interface Glimpse {
  token: string
  machine: SandboxRecord
  answers: Record<string, number>
  processes: Process[]
  mountState: { mode: number; readableUntrusted: boolean }
  trustedEnvironment: { readableUntrusted: boolean }
}

let slowGit: string
let stack: LocalStack
let repository: TestRepository
let earlier: SummariseResult
let run: SummariseResult
let glimpse: Glimpse

beforeAll(async () => {
  repository = await makeRepository([{ 'a.ts': 'export const a = 1\n' }, { 'a.ts': 'export const a = 2\n' }])
  slowGit = gitWithSlowList()
  const sandboxes = { path: [slowGit, programFolder] }
  stack = await startLocalStack({ repositories: { [name]: repository.directory }, cloneToken, clouds: { sandboxes } })
  const commit = (sha: string) => stack.commit(name, sha)
  earlier = await summarise(
    { commit: commit(repository.commits[0]!), attempt: 'earlier', cloneToken },
    stack.context,
    never,
  )
  const seen = Promise.withResolvers<Glimpse>()
  stack.remote.rule({ method: 'POST', path: /git-upload-pack/, times: 1, fault: { kind: 'delay', milliseconds: 800 } })
  const context = stack.makeContext()
  const { emit } = context.ports
  context.ports.emit = (event) => {
    emit(event)
    if (event.type === 'sandbox-open') look().then(seen.resolve, seen.reject)
  }
  run = await summarise({ commit: commit(repository.head), attempt: 'watched', cloneToken }, context, never)
  glimpse = await seen.promise
}, 60_000)

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
  rmSync(slowGit, { recursive: true, force: true })
})

/** The survey begins with a list of the commit's files. A slow git keeps it running long enough for the test to inspect it. */
function gitWithSlowList(): string {
  const folder = mkdtempSync(join(tmpdir(), 'slow-git-'))
  chmodSync(folder, 0o755)
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  const script = `#!/bin/sh\ncase "$*" in *'ls-tree -r -t'*) sleep 1 ;; esac\nexec ${git} "$@"\n`
  writeFileSync(join(folder, 'git'), script, { mode: 0o755 })
  return folder
}

async function look(): Promise<Glimpse> {
  const machine = stack.clouds.sandboxes.sandboxes.at(-1)!
  const isFetching = () => processesOf(machine).some(({ command }) => / fetch /.test(command))
  await until('git fetches and the mount stands', () => isFetching() && stateFile(machine) !== undefined)
  const processes = processesOf(machine)
  const state = stateFile(machine)!
  const program = processes.find(({ command }) => / program\.mjs$/.test(command.trim()))!
  const token = machine.commands.at(-1)!.environment['DRIVE9_API_KEY']!
  const seen = {
    token,
    machine,
    answers: await attempts(token),
    mountState: { mode: statSync(state).mode & 0o777, readableUntrusted: readableUntrusted(state) },
    trustedEnvironment: { readableUntrusted: readableUntrusted(`/proc/${program.id}/environ`) },
  }
  const surveying = await until('the survey runs', () => processesOf(machine).find(isSurvey))
  return { ...seen, processes: [...processes, surveying] }
}

const isGit = ({ command }: Process) => /(^|\/)git /.test(command)
const isSurvey = ({ command, environment }: Process) => / survey *$/.test(command) && environment !== ''

/** The file in which the drive9 program keeps its key, once it has mounted. */
function stateFile({ directory }: SandboxRecord): string | undefined {
  const temporary = join(directory, 'tmp')
  const found = readdirSync(temporary).find((file) => /^drive9-mount-.*\.pid$/.test(file))
  return found && join(temporary, found)
}

function readableUntrusted(file: string): boolean {
  return spawnSync('cat', [file], { uid: untrustedUser, gid: untrustedUser, stdio: 'ignore' }).status === 0
}

function processesOf({ directory }: SandboxRecord): Process[] {
  return processesAbout(directory).flatMap((line) => {
    const id = Number(line.split(' ')[0])
    try {
      const status = readFileSync(`/proc/${id}/status`, 'utf8')
      const user = Number(/^Uid:\s+\d+\s+(\d+)/m.exec(status)?.[1])
      const command = readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return [{ id, command, user, environment: readFileSync(`/proc/${id}/environ`, 'latin1') }]
    } catch {
      return []
    }
  })
}

/** What the token opens while it is good. */
async function attempts(token: string): Promise<Record<string, number>> {
  const { drive } = stack.clouds
  const place = layout('/handoff', stack.commit(name, repository.head).repository)
  const own = `${place.runs}/${repository.head}-watched`
  const call = async (method: string, path: string, body?: string) => {
    const headers = { authorization: `Bearer ${token}`, [madeByTest]: '1' }
    const answer = await fetch(`${drive.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
    return answer.status
  }
  const file = (path: string) => `/v1/fs${path}`
  const elsewhere = { subject: 'more', ttl_seconds: 60, scopes: [{ prefix: '/', ops: ['read'] }] }
  return {
    'its own stage': await call('GET', file(`${stageOf(own)}/.handoff-marker`)),
    'the claim of its directory': await call('DELETE', file(`${own}/.handoff-marker`)),
    'its own clone, once sealed': await call('PUT', file(`${own}/project/tools.git.tar`), 'x'),
    'its own summary': await call('PUT', file(`${own}/analysis/code-summary.md`), 'x'),
    'its own seal': await call('PUT', file(`${own}/analysis/handoff.json`), '{}'),
    'an answer of its own': await call('PUT', file(`${own}/analysis/qa/${'0'.repeat(32)}.json`), '{}'),
    'the latest answer': await call('PUT', file(`${own}/analysis/qa-response.md`), 'x'),
    'a file of another run': await call('GET', file(`${earlier.directory}/analysis/handoff.json`)),
    'the list of another run': await call('GET', `${file(earlier.directory)}?list=1`),
    'the list of all runs': await call('GET', `${file(place.runs)}?list=1`),
    'a file with a name that begins alike': await call('GET', file(`${own}0/x`)),
    'a way up': await call('GET', file(`${own}/..%2f..%2fcommits`)),
    'writing into another run': await call('PUT', file(`${earlier.directory}/analysis/files.json`), '{}'),
    'removing another run': await call('DELETE', `${file(earlier.directory)}?recursive=1`),
    'vouching for itself in a commit pointer': await call('PUT', file(place.pointer(repository.head)), '{}'),
    'vouching for itself in a seal note': await call(
      'PUT',
      file(place.sealNote(run?.run ?? (`${repository.head}-watched` as never))),
      '{}',
    ),
    'moving a ref': await call('PUT', file(place.ref('refs/heads/main')), '{}'),
    'another token': await call('POST', '/v1/tokens', JSON.stringify(elsewhere)),
  }
}

test('its token opens the stage of its own run and nothing else', () => {
  const { 'its own stage': own, ...others } = glimpse.answers
  expect(own).toBe(200)
  expect(Object.keys(others)).toHaveLength(17)
  for (const [what, status] of Object.entries(others))
    expect({ what, refused: [400, 403, 404].includes(status) }).toEqual({ what, refused: true })
})

test('its token is revoked with it, and never lives longer than the sandbox can', async () => {
  const after = await attempts(glimpse.token)
  expect(new Set(Object.values(after))).toEqual(new Set([401]))
  const mayLiveUntil = Date.parse(glimpse.machine.metadata['handoff-until']!)
  const issued = stack.clouds.drive.issuedTokens().filter(({ scopes }) => scopes[0]?.prefix === stageOf(run.directory))
  expect(issued).toMatchObject([{ revoked: true }])
  expect(issued[0]!.expiresAt).toBeLessThanOrEqual(mayLiveUntil + 5_000)
})

test('Sandbox B may not write, and its token is revoked too', async () => {
  const tried: number[] = []
  const context = stack.makeContext()
  const { emit } = context.ports
  const attempt = async () => {
    const machine = stack.clouds.sandboxes.sandboxes.at(-1)!
    const token = await until('its command runs', () => machine.commands.at(-1)?.environment['DRIVE9_API_KEY'])
    const headers = { authorization: `Bearer ${token}`, [madeByTest]: '1' }
    const path = `${stack.clouds.drive.url}/v1/fs${run.directory}/analysis/handoff.json`
    for (const method of ['GET', 'PUT', 'DELETE'])
      tried.push((await fetch(path, { method, headers, ...(method === 'PUT' ? { body: '{}' } : {}) })).status)
  }
  let trying: Promise<void> | undefined
  context.ports.emit = (event) => {
    emit(event)
    if (event.type === 'sandbox-open') trying = attempt()
  }
  const { repository: where } = stack.commit(name, repository.head)
  await answerQuestion({ repository: where, name: { run: run.run }, question: { text: 'What is a?' } }, context, never)
  await trying
  expect(tried).toEqual([200, 403, 403])
  const issued = stack.clouds.drive.issuedTokens().at(-1)!
  expect(issued).toMatchObject({ revoked: true, scopes: [{ prefix: run.directory, ops: ['read', 'list'] }] })
})

test('Sandbox A reaches drive9, and the git host until it has cloned; Sandbox B reaches drive9 only', async () => {
  const { repository: where } = stack.commit(name, repository.head)
  const question = { text: 'Where is a?' }
  await answerQuestion({ repository: where, name: { run: run.run }, question }, stack.context, never)
  const [, summarising] = stack.clouds.sandboxes.sandboxes
  const answering = stack.clouds.sandboxes.sandboxes.at(-1)
  const gitHost = new URL(stack.remote.url).hostname
  const { hosts } = stack.context.ports.drive
  const denyOut = ['0.0.0.0/0']
  expect(summarising!.networks).toEqual([
    { allowOut: [...new Set([...hosts, gitHost])], denyOut },
    { allowOut: hosts, denyOut },
  ])
  expect(answering!.networks.at(-1)).toEqual({ allowOut: hosts, denyOut: ['0.0.0.0/0'] })
})

test('the processes that read the repository have neither the mount’s token nor access to it', () => {
  const untrusted = glimpse.processes.filter((one) => isGit(one) || isSurvey(one))
  expect(untrusted.filter(isSurvey)).toHaveLength(1)
  expect(untrusted.filter(isGit).length).toBeGreaterThan(0)
  for (const { command, environment } of untrusted) {
    expect({ command, holdsToken: environment.includes(glimpse.token) }).toEqual({ command, holdsToken: false })
  }
  expect(glimpse.mountState.mode).toBe(0o600)
  expect(
    glimpse.processes.every(({ command }) => !command.includes(glimpse.token) && !command.includes(cloneToken)),
  ).toBe(true)
})

// Another account can only be taken by root, as which a real sandbox runs its command. Elsewhere the permissions above are what there is.
test.runIf(asRoot)('they run as an account that cannot read the token’s file', () => {
  const untrusted = glimpse.processes.filter((one) => isGit(one) || isSurvey(one))
  expect(new Set(untrusted.map(({ user }) => user))).toEqual(new Set([untrustedUser]))
  expect(glimpse.mountState.readableUntrusted).toBe(false)
  expect(glimpse.trustedEnvironment.readableUntrusted).toBe(false)
})
