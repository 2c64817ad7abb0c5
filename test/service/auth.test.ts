// Authentication: each invalid credential is rejected for its own reason, before any outside service is called.
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { signToken } from '../../src/emulators/github/oidc.js'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import type { Repository } from '../../src/emulators/github/state.js'
import { call, type Deployment, deploy, name, otherToken, post, recordOf, sha256, token } from './kit.js'

let here: Deployment
let github: LocalGitHub
let job: Repository
const audience = 'https://handoff.example.org'

beforeAll(async () => {
  github = await startGitHub()
  job = github.addRepository({ name })
  github.runJob(job)
  here = await deploy({
    environment: {
      HANDOFF_OIDC_AUDIENCE: audience,
      HANDOFF_OIDC_ISSUER: github.oidc.issuer,
      HANDOFF_OIDC_REPOSITORIES: 'octo/tools, evil/tools',
      HANDOFF_BEARERS: [
        `team-a=${sha256(token)}=octo/tools`,
        `team-a=${sha256('the-next-token-of-team-a')}=octo/tools`,
        `team-b=${sha256(otherToken)}=other/*`,
        `pinned=${sha256('token-for-another-number')}=octo/tools#4711`,
        `broken=${'z'.repeat(64)}=*`,
      ].join(';'),
    },
  })
}, 120_000)

// What an earlier test left at work would be counted.
beforeEach(() => here.quiet())

afterAll(async () => {
  await here?.close()
  await github?.close()
})

const question = () => ({ repository: name, run: here.run.run, question: 'How is the token refreshed?' })
const mint = (claims: Record<string, unknown> = {}) => github.oidc.mint({ aud: audience, ...claims })

describe('refused before any cloud was reached', () => {
  const attacks: [string, () => Record<string, string>, number, RegExp][] = [
    ['no token', () => ({}), 401, /wants a token/],
    ['an empty bearer', () => ({ authorization: 'Bearer ' }), 401, /not `Bearer/],
    ['another scheme', () => ({ authorization: `Basic ${btoa(`x:${token}`)}` }), 401, /not `Bearer/],
    ['a token with a space', () => ({ authorization: `Bearer ${token} x` }), 401, /not `Bearer/],
    ['two tokens', () => ({ authorization: `Bearer x, Bearer ${token}` }), 401, /not `Bearer/],
    ['an unknown token', () => ({ authorization: 'Bearer never-issued' }), 401, /not known/],
    ['a token cut short', () => ({ authorization: `Bearer ${token.slice(0, -1)}` }), 401, /not known/],
    ['the hash instead of the token', () => ({ authorization: `Bearer ${sha256(token)}` }), 401, /not known/],
    ['a token of enormous length', () => ({ authorization: `Bearer ${'a'.repeat(15_000)}` }), 401, /not known/],
    ['an entry whose hash cannot be read', () => ({ authorization: `Bearer ${'z'.repeat(64)}` }), 401, /not known/],
    ['a token of another team', () => ({ authorization: `Bearer ${otherToken}` }), 403, /may not see/],
    [
      'a job of another repository',
      () => ({ authorization: `Bearer ${mint({ repository: 'evil/tools' })}` }),
      403,
      /may not see/,
    ],
    [
      'a job whose token has another audience',
      () => ({ authorization: `Bearer ${mint({ aud: 'https://elsewhere' })}` }),
      401,
      /audience/,
    ],
    ['a job whose token has expired', () => ({ authorization: `Bearer ${mint({ exp: 1_000 })}` }), 401, /expired/],
    ['a token without a signature', () => ({ authorization: `Bearer ${unsigned()}` }), 401, /refused/],
    ['a token signed with the public key', () => ({ authorization: `Bearer ${publicKeySigned()}` }), 401, /refused/],
    ['a token of an unknown key', () => ({ authorization: `Bearer ${unknownKey()}` }), 401, /refused/],
    ['two dots', () => ({ authorization: 'Bearer ..' }), 401, /not a token|refused/],
  ]

  test.each(attacks)('%s', async (_what, headers, status, detail) => {
    const before = here.reached()
    const answer = await post(here.url, question(), headers(), null)
    expect({ status: answer.status, code: answer.body.code }).toEqual({
      status,
      code: status === 401 ? 'unauthorized' : 'forbidden',
    })
    expect(answer.body.detail).toMatch(detail)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('www-authenticate')?.startsWith('Bearer realm="handoff"') ?? false).toBe(status === 401)
    expect(here.reached()).toBe(before)
  })

  test('a token in the address', async () => {
    const before = here.reached()
    const { status } = await call(here.url, `/api/runs?repository=${name}&access_token=${token}&token=${token}`, {
      token: null,
    })
    expect(status).toBe(401)
    expect(here.reached()).toBe(before)
  })

  test.each([
    '/api/runs',
    `/api/runs?repository=${name}`,
    `/api/runs/${'a'.repeat(40)}-1?repository=${name}`,
    '/api/health?deep=1',
  ])('GET %s without a token', async (path) => {
    const before = here.reached()
    expect((await call(here.url, path, { token: null })).status).toBe(401)
    expect(here.reached()).toBe(before)
  })
})

