import { type ErrorCode, HandoffError, isHandoffError } from '../domain/errors.js'

/** The same failure under the code that tells whose it is: our key that a service refuses is no wrong token of the caller. */
export function reportedAs(code: ErrorCode, error: unknown, ...codes: ErrorCode[]): unknown {
  if (!isHandoffError(error) || !codes.includes(error.code)) return error
  const { message, next } = error
  return new HandoffError(code, message, { cause: error, next })
}
