// The tokens of jobs: a good one, and every way we know to present one that is not.
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/github.js'
import { signToken } from '../../../../src/emulators/github/oidc.js'
import type { Repository } from '../../../../src/emulators/github/world.js'
import { makeOidcVerifier, type OidcOptions } from '../../../../src/handoff/clients/github/verify-oidc.js'
import { isHandoffError } from '../../../../src/handoff/domain/errors.js'
import { manualClock } from '../../../support/clock.js'

const audience = 'https://handoff.example'
const sha = 'e'.repeat(40)
let local: LocalGitHub
let repository: Repository

beforeEach(async () => {
  local = await startGitHub()
  repository = local.addRepository({ name: 'octo/tools' })
  local.runJob(repository, { ref: 'refs/heads/main', sha, event: 'issue_comment' })
  local.oidc.claims['aud'] = audience
})
afterEach(async () => {
  await local.close()
})

const verifier = (options: Partial<OidcOptions> = {}) =>
  makeOidcVerifier({ issuer: local.oidc.issuer, audience, ...options })

const keyRequests = () => local.server.requests.filter(({ path }) => path.endsWith('/jwks')).length

async function refusal(promise: Promise<unknown>) {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!isHandoffError(error)) throw new Error(`not a HandoffError: ${String(error)}`)
  return error
}

test('a good token tells what we decide by', async () => {
  expect(await verifier().verify(local.oidc.mint())).toEqual({
    repository: 'octo/tools',
    repositoryId: String(repository.id),
    repositoryOwnerId: String(repository.owner.id),
    ref: 'refs/heads/main',
    sha,
    eventName: 'issue_comment',
    actorId: String(repository.owner.id),
    runId: '1234567890',
    runAttempt: '1',
    jobWorkflowRef: 'octo/tools/.github/workflows/handoff.yml@refs/heads/main',
  })
})

test('`sub` may be anything, or missing', async () => {
  const check = verifier()
  for (const sub of ['repo:evil/other:ref:refs/heads/main', 'repo:octo@1/tools@2:environment:x', 7, undefined]) {
    expect((await check.verify(local.oidc.mint({ sub }))).repositoryId).toBe(String(repository.id))
  }
})