test('a bearer that pins a number: the run was made by another', async () => {
  const before = here.machines()
  const { status, body } = await post(here.url, question(), {}, 'token-for-another-number')
  expect({ status, code: body.code }).toEqual({ status: 403, code: 'forbidden' })
  expect(here.machines()).toBe(before)
})

test('a job of the repository by name, but of another number: the name was given away', async () => {
  const before = here.machines()
  const { status, body } = await post(here.url, question(), {}, mint())
  expect({ status, code: body.code }).toEqual({ status: 403, code: 'forbidden' })
  expect(here.machines()).toBe(before)
})

test('both tokens of a team are let in, and a job of the very repository', async () => {
  const first = await post(here.url, question())
  const second = await post(here.url, question(), {}, 'the-next-token-of-team-a')
  const third = await post(here.url, question(), {}, mint({ repository_id: '1001' }))
  expect([first.status, second.status, third.status]).toEqual([200, 200, 200])
  expect([second.body.id, third.body.id]).toEqual([first.body.id, first.body.id])
})

test('a repository is the same under each spelling, for a bearer and for a job', async () => {
  const job = mint({ repository: 'Octo/Tools', repository_id: '1001' })
  for (const repository of ['Octo/Tools', 'OCTO/tools'])
    for (const bearer of [token, job]) {
      const { status, body } = await post(here.url, { ...question(), repository }, {}, bearer)
      expect([repository, status, body.repository, body.run]).toEqual([repository, 200, name, here.run.run])
    }
})

test('health looks deep only where it is asked to: `deep=0` is shallow, and needs no token', async () => {
  const reported = async (query: string) => {
    const { status, body } = await call(here.url, `/api/health${query}`, { token: null })
    return [query, status, body.code ?? body.status]
  }
  expect((await reported('?deep=0')).slice(1)).toEqual((await reported('')).slice(1))
  expect(await reported('?deep=1')).toEqual(['?deep=1', 401, 'unauthorized'])
  expect(await reported('?deep')).toEqual(['?deep', 401, 'unauthorized'])
  expect(await reported('?deep=2')).toEqual(['?deep=2', 400, 'invalid-input'])
})

test('a job learns which repositories are its own without a look at the others, and nothing of the deployment', async () => {
  const { drive } = here.stack.clouds
  const top = `/handoff/${here.where.host.replace(':', '_')}`
  const others = ['octo/secret', 'other/tools', 'other/tools/deeper', 'Octo/Tools']
  for (const other of others) drive.write(`${top}/${other}/commits/${'a'.repeat(40)}.json`, '{}')
  const from = drive.requests.length
  const listed = await call(here.url, '/api/runs', { token: mint({ repository_id: '1001' }) })
  const looked = drive.requests.slice(from).map(({ path }) => path)
  for (const folder of ['octo/secret', 'other', 'Octo']) drive.remove(`${top}/${folder}`)
  expect(listed.body).toEqual({ repositories: ['Octo/Tools'], models: ['offline-extractive'] })
  expect(looked.filter((path) => /secret|other/.test(path))).toEqual([])
  const before = here.reached()
  const deep = await call(here.url, '/api/health?deep=1', { token: mint({ repository_id: '1001' }) })
  expect([deep.status, deep.body.code, here.reached()]).toEqual([403, 'forbidden', before])
})

