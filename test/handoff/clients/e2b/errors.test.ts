// Every row of the one table, each brought about by the unmodified SDK, so that a new version of it cannot say something else unnoticed.
import { describe, expect, test } from 'vitest'
import { type SandboxCloud, startSandboxCloud } from '../../../../src/emulators/e2b/server.js'
import type { Fault } from '../../../../src/emulators/faulty-server.js'
import { buildTemplate } from '../../../../src/handoff/clients/e2b/build-template.js'
import { makeSandboxes } from '../../../../src/handoff/clients/e2b/client.js'
import { errorRows, explainFailure, rowFor } from '../../../../src/handoff/clients/e2b/errors.js'
import type { ClientSettings } from '../../../../src/handoff/clients/e2b/sdk-calls.js'
import type { Sandbox } from '../../../../src/handoff/domain/ports.js'
import { request, runOptions } from '../../../contract/sandbox-client.js'
import { refusal } from '../../../support/refusal.js'

const never = new AbortController().signal
/** Printed, sent or answered in every case, and never to be seen in an error. */
const secret = 'value-that-must-stay-secret'

function makeStage(cloud: SandboxCloud) {
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  const settings = (more: Partial<ClientSettings> = {}) => ({
    apiKey,
    apiUrl,
    sandboxUrl,
    template: 'handoff',
    ...more,
  })
  const open = (more: Partial<ClientSettings> = {}, lifetimeMs = 60_000) =>
    makeSandboxes(settings(more)).open(request({ lifetimeMs }), never)
  return {
    cloud,
    settings,
    open,
    creationMeets(fault: Fault) {
      cloud.rule({ method: 'POST', path: /^\/v2\/sandboxes$/, fault })
      return open(hastyFor(fault))
    },
    async commandMeets(fault: Fault, command?: string) {
      const sandbox = await open(hastyFor(fault))
      cloud.rule({ path: /process\.Process\/Start$/, fault })
      return run(sandbox, command)
    },
  }
}

/** Only what never comes is not waited for: what comes may be late on a busy machine. */
const hastyFor = ({ kind }: Fault) => (kind === 'hang' ? { requestTimeoutMs: 300 } : {})

const run = (sandbox: Sandbox, command = `echo ${secret} >&2; echo ${secret}; sleep 60`, timeoutMs = 60_000) =>
  sandbox.run(command, runOptions({ timeoutMs, environment: { SECRET: secret } }))

const answer = (status: number, body: object | string): Fault => ({
  kind: 'answer',
  status,
  headers: { 'content-type': 'application/json' },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

const cases: Record<string, (stage: ReturnType<typeof makeStage>) => Promise<unknown>> = {
  'key refused': ({ open }) => open({ apiKey: secret }),
  'not let into the machine': ({ commandMeets }) =>
    commandMeets(answer(401, { code: 'unauthenticated', message: secret })),
  'account full': ({ cloud, open }) => {
    cloud.account.concurrentLimit = 0
    return open()
  },
  'service full': ({ creationMeets }) => creationMeets(answer(503, { code: 503, message: secret })),
  'template too old': ({ creationMeets }) => creationMeets(answer(201, { sandboxID: 'i0', envdVersion: '0.0.9' })),
  'no such template': ({ open }) => open({ template: 'no-such-template' }),
  'not allowed': ({ creationMeets }) => creationMeets(answer(403, { code: 403, message: secret })),
  'request refused': ({ open }) => open({}, 7_200_000),
  'service failed': ({ creationMeets }) => creationMeets(answer(502, { code: 502, message: secret })),
  'no reply': ({ creationMeets }) => creationMeets({ kind: 'hang' }),
  async unreachable({ cloud, open }) {
    await cloud.close()
    return open()
  },
  'command took too long': async ({ open }) => run(await open(), undefined, 300),
  'machine at its end': async ({ open }) => run(await open({}, 1_000)),
  async 'machine gone'({ open, settings }) {
    const sandbox = await open()
    await makeSandboxes(settings()).kill(sandbox.id, never)
    return run(sandbox)
  },
  'machine silent': ({ commandMeets }) => commandMeets({ kind: 'hang' }),
  'command refused': async ({ open }) => run(await open(), `: ${secret.repeat(10_000)}`),
  'build failed': ({ cloud, settings }) => {
    cloud.failNextBuild(2, secret)
    const binary = { url: 'https://example.org/drive9', sha256: 'a'.repeat(64) }
    return buildTemplate({ ...settings(), binary }, () => undefined, never)
  },
  'connection lost': ({ commandMeets }) =>
    commandMeets({ kind: 'cut', bytes: 200 }, `while :; do echo ${secret}; sleep 0.01; done`),
  'not understood': ({ creationMeets }) => creationMeets(answer(200, `<html>${secret}</html>`)),
}

describe('the table of errors', () => {
  test.concurrent.each(errorRows.map(({ row }) => row))('%s', async (name) => {
    await using cloud = await startSandboxCloud()
    const provoke = cases[name] ?? expect.unreachable(`nothing here brings about «${name}»`)
    const error = await refusal(provoke(makeStage(cloud)))
    const { row, code, says, next } = rowFor(error.cause, name === 'machine at its end')
    expect(row).toBe(name)
    expect(error).toMatchObject({ code, next })
    expect(error.message).toContain(says)
    expect(JSON.stringify(error)).not.toContain(secret)
  })

  test('has no case that is no row', () => {
    expect(Object.keys(cases).sort()).toEqual(errorRows.map(({ row }) => row).sort())
  })

  test('leaves our own errors as they are, and takes anything for an error', () => {
    const ours = explainFailure('a text', 'Doing something')
    expect(ours.message).toBe(
      'Doing something failed: E2B answered something that its own library does not understand.',
    )
    expect(explainFailure(ours, 'Doing more')).toBe(ours)
  })
})

test('a sandbox that is killed during a command by another process is gone', async () => {
  await using cloud = await startSandboxCloud()
  const { open, settings } = makeStage(cloud)
  const sandbox = await open()
  const started = Promise.withResolvers<void>()
  const failed = refusal(sandbox.run('echo x; sleep 60', runOptions({ onOutput: () => started.resolve() })))
  await started.promise
  await makeSandboxes(settings()).kill(sandbox.id, never)
  expect(rowFor((await failed).cause).row).toBe('machine gone')
})
