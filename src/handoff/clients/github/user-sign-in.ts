// Signs people in with the user flow of a GitHub App, with PKCE, and acts with their tokens. GitHub reports a refused code or refresh token with
// status 200 and a code in the body.
import { createHash } from 'node:crypto'
import { HandoffError } from '../../domain/errors.js'
import type { Call, RepositoryFacts } from '../../domain/github.js'
import { quote } from '../../domain/run.js'
import * as read from '../../util/decode.js'
import { makeTransport, parseBaseUrl } from './client.js'
import { LostReply, sendRequest } from './request.js'
import { decodeReply, repositoryFacts, repositoryPath } from './responses.js'

interface SignInOptions {
  serverUrl: string
  apiUrl: string
  clientId: string
  clientSecret: string
}

/** Times are in milliseconds since 1970. An App whose tokens do not expire gets an access token only. */
export interface UserTokens {
  access: string
  accessUntil?: number
  refresh?: string
  refreshUntil?: number
}

interface SignedInUser {
  id: number
  login: string
}

/** All calls reject with a HandoffError and never show a token. `unauthorized`: GitHub no longer accepts the code or the token. */
export interface GitHubSignIn {
  /** Where the person is asked. `verifier` stays here until the code is exchanged. */
  authorizeUrl(wanted: { redirect: string; state: string; verifier: string }): string
  exchange(granted: { code: string; redirect: string; verifier: string }, call: Call): Promise<UserTokens>
  /** GitHub ends both old tokens. */
  renew(refresh: string, call: Call): Promise<UserTokens>
  user(access: string, call: Call): Promise<SignedInUser>
  /** Rejects with `unauthorized` a token that GitHub issued to another App, or no longer accepts. */
  ownerOf(access: string, call: Call): Promise<SignedInUser>
  revoke(access: string, call: Call): Promise<void>
  repository(access: string, name: string, call: Call): Promise<RepositoryFacts>
}

const token = read.pattern(/^[\x21-\x7e]{1,1000}$/, 'a token')
const tokenShape = read.object({
  access_token: token,
  expires_in: read.optional(read.count),
  refresh_token: read.optional(token),
  refresh_token_expires_in: read.optional(read.count),
})
const refusalShape = read.object({ error: read.string(200) })
const userShape = read.object({ id: read.count, login: read.string(200) })
const ownerShape = read.object({ user: userShape })

export function makeGitHubSignIn(options: SignInOptions): GitHubSignIn {
  const { clientId, clientSecret } = options
  const serverUrl = parseBaseUrl(options.serverUrl)
  const common = { userAgent: 'handoff', maximumWaitMs: 5_000, attemptMs: 8_000 }
  const api = makeTransport({ ...common, apiUrl: options.apiUrl })
  const web = makeTransport({ ...common, apiUrl: serverUrl })
  const basic = { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` }
  const application = `/applications/${encodeURIComponent(clientId)}`

  async function tokens(fields: Record<string, string>, doing: string, call: Call): Promise<UserTokens> {
    const body = { client_id: clientId, client_secret: clientSecret, ...fields }
    const headers = { accept: 'application/json' }
    const request = { method: 'POST', path: '/login/oauth/access_token', body, headers, doing } as const
    const reply = await sendRequest(web, { ...request, idempotent: false }, call).catch(withoutReply)
    if (typeof reply.body === 'object' && reply.body !== null && 'error' in reply.body) {
      throw refusal(decodeReply(reply, refusalShape, doing).error, doing)
    }
    const found = decodeReply(reply, tokenShape, doing)
    const after = (seconds: number) => Date.now() + seconds * 1_000
    return {
      access: found.access_token,
      ...(found.expires_in ? { accessUntil: after(found.expires_in) } : {}),
      ...(found.refresh_token ? { refresh: found.refresh_token } : {}),
      ...(found.refresh_token_expires_in ? { refreshUntil: after(found.refresh_token_expires_in) } : {}),
    }
  }

  const get = async <T>(access: string, path: string, decoder: read.Decoder<T>, doing: string, call: Call) =>
    decodeReply(
      await sendRequest(api, { method: 'GET', path, token: access, doing, idempotent: true }, call),
      decoder,
      doing,
    )

  return {
    authorizeUrl({ redirect, state, verifier }) {
      const url = new URL(`${serverUrl}/login/oauth/authorize`)
      url.search = String(
        new URLSearchParams({
          client_id: clientId,
          redirect_uri: redirect,
          state,
          code_challenge: createHash('sha256').update(verifier).digest('base64url'),
          code_challenge_method: 'S256',
        }),
      )
      return url.href
    },
    exchange: ({ code, redirect, verifier }, call) =>
      tokens({ code, redirect_uri: redirect, code_verifier: verifier }, 'signing a person in', call),
    renew: (refresh, call) =>
      tokens({ grant_type: 'refresh_token', refresh_token: refresh }, 'renewing a session', call),
    user: (access, call) => get(access, '/user', userShape, 'reading who signed in', call),
    repository: (access, name, call) =>
      get(access, repositoryPath(name), repositoryFacts, `reading whether ${name} may be read`, call),
    async ownerOf(access, call) {
      const doing = 'checking a token'
      const request = {
        method: 'POST',
        path: `${application}/token`,
        headers: basic,
        body: { access_token: access },
      } as const
      const reply = await sendRequest(api, { ...request, doing, idempotent: true, accept: [404, 422] }, call)
      if (reply.status !== 200) throw new HandoffError('unauthorized', 'GitHub did not issue this token to this App.')
      return decodeReply(reply, ownerShape, doing).user
    },
    async revoke(access, call) {
      const request = {
        method: 'DELETE',
        path: `${application}/token`,
        headers: basic,
        body: { access_token: access },
      } as const
      await sendRequest(api, { ...request, doing: 'ending a session', idempotent: true, accept: [404, 422] }, call)
    },
  }
}

function withoutReply(error: unknown): never {
  throw error instanceof LostReply ? error.error : error
}

/** These tell of the App and not of the person. */
const settingsAtFault = ['incorrect_client_credentials', 'redirect_uri_mismatch']

function refusal(code: string, doing: string): HandoffError {
  const said = `GitHub refused ${doing}: ${quote(code)}.`
  if (!settingsAtFault.includes(code)) return new HandoffError('unauthorized', said, { next: 'Sign in again.' })
  return new HandoffError('missing-setting', said, {
    next: 'Compare HANDOFF_APP_CLIENT_ID, HANDOFF_APP_CLIENT_SECRET and the callback address with the settings of the App on GitHub.',
  })
}
