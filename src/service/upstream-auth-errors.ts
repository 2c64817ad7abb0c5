// An upstream service that rejects the deployment's key is not the caller's fault: the error must not read as a rejected caller token.

import type * as Product from '../handoff/index.js'
import { HandoffError, isHandoffError } from '../handoff/index-for-stored-answers.js'

/** Wraps a client so that a rejected key becomes an error of that service. */
export function reportKeyRefusals<T extends object>(line: T, code: Product.ErrorCode): T {
  const reported = (error: unknown) => {
    const ours = isHandoffError(error, 'unauthorized') || isHandoffError(error, 'forbidden')
    if (!ours) return error
    const { message, next } = error
    return new HandoffError(code, message, { cause: error, ...(next === undefined ? {} : { next }) })
  }
  return new Proxy(line, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...parts: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, parts)
        if (!(result instanceof Promise)) return result
        return result.catch((error: unknown) => {
          throw reported(error)
        })
      }
    },
  })
}
