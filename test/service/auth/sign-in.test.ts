// People sign in with GitHub in a browser, ask with their session, and are refused where they should be.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sealCookie } from '../../../src/service/auth/session.js'
import { call, name, post, recordOf } from '../kit.js'
import {
  addReader,
  Browser,
  deployWithSignIn,
  registerCallback,
  type SignInDeployment,
  sessionSecret,
} from './browser.js'

let at: SignInDeployment

beforeAll(async () => {
  at = await deployWithSignIn()
}, 120_000)

afterAll(async () => {
  await at?.[Symbol.asyncDispose]()
})

beforeEach(() => {
  Object.assign(at.github.userFlow, { decision: 'allow', suspended: false, tokenSeconds: 28_800 })
  at.repository.suspended = false
})

const question = () => ({ repository: name, run: at.here.run.run, question: 'How is the token refreshed?' })

/** A new person, who may read the repository and whose browser this is. */
function arrive(login: string, url = at.here.url) {
  const user = addReader(at, login)
  at.github.userFlow.person = user
  return { user, browser: new Browser(url) }
}

async function signedIn(login: string, url = at.here.url) {
  const person = arrive(login, url)
  await person.browser.signIn()
  return person
}

const requestsTo = (path: RegExp) => at.github.server.requests.filter((request) => path.test(request.path)).length

