// Authenticates callers by a bearer token, by a job's OIDC token or as a person of GitHub. Fails closed.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { OidcVerifier } from '../../handoff/index.js'
import type { App } from '../app.js'
import { HttpError } from '../http/problem-details.js'
import type { Pattern, ServiceSettings } from '../settings.js'
import { type Caller, meets } from './caller.js'

/** What of the app tells callers. */
type AppOfCallers = Pick<App, 'settings' | 'verifier' | 'signIn'>

const tokenForm = /^Bearer ([A-Za-z0-9._~+/=-]{1,16384})$/i

/** `metadata` is the address of what RFC 9728 says of the resource, where there is such a thing. */
export async function authenticate(request: Request, app: AppOfCallers, metadata?: string): Promise<Caller> {
  try {
    return await callerOf(request, app)
  } catch (error) {
    if (metadata === undefined || !(error instanceof HttpError) || error.problem.status !== 401) throw error
    const { status, code, detail, headers, ...more } = error.problem
    const challenge = `${headers?.['www-authenticate']}, resource_metadata="${metadata}"`
    throw new HttpError(status, code, detail, { ...more, headers: { 'www-authenticate': challenge } })
  }
}

async function callerOf(request: Request, app: AppOfCallers): Promise<Caller> {
  const { settings, verifier } = app
  const header = request.headers.get('authorization')
  if (header === null && settings.signIn !== undefined && request.headers.has('cookie')) {
    const { callerOfSession } = await import('./person.js')
    const caller = await callerOfSession(request, app)
    if (caller) return caller
  }
  if (header === null) throw unauthorized('This address wants a token.', '')
  const token = tokenForm.exec(header.trim())?.[1]
  if (token === undefined) throw unauthorized('The Authorization header is not `Bearer <token>`.', 'invalid_request')
  const bearer = bearerOf(token, settings.bearers)
  if (bearer) {
    const { name, repositories, mayComment } = bearer
    return { way: 'bearer', name: `bearer:${name}`, repositories, mayComment }
  }
  if (settings.oidc && token.split('.').length === 3) return jobOf(token, settings.oidc.repositories, await verifier())
  if (settings.signIn && userTokenForm.test(token)) {
    const { callerOfToken } = await import('./person.js')
    return callerOfToken(token, app, settings.signIn)
  }
  throw unauthorized('The token is not known.', 'invalid_token')
}

/** A user token of a GitHub App. */
const userTokenForm = /^ghu_[A-Za-z0-9_]{10,900}$/

/** Compares every entry, so that the time does not depend on the match. */
function bearerOf(token: string, bearers: ServiceSettings['bearers']) {
  const hash = createHash('sha256').update(token).digest()
  return bearers.map((bearer) => (timingSafeEqual(hash, bearer.sha256) ? bearer : undefined)).find((bearer) => bearer)
}

/** A GitHub Actions job may ask only about its own repository. */
async function jobOf(token: string, listed: Pattern[], verifier: OidcVerifier): Promise<Caller> {
  const claims = await verifier.verify(token).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 'unauthorized') throw error
    throw unauthorized((error as Error).message, 'invalid_token', (error as { next?: string }).next)
  })
  const { repositoryId, repository } = claims
  const isListed = ({ name, id }: Pattern) =>
    meets(name, repository.toLowerCase()) && (id === undefined || id === repositoryId)
  if (!listed.some(isListed)) {
    throw new HttpError(403, 'forbidden', 'Jobs of this repository may not ask here.', {
      next: 'Have the repository added to HANDOFF_OIDC_REPOSITORIES.',
    })
  }
  return {
    way: 'job',
    name: `job:${repositoryId}`,
    repositories: [{ name: repository.toLowerCase(), id: repositoryId }],
    mayComment: false,
  }
}

function unauthorized(
  detail: string,
  error: string,
  next = 'Send `Authorization: Bearer <token>` with a token of this deployment.',
): HttpError {
  const challenge = `Bearer realm="handoff"${error === '' ? '' : `, error="${error}"`}`
  return new HttpError(401, 'unauthorized', detail, { next, headers: { 'www-authenticate': challenge } })
}
