// Checks the tokens by which jobs of GitHub Actions prove who they are. No library: RS256 and nothing else, five claims that every token
// needs, and the ones that we decide by.
//
// `sub` is never taken apart: its form differs between repositories and changes. What a token may do is decided by its own claims.
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Clock } from '../../domain/clock.js'
import { HandoffError } from '../../domain/errors.js'
import * as read from '../../util/decode.js'
import { systemClock } from '../system-clock.js'

export interface ActionsClaims {
  /** `owner/name`, as it is called now. */
  repository: string
  /** Numbers as text: they stay when names are given away. */
  repositoryId: string
  repositoryOwnerId: string
  ref: string
  sha: string
  eventName: string
  actorId: string
  runId: string
  runAttempt: string
  /** Which workflow file runs, and at which ref. */
  jobWorkflowRef: string
}

export interface OidcOptions {
  /** `https://token.actions.githubusercontent.com`, or `https://<host>/_services/token` of an Enterprise Server. */
  issuer: string
  /** The address of this deployment: a token for somebody else is none for us. */
  audience: string
  clock?: Clock
  fetch?: typeof fetch
  /** For fetching the keys; 5 s when absent. */
  fetchMs?: number
}

export interface OidcVerifier {
  /** Rejects with `unauthorized` for every token that is not good, and with `git` when GitHub's keys cannot be had. */
  verify(token: string): Promise<ActionsClaims>
}

const longestToken = 16_384
const skewSeconds = 30
const keepKeysMs = 3_600_000
/** Where GitHub gives none, keys of this age still hold: an outage there is not to stop every job. */
const oldestKeysMs = 12 * 3_600_000
const coolDownMs = 30_000

export function makeOidcVerifier(options: OidcOptions): OidcVerifier {
  const clock = options.clock ?? systemClock
  const keys = keyRing(options, clock)
  return {
    async verify(token) {
      const { header, claims, signed, signature } = takeApart(token)
      const key = await keys(header.kid)
      if (!key) throw refuse('it is signed with a key that GitHub does not publish')
      if (!verify('RSA-SHA256', signed, key, signature)) throw refuse('its signature is wrong')
      checkStandard(decode(standardClaims, claims), options, clock.now() / 1_000)
      return ours(decode(actionsClaims, claims))
    },
  }
}

const headerShape = read.object({
  alg: read.oneOf('RS256'),
  kid: read.pattern(/^[\x21-\x7e]{1,200}$/, 'the name of a key'),
  typ: read.optional(read.oneOf('JWT')),
})

function takeApart(token: string) {
  if (token.length > longestToken) throw refuse('it is too long')
  const parts = token.split('.')
  if (parts.length !== 3 || !parts.every((part) => /^[A-Za-z0-9_-]+$/.test(part))) throw refuse('it is not a token')
  const [head, body, mark] = parts as [string, string, string]
  const headerValue = json(head)
  // `crit` names rules that a reader must know; we know none.
  if (typeof headerValue === 'object' && headerValue !== null && 'crit' in headerValue) {
    throw refuse('it asks for rules that we do not know')
  }
  return {
    header: decode(headerShape, headerValue),
    claims: json(body),
    signed: Buffer.from(`${head}.${body}`),
    signature: Buffer.from(mark, 'base64url'),
  }
}

const standardClaims = read.object({
  iss: read.string(500),
  aud: read.string(500),
  exp: read.number,
  nbf: read.number,
  iat: read.number,
})

function checkStandard(claims: ReturnType<typeof standardClaims>, options: OidcOptions, now: number): void {
  if (claims.iss !== options.issuer) throw refuse('somebody else issued it')
  if (claims.aud !== options.audience) throw refuse('it was made for another audience')
  if (claims.exp <= now - skewSeconds) throw refuse('it has expired')
  if (claims.nbf > now + skewSeconds || claims.iat > now + skewSeconds) throw refuse('it is not valid yet')
}

const digits = read.pattern(/^\d{1,20}$/, 'a number')

