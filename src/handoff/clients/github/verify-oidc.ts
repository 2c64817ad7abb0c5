// Verifies the OIDC tokens of GitHub Actions jobs. Never reads `sub`, whose form differs between repositories and changes.

import type { CryptoKey, JSONWebKeySet, JWSHeaderParameters, JWTVerifyGetKey } from 'jose'
import { HandoffError } from '../../domain/errors.js'
import type { Clock } from '../../domain/ports.js'
import { quote } from '../../domain/run.js'
import * as read from '../../util/decode.js'
import { fetchText } from '../../util/http.js'
import { systemClock } from '../system-clock.js'

export interface OidcOptions {
  /** `https://token.actions.githubusercontent.com`, or `https://<host>/_services/token` of an Enterprise Server. */
  issuer: string
  /** The address of this deployment. */
  audience: string
  clock?: Clock
  /** Timeout of the request for the keys; 5 s when absent. */
  fetchMs?: number
}

export interface OidcVerifier {
  /**
   * Returns the repository of the job: its name, which may change, and its id, which does not. Rejects with `unauthorized` for an invalid token and
   * with `git` when the keys cannot be fetched.
   */
  verify(token: string): Promise<{ repository: string; repositoryId: string }>
}

const claims = read.object({
  // jose also accepts a list of audiences.
  aud: read.string(500),
  repository: read.pattern(/^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}$/, 'a repository'),
  repository_id: read.pattern(/^\d{1,20}$/, 'a number'),
})

export function makeOidcVerifier(options: OidcOptions): OidcVerifier {
  const { issuer, audience, clock = systemClock, fetchMs = 5_000 } = options
  const findKey = cacheOidcKeys(issuer, fetchMs, clock)
  const getKey: JWTVerifyGetKey = async (header) => {
    const key = await findKey(header)
    if (key) return key
    throw refusal('GitHub does not publish the key that its kid names')
  }
  // With `maxTokenAge` jose also refuses a token that is issued in the future.
  const rules = { issuer, audience, algorithms: ['RS256'], typ: 'JWT', clockTolerance: 30, maxTokenAge: '1 day' }
  return {
    async verify(token) {
      // jose accepts white space and padding in base64.
      if (token.length > 16_384 || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw refusal('it is not a JWT')
      const { jwtVerify } = await import('jose/jwt/verify')
      const now = { currentDate: new Date(clock.now()), requiredClaims: ['exp', 'nbf', 'iat'] }
      try {
        const { payload } = await jwtVerify(token, getKey, { ...rules, ...now })
        const { repository, repository_id: repositoryId } = claims(payload, '')
        return { repository, repositoryId }
      } catch (error) {
        throw error instanceof HandoffError ? error : refusal(reasonFor(error as Error))
      }
    },
  }
}

const failedClaims: Record<string, string> = {
  exp: 'it has expired',
  aud: 'it was issued for another audience',
  iss: 'it has another issuer',
  nbf: 'it is not valid yet',
  iat: 'it was issued in the future, or more than a day ago',
}

/** jose's own message may name an extension from the token, so it is quoted. */
function reasonFor(error: Error & { claim?: string; reason?: string }): string {
  const known = error.reason === 'check_failed' ? failedClaims[error.claim ?? ''] : undefined
  return known ?? quote(error.message)
}

function refusal(reason: string): HandoffError {
  return new HandoffError('unauthorized', `The job's OIDC token is refused: ${reason}.`, {
    next: 'Request a new token with the address of this deployment as its audience, in a job with `id-token: write`.',
  })
}

// GitHub's public keys for the OIDC tokens of jobs. `createRemoteJWKSet` of jose neither keeps keys during an outage nor limits requests that fail.

/** Finds the key that the `kid` of a token names. Rejects with `git` when the keys cannot be fetched. */
type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey | undefined>

const maximumAgeMs = 3_600_000
/** While the keys cannot be fetched, known keys stay valid this long: an outage of GitHub must not stop every job. */
const maximumAgeInOutageMs = 12 * 3_600_000
const cooldownMs = 30_000

/** An unknown key id or an old cache causes a request, at most one in 30 s, whether it succeeds or fails. */
function cacheOidcKeys(issuer: string, fetchMs: number, clock: Clock): FindKey {
  let find: FindKey = async () => undefined
  let fetchedAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let fetching = Promise.resolve()

  async function refresh(now: number): Promise<void> {
    find = await fetchKeys(issuer, fetchMs)
    fetchedAt = now
  }

  return async (header) => {
    const now = clock.now()
    const known = await find(header)
    if (known && now < fetchedAt + maximumAgeMs) return known
    if (now >= triedAt + cooldownMs) {
      triedAt = now
      fetching = refresh(now)
    }
    try {
      await fetching
    } catch (error) {
      if (!known || now >= fetchedAt + maximumAgeInOutageMs) throw error
    }
    return find(header)
  }
}

async function fetchKeys(issuer: string, fetchMs: number): Promise<FindKey> {
  try {
    const { createLocalJWKSet } = await import('jose/jwks/local')
    const { status, text } = await fetchText(`${issuer}/.well-known/jwks`, { timeoutMs: fetchMs })
    if (status !== 200) throw new Error(`status ${status}`)
    const find = createLocalJWKSet(JSON.parse(text) as JSONWebKeySet)
    // For a token without a key id jose takes the only fitting key. A key that jose cannot find or use is none: its token is refused.
    return async (header) => (header.kid ? find(header).catch(() => undefined) : undefined)
  } catch (error) {
    throw new HandoffError('git', "GitHub's keys for OIDC tokens cannot be fetched.", {
      next: 'Try again in a minute.',
      retryAfterSeconds: 30,
      cause: error,
    })
  }
}
