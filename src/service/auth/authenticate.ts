// Who asks, and what they may ask about. Fails closed: nobody is anybody until one of the two proofs holds.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { OidcVerifier } from '../../handoff/index.js'
import { HttpError } from '../http/problem-details.js'
import type { Pattern, ServiceSettings } from '../settings.js'

export interface Caller {
  /** How they proved who they are. A job of any repository anywhere can do so; a bearer is known to this deployment. */
  way: 'bearer' | 'job'
  /** For budgets, turns and the record: `bearer:team-a`, `job:123456`. */
  name: string
  /** With a number: the run must have recorded it. A name can be given away, the number cannot. */
  repositories: Pattern[]
}

const tokenForm = /^Bearer ([A-Za-z0-9._~+/=-]{1,16384})$/i

export async function authenticate(
  request: Request,
  settings: Pick<ServiceSettings, 'bearers' | 'oidc'>,
  verifier: () => Promise<OidcVerifier>,
): Promise<Caller> {
  const header = request.headers.get('authorization')
  if (header === null) throw unauthorized('This address wants a token.', '')
  const token = tokenForm.exec(header.trim())?.[1]
  if (token === undefined) throw unauthorized('The Authorization header is not `Bearer <token>`.', 'invalid_request')
  const bearer = bearerOf(token, settings.bearers)
  if (bearer) return { way: 'bearer', name: `bearer:${bearer.name}`, repositories: bearer.repositories }
  if (settings.oidc && token.split('.').length === 3) return jobOf(token, await verifier())
  throw unauthorized('The token is not known.', 'invalid_token')
}

/** Every entry is compared, so that the time tells nothing. */
function bearerOf(token: string, bearers: ServiceSettings['bearers']) {
  const hash = createHash('sha256').update(token).digest()
  return bearers.map((bearer) => (timingSafeEqual(hash, bearer.sha256) ? bearer : undefined)).find((bearer) => bearer)
}

/** A job of GitHub Actions may ask about the repository it runs in, and about nothing else. */
async function jobOf(token: string, verifier: OidcVerifier): Promise<Caller> {
  const claims = await verifier.verify(token).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 'unauthorized') throw error
    throw unauthorized((error as Error).message, 'invalid_token', (error as { next?: string }).next)
  })
  const { repositoryId, repository } = claims
  return {
    way: 'job',
    name: `job:${repositoryId}`,
    repositories: [{ name: repository.toLowerCase(), id: repositoryId }],
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

/** The pattern that lets the caller see a repository; a refusal when there is none. */
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

/** Whether a folder of repositories is what the pattern means, or may hold it. */
export function leads(pattern: string, folder: string): boolean {
  return meets(pattern, folder) || pattern.startsWith(`${folder}/`)
}
