// Names as drive9 keeps them: absolute, NFC, without dot segments, backslashes or control characters.
import { refuse } from './refusal.js'

// Line feed, tab and carriage return are let through by the service; all other control characters are not.
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\\]/

/** `/a/b`, or `/`; refuses what the service refuses. */
export function canonicalPath(raw: string): string {
  if (forbidden.test(raw) || raw.includes('\uFFFD')) refuse(400, 'invalid fs path')
  const segments = raw.split('/').filter((segment) => segment !== '')
  if (segments.some((segment) => segment === '.' || segment === '..')) refuse(400, 'invalid fs path')
  if (segments.some((segment) => Buffer.byteLength(segment) > 255)) refuse(400, 'invalid fs path')
  return `/${segments.join('/')}`.normalize('NFC')
}

/** The path behind a prefix of the address, percent-decoded; an address that does not decode to UTF-8 is refused. */
export function decodePath(encoded: string): string {
  try {
    return canonicalPath(decodeURIComponent(encoded))
  } catch (error) {
    if (error instanceof URIError) refuse(400, 'invalid fs path')
    throw error
  }
}

export const segmentsOf = (path: string) => path.split('/').filter((segment) => segment !== '')

/** True when `path` is `prefix` or below it. */
export function isWithin(prefix: string, path: string): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`)
}
