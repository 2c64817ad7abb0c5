// People authorize our App in their browser (the web application flow with PKCE), and the App acts with their tokens. A refused code or refresh
// token is reported with status 200 and a code, as GitHub does it.
import { createHash, randomBytes } from 'node:crypto'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import type { App } from './apps.js'
import { errorReply, noContent, notFound, type RequestContext } from './request-context.js'
import type { GitHubState, Token, User } from './state.js'

/** What a test or `npm run dev` sets and does. */
export interface UserFlow {
  readonly clientId: string
  readonly clientSecret: string
  /** The callback addresses in the App's settings. */
  callbacks: string[]
  /** The App itself, suspended by GitHub. */
  suspended: boolean
  /** Whose browser it is, and what the person says when asked. */
  person?: User
  decision: 'allow' | 'deny'
  tokenSeconds: number
  refreshSeconds: number
  /** The access tokens of the person end now, as after eight hours. */
  expireTokens(user: User): void
  /** The person takes the authorization of the App back. */
  withdraw(user: User): void
}

interface Grant {
  user: User
  redirect: string
  challenge: string | null
  until: number
}

interface Refresh {
  user: User
  access: string
  until: number
}

const codeMs = 600_000

export function makeUserFlow(state: GitHubState, app: App) {
  const grants = new Map<string, Grant>()
  const refreshes = new Map<string, Refresh>()
  const tokensOf = (user: User) => [...state.tokens.values()].filter((token) => token.forApp && token.user === user)
  const flow: UserFlow = {
    clientId: `Iv23li${randomBytes(7).toString('hex')}`,
    clientSecret: randomBytes(20).toString('hex'),
    callbacks: [],
    suspended: false,
    decision: 'allow',
    tokenSeconds: 28_800,
    refreshSeconds: 15_897_600,
    expireTokens(user) {
      for (const token of tokensOf(user)) token.expiresAt = Date.now()
    },
    withdraw(user) {
      for (const token of tokensOf(user)) token.revoked = true
      for (const [secret, refresh] of refreshes) if (refresh.user === user) refreshes.delete(secret)
    },
  }

  /** GitHub goes back to the callback that is registered, whatever was asked for. */
  function authorizeReply(query: URLSearchParams): Reply {
    const redirect = query.get('redirect_uri') ?? flow.callbacks[0] ?? ''
    if (query.get('client_id') !== flow.clientId || flow.callbacks.length === 0)
      return { status: 404, body: 'Not Found' }
    const known = flow.callbacks.includes(redirect)
    const back = (fields: Record<string, string>) => backTo(known ? redirect : flow.callbacks[0]!, query, fields)
    if (!known) return back({ error: 'redirect_uri_mismatch' })
    if (flow.suspended) return back({ error: 'application_suspended' })
    if (flow.person === undefined)
      return { status: 200, headers: { 'content-type': 'text/html' }, body: 'Sign in to GitHub' }
    if (flow.decision === 'deny') return back({ error: 'access_denied' })
    const code = randomBytes(10).toString('hex')
    const challenge = query.get('code_challenge_method') === 'S256' ? query.get('code_challenge') : null
    grants.set(code, { user: flow.person, redirect, challenge, until: Date.now() + codeMs })
    return back({ code })
  }

  function tokenReply(request: RecordedRequest): Reply {
    const fields = fieldsOf(request)
    const secrets = fields.get('client_id') === flow.clientId && fields.get('client_secret') === flow.clientSecret
    if (!secrets) return json(200, { error: 'incorrect_client_credentials' })
    return fields.get('grant_type') === 'refresh_token' ? refreshReply(fields) : codeReply(fields)
  }

  function codeReply(fields: URLSearchParams): Reply {
    const code = fields.get('code') ?? ''
    const grant = grants.get(code)
    grants.delete(code)
    const verified = grant?.challenge === null || grant?.challenge === sha256(fields.get('code_verifier') ?? '')
    if (!grant || grant.until <= Date.now() || !verified) return json(200, { error: 'bad_verification_code' })
    if ((fields.get('redirect_uri') ?? grant.redirect) !== grant.redirect)
      return json(200, { error: 'redirect_uri_mismatch' })
    return issue(grant.user)
  }

  /** A refresh token works once, and ends the access token that came with it. */
  function refreshReply(fields: URLSearchParams): Reply {
    const secret = fields.get('refresh_token') ?? ''
    const refresh = refreshes.get(secret)
    if (!refresh || refresh.until <= Date.now()) return json(200, { error: 'bad_refresh_token' })
    refreshes.delete(secret)
    const old = state.tokens.get(refresh.access)
    if (old) old.revoked = true
    return issue(refresh.user)
  }

  function issue(user: User): Reply {
    const access = `ghu_${randomBytes(18).toString('hex')}`
    const refresh = `ghr_${randomBytes(38).toString('hex')}`
    const { tokenSeconds, refreshSeconds } = flow
    const until = (seconds: number) => Date.now() + seconds * 1_000
    const permissions = { metadata: 'read', ...app.permissions } as const
    const token: Token = { user, installation: false, forApp: true, permissions, repositories: null }
    state.tokens.set(access, { ...token, expiresAt: until(tokenSeconds) })
    refreshes.set(refresh, { user, access, until: until(refreshSeconds) })
    return json(200, {
      access_token: access,
      expires_in: tokenSeconds,
      refresh_token: refresh,
      refresh_token_expires_in: refreshSeconds,
      token_type: 'bearer',
      scope: '',
    })
  }

  /** Undefined for an address that is not of this flow. */
  function reply(request: RecordedRequest): Reply | undefined {
    const url = new URL(request.path, state.serverUrl)
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /login/oauth/authorize':
        return authorizeReply(url.searchParams)
      case 'POST /login/oauth/access_token':
        return tokenReply(request)
      case 'GET /.well-known/oauth-authorization-server/login/oauth':
        return json(200, serverMetadata(state.serverUrl))
      default:
        return undefined
    }
  }

  return { flow, reply }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')

