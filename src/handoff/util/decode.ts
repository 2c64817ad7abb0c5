// Decodes untrusted JSON. A decoder takes an unknown value and its path, and returns the typed value or throws one sentence.
// Unknown fields are dropped, so that a format may gain fields without a new version.

export type Decoder<T> = (value: unknown, at: string) => T

/** The type that a decoder returns: a shape is declared once, as its decoder. */
export type Decoded<D extends Decoder<unknown>> = ReturnType<D>

/** Not a HandoffError: the caller knows what the file means and adds it to the message. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError'
}

export function decodeJson<T>(text: string, decoder: Decoder<T>): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new DecodeError('it is not JSON', { cause: error })
  }
  return decoder(value, '')
}

/** Undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const fail = (at: string, wanted: string): never => {
  throw new DecodeError(`${at === '' ? 'it' : at} is not ${wanted}`)
}

export function string(limit = 10_000): Decoder<string> {
  return (value, at) =>
    typeof value === 'string' && value.length <= limit ? value : fail(at, `a text of at most ${limit} characters`)
}

export function pattern(expression: RegExp, what: string): Decoder<string> {
  return (value, at) => (typeof value === 'string' && expression.test(value) ? value : fail(at, what))
}

export const sha256: Decoder<string> = pattern(/^[0-9a-f]{64}$/, 'a sha256')
export const objectId: Decoder<string> = pattern(/^[0-9a-f]{40}$/, 'a git object id')
export const time: Decoder<string> = pattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, 'a time')

export const number: Decoder<number> = (value, at) =>
  typeof value === 'number' && Number.isFinite(value) ? value : fail(at, 'a number')

export const count: Decoder<number> = (value, at) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : fail(at, 'a count')

export const boolean: Decoder<boolean> = (value, at) => (typeof value === 'boolean' ? value : fail(at, 'true or false'))

export function oneOf<const T extends string | number>(...allowed: T[]): Decoder<T> {
  return (value, at) => (allowed.includes(value as T) ? (value as T) : fail(at, `one of ${allowed.join(', ')}`))
}

export function array<T>(item: Decoder<T>, limit = 1_000_000): Decoder<T[]> {
  return (value, at) => {
    if (!Array.isArray(value) || value.length > limit) return fail(at, `a list of at most ${limit}`)
    return value.map((entry, index) => item(entry, `${at}[${index}]`))
  }
}

export function record<T>(item: Decoder<T>, limit = 1_000_000): Decoder<Record<string, T>> {
  return (value, at) => {
    if (!isObject(value) || Object.keys(value).length > limit) return fail(at, `a table of at most ${limit}`)
    const entries = Object.entries(value).map(([key, entry]) => [key, item(entry, `${at}.${key}`)] as const)
    // Without a prototype: a key may be called __proto__.
    return Object.assign(Object.create(null) as Record<string, T>, Object.fromEntries(entries))
  }
}

/** Null for null, and for a field that is absent. */
export function nullable<T>(decoder: Decoder<T>): Decoder<T | null> {
  return (value, at) => (value === null || value === undefined ? null : decoder(value, at))
}

/** Marks a field that may be absent. */
export function optional<T>(decoder: Decoder<T>): Decoder<T> & { optional: true } {
  return Object.assign((value: unknown, at: string) => decoder(value, at), { optional: true as const })
}

type Fields = Record<string, Decoder<unknown>>
/** The type of what an object is decoded to. An optional field may also be undefined; it is not written as JSON then. */
export type Shape<F extends Fields> = {
  [K in keyof F as F[K] extends { optional: true } ? never : K]: ReturnType<F[K]>
} & { [K in keyof F as F[K] extends { optional: true } ? K : never]?: ReturnType<F[K]> | undefined }

export function object<F extends Fields>(fields: F): Decoder<Shape<F>> {
  return (value, at) => {
    if (!isObject(value)) return fail(at, 'an object')
    const result: Record<string, unknown> = {}
    for (const [name, decoder] of Object.entries(fields)) {
      const present = Object.hasOwn(value, name) && value[name] !== undefined
      if (!present && 'optional' in decoder) continue
      result[name] = decoder(present ? value[name] : undefined, at === '' ? name : `${at}.${name}`)
    }
    return result as Shape<F>
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