const now = () => Math.floor(Date.now() / 1_000)
const foreign = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const claims = () =>
  JSON.parse(Buffer.from(local.oidc.mint().split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const withKey = (key: Partial<{ id: string; privateKey: KeyObject }>, header = {}) =>
  signToken({ ...local.oidc.key, ...key }, claims(), header)

/** The public key as a shared secret: what a library that believes the header would check with. */
function signedWithPublicKey(): string {
  const pem = local.oidc.key.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const signed = `${part({ alg: 'HS256', typ: 'JWT', kid: local.oidc.key.id })}.${part(claims())}`
  return `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`
}

function changed(): string {
  const [head, , mark] = local.oidc.mint().split('.')
  return `${head}.${part({ ...claims(), repository_id: '1' })}.${mark}`
}

const attacks: [string, () => string, string][] = [
  ['another key under the right name', () => withKey({ privateKey: foreign.privateKey }), 'its signature is wrong'],
  [
    'a key that nobody published',
    () => withKey({ id: 'unknown', privateKey: foreign.privateKey }),
    'a key that GitHub does not publish',
  ],
  ['no signature at all', () => `${part({ alg: 'none', kid: local.oidc.key.id })}.${part(claims())}.`, 'not a token'],
  ['alg none with a signature', () => withKey({}, { alg: 'none' }), 'alg is not one of RS256'],
  ['alg None', () => withKey({}, { alg: 'None' }), 'alg is not one of RS256'],
  ['HS256 with the public key', signedWithPublicKey, 'alg is not one of RS256'],
  ['RS512', () => withKey({}, { alg: 'RS512' }), 'alg is not one of RS256'],
  [
    'a key it brings along',
    () => withKey({ privateKey: foreign.privateKey }, { jwk: foreign.publicKey.export({ format: 'jwk' }) }),
    'its signature is wrong',
  ],
  ['rules that must be known', () => withKey({}, { crit: ['b64'], b64: false }), 'rules that we do not know'],
  ['claims changed after signing', changed, 'its signature is wrong'],
  ['no name of a key', () => withKey({}, { kid: undefined }), 'kid is not the name of a key'],
  ['another kind of token', () => withKey({}, { typ: 'at+jwt' }), 'typ is not one of JWT'],
  ['expired', () => local.oidc.mint({ exp: now() - 31 }), 'it has expired'],
  ['not valid yet', () => local.oidc.mint({ nbf: now() + 40 }), 'it is not valid yet'],
  ['issued in the future', () => local.oidc.mint({ iat: now() + 40 }), 'it is not valid yet'],
  ['no expiry', () => local.oidc.mint({ exp: undefined }), 'exp is not a number'],
  ['an expiry in words', () => local.oidc.mint({ exp: '9999999999' }), 'exp is not a number'],
  ['no beginning', () => local.oidc.mint({ nbf: undefined }), 'nbf is not a number'],
  ['another audience', () => local.oidc.mint({ aud: 'https://other.example' }), 'another audience'],
  ['an audience that starts like ours', () => local.oidc.mint({ aud: `${audience}.evil.example` }), 'another audience'],
  ['several audiences', () => local.oidc.mint({ aud: [audience, 'x'] }), 'aud is not a text'],
  [
    'another issuer',
    () => local.oidc.mint({ iss: 'https://token.actions.githubusercontent.com' }),
    'somebody else issued it',
  ],
  [
    'an issuer that starts like ours',
    () => local.oidc.mint({ iss: `${local.oidc.issuer}/evil` }),
    'somebody else issued it',
  ],
  ['no repository id', () => local.oidc.mint({ repository_id: undefined }), 'repository_id is not a number'],
  [
    'a repository id that is none',
    () => local.oidc.mint({ repository_id: '12/../7' }),
    'repository_id is not a number',
  ],
  [
    'a repository that leads elsewhere',
    () => local.oidc.mint({ repository: 'octo/tools/../x' }),
    'repository is not a repository',
  ],
  ['claims that are no object', () => signToken(local.oidc.key, [] as never), 'it is not an object'],
  [
    'claims that are no JSON',
    () => `${local.oidc.mint().split('.')[0]}.${Buffer.from('{').toString('base64url')}.AAAA`,
    'not a token',
  ],
  ['garbage', () => 'garbage', 'not a token'],
  ['nothing', () => '', 'not a token'],
  ['two parts', () => local.oidc.mint().split('.').slice(0, 2).join('.'), 'not a token'],
  ['four parts', () => `${local.oidc.mint()}.x`, 'not a token'],
  ['other characters', () => local.oidc.mint().replace('.', '=.'), 'not a token'],
  ['a line end', () => `${local.oidc.mint()}\n`, 'not a token'],
  ['a huge one', () => `${'a'.repeat(50_000_000)}.b.c`, 'it is too long'],
]

test.each(attacks)('refused: %s', async (_name, token, why) => {
  const error = await refusal(verifier().verify(token()))
  expect([error.code, error.message]).toEqual(['unauthorized', expect.stringContaining(why)])
})

test('clocks may differ by half a minute', async () => {
  const check = verifier()
  expect((await check.verify(local.oidc.mint({ exp: now() - 25 }))).sha).toBe(sha)
  expect((await check.verify(local.oidc.mint({ nbf: now() + 25, iat: now() + 25 }))).sha).toBe(sha)
})

describe('the keys', () => {
  test('are fetched once for many, and again after an hour', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const token = local.oidc.mint({ exp: now() + 10_000 })
    await Promise.all(Array.from({ length: 20 }, () => check.verify(token)))
    clock.advance(59 * 60_000)
    await check.verify(token)
    expect(keyRequests()).toBe(1)
    clock.advance(60_000)
    await check.verify(token)
    expect(keyRequests()).toBe(2)
  })

  test('a key that is new is found, and one that is taken back is not believed after an hour', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const old = local.oidc.mint({ exp: now() + 10_000 })
    await check.verify(old)
    local.oidc.rotate({ forgetOld: true })
    clock.advance(31_000)
    expect((await check.verify(local.oidc.mint())).sha).toBe(sha)
    expect(keyRequests()).toBe(2)
    expect((await refusal(check.verify(old))).message).toContain('does not publish')
  })

  test('somebody who makes up names of keys causes one request in half a minute', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    await check.verify(local.oidc.mint())
    for (let index = 0; index < 50; index += 1) {
      await refusal(check.verify(withKey({ id: `made-up-${index}`, privateKey: foreign.privateKey })))
    }
    expect(keyRequests()).toBe(1)
    clock.advance(30_000)
    await refusal(check.verify(withKey({ id: 'again', privateKey: foreign.privateKey })))
    await refusal(check.verify(withKey({ id: 'and again', privateKey: foreign.privateKey })))
    expect(keyRequests()).toBe(2)
  })

  test.each([
    ['an error', { kind: 'answer', status: 500 } as const],
    ['no keys', { kind: 'answer', status: 200, body: '{}' } as const],
    ['a page', { kind: 'answer', status: 200, body: '<html>' } as const],
    ['another address', { kind: 'answer', status: 302, headers: { location: '?moved' } } as const],
    ['nothing', { kind: 'hang' } as const],
  ])(
    'when GitHub gives %s instead of keys, that is what is wrong for half a minute, and then the next try is a new one',
    async (_name, fault) => {
      const clock = manualClock({ start: Date.now() })
      const check = verifier({ fetchMs: 100, clock })
      local.server.rule({ path: /jwks$/, times: 1, fault })
      for (let index = 0; index < 20; index += 1) {
        const error = await refusal(check.verify(local.oidc.mint()))
        expect([error.code, error.retryAfterSeconds]).toEqual(['git', 30])
      }
      expect(keyRequests()).toBe(1)
      clock.advance(30_000)
      expect((await check.verify(local.oidc.mint())).sha).toBe(sha)
    },
  )

  test('while GitHub gives no keys, known ones hold for half a day, and are asked for every half a minute only', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const token = local.oidc.mint({ exp: now() + 10_000 })
    await check.verify(token)
    local.server.rule({ path: /jwks$/, times: 2, fault: { kind: 'answer', status: 500 } })
    clock.advance(31_000)
    const madeUp = () => check.verify(withKey({ id: 'made-up', privateKey: foreign.privateKey }))
    for (let index = 0; index < 5; index += 1) expect((await refusal(madeUp())).code).toBe('git')
    expect((await check.verify(token)).sha).toBe(sha)
    clock.advance(60 * 60_000)
    for (let index = 0; index < 5; index += 1) expect((await check.verify(token)).sha).toBe(sha)
    expect(keyRequests()).toBe(3)
    expect((await refusal(madeUp())).code).toBe('git')
    clock.advance(30_000)
    expect((await check.verify(token)).sha).toBe(sha)
    expect(keyRequests()).toBe(4)
  })

  test('old keys that cannot be had again are not believed, nor asked for by everybody; fresh ones are, whatever is asked for', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const token = local.oidc.mint({ exp: now() + 100_000 })
    await check.verify(token)
    local.server.rule({ path: /jwks$/, fault: { kind: 'answer', status: 500 } })
    clock.advance(12 * 3_600_000 - 1)
    await refusal(check.verify(withKey({ id: 'made-up', privateKey: foreign.privateKey })))
    expect((await check.verify(token)).sha).toBe(sha)
    // Older than half a day.
    clock.advance(30_000)
    for (let index = 0; index < 5; index += 1) expect((await refusal(check.verify(token))).code).toBe('git')
    expect(keyRequests()).toBe(3)
    local.server.clearRules()
    clock.advance(30_000)
    expect((await check.verify(token)).sha).toBe(sha)
  })

  test('a key that GitHub took back is not believed once GitHub gives its keys again', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const old = local.oidc.mint({ exp: now() + 10_000 })
    await check.verify(old)
    local.oidc.rotate({ forgetOld: true })
    clock.advance(60 * 60_000)
    expect((await refusal(check.verify(old))).message).toContain('does not publish')
  })

  test('keys that are short, of another kind or for another use are no keys', async () => {
    const short = generateKeyPairSync('rsa', { modulusLength: 1_024 })
    const jwk = (key: KeyObject) => key.export({ format: 'jwk' })
    const keys = [
      { ...jwk(short.publicKey), kid: 'short', alg: 'RS256' },
      { ...jwk(foreign.publicKey), kid: 'encrypts', use: 'enc' },
      { kty: 'oct', kid: 'shared', k: 'c2VjcmV0' },
    ]
    const check = verifier()
    local.server.rule({ path: /jwks$/, fault: { kind: 'answer', status: 200, body: JSON.stringify({ keys }) } })
    for (const [id, privateKey] of [
      ['short', short.privateKey],
      ['encrypts', foreign.privateKey],
      ['shared', foreign.privateKey],
    ] as const) {
      expect((await refusal(check.verify(withKey({ id, privateKey })))).message).toContain('does not publish')
    }
  })
})
