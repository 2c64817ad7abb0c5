// GitHub's public keys for the OIDC tokens of jobs. `createRemoteJWKSet` of jose neither keeps keys during an outage nor limits requests that fail.
import type { CryptoKey, JSONWebKeySet, JWSHeaderParameters } from 'jose'
import { HandoffError } from '../../domain/errors.js'
import type { Clock } from '../../domain/ports.js'

/** Finds the key that the `kid` of a token names. Rejects with `git` when the keys cannot be fetched. */
type FindKey = (header: JWSHeaderParameters) => Promise<CryptoKey | undefined>

const maximumAgeMs = 3_600_000
/** While the keys cannot be fetched, known keys stay valid this long: an outage of GitHub must not stop every job. */
const maximumAgeInOutageMs = 12 * 3_600_000
const cooldownMs = 30_000

/** An unknown key id or an old cache causes a request, at most one in 30 s, whether it succeeds or fails. */
export function cacheOidcKeys(issuer: string, fetchMs: number, clock: Clock): FindKey {
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
    const signal = AbortSignal.timeout(fetchMs)
    const response = await fetch(`${issuer}/.well-known/jwks`, { signal, redirect: 'error' })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const find = createLocalJWKSet((await response.json()) as JSONWebKeySet)
    // For a token without a key id jose takes the only fitting key.
    return async (header) => (header.kid ? find(header).catch(() => undefined) : undefined)
  } catch (error) {
    throw new HandoffError('git', "GitHub's keys for OIDC tokens cannot be fetched.", {
      next: 'Try again in a minute.',
      retryAfterSeconds: 30,
      cause: error,
    })
  }
}
