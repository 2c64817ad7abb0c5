// Signing in while GitHub breaks each call: no outage makes a session, and none ends one.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Fault } from '../../../src/emulators/faulty-server.js'
import { name, post } from '../kit.js'
import { addReader, Browser, deployWithSignIn, type SignInDeployment } from './browser.js'

let at: SignInDeployment
let people = 0

beforeAll(async () => {
  at = await deployWithSignIn()
}, 120_000)

afterAll(async () => {
  await at?.[Symbol.asyncDispose]()
})

beforeEach(() => {
  at.github.server.clearRules()
  at.github.userFlow.tokenSeconds = 28_800
})

const faults: Fault[] = [{ kind: 'answer', status: 500, body: '{}' }, { kind: 'lose-reply' }, { kind: 'cut', bytes: 7 }]
const breakCalls = (method: string, path: RegExp, fault: Fault) => at.github.server.rule({ method, path, fault })

function arrive() {
  people += 1
  const user = addReader(at, `person-${people}`)
  at.github.userFlow.person = user
  return { user, browser: new Browser(at.here.url) }
}

async function signedIn() {
  const person = arrive()
  await person.browser.signIn()
  return person
}

const session = async (browser: Browser) => (await browser.call('/api/auth/session')).body.signedIn

describe.each(faults)('when a call breaks: $kind', (fault) => {
  test.each([
    ['exchanging the code', 'POST', /^\/login\/oauth\/access_token$/],
    ['reading who signed in', 'GET', /\/user$/],
  ] as const)(
    '%s: no session begins, and the next attempt succeeds',
    async (_what, method, path) => {
      const { browser } = arrive()
      const takeBack = breakCalls(method, path, fault)
      expect(await browser.signIn('/r/x')).toBe(`${at.here.url}/r/x?signin=failed`)
      expect([...browser.cookies.keys()]).toEqual([])
      takeBack()
      expect(await browser.signIn('/r/x')).toBe(`${at.here.url}/r/x`)
      expect(await session(browser)).toBe(true)
    },
    60_000,
  )

  test('checking a session: it stays', async () => {
    const { browser } = await signedIn()
    breakCalls('GET', /\/user$/, fault)
    expect(await session(browser)).toBe(true)
  }, 60_000)

  test('ending a session: the cookie goes at once', async () => {
    const { browser } = await signedIn()
    breakCalls('DELETE', /\/applications\/[^/]+\/token$/, fault)
    expect((await browser.call('/api/auth/logout', 'POST')).status).toBe(204)
    expect([...browser.cookies.keys()]).toEqual([])
    await at.here.quiet()
  }, 60_000)

  test('checking a token of GitHub: nothing is answered, and the refusal is not kept', async () => {
    await signedIn()
    const token = at.github.server.requests.findLast(({ headers }) =>
      headers['authorization']?.startsWith('Bearer ghu_'),
    )
    const bearer = token?.headers['authorization']?.slice(7) ?? ''
    const question = { repository: name, run: at.here.run.run, question: 'How is the token refreshed?' }
    const takeBack = breakCalls('POST', /\/applications\/[^/]+\/token$/, fault)
    const refused = await post(at.here.url, question, {}, bearer)
    expect([502, 503, 504]).toContain(refused.status)
    takeBack()
    expect((await post(at.here.url, question, {}, bearer)).status).toBe(200)
  }, 60_000)
})

test('a session whose renewal breaks is renewed by the next request, while GitHub kept its refresh token', async () => {
  at.github.userFlow.tokenSeconds = 3
  const { browser } = await signedIn()
  at.github.userFlow.tokenSeconds = 28_800
  await new Promise((resolve) => setTimeout(resolve, 3_100))
  const takeBack = breakCalls('POST', /^\/login\/oauth\/access_token$/, { kind: 'answer', status: 500, body: '{}' })
  expect((await browser.call('/api/auth/session')).status).toBeGreaterThanOrEqual(500)
  takeBack()
  expect(await session(browser)).toBe(true)
}, 60_000)
