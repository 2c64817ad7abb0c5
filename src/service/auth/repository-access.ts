// Which repositories a person may read, as GitHub says it of the person's own token. A reply is kept for a minute: who loses access is refused after
// that.
import { createHash } from 'node:crypto'
import { type GitHubSignIn, isHandoffError, orAborted } from '../../handoff/index-for-stored-answers.js'
import { HttpError } from '../http/problem-details.js'

export interface RepositoryAccess {
  /** The repository's number. Rejects with 403 where the person may not read it, and with 401 where the token has ended. */
  idOf(token: string, repository: string, signal: AbortSignal): Promise<string>
  /** Who the token belongs to. Rejects with 401 for a token that was not issued to this App. */
  ownerOf(token: string, signal: AbortSignal): Promise<{ id: number; login: string }>
}

const keptMs = 60_000
const refusedMs = 10_000
const patienceMs = 10_000
const mostKept = 5_000

export function makeRepositoryAccess(github: GitHubSignIn, now: () => number = Date.now): RepositoryAccess {
  const known = new Map<string, { until: number; found: Promise<unknown> }>()

  /** Callers at the same time share one request, which none of them cancels for the others. */
  function once<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const kept = known.get(key)
    if (kept && now() < kept.until) return kept.found as Promise<T>
    const found = ask(AbortSignal.timeout(patienceMs))
    const entry = { until: now() + keptMs, found }
    known.delete(key)
    known.set(key, entry)
    if (known.size > mostKept) known.delete(known.keys().next().value!)
    found.catch((error: unknown) => {
      if (error instanceof HttpError) entry.until = Math.min(entry.until, now() + refusedMs)
      else if (known.get(key) === entry) known.delete(key)
    })
    return found
  }

  const keyOf = (token: string, rest: string) => `${createHash('sha256').update(token).digest('base64url')} ${rest}`

  async function lookUp(token: string, repository: string, signal: AbortSignal): Promise<string> {
    const { id, fullName } = await github.repository(token, repository, { signal, patient: false }).catch(refused)
    // GitHub redirects the name of a repository that moved, and the name may belong to another one.
    if (fullName.toLowerCase() !== repository.toLowerCase()) throw notReadable()
    return String(id)
  }

  return {
    idOf: (token, repository, signal) =>
      orAborted(
        once(keyOf(token, repository.toLowerCase()), (shared) => lookUp(token, repository, shared)),
        signal,
        'asking GitHub whether the repository may be read',
      ),
    ownerOf: (token, signal) =>
      orAborted(
        once(keyOf(token, ''), (shared) => github.ownerOf(token, { signal: shared, patient: false }).catch(refused)),
        signal,
        'asking GitHub about a token',
      ),
  }
}

function refused(error: unknown): never {
  if (isHandoffError(error, 'unauthorized')) throw sessionExpired()
  if (isHandoffError(error, 'not-found')) throw notReadable()
  if (isHandoffError(error, 'forbidden')) throw notReadable(error.message)
  throw error
}

const notReadable = (detail = 'You may not read this repository on GitHub.') =>
  new HttpError(403, 'forbidden', detail, {
    next: 'Ask its owner for access, and whether the GitHub App of this service is installed there.',
  })

export const sessionExpired = () =>
  new HttpError(401, 'session-expired', 'Your session has ended.', {
    next: 'GET /api/auth/session renews it where GitHub allows it; else sign in again at /api/auth/login.',
    headers: { 'www-authenticate': 'Bearer realm="handoff", error="invalid_token"' },
  })
