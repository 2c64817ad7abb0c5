// OIDC tokens of jobs: a valid one, known attacks, and the cache of GitHub's keys.
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { signToken } from '../../../../src/emulators/github/oidc.js'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/server.js'
import type { Repository } from '../../../../src/emulators/github/state.js'
import { makeOidcVerifier, type OidcOptions } from '../../../../src/handoff/clients/github/verify-oidc.js'
import { manualClock } from '../../../support/clock.js'
import { refusal } from '../../../support/refusal.js'

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

test('a valid token names the repository of its job', async () => {
  expect(await verifier().verify(local.oidc.mint())).toEqual({
    repository: 'octo/tools',
    repositoryId: String(repository.id),
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

/** HS256 with the public key as the secret: a verifier that trusts the header's `alg` accepts it. */
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
  [
    'another key under a published key id',
    () => withKey({ privateKey: foreign.privateKey }),
    'signature verification failed',
  ],
  [
    'a key that is not published',
    () => withKey({ id: 'unknown', privateKey: foreign.privateKey }),
    'does not publish the key',
  ],
  ['no signature at all', () => `${part({ alg: 'none', kid: local.oidc.key.id })}.${part(claims())}.`, 'not a JWT'],
  [
    'alg none with a signature',
    () => withKey({}, { alg: 'none' }),
    '"alg" (Algorithm) Header Parameter value not allowed',
  ],
  ['alg None', () => withKey({}, { alg: 'None' }), '"alg" (Algorithm) Header Parameter value not allowed'],
  ['HS256 with the public key', signedWithPublicKey, '"alg" (Algorithm) Header Parameter value not allowed'],
  ['RS512', () => withKey({}, { alg: 'RS512' }), '"alg" (Algorithm) Header Parameter value not allowed'],
  [
    'a key in its own header',
    () => withKey({ privateKey: foreign.privateKey }, { jwk: foreign.publicKey.export({ format: 'jwk' }) }),
    'signature verification failed',
  ],
  [
    'an unknown critical extension',
    () => withKey({}, { crit: ['x-new'], 'x-new': true }),
    'Extension Header Parameter "x-new" is not recognized',
  ],
  ['an unencoded payload', () => withKey({}, { crit: ['b64'], b64: false }), 'JWTs MUST NOT use unencoded payload'],
  ['claims changed after signing', changed, 'signature verification failed'],
  ['no key id', () => withKey({}, { kid: undefined }), 'does not publish the key that its kid names'],
  ['another kind of token', () => withKey({}, { typ: 'at+jwt' }), 'unexpected "typ" JWT header value'],
  ['expired', () => local.oidc.mint({ exp: now() - 31 }), 'it has expired'],
  ['not valid yet', () => local.oidc.mint({ nbf: now() + 40 }), 'it is not valid yet'],
  ['issued in the future', () => local.oidc.mint({ iat: now() + 40 }), 'it was issued in the future'],
  ['no expiry', () => local.oidc.mint({ exp: undefined }), '"exp" claim'],
  ['an expiry that is text', () => local.oidc.mint({ exp: '9999999999' }), '"exp" claim'],
  ['no start time', () => local.oidc.mint({ nbf: undefined }), '"nbf" claim'],
  ['another audience', () => local.oidc.mint({ aud: 'https://other.example' }), 'another audience'],
  ['an audience that starts like ours', () => local.oidc.mint({ aud: `${audience}.evil.example` }), 'another audience'],
  ['several audiences', () => local.oidc.mint({ aud: [audience, 'x'] }), 'aud is not a text'],
  ['another issuer', () => local.oidc.mint({ iss: 'https://token.actions.githubusercontent.com' }), 'another issuer'],
  ['an issuer that starts like ours', () => local.oidc.mint({ iss: `${local.oidc.issuer}/evil` }), 'another issuer'],
  ['no repository id', () => local.oidc.mint({ repository_id: undefined }), 'repository_id is not a number'],
  [
    'a repository id that is not a number',
    () => local.oidc.mint({ repository_id: '12/../7' }),
    'repository_id is not a number',
  ],
  [
    'a repository with a path in its name',
    () => local.oidc.mint({ repository: 'octo/tools/../x' }),
    'repository is not a repository',
  ],
  [
    'claims that are not an object',
    () => signToken(local.oidc.key, [] as never),
    'JWT Claims Set must be a top-level JSON object',
  ],
  [
    'claims that are not JSON',
    () => `${local.oidc.mint().split('.')[0]}.${Buffer.from('{').toString('base64url')}.AAAA`,
    'signature verification failed',
  ],
  ['garbage', () => 'garbage', 'not a JWT'],
  ['an empty text', () => '', 'not a JWT'],
  ['two parts', () => local.oidc.mint().split('.').slice(0, 2).join('.'), 'not a JWT'],
  ['four parts', () => `${local.oidc.mint()}.x`, 'not a JWT'],
  ['padding', () => local.oidc.mint().replace('.', '=.'), 'not a JWT'],
  ['a line end', () => `${local.oidc.mint()}\n`, 'not a JWT'],
  ['50 MB', () => `${'a'.repeat(50_000_000)}.b.c`, 'not a JWT'],
]

test.each(attacks)('refused: %s', async (_name, token, why) => {
  const error = await refusal(verifier().verify(token()))
  expect([error.code, error.message]).toEqual(['unauthorized', expect.stringContaining(why)])
})

test('a clock skew of up to 30 s is accepted', async () => {
  const check = verifier()
  expect((await check.verify(local.oidc.mint({ exp: now() - 25 }))).repository).toBe('octo/tools')
  expect((await check.verify(local.oidc.mint({ nbf: now() + 25, iat: now() + 25 }))).repository).toBe('octo/tools')
})

describe('keys', () => {
  test('are fetched once for concurrent calls, and again after an hour', async () => {
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

  test('a rotated key is fetched, and a removed key is refused', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const old = local.oidc.mint({ exp: now() + 10_000 })
    await check.verify(old)
    local.oidc.rotate({ forgetOld: true })
    clock.advance(31_000)
    expect((await check.verify(local.oidc.mint())).repository).toBe('octo/tools')
    expect(keyRequests()).toBe(2)
    expect((await refusal(check.verify(old))).message).toContain('does not publish')
  })

  test('unknown key ids cause at most one request in 30 s', async () => {
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
    ['status 500 with keys', { kind: 'answer', status: 500, body: '{"keys":[]}' } as const],
    ['an empty object', { kind: 'answer', status: 200, body: '{}' } as const],
    ['HTML', { kind: 'answer', status: 200, body: '<html>' } as const],
    ['a redirect', { kind: 'answer', status: 302, headers: { location: '?moved' } } as const],
    ['no reply', { kind: 'hang' } as const],
  ])(
    'when GitHub answers with %s, verification fails with `git` for 30 s and is then tried again',
    async (_name, fault) => {
      const clock = manualClock({ start: Date.now() })
      const check = verifier({ fetchMs: 2_000, clock })
      local.server.rule({ path: /jwks$/, times: 1, fault })
      for (let index = 0; index < 20; index += 1) {
        const error = await refusal(check.verify(local.oidc.mint()))
        expect([error.code, error.retryAfterSeconds]).toEqual(['git', 30])
      }
      expect(keyRequests()).toBe(1)
      clock.advance(30_000)
      expect((await check.verify(local.oidc.mint())).repository).toBe('octo/tools')
    },
  )

  test('while keys cannot be fetched, known keys stay valid for 12 hours and are requested once in 30 s', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const token = local.oidc.mint({ exp: now() + 10_000 })
    await check.verify(token)
    local.server.rule({ path: /jwks$/, times: 2, fault: { kind: 'answer', status: 500 } })
    clock.advance(31_000)
    const madeUp = () => check.verify(withKey({ id: 'made-up', privateKey: foreign.privateKey }))
    for (let index = 0; index < 5; index += 1) expect((await refusal(madeUp())).code).toBe('git')
    expect((await check.verify(token)).repository).toBe('octo/tools')
    clock.advance(60 * 60_000)
    for (let index = 0; index < 5; index += 1) expect((await check.verify(token)).repository).toBe('octo/tools')
    expect(keyRequests()).toBe(3)
    expect((await refusal(madeUp())).code).toBe('git')
    clock.advance(30_000)
    expect((await check.verify(token)).repository).toBe('octo/tools')
    expect(keyRequests()).toBe(4)
  })

  test('keys older than 12 hours are refused until they can be fetched again, and are requested once in 30 s', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const token = local.oidc.mint({ exp: now() + 100_000 })
    await check.verify(token)
    local.server.rule({ path: /jwks$/, fault: { kind: 'answer', status: 500 } })
    clock.advance(12 * 3_600_000 - 1)
    await refusal(check.verify(withKey({ id: 'made-up', privateKey: foreign.privateKey })))
    expect((await check.verify(token)).repository).toBe('octo/tools')
    // The keys are older than 12 hours now.
    clock.advance(30_000)
    for (let index = 0; index < 5; index += 1) expect((await refusal(check.verify(token))).code).toBe('git')
    expect(keyRequests()).toBe(3)
    local.server.clearRules()
    clock.advance(30_000)
    expect((await check.verify(token)).repository).toBe('octo/tools')
  })

  test('a removed key is refused once the keys are fetched again', async () => {
    const clock = manualClock({ start: Date.now() })
    const check = verifier({ clock })
    const old = local.oidc.mint({ exp: now() + 10_000 })
    await check.verify(old)
    local.oidc.rotate({ forgetOld: true })
    clock.advance(60 * 60_000)
    expect((await refusal(check.verify(old))).message).toContain('does not publish')
  })

  test('short keys, keys of another type and keys for another use are refused', async () => {
    const short = generateKeyPairSync('rsa', { modulusLength: 1_024 })
    const jwk = (key: KeyObject) => key.export({ format: 'jwk' })
    const keys = [
      { ...jwk(short.publicKey), kid: 'short', alg: 'RS256' },
      { ...jwk(foreign.publicKey), kid: 'encrypts', use: 'enc' },
      { kty: 'oct', kid: 'shared', k: 'c2VjcmV0' },
    ]
    const check = verifier()
    local.server.rule({ path: /jwks$/, fault: { kind: 'answer', status: 200, body: JSON.stringify({ keys }) } })
    for (const [id, privateKey, reason] of [
      ['short', short.privateKey, 'requires key modulusLength to be 2048 bits or larger'],
      ['encrypts', foreign.privateKey, 'does not publish the key'],
      ['shared', foreign.privateKey, 'does not publish the key'],
    ] as const) {
      expect((await refusal(check.verify(withKey({ id, privateKey })))).message).toContain(reason)
    }
  })
})