test('a job of a repository that is not listed is refused before any cloud was reached', async () => {
  const [before, stranger] = [here.reached(), mint({ repository: 'stranger/tools', repository_id: '5' })]
  const { status, body } = await post(here.url, { ...question(), repository: 'stranger/tools' }, {}, stranger)
  expect({ status, code: body.code, next: body.next }).toEqual({
    status: 403,
    code: 'forbidden',
    next: expect.stringContaining('HANDOFF_OIDC_REPOSITORIES'),
  })
  expect((await call(here.url, '/api/runs', { token: stranger })).status).toBe(403)
  expect(here.reached()).toBe(before)
})

test('without a list of repositories no job is let in, and health names the setting', async () => {
  const closed = await here.another({ HANDOFF_OIDC_REPOSITORIES: '' })
  const { status } = await post(closed.url, question(), {}, mint({ repository_id: '1001' }))
  expect(status).toBe(403)
  const { body } = await call(closed.url, '/api/health')
  expect(JSON.stringify(body)).toContain('HANDOFF_OIDC_REPOSITORIES')
})

test('a caller without the right to comment, and every job, cannot have the App write', async () => {
  const before = here.reached()
  const asked = { ...question(), run: undefined, pull: 7, comment: true }
  for (const bearer of [token, mint({ repository_id: '1001' })]) {
    const { status, body } = await post(here.url, asked, {}, bearer)
    expect({ status, code: body.code, detail: body.detail }).toEqual({
      status: 403,
      code: 'forbidden',
      detail: expect.stringContaining('comment'),
    })
  }
  expect(here.reached()).toBe(before)
})

test('a thread belongs to its caller: no name of a thread leads to another caller, or to a pull request', async () => {
  const ask = async (bearer: string) => {
    const { body } = await post(here.url, { ...question(), thread: 'pull/7' }, {}, bearer)
    return recordOf(here, body.id)?.['thread']
  }
  const threads = [await ask(token), await ask('the-next-token-of-team-a'), await ask(mint({ repository_id: '1001' }))]
  expect(threads).toEqual(['bearer:team-a/pull/7', 'bearer:team-a/pull/7', 'job:1001/pull/7'])
})

test('nothing is open where nothing is set', async () => {
  const closed = await here.another({ HANDOFF_BEARERS: '', HANDOFF_OIDC_AUDIENCE: '' })
  const before = here.reached()
  const answers = await Promise.all([
    post(closed.url, question()),
    post(closed.url, question(), {}, mint({ repository_id: '1001' })),
    call(closed.url, '/api/runs', { headers: { authorization: 'Bearer undefined' } }),
    fetch(`${closed.url}/api/github`, {
      method: 'POST',
      body: '{}',
      headers: { 'x-hub-signature-256': `sha256=${createHmac('sha256', '').update('{}').digest('hex')}` },
    }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401])
  expect(here.reached()).toBe(before)
})

test('another page is let in only where it is listed', async () => {
  const open = await here.another({ HANDOFF_CORS_ORIGINS: 'https://docs.example.org' })
  const preflight = (url: string, origin: string) => fetch(`${url}/api/ask`, { method: 'OPTIONS', headers: { origin } })
  const listed = await preflight(open.url, 'https://docs.example.org')
  expect({
    status: listed.status,
    origin: listed.headers.get('access-control-allow-origin'),
    vary: listed.headers.get('vary'),
  }).toEqual({
    status: 204,
    origin: 'https://docs.example.org',
    vary: 'Origin',
  })
  const others = [
    'https://evil.example.org',
    'https://docs.example.org.evil.example',
    'https://docs.example.org:8443',
    'https://docs.example',
    'null',
  ]
  for (const origin of others)
    expect((await preflight(open.url, origin)).headers.get('access-control-allow-origin'), origin).toBeNull()
  expect((await preflight(here.url, 'https://docs.example.org')).headers.get('access-control-allow-origin')).toBeNull()
})

const now = () => Math.floor(Date.now() / 1_000)
const good = () => ({
  iss: github.oidc.issuer,
  aud: audience,
  iat: now(),
  nbf: now() - 5,
  exp: now() + 300,
  ...github.oidc.claims,
})

function unsigned(): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none', kid: github.oidc.key.id })}.${part(good())}.AA`
}

function publicKeySigned(): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', kid: github.oidc.key.id })}.${part(good())}`
  const key = github.oidc.key.publicKey.export({ type: 'spki', format: 'pem' })
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}

function unknownKey(): string {
  return signToken({ ...github.oidc.key, id: 'unknown' }, good())
}
