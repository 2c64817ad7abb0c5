// Who calls, and which repositories a caller may see: without a network, and for every kind of token.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { HandoffError } from '../../src/handoff/domain/errors.js'
import type { App } from '../../src/service/app.js'
import { authenticate } from '../../src/service/auth/authenticate.js'
import { allow, type Caller, leads, meets } from '../../src/service/auth/caller.js'
import { sealCookie } from '../../src/service/auth/session.js'
import type { HttpError } from '../../src/service/http/problem-details.js'
import type { ServiceSettings } from '../../src/service/settings.js'

const bearer = (name: string, token: string, mayComment: boolean): ServiceSettings['bearers'][number] => ({
  name,
  sha256: createHash('sha256').update(token).digest(),
  repositories: [{ name: 'octo/*' }, { name: 'other/tools', id: '7' }],
  mayComment,
})
const bearers = [bearer('team-a', 'token-of-team-a', true), bearer('team-b', 'token-of-team-b', false)]
const jobs = (...repositories: { name: string; id?: string }[]): ServiceSettings['oidc'] => ({
  issuer: 'https://issuer.example.org',
  audience: 'https://handoff.example.org',
  repositories,
})

const claimed = async () => ({ repository: 'Octo/Tools', repositoryId: '42' })
const refused = async (): Promise<never> => {
  throw new HandoffError('unauthorized', 'It has expired.', { next: 'Request a new token.' })
}

/** People cannot sign in here. */
const signIn = async () => {
  throw new Error('not set up')
}

async function called(
  authorization: string | undefined,
  { listed = [{ name: 'octo/tools' }] as { name: string; id?: string }[], verify = claimed, metadata = '' } = {},
) {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
  const request = new Request('https://handoff.example.org/api/ask', { headers })
  const settings = { bearers, oidc: jobs(...listed) } as App['settings']
  return authenticate(request, { settings, verifier: async () => ({ verify }), signIn }, metadata || undefined)
}

async function problem(...words: Parameters<typeof called>) {
  const thrown: unknown = await called(...words).catch((error: unknown) => error)
  const { status, code, detail, headers, next } = (thrown as HttpError).problem
  return { status, code, detail, next, challenge: headers?.['www-authenticate'] }
}

test('a bearer is the entry whose hash it has, with that entry’s rights', async () => {
  expect(await called('Bearer token-of-team-a')).toEqual({
    way: 'bearer',
    name: 'bearer:team-a',
    repositories: bearers[0]!.repositories,
    mayComment: true,
  })
  expect(await called('  bearer token-of-team-b ')).toMatchObject({ name: 'bearer:team-b', mayComment: false })
})

test.each<[string, string | undefined, string, string]>([
  ['no header', undefined, 'This address wants a token.', 'Bearer realm="handoff"'],
  ['an unknown token', 'Bearer token-of-team-c', 'The token is not known.', 'invalid_token'],
  ['a token with more behind it', 'Bearer token-of-team-a more', 'is not `Bearer <token>`', 'invalid_request'],
  ['another scheme before it', 'Basic Bearer token-of-team-a', 'is not `Bearer <token>`', 'invalid_request'],
  ['a token of two parts', 'Bearer a.b', 'The token is not known.', 'invalid_token'],
  ['a token of four parts', 'Bearer a.b.c.d', 'The token is not known.', 'invalid_token'],
])('%s is refused', async (_what, header, detail, challenge) => {
  expect(await problem(header)).toMatchObject({
    status: 401,
    code: 'unauthorized',
    detail: expect.stringContaining(detail),
    next: 'Send `Authorization: Bearer <token>` with a token of this deployment.',
    challenge: expect.stringContaining(challenge),
  })
})

test('a refusal names where the resource is described', async () => {
  const metadata = 'https://handoff.example.org/.well-known/oauth-protected-resource'
  const { challenge } = await problem(undefined, { metadata })
  expect(challenge).toBe(`Bearer realm="handoff", resource_metadata="${metadata}"`)
  expect((await problem(undefined)).challenge).toBe('Bearer realm="handoff"')
  const forbidden = await problem('Bearer a.b.c', { listed: [], metadata })
  expect([forbidden.status, forbidden.challenge]).toEqual([403, undefined])
})

test('a job may ask about its own repository, without the right to comment', async () => {
  expect(await called('Bearer a.b.c')).toEqual({
    way: 'job',
    name: 'job:42',
    repositories: [{ name: 'octo/tools', id: '42' }],
    mayComment: false,
  })
})

test.each<[string, { name: string; id?: string }[], boolean]>([
  ['by its name', [{ name: 'octo/tools' }], true],
  ['by its owner', [{ name: 'octo/*' }], true],
  ['by name and number', [{ name: 'octo/tools', id: '42' }], true],
  ['beside others', [{ name: 'other/tools' }, { name: 'octo/tools' }], true],
  ['by its name with another number', [{ name: 'octo/tools', id: '43' }], false],
  ['by its number with another name', [{ name: 'octo/other', id: '42' }], false],
  ['nowhere', [], false],
])('a job whose repository is listed %s', async (_what, listed, allowed) => {
  const outcome = called('Bearer a.b.c', { listed }).then(
    ({ name }) => name,
    (error: HttpError) => error.problem.status,
  )
  expect(await outcome).toBe(allowed ? 'job:42' : 403)
})

test('where jobs are not set up, a token of three parts is unknown', async () => {
  const request = new Request('https://handoff.example.org', { headers: { authorization: 'Bearer a.b.c' } })
  const settings = { bearers } as App['settings']
  const entering = authenticate(request, { settings, verifier: async () => ({ verify: claimed }), signIn })
  await expect(entering).rejects.toMatchObject({ problem: { status: 401 } })
})

