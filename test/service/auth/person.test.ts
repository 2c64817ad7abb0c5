// A person is who the session or GitHub's token says. A page of another origin does not act with the session, and a session whose token has ended is refused.
import { expect, test } from 'vitest'
import type { App } from '../../../src/service/app.js'
import { callerOfSession, callerOfToken, refuseForeignOrigin } from '../../../src/service/auth/person.js'
import { sealCookie } from '../../../src/service/auth/session.js'
import { HttpError } from '../../../src/service/http/problem-details.js'
import type { ServiceSettings } from '../../../src/service/settings.js'

const origin = 'https://handoff.example.org'
const repositories = [{ name: 'octo/*' }]
const signIn = { clientId: 'x', clientSecret: 'x', sessionSecret: 's'.repeat(40), repositories }
const never = new AbortController().signal

/** GitHub knows one token and one repository. */
const asked: string[] = []
const access = {
  async idOf(token: string, repository: string) {
    asked.push(`${token} ${repository}`)
    return '5'
  },
  async ownerOf(token: string) {
    if (token !== 'ghu_known') throw new HttpError(401, 'session-expired', 'x', { next: 'x' })
    return { id: 8, login: 'mona' }
  },
}

const appWith = (settings: object) =>
  ({
    settings: settings as ServiceSettings,
    signIn: async () => ({ github: undefined, access }),
  }) as unknown as Pick<App, 'settings' | 'signIn'>
const app = appWith({ signIn })

const cookie = async (tokens: { access: string; accessUntil?: number }, secret = signIn.sessionSecret) => {
  const session = { user: { id: 7, login: 'wanda' }, tokens, since: 1 }
  return sealCookie('session', session, { origin, secret, until: Date.now() + 60_000 })
}

const requestWith = async (value: string | Promise<string>, headers: Record<string, string> = {}, method = 'POST') =>
  new Request(`${origin}/api/ask`, {
    method,
    headers: { cookie: `__Host-handoff-session=${await value}`, origin, ...headers },
  })

test('a session is the person who signed in, with the rights that GitHub tells for its token', async () => {
  const caller = await callerOfSession(await requestWith(cookie({ access: 'ghu_own' })), app)
  expect(caller).toMatchObject({ way: 'person', name: 'person:7', repositories, mayComment: false })
  expect(await caller?.repositoryId?.('octo/tools', never)).toBe('5')
  expect(asked).toContain('ghu_own octo/tools')
})

test('a token of GitHub is the person to whom it belongs, and one of another App is refused', async () => {
  const caller = await callerOfToken('ghu_known', app, signIn)
  expect(caller).toMatchObject({ way: 'person', name: 'person:8', repositories, mayComment: false })
  await expect(callerOfToken('ghu_other', app, signIn)).rejects.toMatchObject({ problem: { status: 401 } })
})

test.each<[string, () => Promise<Request>, object]>([
  ['a request without a cookie', async () => new Request(`${origin}/api/ask`), { signIn }],
  ['a deployment without a sign-in', () => requestWith(cookie({ access: 'x' })), {}],
  ['a cookie of another deployment', () => requestWith(cookie({ access: 'x' }, 't'.repeat(40))), { signIn }],
  ['a cookie that is none', () => requestWith('abc'), { signIn }],
])('%s has no session, also from another origin', async (_, request, settings) => {
  expect(await callerOfSession(await request(), appWith(settings))).toBeUndefined()
})

test.each<[string, number, boolean]>([
  ['ends in a minute', 60_000, true],
  ['ended a second ago', -1_000, false],
])('a session whose token %s', async (_, from, isLetIn) => {
  const request = await requestWith(cookie({ access: 'x', accessUntil: Date.now() + from }))
  const outcome = await callerOfSession(request, app).then(
    (caller) => caller?.name,
    (error: HttpError) => error.problem.code,
  )
  expect(outcome).toBe(isLetIn ? 'person:7' : 'session-expired')
})

test('a session does not act for a page of another origin', async () => {
  const request = await requestWith(cookie({ access: 'x' }), { origin: 'https://evil.example' })
  await expect(callerOfSession(request, app)).rejects.toMatchObject({ problem: { status: 403 } })
})

const other = 'https://evil.example'
test.each<[string, string, Record<string, string>, boolean]>([
  ['a page of ours that writes', 'POST', { origin, 'sec-fetch-site': 'same-origin' }, true],
  ['a page of ours, in a browser without fetch metadata', 'POST', { origin }, true],
  ['an address that is typed in', 'GET', { 'sec-fetch-site': 'none' }, true],
  ['a page of ours that reads', 'GET', { 'sec-fetch-site': 'same-origin' }, true],
  ['a reader that names no origin', 'HEAD', {}, true],
  ['a writer that names no origin', 'POST', {}, false],
  ['a writer that names no origin, of this site', 'POST', { 'sec-fetch-site': 'same-origin' }, false],
  ['another page that writes', 'POST', { origin: other, 'sec-fetch-site': 'cross-site' }, false],
  ['another page, in a browser without fetch metadata', 'POST', { origin: other }, false],
  ['another page that reads', 'GET', { origin: other }, false],
  ['another page that reads without naming its origin', 'GET', { 'sec-fetch-site': 'cross-site' }, false],
  ['a sibling of the site', 'GET', { 'sec-fetch-site': 'same-site' }, false],
  ['a sibling that writes under our name', 'POST', { origin, 'sec-fetch-site': 'same-site' }, false],
])('%s', (_, method, headers, isAllowed) => {
  const url = `${origin}/api/ask`
  const request = new Request(url, { method, headers })
  expect(statusOf(() => refuseForeignOrigin(request, new URL(url)))).toBe(isAllowed ? 'allowed' : 403)
})

function statusOf(check: () => void): number | 'allowed' {
  try {
    check()
    return 'allowed'
  } catch (error) {
    return (error as HttpError).problem.status
  }
}
