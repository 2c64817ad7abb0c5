// What a failure at a git host means, and whether to ask again.
import { HandoffError, isHandoffError } from '../../domain/errors.js'

/** The git host answered with a status that is not a success. */
export class Refused extends Error {
  readonly status: number
  readonly retryAfter: string | null
  constructor(response: Response) {
    super(`status ${response.status}`)
    this.status = response.status
    this.retryAfter = response.headers.get('retry-after')
    response.body?.cancel().catch(() => undefined)
  }
}

export function explain(error: unknown, base: URL, hadCredential: boolean): { error: HandoffError; again: boolean } {
  if (isHandoffError(error)) return { error, again: false }
  if (error instanceof Refused) return refused(error, base, hadCredential)
  const code = codeOf(error)
  const why = code === undefined ? '' : ` (${code})`
  return {
    error: new HandoffError('git', `The git host ${base.host} cannot be reached${why}.`, {
      next: 'Look at the clone address, and try again.',
      cause: error,
    }),
    again: true,
  }
}

function refused(
  { status, retryAfter }: Refused,
  base: URL,
  hadCredential: boolean,
): { error: HandoffError; again: boolean } {
  if (status === 401 || status === 403 || status === 404) {
    const credential = hadCredential
      ? 'the credential does not open it'
      : 'it is not open to everybody and no credential is set'
    const message = `The repository at ${shown(base)} does not exist, or ${credential} (${status}).`
    const next = 'Look at its name, and at the credential that may read it.'
    return {
      error: new HandoffError(status === 404 || !hadCredential ? 'not-found' : 'git', message, { next }),
      again: false,
    }
  }
  const seconds = Number(retryAfter ?? Number.NaN)
  const again = status === 429 || status >= 500
  const error = new HandoffError('git', `The git host ${base.host} failed (${status}).`, {
    next: again ? 'Try again in a while.' : 'Look at the clone address.',
    ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
  })
  return { error, again: again && !(seconds > 5) }
}

function codeOf(error: unknown): string | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string') return code
    if (cause.name === 'TimeoutError') return 'no answer in time'
  }
  return undefined
}

/** An address as people know it: without what git adds to it. It never has a credential. */
export const shown = (url: URL) => url.host + url.pathname.replace(/\/(git-upload-pack|info\/refs)$/, '')
