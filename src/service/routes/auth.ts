// /api/auth: people sign in with GitHub. The browser keeps an encrypted cookie and no token. Only GET /api/auth/session renews a session: the
// refresh token of GitHub works once.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { GitHubSignIn } from '../../handoff/index.js'
import { isHandoffError, orAborted, type UserTokens } from '../../handoff/index-for-stored-answers.js'
import { isSecure } from '../../handoff/util/http-url.js'
import { type App, getApp } from '../app.js'
import { refuseForeignOrigin } from '../auth/person.js'
import { longestSessionMs, openCookie, readCookie, type Session, sealCookie, setCookie } from '../auth/session.js'
import { logFieldsFor, type RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { HttpError } from '../http/problem-details.js'

const parts = ['login', 'callback', 'logout', 'session'] as const
type Part = (typeof parts)[number]

/** The platform may pass the original address or the rewritten one. */
export function readAddress(url: URL): Part {
  const [, , , named = url.searchParams.get('part'), ...rest] = url.pathname.split('/')
  const part = parts.find((one) => one === named)
  if (part !== undefined && rest.length === 0) return part
  throw new HttpError(404, 'not-found', 'There is nothing at this address.')
}

export async function getAuth(exchange: RequestContext): Promise<Response> {
  const app = getApp()
  switch (readAddress(exchange.url)) {
    case 'login':
      return beginSignIn(exchange, app)
    case 'callback':
      return endSignIn(exchange, app)
    case 'session':
      return showSession(exchange, app)
    default:
      throw otherMethod('POST, OPTIONS')
  }
}

export async function postAuth(exchange: RequestContext): Promise<Response> {
  if (readAddress(exchange.url) !== 'logout') throw otherMethod('GET, HEAD, OPTIONS')
  return signOut(exchange, getApp())
}

const otherMethod = (allow: string) =>
  new HttpError(405, 'method-not-allowed', `This address takes ${allow}.`, { headers: { allow } })

/** The settings of signing in, and what its cookies belong to. */
function signInOf({ settings }: App, { url }: RequestContext) {
  if (settings.signIn === undefined) {
    throw new HttpError(404, 'not-found', 'People cannot sign in to this service.', {
      next: 'Send a token, or have HANDOFF_APP_CLIENT_ID and the settings beside it set.',
    })
  }
  if (!isSecure(url)) {
    throw new HttpError(403, 'forbidden', 'Signing in takes https.', { next: 'Open the page by its https address.' })
  }
  const seal = { origin: url.origin, secret: settings.signIn.sessionSecret }
  return { seal, redirect: `${url.origin}/api/auth/callback` }
}

// ── signing in ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** So long a person may take on GitHub. */
const signInSeconds = 600

const random = () => randomBytes(32).toString('base64url')

async function beginSignIn(exchange: RequestContext, app: App): Promise<Response> {
  const { url } = exchange
  const { seal, redirect } = signInOf(app, exchange)
  const signIn = { state: random(), verifier: random(), path: ownPath(url.searchParams.get('return'), url) }
  const cookie = await sealCookie('signin', signIn, { ...seal, until: Date.now() + signInSeconds * 1_000 })
  const { github } = await app.signIn()
  return redirectTo(github.authorizeUrl({ redirect, ...signIn }), [setCookie('signin', url, cookie, signInSeconds)])
}

/** A path of this origin, with its query. Anything else is the page itself. */
function ownPath(wanted: string | null, { origin }: URL): string {
  if (wanted === null || wanted.length > 2_000 || !wanted.startsWith('/') || !URL.canParse(wanted, origin)) return '/'
  const url = new URL(wanted, origin)
  return url.origin === origin ? `${url.pathname}${url.search}${url.hash}` : '/'
}

type Outcome = 'denied' | 'expired' | 'suspended' | 'failed'

async function endSignIn(exchange: RequestContext, app: App): Promise<Response> {
  const { url, request } = exchange
  const { seal, redirect } = signInOf(app, exchange)
  const cookie = readCookie('signin', request, url)
  const signIn = cookie === undefined ? undefined : await openCookie('signin', cookie, seal)
  const gone = setCookie('signin', url, '', 0)
  const query = url.searchParams
  // Another browser began it, or it took too long.
  if (signIn === undefined || !sameText(signIn.state, query.get('state') ?? '')) {
    return redirectTo(pageOf(url, '/', 'expired'), [gone])
  }
  const back = (outcome?: Outcome) => pageOf(url, signIn.path, outcome)
  const refused = query.get('error')
  if (refused !== null) return redirectTo(back(outcomeOf(refused)), [gone])
  try {
    const { github } = await app.signIn()
    const granted = { code: query.get('code') ?? '', redirect, verifier: signIn.verifier }
    const tokens = await github.exchange(granted, exchange)
    const session = { user: await github.user(tokens.access, exchange), tokens, since: Date.now() }
    exchange.note({ caller: `person:${session.user.id}` })
    return redirectTo(back(), [gone, await sessionCookie(session, url, seal)])
  } catch (error) {
    exchange.note(logFieldsFor(error))
    return redirectTo(back(isHandoffError(error, 'unauthorized') ? 'expired' : 'failed'), [gone])
  }
}

const outcomeOf = (error: string): Outcome =>
  error === 'access_denied' ? 'denied' : error === 'application_suspended' ? 'suspended' : 'failed'

function sameText(one: string, other: string): boolean {
  const [ours, theirs] = [Buffer.from(one), Buffer.from(other)]
  return ours.length === theirs.length && timingSafeEqual(ours, theirs)
}

/** Whole, with its origin: a path that begins with two slashes would lead elsewhere. */
function pageOf({ origin }: URL, path: string, outcome?: Outcome): string {
  const url = new URL(`${origin}${path}`)
  if (outcome !== undefined) url.searchParams.set('signin', outcome)
  return url.href
}

function redirectTo(location: string, cookies: string[]): Response {
  const headers = new Headers({ location })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return new Response(null, { status: 302, headers })
}

// ── the session ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const endOf = ({ tokens, since }: Session) =>
  Math.min(since + longestSessionMs, tokens.refreshUntil ?? tokens.accessUntil ?? Number.POSITIVE_INFINITY)

async function sessionCookie(session: Session, url: URL, seal: { origin: string; secret: string }): Promise<string> {
  const until = endOf(session)
  const cookie = await sealCookie('session', session, { ...seal, until })
  return setCookie('session', url, cookie, Math.max(0, Math.floor((until - Date.now()) / 1_000)))
}

async function showSession(exchange: RequestContext, app: App): Promise<Response> {
  const { url, request } = exchange
  const offered = app.settings.signIn !== undefined && isSecure(url)
  const cookie = offered ? readCookie('session', request, url) : undefined
  if (cookie === undefined) return jsonResponse(200, { offered, signedIn: false })
  const { seal } = signInOf(app, exchange)
  const session = await openCookie('session', cookie, seal)
  const standing = session && (await renewed(session, app, exchange.signal))
  // A cookie that GitHub refuses stays: another tab may have renewed it, and this reply must not remove the newer one.
  if (standing === undefined) return jsonResponse(200, { offered, signedIn: false })
  exchange.note({ caller: `person:${standing.user.id}` })
  const view = { offered, signedIn: true, user: standing.user, until: new Date(endOf(standing)).toISOString() }
  const changed = standing !== session
  return jsonResponse(200, view, changed ? { 'set-cookie': await sessionCookie(standing, url, seal) } : {})
}

/** The access token is renewed so long before its end. */
const renewBeforeMs = 60 * 60_000

/** Renewals of this process, by the refresh token that they used: a second tab gets the result of the first. */
const renewals = new Map<string, Promise<UserTokens>>()
const mostRenewals = 500

/** Undefined where GitHub no longer accepts the person's tokens. */
async function renewed(session: Session, app: App, signal: AbortSignal): Promise<Session | undefined> {
  const { tokens } = session
  const { github } = await app.signIn()
  try {
    const due = (tokens.accessUntil ?? Number.POSITIVE_INFINITY) - renewBeforeMs <= Date.now()
    if (due && tokens.refresh !== undefined) {
      const doing = 'renewing a session'
      return { ...session, tokens: await orAborted(renewOnce(tokens.refresh, github), signal, doing) }
    }
    // The person may have taken the App's authorization back.
    await github.user(tokens.access, { signal, patient: false })
    return session
  } catch (error) {
    if (isHandoffError(error, 'unauthorized')) return undefined
    // An outage of GitHub ends no session.
    if (isHandoffError(error) && (tokens.accessUntil ?? Number.POSITIVE_INFINITY) > Date.now()) return session
    throw error
  }
}

function renewOnce(refresh: string, github: GitHubSignIn): Promise<UserTokens> {
  const known = renewals.get(refresh)
  if (known) return known
  const renewing = github.renew(refresh, { signal: AbortSignal.timeout(15_000), patient: false })
  renewals.set(refresh, renewing)
  if (renewals.size > mostRenewals) renewals.delete(renewals.keys().next().value!)
  // What GitHub refused stays refused. After an outage the next request tries again.
  renewing.catch((error: unknown) => {
    if (!isHandoffError(error, 'unauthorized')) renewals.delete(refresh)
  })
  return renewing
}

async function signOut(exchange: RequestContext, app: App): Promise<Response> {
  const { url, request } = exchange
  const { seal } = signInOf(app, exchange)
  refuseForeignOrigin(request, url)
  const cookie = readCookie('session', request, url)
  const session = cookie === undefined ? undefined : await openCookie('session', cookie, seal)
  if (session) {
    exchange.note({ caller: `person:${session.user.id}` })
    const { github } = await app.signIn()
    const revoking = github.revoke(session.tokens.access, { signal: AbortSignal.timeout(15_000) })
    exchange.logLater(revoking.then(() => ({ revoked: true })))
  }
  return new Response(null, { status: 204, headers: { 'set-cookie': setCookie('session', url, '', 0) } })
}
