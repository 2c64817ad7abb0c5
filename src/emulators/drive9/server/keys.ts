// Who may do what: the owner's key, and tokens that open some prefixes for some operations for a time.
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { Table } from './object-storage.js'
import { canonicalPath, isWithin } from './paths.js'
import { Refusal, refuse } from './refusal.js'

type Operation = 'read' | 'list' | 'search' | 'write' | 'delete'

const operations: readonly Operation[] = ['read', 'list', 'search', 'write', 'delete']

interface Scope {
  prefix: string
  ops: Operation[]
}

export interface IssuedToken {
  id: string
  subject: string
  scopes: Scope[]
  expiresAt: number
  revoked: boolean
}

export type Caller = { owner: true } | { owner: false; token: IssuedToken }

export interface Keys {
  ownerKey: string
  /** Undefined when the key does not exist, is expired or is revoked. */
  caller(key: string): Caller | undefined
  issue(subject: string, seconds: number, scopes: Scope[]): { token: IssuedToken; secret: string }
  /** False when there is no such token, or it is revoked already. */
  revoke(id: string): boolean
  revokeSecret(secret: string): boolean
  expire(id: string): void
  issued(): IssuedToken[]
}

const mostTokens = 1_000

export function makeKeys(table: Table, now: () => number, wantedOwnerKey: string | undefined): Keys {
  const bySecret = new Map<string, IssuedToken>()
  let ownerKey = wantedOwnerKey

  for (const line of table.lines) {
    const token = byId(String(line['id']))
    if (line.op === 'owner') ownerKey ??= String(line['key'])
    if (line.op === 'token') bySecret.set(String(line['secret']), { ...(line['token'] as IssuedToken) })
    if (line.op === 'revoke' && token) token.revoked = true
    if (line.op === 'expire' && token) token.expiresAt = 0
  }
  const owner = ownerKey ?? signedKey({ tenant_id: 'local', token_version: 1, iat: seconds(now()) })
  if (owner !== ownerKey || wantedOwnerKey !== undefined) table.append({ op: 'owner', key: owner })

  function byId(id: string): IssuedToken | undefined {
    return [...bySecret.values()].find((token) => token.id === id)
  }

  function revoke(found: IssuedToken | undefined): boolean {
    if (!found || found.revoked) return false
    found.revoked = true
    table.append({ op: 'revoke', id: found.id })
    return true
  }

  /** One that was taken back opens as much as one that never was. */
  function forgetOldest(): void {
    if (bySecret.size <= mostTokens) return
    const [oldest] = [...bySecret].find(([, { revoked }]) => revoked) ?? []
    if (oldest !== undefined) bySecret.delete(oldest)
  }

  return {
    ownerKey: owner,
    caller(key) {
      if (key === owner) return { owner: true }
      const token = bySecret.get(key)
      if (!token || token.revoked || token.expiresAt <= now()) return undefined
      return { owner: false, token }
    },
    issue(subject, lifetimeSeconds, scopes) {
      const expiresAt = now() + lifetimeSeconds * 1000
      const token: IssuedToken = { id: randomUUID(), subject, scopes, expiresAt, revoked: false }
      const claims = { tenant_id: 'local', token_version: 2, iat: seconds(now()), exp: seconds(expiresAt) }
      const secret = signedKey(claims)
      bySecret.set(secret, token)
      forgetOldest()
      table.append({ op: 'token', secret, token })
      return { token, secret }
    },
    revoke: (id) => revoke(byId(id)),
    revokeSecret: (secret) => revoke(bySecret.get(secret)),
    expire(id) {
      const token = byId(id)
      if (!token) return
      token.expiresAt = 0
      table.append({ op: 'expire', id })
    },
    issued: () => [...bySecret.values()].map((token) => ({ ...token })),
  }
}

const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000)

/** `drive9_` and a JWT, the format of the service's keys. The signing key is random and not stored. */
function signedKey(claims: Record<string, unknown>): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...claims, nonce: randomUUID() })}`
  const signature = createHmac('sha256', randomBytes(32)).update(text).digest('base64url')
  return `drive9_${Buffer.from(`${text}.${signature}`).toString('base64url')}`
}

export function mayDo(caller: Caller, operation: Operation, path: string): boolean {
  if (caller.owner) return true
  return caller.token.scopes.some((scope) => scope.ops.includes(operation) && isWithin(scope.prefix, path))
}

/** Refuses with the service's 403 when a scoped token does not reach that far. */
export function authorize(caller: Caller, operation: Operation, path: string): void {
  if (!mayDo(caller, operation, path)) refuse(403, 'fs access denied')
}

/** Reads what a request to issue a token says; refuses what the service refuses, in its words. */
export function readTokenRequest(body: unknown): { subject: string; seconds: number; scopes: Scope[] } {
  const { subject = '', ttl_seconds: lifetime, scopes } = (body ?? {}) as Record<string, unknown>
  const name = String(subject).trim()
  if (Buffer.byteLength(name) > 64) refuse(400, 'subject must be at most 64 bytes')
  if (typeof lifetime !== 'number' || lifetime <= 0) refuse(400, 'ttl_seconds must be positive')
  if (!Array.isArray(scopes) || scopes.length === 0) refuse(400, 'scopes are required')
  const read = scopes.map(readScope)
  read.forEach((scope, index) => {
    if (read.findIndex((other) => other.prefix === scope.prefix) !== index) {
      refuse(400, `duplicate fs scope prefix "${scope.prefix}"`)
    }
  })
  return { subject: name, seconds: lifetime, scopes: read }
}

function readScope(scope: unknown): Scope {
  const { prefix, ops } = (scope ?? {}) as Record<string, unknown>
  if (typeof prefix !== 'string' || prefix.trim() === '' || prefix.trim() === ':') {
    refuse(400, 'fs scope prefix is required')
  }
  if (!Array.isArray(ops) || ops.length === 0) refuse(400, 'empty fs scope ops')
  for (const operation of ops) {
    if (!operations.includes(operation as Operation)) refuse(400, `unknown fs scope op "${String(operation)}"`)
  }
  const known = operations.filter((operation) => ops.includes(operation))
  if (known.includes('search') && !known.includes('read')) refuse(400, 'search fs scope requires read')
  return { prefix: scopePrefix(prefix), ops: known }
}

function scopePrefix(prefix: string): string {
  try {
    return canonicalPath(prefix.replace(/^:/, ''))
  } catch (error) {
    if (error instanceof Refusal) refuse(400, `invalid fs scope prefix: ${error.message}`)
    throw error
  }
}
