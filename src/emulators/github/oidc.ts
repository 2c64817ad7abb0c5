// The tokens by which a workflow's job proves who it is: the address a runner asks, and the keys to check them with.
import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import { errorReply } from './request-context.js'
import { fullNameOf, type Repository } from './state.js'

export interface Oidc {
  /** The `iss` of its tokens; the keys are at `<issuer>/.well-known/jwks`. */
  issuer: string
  /** What a runner finds as ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN. */
  requestUrl: string
  requestToken: string
  /** What the runner's job says of itself; tests change it. */
  claims: Record<string, unknown>
  /** A signed token with the job's claims and these; a claim that is undefined is left out. */
  mint(claims?: Record<string, unknown>): string
  /** For tests that forge. */
  key: { id: string; privateKey: KeyObject; publicKey: KeyObject }
  /** Signs with a new key from now on. The old key stays published unless `forgetOld` is set. */
  rotate(options?: { forgetOld?: boolean }): void
}

const tokenFolder = '/_services/token'

interface Key {
  id: string
  privateKey: KeyObject
  publicKey: KeyObject
}

// Generating a key takes a tenth of a second. The process shares one first key, which is generated on first use.
let first: Key | undefined

function freshKey(): Key {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return { id: randomUUID(), privateKey, publicKey }
}

export function makeOidc(serverUrl: string): Oidc & { reply: (request: RecordedRequest) => Reply | null } {
  const keys: Key[] = []
  const all = () => {
    first ??= freshKey()
    if (keys.length === 0) keys.push(first)
    return keys
  }
  const issuer = `${serverUrl}${tokenFolder}`
  const claims: Record<string, unknown> = {}
  const requestToken = randomUUID()
  const current = () => all().at(-1)!
  const mint = (more: Record<string, unknown> = {}) => signToken(current(), { ...standard(issuer), ...claims, ...more })
  return {
    issuer,
    requestUrl: `${issuer}/job/idtoken?api-version=2.0`,
    requestToken,
    claims,
    mint,
    get key() {
      return current()
    },
    rotate: ({ forgetOld = false } = {}) => {
      if (forgetOld) keys.length = 0
      else all()
      keys.push(freshKey())
    },
    reply: (request) => {
      const url = new URL(request.path, serverUrl)
      if (url.pathname === `${tokenFolder}/.well-known/jwks`) return json(200, { keys: all().map(published) })
      if (url.pathname !== `${tokenFolder}/job/idtoken`) return null
      if (request.headers['authorization'] !== `Bearer ${requestToken}`) return errorReply(401, 'Unauthorized')
      const audience = url.searchParams.get('audience')
      return json(200, { count: 1, value: mint(audience === null ? {} : { aud: audience }) })
    },
  }
}

function standard(issuer: string): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1_000)
  return { iss: issuer, jti: randomUUID(), iat: now, nbf: now - 5, exp: now + 300 }
}

export function signToken(key: Key, claims: Record<string, unknown>, header: Record<string, unknown> = {}): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ typ: 'JWT', alg: 'RS256', kid: key.id, ...header })}.${part(claims)}`
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key.privateKey).toString('base64url')}`
}

function published(key: Key) {
  return { ...createPublicKey(key.privateKey).export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: key.id }
}

/** The claims of a job of this repository. Clients must not parse `sub`: its format changes. */
export function jobClaims(repository: Repository, job: { ref: string; sha: string; event: string; actorId: number }) {
  const name = fullNameOf(repository)
  return {
    aud: `https://github.com/${repository.owner.login}`,
    sub: `repo:${repository.owner.login}@${repository.owner.id}/${repository.name}@${repository.id}:ref:${job.ref}`,
    repository: name,
    repository_id: String(repository.id),
    repository_owner: repository.owner.login,
    repository_owner_id: String(repository.owner.id),
    repository_visibility: repository.private ? 'private' : 'public',
    ref: job.ref,
    ref_type: 'branch',
    sha: job.sha,
    event_name: job.event,
    actor: 'octocat',
    actor_id: String(job.actorId),
    run_id: '1234567890',
    run_number: '7',
    run_attempt: '1',
    workflow: 'handoff',
    job_workflow_ref: `${name}/.github/workflows/handoff.yml@${job.ref}`,
    runner_environment: 'github-hosted',
  }
}
