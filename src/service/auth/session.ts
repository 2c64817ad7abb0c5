// The session of a person, and the state of a sign-in, as encrypted cookies. Each cookie belongs to one origin and one use: another deployment with
// the same secret refuses it, and so does another kind of cookie.
import { hkdfSync } from 'node:crypto'
import type { GitHubSignIn } from '../../handoff/index-for-stored-answers.js'

type Tokens = Awaited<ReturnType<GitHubSignIn['renew']>>

export interface Session {
  user: { id: number; login: string }
  tokens: Tokens
  /** When the person signed in, in milliseconds since 1970. */
  since: number
}

/** A sign-in under way, in the browser that began it. */
interface SignIn {
  state: string
  verifier: string
  /** Where the person wants to go afterwards. */
  path: string
}

interface Kinds {
  session: Session
  signin: SignIn
}

/** So long a person stays signed in. Then GitHub is asked anew. */
export const longestSessionMs = 30 * 86_400_000

const keyOf = (kind: keyof Kinds, secret: string) =>
  new Uint8Array(hkdfSync('sha256', secret, '', `handoff ${kind}`, 32))

export async function sealCookie<K extends keyof Kinds>(
  kind: K,
  value: Kinds[K],
  { origin, secret, until }: { origin: string; secret: string; until: number },
): Promise<string> {
  const { EncryptJWT } = await import('jose/jwt/encrypt')
  return new EncryptJWT({ value })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setAudience(origin)
    .setExpirationTime(Math.floor(until / 1_000))
    .encrypt(keyOf(kind, secret))
}

/** Undefined for what this deployment did not write for this origin and use, and for what has expired. */
export async function openCookie<K extends keyof Kinds>(
  kind: K,
  text: string,
  { origin, secret }: { origin: string; secret: string },
): Promise<Kinds[K] | undefined> {
  const [{ jwtDecrypt }, { JOSEError }] = await Promise.all([import('jose/jwt/decrypt'), import('jose/errors')])
  const rules = { audience: origin, keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }
  try {
    const { payload } = await jwtDecrypt<{ value: Kinds[K] }>(text, keyOf(kind, secret), {
      ...rules,
      requiredClaims: ['exp', 'aud'],
    })
    return payload.value
  } catch (error) {
    if (error instanceof JOSEError) return undefined
    throw error
  }
}

/** The prefix has browsers refuse the name from any other host. They grant it over https only. */
const nameOf = (kind: keyof Kinds, url: URL) => `${url.protocol === 'https:' ? '__Host-' : ''}handoff-${kind}`

/** Longer values are not ours. */
const longestValue = 4_096

export function readCookie(kind: keyof Kinds, request: Request, url: URL): string | undefined {
  const start = `${nameOf(kind, url)}=`
  const cookies = (request.headers.get('cookie') ?? '').split(';').map((one) => one.trim())
  const found = cookies.find((one) => one.startsWith(start))?.slice(start.length)
  return found === undefined || found === '' || found.length > longestValue ? undefined : found
}

/** Scripts cannot read it, and other sites cannot send it along but by a link. An empty value removes it. */
export function setCookie(kind: keyof Kinds, url: URL, value: string, seconds: number): string {
  return `${nameOf(kind, url)}=${value}; Path=/; Max-Age=${value === '' ? 0 : seconds}; HttpOnly; Secure; SameSite=Lax`
}