test('a job’s token that is refused says why, and a failure of the keys stays what it is', async () => {
  expect(await problem('Bearer a.b.c', { verify: refused })).toMatchObject({
    status: 401,
    detail: 'It has expired.',
    next: 'Request a new token.',
    challenge: expect.stringContaining('invalid_token'),
  })
  const verify = async (): Promise<never> => {
    throw new HandoffError('git', 'The keys cannot be fetched.')
  }
  const metadata = 'https://handoff.example.org/x'
  await expect(called('Bearer a.b.c', { verify, metadata })).rejects.toMatchObject({ code: 'git' })
})

const caller: Caller = { way: 'bearer', name: 'x', repositories: bearers[0]!.repositories, mayComment: false }

const never = new AbortController().signal

test('a caller sees what a pattern of its own names, and the pattern that allowed it is returned', async () => {
  expect(await allow(caller, 'Octo/Anything', never)).toEqual({ name: 'octo/*' })
  expect(await allow(caller, 'other/tools', never)).toEqual({ name: 'other/tools', id: '7' })
  for (const name of ['other/tool', 'other/tools2', 'octopus/tools', 'octo', 'my/octo/tools'])
    await expect(allow(caller, name, never)).rejects.toMatchObject({
      problem: { status: 403, next: expect.stringContaining('HANDOFF_BEARERS') },
    })
})

test('a person sees what is listed and GitHub shows, under the number that GitHub tells', async () => {
  const asked: string[] = []
  const person: Caller = {
    ...caller,
    way: 'person',
    repositoryId: async (name) => {
      asked.push(name)
      return '7'
    },
  }
  expect(await allow(person, 'Octo/Tools', never)).toEqual({ name: 'octo/*', id: '7' })
  expect(await allow(person, 'other/tools', never)).toEqual({ name: 'other/tools', id: '7' })
  const other = { ...person, repositories: [{ name: 'octo/tools', id: '8' }] }
  await expect(allow(other, 'octo/tools', never)).rejects.toMatchObject({ problem: { status: 403 } })
  await expect(allow(person, 'third/tools', never)).rejects.toMatchObject({
    problem: { status: 403, next: expect.stringContaining('HANDOFF_SIGN_IN_REPOSITORIES') },
  })
  expect(asked).toEqual(['octo/tools', 'other/tools', 'octo/tools'])
})

test.each<[string, string, boolean, boolean]>([
  ['*', 'octo/tools', true, true],
  ['octo/tools', 'octo/tools', true, true],
  ['octo/*', 'octo/tools', true, true],
  ['octo/*', 'octo', false, true],
  ['octo/tools', 'octo', false, true],
  ['octo/tools', 'oct', false, false],
  ['octo/t', 'octo/tools', false, false],
  ['octo*', 'octo/tools', false, false],
  ['*/tools', 'octo/tools', false, false],
])('the pattern %s for %s', (pattern, name, met, leading) => {
  expect([meets(pattern, name), leads(pattern, name)]).toEqual([met, leading])
})

const sessionSecret = 'a-secret-of-sessions-0123456789ab'
const origin = 'https://handoff.example.org'
const ghuToken = `ghu_${'a1B2'.repeat(5)}`

/** A deployment where people may sign in. */
async function asPerson(headers: Record<string, string>, isSetUp = true) {
  const settings = {
    bearers,
    ...(isSetUp
      ? { signIn: { clientId: 'x', clientSecret: 'x', sessionSecret, repositories: [{ name: 'octo/*' }] } }
      : {}),
  } as unknown as App['settings']
  const access = { ownerOf: async () => ({ id: 77 }), idOf: async () => '7' }
  const app = { settings, verifier: async () => ({ verify: claimed }), signIn: async () => ({ access }) }
  return authenticate(new Request(`${origin}/api/ask`, { headers }), app as never).then(
    ({ way, name }) => `${way} ${name}`,
    (error: HttpError) => error.problem.status,
  )
}

async function cookieOf(id: number) {
  const session = { user: { id, login: 'wanda' }, tokens: { access: ghuToken }, since: 0 }
  const sealed = await sealCookie('session', session as never, {
    origin,
    secret: sessionSecret,
    until: Date.now() + 60_000,
  })
  return `__Host-handoff-session=${sealed}`
}

test('a session is a person, unless the request brings a token of its own', async () => {
  const cookie = await cookieOf(5)
  expect(await asPerson({ cookie })).toBe('person person:5')
  expect(await asPerson({ cookie, authorization: 'Bearer token-of-team-a' })).toBe('bearer bearer:team-a')
  expect(await asPerson({ cookie, authorization: 'Bearer token-of-team-c' })).toBe(401)
  expect(await asPerson({ cookie }, false)).toBe(401)
  expect(await asPerson({ cookie: '__Host-handoff-session=forged' })).toBe(401)
  expect(await asPerson({ cookie: 'other=1' })).toBe(401)
})

test.each<[string, string | number]>([
  [ghuToken, 'person person:77'],
  [`x${ghuToken}`, 401],
  [`${ghuToken}.x`, 401],
  ['ghu_short', 401],
  ['gho_a1B2a1B2a1B2a1B2a1B2', 401],
])('the token %s of a person', async (token, outcome) => {
  expect(await asPerson({ authorization: `Bearer ${token}` })).toBe(outcome)
})

test('where people cannot sign in, their tokens are unknown', async () => {
  expect(await asPerson({ authorization: `Bearer ${ghuToken}` }, false)).toBe(401)
})