const actionsClaims = read.object({
  repository: read.pattern(/^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}$/, 'a repository'),
  repository_id: digits,
  repository_owner_id: digits,
  ref: read.string(1_000),
  sha: read.objectId,
  event_name: read.pattern(/^[a-z_]{1,100}$/, 'an event'),
  actor_id: digits,
  run_id: digits,
  run_attempt: digits,
  job_workflow_ref: read.string(2_000),
})

function ours(claims: ReturnType<typeof actionsClaims>): ActionsClaims {
  return {
    repository: claims.repository,
    repositoryId: claims.repository_id,
    repositoryOwnerId: claims.repository_owner_id,
    ref: claims.ref,
    sha: claims.sha,
    eventName: claims.event_name,
    actorId: claims.actor_id,
    runId: claims.run_id,
    runAttempt: claims.run_attempt,
    jobWorkflowRef: claims.job_workflow_ref,
  }
}

function decode<T>(decoder: read.Decoder<T>, value: unknown): T {
  try {
    return decoder(value, '')
  } catch (error) {
    throw refuse(error instanceof read.DecodeError ? error.message : 'it cannot be read')
  }
}

function json(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as unknown
  } catch {
    throw refuse('it is not a token')
  }
}

function refuse(why: string): HandoffError {
  return new HandoffError('unauthorized', `The token of the job was refused: ${why}.`, {
    next: 'Ask for a fresh token with this deployment as its audience, in a job with `id-token: write`.',
  })
}

// ── the keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Keys by name, kept for an hour. They are asked for again when they are old or a name is not among them, but not more often than every 30 s,
 * whether or not they came. Until they come those of the last twelve hours hold.
 */
function keyRing(options: OidcOptions, clock: Clock): (id: string) => Promise<KeyObject | undefined> {
  let keys = new Map<string, KeyObject>()
  let fetchedAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let trying = Promise.resolve()

  async function refresh(): Promise<void> {
    keys = await fetchKeys(options)
    fetchedAt = triedAt
  }

  return async (id) => {
    const now = clock.now()
    if (keys.has(id) && now < fetchedAt + keepKeysMs) return keys.get(id)
    if (now >= triedAt + coolDownMs) {
      triedAt = now
      trying = refresh()
    }
    // The last try, over or not: where it failed nobody knows better until the next one.
    try {
      await trying
    } catch (error) {
      if (!keys.has(id) || now >= fetchedAt + oldestKeysMs) throw error
    }
    return keys.get(id)
  }
}

const keySet = read.object({
  keys: read.array(
    read.object({
      kty: read.string(20),
      kid: read.optional(read.string(200)),
      alg: read.optional(read.string(20)),
      use: read.optional(read.string(20)),
      n: read.optional(read.string(2_000)),
      e: read.optional(read.string(20)),
    }),
    100,
  ),
})

async function fetchKeys(options: OidcOptions): Promise<Map<string, KeyObject>> {
  let body: unknown
  try {
    const address = `${options.issuer}/.well-known/jwks`
    const signal = AbortSignal.timeout(options.fetchMs ?? 5_000)
    const response = await (options.fetch ?? fetch)(address, { signal, redirect: 'error' })
    if (!response.ok) throw new Error(`status ${response.status}`)
    body = await response.json()
    return readKeys(keySet(body, ''))
  } catch (error) {
    throw new HandoffError('git', "GitHub's keys for the tokens of jobs cannot be had.", {
      next: 'Try again in a minute.',
      retryAfterSeconds: 30,
      cause: error,
    })
  }
}

function readKeys(set: ReturnType<typeof keySet>): Map<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const { kty, kid, alg, use, n, e } of set.keys) {
    const usable = kty === 'RSA' && (alg ?? 'RS256') === 'RS256' && (use ?? 'sig') === 'sig'
    if (!usable || kid === undefined || n === undefined || e === undefined) continue
    const key = createPublicKey({ key: { kty, n, e }, format: 'jwk' })
    if ((key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2_048) keys.set(kid, key)
  }
  return keys
}