function backTo(callback: string, query: URLSearchParams, fields: Record<string, string>): Reply {
  const url = new URL(callback)
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value)
  if (fields['error'] !== undefined) url.searchParams.set('error_description', 'As docs.github.com describes it.')
  const state = query.get('state')
  if (state !== null) url.searchParams.set('state', state)
  return { status: 302, headers: { location: url.href } }
}

function fieldsOf(request: RecordedRequest): URLSearchParams {
  const text = request.body.toString()
  if (!(request.headers['content-type'] ?? '').includes('json')) return new URLSearchParams(text)
  return new URLSearchParams(JSON.parse(text) as Record<string, string>)
}

const serverMetadata = (serverUrl: string) => ({
  issuer: `${serverUrl}/login/oauth`,
  authorization_endpoint: `${serverUrl}/login/oauth/authorize`,
  token_endpoint: `${serverUrl}/login/oauth/access_token`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
})

// ── what the App may ask about a token ────────────────────────────────────────────────────────────────────────────────────────────

/** Null when the App's own credentials are sent, else what GitHub says. */
export function verifyClient({ clientId, clientSecret }: UserFlow, header: string | undefined): Reply | null {
  const wanted = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  return header === wanted ? null : errorReply(401, 'Requires authentication')
}

export const checkTokenReply = (flow: UserFlow) => (context: RequestContext) => {
  const found = ownToken(flow, context)
  if (!found) return notFound()
  const { secret, token } = found
  const app = { client_id: flow.clientId, name: 'handoff', url: `${context.state.serverUrl}/apps/handoff` }
  const expires = token.expiresAt === undefined ? null : new Date(token.expiresAt).toISOString()
  return json(200, { token: secret, app, user: token.user, scopes: null, expires_at: expires })
}

export const revokeTokenReply = (flow: UserFlow) => (context: RequestContext) => {
  const found = ownToken(flow, context)
  if (!found) return notFound()
  found.token.revoked = true
  return noContent()
}

function ownToken(flow: UserFlow, { state, parameters, body }: RequestContext) {
  const secret = String(body['access_token'] ?? '')
  const token = state.tokens.get(secret)
  const dead = token?.revoked || (token?.expiresAt !== undefined && token.expiresAt <= Date.now())
  if (!token?.forApp || dead || parameters['id'] !== flow.clientId) return undefined
  return { secret, token }
}
