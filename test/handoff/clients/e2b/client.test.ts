// The line to E2B against the local cloud: what goes wrong outside, and what is left behind when it does.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type SandboxCloud, startSandboxCloud } from '../../../../src/emulators/e2b/server.js'
import { makeSandboxes } from '../../../../src/handoff/clients/e2b/client.js'
import type { ClientSettings } from '../../../../src/handoff/clients/e2b/sdk-calls.js'
import type { Sandboxes } from '../../../../src/handoff/domain/ports.js'
import { request, runOptions, sandboxesContract } from '../../../contract/sandbox-client.js'
import { refusal } from '../../../support/refusal.js'
import { until } from '../../../support/until.js'

let cloud: SandboxCloud
let notices: string[]
let sandboxes: Sandboxes

const never = new AbortController().signal
const creation = { method: 'POST', path: /^\/v2\/sandboxes$/ }
const killing = { method: 'DELETE', path: /^\/sandboxes\// }

function makeClient(more: Partial<ClientSettings> = {}): Sandboxes {
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  return makeSandboxes({
    apiKey,
    apiUrl,
    sandboxUrl,
    template: 'handoff',
    onNotice: (text) => notices.push(text),
    ...more,
  })
}

beforeEach(async () => {
  notices = []
  cloud = await startSandboxCloud()
  sandboxes = makeClient()
})

afterEach(async () => {
  expect(cloud.unsupported).toEqual([])
  await cloud.close()
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const running = () => cloud.sandboxes.filter(({ state }) => state !== 'gone')
const asked = (method: string, path: RegExp) =>
  cloud.requests.filter((entry) => entry.method === method && path.test(entry.path))
const bodyOf = (index: number) => JSON.parse(asked('POST', creation.path)[index]!.body.toString())

sandboxesContract('the line to E2B', () => sandboxes)

describe('opening', () => {
  test('takes one request, which says all there is to say', async () => {
    const metadata = { run: 'r', attempt: '1' }
    const egress = ['git.example', 'drive.example:9009', '10.1.2.3']
    const sandbox = await sandboxes.open(request({ metadata, egress, lifetimeMs: 61_500 }), never)
    expect(asked('POST', /./)).toHaveLength(1)
    expect(cloud.requests).toHaveLength(1)
    expect(bodyOf(0)).toMatchObject({ templateID: 'handoff', timeout: 62, metadata, autoPause: false })
    expect(bodyOf(0).network).toEqual({
      allowOut: ['git.example', 'drive.example', '10.1.2.3'],
      denyOut: ['0.0.0.0/0'],
    })
    expect(sandbox).toMatchObject({ template: 'handoff', egressLimited: true, headersInjected: false })
    expect(notices).toEqual([])
  })

  test('an owner at work sets its machine to end in two minutes, again and again, and never later than it may', async () => {
    const prolonged = () =>
      asked('POST', /^\/sandboxes\/[^/]+\/timeout$/).map(({ body }) => JSON.parse(body.toString()))
    const hasty = makeClient({ renewEveryMs: 20 })
    const long = await hasty.open(request({ lifetimeMs: 900_000 }), never)
    // An account that refuses so much time is to say so at once.
    expect(bodyOf(0)).toMatchObject({ timeout: 900 })
    expect(Date.parse(bodyOf(0).metadata['handoff-until']) - Date.now()).toBeGreaterThan(890_000)
    await until('it is prolonged', () => prolonged().length >= 2)
    expect(prolonged()[0]).toEqual({ timeout: 120 })
    await long.kill()
    const after = prolonged().length
    const short = await hasty.open(request({ lifetimeMs: 60_000 }), never)
    await until('the short one is prolonged', () => prolonged().length > after)
    expect(prolonged().at(-1).timeout).toBeLessThanOrEqual(60)
    await short.kill()
    expect(
      prolonged()
        .slice(after)
        .every(({ timeout }) => timeout <= 60),
    ).toBe(true)
  })

  test('a renewal that fails is made up for by the next', async () => {
    const renewal = { method: 'POST', path: /\/timeout$/ }
    cloud.rule({ ...renewal, times: 2, fault: { kind: 'answer', status: 500 } })
    const sandbox = await makeClient({ renewEveryMs: 20 }).open(request({ lifetimeMs: 900_000 }), never)
    await until('it is prolonged', () => asked('POST', renewal.path).some(({ status }) => status === 204))
    await sandbox.kill()
  })

  test('has headers added outside the machine where the account can', async () => {
    cloud.account.headerTransforms = true
    const injectHeaders = [{ host: 'git.example:443', headers: { Authorization: 'Basic c2VjcmV0' } }]
    const sandbox = await sandboxes.open(request({ egress: ['git.example'], injectHeaders }), never)
    expect(sandbox.headersInjected).toBe(true)
    expect(cloud.sandboxes[0]!.networks[0]!.rules).toEqual({
      'git.example': [{ transform: { headers: injectHeaders[0]!.headers } }],
    })
    await sandbox.run('env', runOptions({ onOutput: (text) => expect(text).not.toContain('c2VjcmV0') }))
    expect(JSON.stringify(cloud.sandboxes[0]!.commands)).not.toContain('c2VjcmV0')
  })

  test('takes the added headers and a host away while the machine works', async () => {
    cloud.account.headerTransforms = true
    const injectHeaders = [{ host: 'git.example', headers: { Authorization: 'Basic c2VjcmV0' } }]
    const egress = ['drive.example', 'git.example']
    const sandbox = await sandboxes.open(request({ egress, injectHeaders }), never)
    await sandbox.restrictNetwork(['drive.example'], never)
    expect(cloud.sandboxes[0]!.networks.at(-1)).toEqual({ allowOut: ['drive.example'], denyOut: ['0.0.0.0/0'] })
  })
})

describe('an option the account does not have', () => {
  const injectHeaders = [{ host: 'git.example', headers: { Authorization: 'Basic c2VjcmV0' } }]

  test('is given up, said once, and not asked for again by this process', async () => {
    cloud.account.egressRules = false
    const first = await sandboxes.open(request({ egress: ['git.example'], injectHeaders }), never)
    expect(first).toMatchObject({ egressLimited: false, headersInjected: false })
    expect(asked('POST', creation.path)).toHaveLength(3)
    expect(notices).toHaveLength(2)
    expect(notices.join(' ')).toMatch(/cannot limit which hosts.*cannot add headers/)
    const second = await makeClient().open(request({ egress: ['git.example'], injectHeaders }), never)
    expect(second).toMatchObject({ egressLimited: false, headersInjected: false })
    expect(asked('POST', creation.path)).toHaveLength(4)
    expect(bodyOf(3).network).toBeUndefined()
    expect(notices).toHaveLength(2)
    expect(running()).toHaveLength(2)
  })

  test('is not held to be the reason of what fails without it too', async () => {
    const body = JSON.stringify({ code: 403, message: 'The template is not available for your team.' })
    const takeBack = cloud.rule({ ...creation, fault: { kind: 'answer', status: 403, body } })
    const refused = sandboxes.open(request({ egress: ['git.example'], injectHeaders }), never)
    await expect(refused.finally(takeBack)).rejects.toMatchObject({ name: 'HandoffError' })
    expect(notices).toEqual([])
    cloud.account.headerTransforms = true
    const next = await sandboxes.open(request({ egress: ['git.example'], injectHeaders }), never)
    expect(next).toMatchObject({ egressLimited: true, headersInjected: true })
  })

  test('takes no other with it', async () => {
    const sandbox = await sandboxes.open(request({ egress: ['git.example'], injectHeaders }), never)
    expect(sandbox).toMatchObject({ egressLimited: true, headersInjected: false })
    expect(bodyOf(1).network).toEqual({ allowOut: ['git.example'], denyOut: ['0.0.0.0/0'] })
    expect(notices.join()).not.toContain('c2VjcmV0')
  })

  test('for this host alone is given up for this host alone', async () => {
    cloud.account.headerTransforms = true
    const odd = [{ host: 'no_dns_name', headers: { Authorization: 'Basic c2VjcmV0' } }]
    expect((await sandboxes.open(request({ injectHeaders: odd }), never)).headersInjected).toBe(false)
    expect((await sandboxes.open(request({ injectHeaders }), never)).headersInjected).toBe(true)
    expect(notices).toHaveLength(1)
  })

  test('is not what any refusal is about', async () => {
    const error = await refusal(sandboxes.open(request({ egress: ['not a host'] }), never))
    expect(error.code).toBe('sandbox')
    expect(asked('POST', creation.path)).toHaveLength(1)
    expect(notices).toEqual([])
  })
})

describe('a reply that is lost', () => {
  test('when a machine was made: it is found and kept', async () => {
    cloud.rule({ ...creation, fault: { kind: 'lose-reply' } })
    const sandbox = await sandboxes.open(request(), never)
    expect(running().map(({ id }) => id)).toEqual([sandbox.id])
    expect(await sandbox.run('true', runOptions())).toEqual({ exitCode: 0, stderrTail: '' })
    await sandbox.kill()
    expect(running()).toEqual([])
  })

  test('when two were made: one is kept', async () => {
    cloud.rule({ ...creation, fault: { kind: 'twice' } })
    cloud.rule({ ...creation, fault: { kind: 'lose-reply' } })
    const sandbox = await sandboxes.open(request(), never)
    expect(cloud.sandboxes).toHaveLength(2)
    expect(running().map(({ id }) => id)).toEqual([sandbox.id])
  })

  test('when it cannot be joined: it is killed', async () => {
    cloud.rule({ ...creation, fault: { kind: 'lose-reply' } })
    cloud.rule({ method: 'POST', path: /\/connect$/, fault: { kind: 'answer', status: 500, body: '{}' } })
    expect((await refusal(sandboxes.open(request(), never))).code).toBe('sandbox')
    expect(cloud.sandboxes).toHaveLength(1)
    expect(running()).toEqual([])
  })

  test('when the caller stops while it is looked for: it is killed', async () => {
    cloud.rule({ ...creation, fault: { kind: 'lose-reply' } })
    cloud.rule({ method: 'GET', path: /^\/v2\/sandboxes/, times: 1, fault: { kind: 'hang' } })
    const stop = new AbortController()
    const opening = refusal(sandboxes.open(request(), stop.signal))
    await until('it is looked for', () => asked('GET', /^\/v2\/sandboxes/).length === 1)
    expect(running()).toHaveLength(1)
    stop.abort()
    expect((await opening).code).toBe('cancelled')
    expect(running()).toEqual([])
  })

  test('when none was made: that is an error, and looked for in vain', async () => {
    cloud.rule({ ...creation, fault: { kind: 'reset' } })
    const error = await refusal(sandboxes.open(request(), never))
    expect(error).toMatchObject({ code: 'sandbox' })
    expect(error.message).toMatch(/^Creating a sandbox from the template handoff failed: E2B cannot be reached/)
    expect(asked('GET', /^\/v2\/sandboxes/)).toHaveLength(3)
    expect(cloud.sandboxes).toEqual([])
  })

  test.each([
    ['a creation', creation],
    ['the look for what it made', { method: 'GET', path: /^\/v2\/sandboxes/ }],
  ])('when %s meets silence, whatever the client forgets: the waiting ends', async (_what, call) => {
    if (call !== creation) cloud.rule({ ...creation, times: 1, fault: { kind: 'lose-reply' } })
    cloud.rule({ ...call, times: 1, fault: { kind: 'hang' } })
    const collecting = setInterval(collectGarbage, 100)
    const opening = makeClient({ requestTimeoutMs: 300 }).open(request(), never)
    const error = await refusal(opening).finally(() => clearInterval(collecting))
    expect(error.code).toMatch(/sandbox|timeout/)
    expect(running()).toEqual([])
  })

  test('when the caller stops: the call does not wait for the reply', async () => {
    cloud.rule({ ...creation, times: 1, fault: { kind: 'hang' } })
    const stop = new AbortController()
    const opening = refusal(sandboxes.open(request(), stop.signal))
    await until('it is asked for', () => asked('POST', creation.path).length === 1)
    const collecting = setInterval(collectGarbage, 100)
    stop.abort()
    expect((await opening.finally(() => clearInterval(collecting))).code).toBe('cancelled')
  }, 10_000)

  test('when a machine was killed: it is asked for again and found gone', async () => {
    const sandbox = await sandboxes.open(request(), never)
    cloud.rule({ ...killing, times: 1, fault: { kind: 'lose-reply' } })
    await sandbox.kill()
    expect(asked('DELETE', /./)).toHaveLength(2)
    expect(running()).toEqual([])
    const other = await sandboxes.open(request(), never)
    cloud.clearRules()
    cloud.rule({ ...killing, times: 1, fault: { kind: 'lose-reply' } })
    expect(await sandboxes.kill(other.id, never)).toBe(true)
  })
})

describe('a kill that is refused', () => {
  test('for a moment is tried again', async () => {
    const sandbox = await sandboxes.open(request(), never)
    cloud.rule({ ...killing, times: 1, fault: { kind: 'answer', status: 500, body: '{"code":500,"message":"no"}' } })
    cloud.rule({
      ...killing,
      skip: 1,
      times: 1,
      fault: { kind: 'answer', status: 503, body: '{"code":503,"message":"no"}' },
    })
    await sandbox.kill()
    expect(running()).toEqual([])
    expect(asked('DELETE', /./)).toHaveLength(3)
  })

  test('for good is an error, and may be tried again later', async () => {
    const sandbox = await sandboxes.open(request(), never)
    const forgive = cloud.rule({
      ...killing,
      fault: { kind: 'answer', status: 401, body: '{"code":401,"message":"no"}' },
    })
    expect((await refusal(sandbox.kill())).code).toBe('missing-setting')
    expect(asked('DELETE', /./)).toHaveLength(1)
    forgive()
    await sandbox.kill()
    expect(running()).toEqual([])
  })

  test('is tried no longer than the caller has time', async () => {
    const sandbox = await sandboxes.open(request(), never)
    cloud.rule({ ...killing, times: 3, fault: { kind: 'answer', status: 500, body: '{}' } })
    expect((await refusal(sandboxes.kill(sandbox.id, AbortSignal.timeout(400)))).code).toBe('timeout')
    expect(running()).toHaveLength(1)
  })
})

describe('who stops while a machine is made', () => {
  test('leaves none, though it was made a moment later', async () => {
    cloud.rule({ ...creation, fault: { kind: 'delay', milliseconds: 300 } })
    const stop = new AbortController()
    const opening = refusal(sandboxes.open(request(), stop.signal))
    await until('the request is under way', () => cloud.requests.length === 1)
    stop.abort()
    expect((await opening).code).toBe('cancelled')
    expect(cloud.sandboxes).toHaveLength(1)
    expect(running()).toEqual([])
  })

  test('leaves none, though its reply never came', async () => {
    cloud.rule({ ...creation, fault: { kind: 'delay', milliseconds: 1_500 } })
    const opening = refusal(sandboxes.open(request(), AbortSignal.timeout(50)))
    expect((await opening).code).toBe('timeout')
    expect(cloud.sandboxes).toHaveLength(1)
    expect(running()).toEqual([])
  })
})

test('a full account is said so at once, and nothing is left', async () => {
  cloud.account.concurrentLimit = 1
  await sandboxes.open(request(), never)
  const error = await refusal(sandboxes.open(request(), never))
  expect(error.code).toBe('sandbox-limit')
  expect(error.retryAfterSeconds).toBeUndefined()
  expect(cloud.requests).toHaveLength(2)
})

test('without addresses of ours the SDK takes those of its own variables', async () => {
  const before = { ...process.env }
  Object.assign(process.env, cloud.settings)
  try {
    const sandbox = await makeSandboxes({ apiKey: cloud.settings.E2B_API_KEY, template: 'handoff' }).open(
      request(),
      never,
    )
    expect(running().map(({ id }) => id)).toEqual([sandbox.id])
  } finally {
    process.env = before
  }
})
