// Explains a failure at a git host, and whether a retry makes sense.
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import { errorCode } from '../../util/error-code.js'
import { retryAfterMs } from '../../util/retry-after.js'

interface Failure {
  error: HandoffError
  retry: boolean
}

/** The git host answered with a status that is not a success. */
export class Refused extends Error {
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  constructor(response: Response) {
    super(`status ${response.status}`)
    this.status = response.status
    const wait = retryAfterMs(response.headers.get('retry-after'), Date.now())
    this.retryAfterSeconds = wait === undefined ? undefined : wait / 1_000
    response.body?.cancel().catch(() => undefined)
  }
}

export function explainFailure(error: unknown, base: URL, hadCredential: boolean): Failure {
  if (isHandoffError(error)) return { error, retry: false }
  if (error instanceof Refused) return explainStatus(error, base, hadCredential)
  const isTimeout = error instanceof Error && error.name === 'TimeoutError'
  const reason = isTimeout ? 'no answer in time' : errorCode(error)
  return {
    error: new HandoffError('git', `The git host ${base.host} cannot be reached${reason ? ` (${reason})` : ''}.`, {
      next: 'Check the clone address, and try again.',
      cause: error,
    }),
    retry: true,
  }
}

function explainStatus({ status, retryAfterSeconds }: Refused, base: URL, hadCredential: boolean): Failure {
  if (status === 401 || status === 403 || status === 404) {
    const credential = hadCredential ? 'the credential cannot read it' : 'it is not public and no credential is set'
    const message = `The repository at ${displayAddress(base)} does not exist, or ${credential} (${status}).`
    const code = status === 404 || !hadCredential ? 'not-found' : 'git'
    const next = 'Check its name, and the credential that reads it.'
    return { error: new HandoffError(code, message, { next }), retry: false }
  }
  const isTransient = status === 429 || status >= 500
  const error = new HandoffError('git', `The git host ${base.host} failed (${status}).`, {
    next: isTransient ? 'Try again in a while.' : 'Check the clone address.',
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
  return { error, retry: isTransient && (retryAfterSeconds ?? 0) <= 5 }
}

/** The clone address without what git adds to it. It never contains a credential. */
export const displayAddress = (url: URL) => url.host + url.pathname.replace(/\/(git-upload-pack|info\/refs)$/, '')
