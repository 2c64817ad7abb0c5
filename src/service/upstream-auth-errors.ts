// When a service behind us does not take our key, that is no fault of whoever asks: it must not look like their token was refused.

import type * as Product from '../handoff/index.js'
import { HandoffError, isHandoffError } from '../handoff/stored-answer.js'

/** The same line, whose refusals of our key are failures of that service. */
export function reportKeyRefusals<T extends object>(line: T, code: Product.ErrorCode): T {
  const told = (error: unknown) => {
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
          throw told(error)
        })
      }
    },
  })
}
