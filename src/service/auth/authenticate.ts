// Authenticates callers by a bearer token or by a job's OIDC token, and checks which repositories they may see. Fails closed.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { OidcVerifier } from '../../handoff/index.js'
import { HttpError } from '../http/problem-details.js'
import type { Pattern, ServiceSettings } from '../settings.js'

export interface Caller {
  /** How the caller was authenticated. Any job on GitHub can get an OIDC token; a bearer is known to this deployment. */
  way: 'bearer' | 'job'
  /** Names the caller in budgets, slots and records: `bearer:team-a`, `job:123456`. */
  name: string
  /** With a repository id, the run must have recorded that id. A name can move to another repository; an id cannot. */
  repositories: Pattern[]
  /** Whether its answers may be posted as comments. */
  mayComment: boolean
}

const tokenForm = /^Bearer ([A-Za-z0-9._~+/=-]{1,16384})$/i

/** `metadata` is the address of what RFC 9728 says of the resource, where there is such a thing. */
export async function authenticate(
  request: Request,
  settings: Pick<ServiceSettings, 'bearers' | 'oidc'>,
  verifier: () => Promise<OidcVerifier>,
  metadata?: string,
): Promise<Caller> {
  try {
    return await callerOf(request, settings, verifier)
  } catch (error) {
    if (metadata === undefined || !(error instanceof HttpError)) throw error
    const { status, code, detail, headers, ...more } = error.problem
    const challenge = `${headers?.['www-authenticate']}, resource_metadata="${metadata}"`
    throw new HttpError(status, code, detail, { ...more, headers: { 'www-authenticate': challenge } })
  }
}

async function callerOf(
  request: Request,
  settings: Pick<ServiceSettings, 'bearers' | 'oidc'>,
  verifier: () => Promise<OidcVerifier>,
): Promise<Caller> {
  const header = request.headers.get('authorization')
  if (header === null) throw unauthorized('This address wants a token.', '')
  const token = tokenForm.exec(header.trim())?.[1]
  if (token === undefined) throw unauthorized('The Authorization header is not `Bearer <token>`.', 'invalid_request')
  const bearer = bearerOf(token, settings.bearers)
  if (bearer) {
    const { name, repositories, mayComment } = bearer
    return { way: 'bearer', name: `bearer:${name}`, repositories, mayComment }
  }
  if (settings.oidc && token.split('.').length === 3) return jobOf(token, settings.oidc.repositories, await verifier())
  throw unauthorized('The token is not known.', 'invalid_token')
}

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

/** Returns the pattern that allows the repository. Throws `forbidden` when there is none. */
export function allow(caller: Caller, repository: string): Pattern {
  const name = repository.toLowerCase()
  const found = caller.repositories.find((pattern) => meets(pattern.name, name))
  if (found) return found
  throw new HttpError(403, 'forbidden', 'The token may not see this repository.', {
    next: 'Use a token that lists it, or have it added to HANDOFF_BEARERS.',
  })
}

export function meets(pattern: string, name: string): boolean {
  if (pattern === '*' || pattern === name) return true
  return pattern.endsWith('/*') && name.startsWith(pattern.slice(0, -1))
}

/** Whether the pattern matches this folder, or may match one below it. */
export function leads(pattern: string, folder: string): boolean {
  return meets(pattern, folder) || pattern.startsWith(`${folder}/`)
}
