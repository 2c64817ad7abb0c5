// What drive9 answers, as our own errors. Each names the method and the path; none shows a key, and none shows a presigned address.

import { driveAdvice } from '../../domain/drive-advice.js'
import { type ErrorDetails, errorCode, HandoffError } from '../../domain/errors.js'
import { quote } from '../../domain/run.js'
import { parseJson } from '../../util/decode.js'

/** `PUT /some/path`: how a call is named in every message. */
export interface CallName {
  method: string
  path: string
}

export const nameOf = ({ method, path }: CallName) => `${method} ${path}`

/** Turns an answer that is not what was asked for into an error. `said` is what the server wrote in its body, if anything. */
export function refusal(call: CallName, status: number, said: string, retryAfterSeconds?: number): HandoffError {
  const answer = `drive9 answered ${status}${said === '' ? '' : ` (${quote(said)})`} to ${nameOf(call)}.`
  const later = { retryAfterSeconds }
  switch (status) {
    case 401:
      return new HandoffError('unauthorized', `drive9 did not accept the key: ${answer}`, {
        next: 'Check the setting DRIVE9_API_KEY: the key may be wrong, expired or revoked, or belong to another DRIVE9_SERVER.',
      })
    case 403:
      return new HandoffError('forbidden', `The key may not do this: ${answer}`, {
        next: 'Use the owner’s key of the drive9 account in DRIVE9_API_KEY, and see that the account is active.',
      })
    case 402:
    case 507:
      return new HandoffError('drive-quota', `drive9 has no room: ${answer}`, {
        next: driveAdvice.full,
      })
    case 404:
      return new HandoffError('not-found', `It is not on drive9: ${answer}`)
    case 409:
      return new HandoffError('conflict', `Another writer was first: ${answer}`, { retryAfterSeconds: 2 })
    case 413:
      return new HandoffError('drive', `This is larger than drive9 takes: ${answer}`, {
        next: driveAdvice.tooLarge,
      })
    case 429:
    case 503:
      return new HandoffError('drive', `drive9 is not ready: ${answer}`, { next: 'Try again in a moment.', ...later })
    default:
      return new HandoffError('drive', answer, status >= 500 ? { next: 'Try again in a moment.' } : {})
  }
}

export function lateness(call: CallName, seconds: number): HandoffError {
  const text = `drive9 did not finish ${nameOf(call)} within ${Math.max(1, Math.round(seconds))} s.`
  return new HandoffError('timeout', text, { next: 'Try again; if it stays so, look at the drive9 service.' })
}

export function silence(call: CallName, seconds: number, received: number): HandoffError {
  const span = Math.max(1, Math.round(seconds))
  return new HandoffError('timeout', `${nameOf(call)} went silent for ${span} s after ${received} bytes.`, {
    next: 'Try again; if it stays so, look at the drive9 service.',
  })
}

export function brokenConnection(call: CallName, cause: unknown, received?: number): HandoffError {
  const how = received === undefined ? 'no answer came' : `the answer broke off after ${received} bytes`
  const details: ErrorDetails = { next: driveAdvice.unreachable, cause }
  return new HandoffError(
    'drive',
    `The connection to drive9 failed at ${nameOf(call)}: ${how}${codeSuffix(cause)}.`,
    details,
  )
}

/** `ECONNREFUSED` and its like; never a whole message, which may carry an address with a signature. */
function codeSuffix(cause: unknown): string {
  const code = errorCode(cause)
  return code !== undefined && /^[A-Z_]{3,40}$/.test(code) ? ` (${code})` : ''
}

export function notDrive9(call: CallName, what: string): HandoffError {
  return new HandoffError('drive', `${nameOf(call)} was answered with ${what}.`, {
    next: 'Check that DRIVE9_SERVER is the address of a drive9 service and that no proxy answers in its place.',
  })
}

export function tooLarge(call: CallName, most: number): HandoffError {
  return new HandoffError('drive', `${nameOf(call)} holds more than the ${most} bytes that are read of it.`)
}

/** Where the service sends us for an object's bytes; never from a secure connection to one that is not. */
export function objectAddress(call: CallName, from: string, to: string | null): string {
  if (to === null || !URL.canParse(to, from)) throw notDrive9(call, 'an address that leads nowhere')
  const { href, protocol } = new URL(to, from)
  const weaker = from.startsWith('https:') && protocol !== 'https:'
  if (weaker || !/^https?:$/.test(protocol)) throw notDrive9(call, 'an address that leaves the secure connection')
  return href
}

/** The sentence in an error's body, without our key should the server have repeated it. */
export function saidIn(body: Uint8Array | undefined, key: string): string {
  if (!body || body.length === 0) return ''
  const text = Buffer.from(body.subarray(0, 2000)).toString('utf8')
  return sentenceIn(text).replaceAll(key, '***')
}

function sentenceIn(text: string): string {
  const value = parseJson(text)
  if (value === undefined || value === null) return text.trimStart().startsWith('<') ? 'not JSON' : text.trim()
  const { error } = value as { error?: unknown }
  if (typeof error === 'string') return error
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : ''
}