describe('signing in', () => {
  test('leads to GitHub with a challenge, back to the page, and to answers with a citation', async () => {
    const { user, browser } = arrive('mona')
    const login = await browser.send('/api/auth/login?return=%2Fr%2Focto%2Ftools%3Fq%3D1')
    const github = new URL(login.headers.get('location') ?? '')
    expect(github.origin + github.pathname).toBe(`${at.github.url}/login/oauth/authorize`)
    expect(Object.fromEntries(github.searchParams)).toEqual({
      client_id: at.github.userFlow.clientId,
      redirect_uri: `${at.here.url}/api/auth/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    expect(await browser.visit(github.href)).toBe(`${at.here.url}/r/octo/tools?q=1`)
    expect((await browser.call('/api/auth/session')).body).toEqual({
      offered: true,
      signedIn: true,
      user: { id: user.id, login: 'mona' },
      until: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    const own = { ...question(), question: 'How is the token of mona refreshed?' }
    const answer = await browser.call('/api/ask', 'POST', own)
    expect({ status: answer.status, path: answer.body.citations?.[0]?.path }).toEqual({
      status: 200,
      path: 'src/token.ts',
    })
    expect(recordOf(at.here, answer.body.id)).toMatchObject({ asker: `person:${user.id}` })
  })

  test('leaves no token in the browser, and cookies that scripts and other sites cannot use', async () => {
    const { browser } = await signedIn('hubot')
    expect([...browser.cookies.keys()]).toEqual(['handoff-session'])
    expect(browser.setCookies.filter((line) => !/; HttpOnly; Secure; SameSite=Lax$/.test(line))).toEqual([])
    expect(browser.setCookies.filter((line) => !line.includes('; Path=/; ') || /domain/i.test(line))).toEqual([])
    const seen = [...browser.cookies.values()].map((value) =>
      Buffer.from(value.split('.').join(''), 'base64url').toString(),
    )
    expect([...browser.setCookies, ...seen].filter((text) => /gh[ur]_/.test(text))).toEqual([])
  })

  test.each([
    ['the person denies it', { decision: 'deny' } as const, 'denied'],
    ['GitHub suspended the App', { suspended: true }, 'suspended'],
  ])('says so on the page when %s', async (_what, behaviour, outcome) => {
    const { browser } = arrive(`person-${outcome}`)
    Object.assign(at.github.userFlow, behaviour)
    expect(await browser.signIn('/r/x?a=1')).toBe(`${at.here.url}/r/x?a=1&signin=${outcome}`)
    expect([...browser.cookies.keys()]).toEqual([])
  })

  test('refuses a callback that this browser did not begin: no page can sign a person in as another', async () => {
    const attacker = arrive('attacker').browser
    const login = await attacker.send('/api/auth/login')
    const granted = await attacker.send(login.headers.get('location') ?? '')
    const callback = granted.headers.get('location') ?? ''
    const victim = arrive('victim').browser
    expect(await victim.visit(callback)).toBe(`${at.here.url}/?signin=expired`)
    await victim.send('/api/auth/login')
    expect(await victim.visit(callback)).toBe(`${at.here.url}/?signin=expired`)
    expect([...victim.cookies.keys()]).toEqual([])
  })

  test('refuses a state of as many characters and more bytes', async () => {
    const { browser } = arrive('bytes')
    const login = await browser.send('/api/auth/login')
    const { length } = new URL(login.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const callback = `/api/auth/callback?code=x&state=${encodeURIComponent('é'.repeat(length))}`
    expect(await browser.visit(`${at.here.url}${callback}`)).toBe(`${at.here.url}/?signin=expired`)
  })

  test('refuses a code whose verifier is another one, and a code that was used', async () => {
    const { browser } = arrive('pkce')
    const login = await browser.send('/api/auth/login')
    const granted = await browser.send(login.headers.get('location') ?? '')
    const callback = granted.headers.get('location') ?? ''
    const state = new URL(callback).searchParams.get('state') ?? ''
    const other = { state, verifier: randomBytes(32).toString('base64url'), path: '/' }
    const seal = { origin: at.here.url, secret: sessionSecret, until: Date.now() + 60_000 }
    const own = browser.cookies.get('handoff-signin') ?? ''
    browser.cookies.set('handoff-signin', await sealCookie('signin', other, seal))
    expect(await browser.visit(callback)).toBe(`${at.here.url}/?signin=expired`)
    browser.cookies.set('handoff-signin', own)
    expect(await browser.visit(callback)).toBe(`${at.here.url}/?signin=expired`)
    expect([...browser.cookies.keys()]).toEqual([])
  })

  test.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/%2f/evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/x/../..//evil.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    '@evil.example',
    '.evil.example',
    ':80@evil.example',
    '/\u0000/evil.example',
    'http:evil.example',
    'http:/evil.example',
    '///evil.example',
    '/\u2028/evil.example',
  ])('never leads to another origin: %j', async (path) => {
    const { browser } = arrive('redirected')
    const landed = await browser.signIn(path)
    expect(new URL(landed).origin).toBe(at.here.url)
  })
})

describe('a session', () => {
  const asks = async (browser: Browser) => {
    const { status, body } = await browser.call('/api/ask', 'POST', question())
    return { status, code: body.code }
  }

  test('that was tampered with is none', async () => {
    const { browser } = await signedIn('tampered')
    const cookie = browser.cookies.get('handoff-session') ?? ''
    const places = Array.from({ length: 40 }, (_, index) => Math.floor((index * (cookie.length - 1)) / 40))
    const codes = new Set<string>()
    for (const place of places) {
      const letter = cookie[place] === 'A' ? 'B' : 'A'
      browser.cookies.set('handoff-session', `${cookie.slice(0, place)}${letter}${cookie.slice(place + 1)}`)
      const { status, code } = await asks(browser)
      codes.add(`${status} ${code}`)
    }
    expect([...codes]).toEqual(['401 unauthorized'])
  })

  test.each([
    ['of another deployment, with another secret', 'session', { secret: 'another-secret-of-32-characters-or-more' }],
    ['of another address with the same secret', 'session', { origin: 'https://other.example' }],
    ['that has expired', 'session', { until: Date.now() - 1_000 }],
    ['that is the state of a sign-in', 'signin', {}],
  ] as const)('%s is none', async (_what, kind, difference) => {
    const { browser, user } = await signedIn('replayed')
    const seal = { origin: at.here.url, secret: sessionSecret, until: Date.now() + 60_000, ...difference }
    const session = { user: { id: user.id, login: user.login }, tokens: { access: 'ghu_x' }, since: Date.now() }
    browser.cookies.set('handoff-session', await sealCookie(kind, session as never, seal))
    expect(await asks(browser)).toEqual({ status: 401, code: 'unauthorized' })
    expect((await browser.call('/api/auth/session')).body).toEqual({ offered: true, signedIn: false })
  })

  test('is not accepted by another instance at another address', async () => {
    const other = await at.here.another()
    const { browser } = await signedIn('elsewhere')
    const replayed = new Browser(other.url)
    replayed.cookies.set('handoff-session', browser.cookies.get('handoff-session') ?? '')
    expect(await asks(replayed)).toEqual({ status: 401, code: 'unauthorized' })
  })

  test('ends with the authorization on GitHub', async () => {
    const { browser, user } = await signedIn('withdrawn')
    at.github.userFlow.withdraw(user)
    expect((await browser.call('/api/auth/session')).body).toEqual({ offered: true, signedIn: false })
    expect(await asks(browser)).toEqual({ status: 401, code: 'session-expired' })
  })

  test('whose token has ended is renewed at one address, for all tabs', async () => {
    at.github.userFlow.tokenSeconds = 3
    const { browser, user } = await signedIn('renewed')
    at.github.userFlow.tokenSeconds = 28_800
    await new Promise((resolve) => setTimeout(resolve, 3_100))
    expect(await asks(browser)).toEqual({ status: 401, code: 'session-expired' })
    const tab = new Browser(at.here.url)
    tab.cookies.set('handoff-session', browser.cookies.get('handoff-session') ?? '')
    const before = requestsTo(/access_token$/)
    const [first, second] = await Promise.all([browser.call('/api/auth/session'), tab.call('/api/auth/session')])
    expect([first.body, second.body].map((one) => one.user.login)).toEqual([user.login, user.login])
    expect(requestsTo(/access_token$/) - before).toBe(1)
    expect([await asks(browser), await asks(tab)].map((one) => one.status)).toEqual([200, 200])
  })

  test('ends by POST, and its token on GitHub with it', async () => {
    const { browser } = await signedIn('leaving')
    const cookie = browser.cookies.get('handoff-session') ?? ''
    expect((await browser.call('/api/auth/logout', 'POST')).status).toBe(204)
    expect([...browser.cookies.keys()]).toEqual([])
    await at.here.quiet()
    browser.cookies.set('handoff-session', cookie)
    expect((await browser.call('/api/auth/session')).body.signedIn).toBe(false)
  })
})

describe('a page of another origin', () => {
  test.each([
    ['another origin', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a sibling of the site', { origin: 'http://evil.localhost', 'sec-fetch-site': 'same-site' }],
    ['an opaque origin', { origin: 'null' }],
  ])('cannot act with the session: %s', async (_what, headers) => {
    const { browser } = await signedIn('csrf')
    const answer = await browser.call('/api/ask', 'POST', question(), headers)
    const left = await browser.call('/api/auth/logout', 'POST', undefined, headers)
    const taken = await browser.call(`/api/runs/x/answers/${'0'.repeat(32)}`, 'DELETE', undefined, headers)
    expect([answer, left, taken].map(({ status, body }) => `${status} ${body.code}`)).toEqual(
      Array(3).fill('403 forbidden'),
    )
    expect((await browser.call('/api/auth/session')).body.signedIn).toBe(true)
  })

  test('nor can a request that names no origin, or reads from elsewhere', async () => {
    const { browser } = await signedIn('silent')
    const answer = await browser.send('/api/ask', {
      method: 'POST',
      body: JSON.stringify(question()),
      headers: { 'content-type': 'application/json' },
    })
    const read = await browser.call('/api/runs', 'GET', undefined, { 'sec-fetch-site': 'cross-site' })
    expect([answer.status, read.status]).toEqual([403, 403])
  })
})

describe('a person', () => {
  test('who lost access to a repository is refused, and sees it no more', async () => {
    const { browser, user } = await signedIn('losing')
    expect((await browser.call('/api/runs')).body.repositories).toEqual([name])
    at.repository.collaborators.delete('losing')
    const other = await at.here.another()
    registerCallback(at.github, other.url)
    at.github.userFlow.person = user
    const elsewhere = new Browser(other.url)
    await elsewhere.signIn()
    const answer = await elsewhere.call('/api/ask', 'POST', question())
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 403, code: 'forbidden' })
    expect((await elsewhere.call('/api/runs')).body.repositories).toEqual([])
  })

  test('is refused where the installation of the App is suspended, with the words of GitHub', async () => {
    const { browser } = await signedIn('suspended-installation')
    at.repository.suspended = true
    const { status, body } = await browser.call('/api/ask', 'POST', question())
    expect({ status, detail: body.detail }).toEqual({ status: 403, detail: expect.stringContaining('suspended') })
  })

  test('is refused outside the list of the operator, without a request to GitHub', async () => {
    const { browser } = await signedIn('outside')
    const before = requestsTo(/^\/repos\//)
    const { status, body } = await browser.call('/api/ask', 'POST', { ...question(), repository: 'other/x' })
    expect({ status, next: body.next }).toEqual({
      status: 403,
      next: expect.stringContaining('HANDOFF_SIGN_IN_REPOSITORIES'),
    })
    expect(requestsTo(/^\/repos\//)).toBe(before)
  })

  test('is refused where the name belongs to another repository now', async () => {
    const { browser } = await signedIn('moved')
    const { id } = at.repository
    at.repository.id = 99_999
    const { status } = await browser.call('/api/ask', 'POST', question())
    at.repository.id = id
    expect(status).toBe(403)
  })

  test('cannot read the state of the deployment, nor take back the question of another', async () => {
    const { browser } = await signedIn('curious')
    expect((await browser.call('/api/health?deep=1')).status).toBe(403)
    const asked = await (await signedIn('owner-of-it')).browser.call('/api/ask', 'POST', question())
    expect((await browser.call(asked.body.self, 'DELETE')).status).toBe(403)
  })
})

describe('a token of GitHub as a bearer', () => {
  const accessTokenOf = (login: string) => {
    const requests = at.github.server.requests.filter(({ headers }) =>
      headers['authorization']?.startsWith('Bearer ghu_'),
    )
    expect(login).not.toBe('')
    return requests.at(-1)?.headers['authorization']?.slice(7) ?? ''
  }

  test('is let in where it was issued to this App', async () => {
    const { user } = await signedIn('agent')
    const token = accessTokenOf(user.login)
    const answer = await post(at.here.url, question(), {}, token)
    expect(answer.status).toBe(200)
  })

  test('is refused where another App got it', async () => {
    at.github.addUser('careless')
    const foreign = at.github.issueToken({ login: 'careless', permissions: { contents: 'read' } })
    const answer = await post(at.here.url, question(), {}, `ghu_${foreign.replace(/\W|_/g, '')}`)
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 401, code: 'session-expired' })
  })

  test('has its authorization server named by the metadata of MCP', async () => {
    const { body } = await call(at.here.url, '/.well-known/oauth-protected-resource/api/mcp', { token: null })
    expect(body.authorization_servers).toEqual([`${at.github.url}/login/oauth`])
    const server = await fetch(`${at.github.url}/.well-known/oauth-authorization-server/login/oauth`)
    expect(await server.json()).toMatchObject({ issuer: body.authorization_servers[0] })
  })
})

test('a deployment without the settings offers no sign-in', async () => {
  const plain = await at.here.another({
    HANDOFF_APP_CLIENT_ID: '',
    HANDOFF_APP_CLIENT_SECRET: '',
    HANDOFF_SESSION_SECRET: '',
    HANDOFF_SIGN_IN_REPOSITORIES: '',
  })
  const browser = new Browser(plain.url)
  expect((await browser.call('/api/auth/session')).body).toEqual({ offered: false, signedIn: false })
  expect((await browser.call('/api/auth/login')).status).toBe(404)
})

test('GitHub was asked nothing that it does not have', () => {
  expect(at.github.unexpected).toEqual([])
})
