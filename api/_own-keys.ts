// When a service behind us does not take our key, that is no fault of whoever asks: it must not look like their token was refused.
import type * as House from '../src/handoff/index.js'

type Words = Pick<typeof House, 'HandoffError' | 'isHandoffError'>

/** The same line, whose refusals of our key are failures of that service. */
export function withOurKey<T extends object>(line: T, code: House.ErrorCode, words: Words): T {
  const told = (error: unknown) => {
    const ours = words.isHandoffError(error, 'unauthorized') || words.isHandoffError(error, 'forbidden')
    if (!ours) return error
    const { message, next } = error as House.HandoffError
    return new words.HandoffError(code, message, { cause: error, ...(next === undefined ? {} : { next }) })
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
