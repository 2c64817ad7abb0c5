// The checks of services hold on the emulators, and each of them notices a service that breaks its promise.
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkNames, runChecks } from '../../src/cli/conformance-checks.js'
import type { Fault, RecordedRequest } from '../../src/emulators/faulty-server.js'
import { startClouds } from '../../src/emulators/start-all.js'
import { HandoffError } from '../../src/handoff/domain/errors.js'
import type { Drive, Sandbox, Sandboxes } from '../../src/handoff/domain/ports.js'
import { parseSettings } from '../../src/handoff/domain/settings.js'
import { createContext } from '../../src/handoff/index.js'
import { runProgram } from '../support/run-program.js'

type Clouds = Awaited<ReturnType<typeof startClouds>>
interface Services {
  sandboxes: Sandboxes
  drive: Drive
}
type Break = (services: Services) => Partial<Services>

/** The time of the drive and of the checks: a sleep moves it, and waits only as long as a sandbox needs to end by itself. */
const time = { ahead: 0 }
const now = () => Date.now() + time.ahead
let clouds: Clouds
beforeAll(async () => {
  clouds = await startClouds({ drive: { now } })
})
afterAll(() => clouds?.close())

async function check(names: string[], breaking: Break = () => ({}), outside?: { host: string; port: number }) {
  const context = createContext(parseSettings({ ...clouds.settings, DRIVE9_ROOT: '/handoff' }), {
    program: async () => '',
    emit: () => undefined,
    clock: {
      now,
      async sleep(milliseconds) {
        time.ahead += milliseconds
        await new Promise((resolve) => setTimeout(resolve, 20))
      },
    },
  })
  const ports = { ...context.ports, ...breaking(context.ports) }
  const results = await runChecks(
    {
      context: { ...context, ports },
      directory: `/handoff/_conformance/${context.ports.uniqueId()}`,
      ...(outside ? { outside } : {}),
      signal: AbortSignal.timeout(60_000),
    },
    () => undefined,
    names,
  )
  expect(results.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  expect(clouds.sandboxes!.sandboxes.filter(({ state }) => state !== 'gone')).toEqual([])
  expect(clouds.drive!.tree('/handoff/_conformance').filter(({ isDirectory }) => !isDirectory)).toEqual([])
  return Object.fromEntries(results.map((result) => [result.name, result]))
}

test('all checks hold on the emulators, but for what their sandboxes do not have', async () => {
  const { code, stdout, stderr } = await runProgram('src/cli/conformance.ts', ['--json'], {})
  expect(code, stderr).toBe(0)
  const outcomes = JSON.parse(stdout).checks.map(({ name, outcome }: { name: string; outcome: string }) => [
    name,
    outcome,
  ])
  const without = ['header rules', 'egress limits']
  expect(outcomes).toEqual(checkNames.map((name) => [name, without.includes(name) ? 'absent' : 'holds']))
  expect(stderr).toContain('handoff works on these services.')
})

const opened = (sandboxes: Sandboxes, change: (sandbox: Sandbox) => Partial<Sandbox>): Sandboxes => ({
  ...sandboxes,
  open: async (...call) => {
    const sandbox = await sandboxes.open(...call)
    return { ...sandbox, ...change(sandbox) }
  },
})

const broken: [name: string, breaking: Break, problem: RegExp][] = [
  [
    'conditional writes',
    ({ drive }) => ({
      drive: { ...drive, write: (path, bytes, { signal }) => drive.write(path, bytes, { signal }) },
    }),
    /must be refused with a conflict; it was accepted/,
  ],
  [
    'large files',
    ({ drive }) => ({
      drive: {
        ...drive,
        write: (path, bytes, options) =>
          drive.write(path, bytes.length > 1_000_000 ? bytes.fill(0, 0, 9) : bytes, options).then((written) => {
            if (bytes.length > 1_000_000) bytes.fill(1, 0, 9)
            return written
          }),
      },
    }),
    /9,000,000 bytes was not kept/,
  ],
  [
    'quotas',
    ({ drive }) => ({ drive: { ...drive, status: async () => ({ ready: true, largestFileBytes: 5_000_000 }) } }),
    /A file may have 5,000,000 bytes/,
  ],
  ['quotas', ({ drive }) => ({ drive: { ...drive, status: async () => ({ ready: false }) } }), /is not ready/],
  ['lists, moves, removal', ({ drive }) => ({ drive: { ...drive, move: async () => true } }), /was not moved whole/],
  [
    'scoped tokens',
    ({ drive }) => ({
      drive: {
        ...drive,
        issueToken: async (...call) => ({ ...(await drive.issueToken(...call)), secret: clouds.drive!.ownerKey }),
      },
    }),
    /outside the directory of a token was accepted/,
  ],
  [
    'end of tokens',
    ({ drive }) => ({
      drive: {
        ...drive,
        issueToken: (request, signal) => drive.issueToken({ ...request, lifetimeSeconds: 600 }, signal),
      },
    }),
    /whose two seconds were over was accepted/,
  ],
  [
    'create',
    ({ sandboxes }) => ({
      sandboxes: { ...sandboxes, open: () => Promise.reject(new HandoffError('sandbox', 'No sandbox today.')) },
    }),
    /No sandbox today/,
  ],
  ['metadata', ({ sandboxes }) => ({ sandboxes: { ...sandboxes, find: async () => [] } }), /0 sandboxes were found/],
  [
    'commands',
    ({ sandboxes }) => ({
      sandboxes: opened(sandboxes, ({ run }) => ({
        run: (command, options) => run(command, { ...options, environment: {} }),
      })),
    }),
    /did not see its environment/,
  ],
  [
    'streaming',
    ({ sandboxes }) => ({
      sandboxes: opened(sandboxes, ({ run }) => ({
        async run(command, options) {
          let output = ''
          const ended = await run(command, {
            ...options,
            onOutput: (text) => {
              output += text
            },
          })
          options.onOutput(output)
          return ended
        },
      })),
    }),
    /only when the command had ended/,
  ],
  [
    'header rules',
    ({ sandboxes }) => ({ sandboxes: opened(sandboxes, () => ({ headersInjected: true })) }),
    /no header was added .*401/,
  ],
  [
    'lifetime',
    ({ sandboxes }) => ({
      sandboxes: {
        ...sandboxes,
        open: (request, signal) => sandboxes.open({ ...request, lifetimeMs: 600_000 }, signal),
      },
    }),
    /is still there/,
  ],
  [
    'kill',
    ({ sandboxes }) => ({
      sandboxes: {
        ...sandboxes,
        async open(request, signal) {
          const sandbox = await sandboxes.open(request, signal)
          let calls = 0
          const first = async () => {
            calls += 1
            if (calls > 1) await sandbox.kill()
          }
          return request.lifetimeMs === 300_000 && request.metadata['role'] === 'conformance'
            ? { ...sandbox, kill: first }
            : sandbox
        },
      },
    }),
    /is still listed/,
  ],
  [
    'mount and drain',
    ({ drive }) => ({
      drive: {
        ...drive,
        digest: async (path, signal) => (path.includes('/smoke/') ? null : drive.digest(path, signal)),
      },
    }),
    /is not what the first sandbox wrote/,
  ],
]

test.each(broken)('a service that breaks %s is noticed', async (name, breaking, problem) => {
  const results = await check([name], breaking)
  expect(results[name]).toMatchObject({
    outcome: 'fails',
    problem: expect.stringMatching(problem),
    meaning: expect.any(String),
  })
})

const storageFails: Fault = { kind: 'answer', status: 500, body: '{"error":"storage backend unavailable"}' }
const drives = ['conditional writes', 'large files', 'lists, moves, removal', 'scoped tokens', 'end of tokens']

test.each(['GET', 'HEAD', 'PUT'])('a drive that refuses each %s fails in its own words', async (method) => {
  const takeBack = clouds.drive!.rule({ method, path: /\/_conformance\//, fault: storageFails })
  const results = await check(drives).finally(takeBack)
  const problems = Object.values(results).flatMap(({ problem }) => problem ?? [])
  expect(problems.length).toBeGreaterThan(0)
  expect(problems.filter((problem) => !/storage backend unavailable|answered 500/.test(problem))).toEqual([])
})

test.each([
  ['read', ['GET']],
  ['write', ['PUT', 'HEAD']],
])('a drive that fails at each %s with a scoped token is noticed', async (_what, methods) => {
  const { ownerKey } = clouds.drive!
  const match = ({ headers }: RecordedRequest) => headers['authorization'] !== `Bearer ${ownerKey}`
  for (const method of methods) clouds.drive!.rule({ method, path: /\/_conformance\//, match, fault: storageFails })
  const results = await check(['scoped tokens']).finally(() => clouds.drive!.clearRules())
  expect(results['scoped tokens']).toMatchObject({
    outcome: 'fails',
    problem: expect.stringMatching(/storage backend unavailable|answered 500/),
  })
})

test('a full account is noticed', async () => {
  clouds.drive!.setQuota({ files: 0 })
  const results = await check(['quotas']).finally(() => clouds.drive!.setQuota({}))
  expect(results['quotas']).toMatchObject({ outcome: 'fails', meaning: expect.stringContaining('limits') })
})

test('a removal whose reply is lost leaves nothing, and the checks hold', async () => {
  // A folder of a check, and the folder of all checks.
  for (const path of [/\/_conformance\/[^/?]+\/[^?]+\?recursive=1$/, /\/_conformance\/[^/?]+\?recursive=1$/])
    clouds.drive!.rule({ method: 'DELETE', path, times: 1, fault: { kind: 'lose-reply' } })
  const name = 'lists, moves, removal'
  const results = await check([name]).finally(() => clouds.drive!.clearRules())
  expect(results[name]).toMatchObject({ outcome: 'holds' })
})

test('without a sandbox the checks that need one are not made', async () => {
  const results = await check(['kill'], ({ sandboxes }) => ({
    sandboxes: { ...sandboxes, open: () => Promise.reject(new HandoffError('sandbox', 'No sandbox today.')) },
  }))
  expect(results['kill']!.outcome).toBe('not checked')
})

test('a limit of egress that is accepted and not kept is noticed', async () => {
  const reached = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => reached.listen(0, '127.0.0.1', resolve))
  const { port } = reached.address() as { port: number }
  const results = await check(['egress limits'], undefined, { host: '127.0.0.1', port })
  reached.close()
  expect(results['egress limits']).toMatchObject({ outcome: 'fails', problem: expect.stringContaining('do not allow') })
})
